"""Which library grows the trees of BoostedLeaves: XGBoost, LightGBM or scikit-learn.

Trees with the same settings are grown by each library on small tables, whose rows are then mapped
to the values of their leaves. Prints, for each library, the mean average precision of the trees
themselves and of the 20 nearest neighbors of each class under `BalancedDiscriminant` in the space
of the leaves, the CPU time of the trees relative to XGBoost's, and the installed size::

    pip install lightgbm
    python -m benchmarks.tree_libraries
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.metrics import average_precision_score
from threadpoolctl import threadpool_limits

from raremetric import BalancedDiscriminant, BoostedLeaves
from raremetric.datasets import load_dataset
from raremetric.neighbors import NeighborSearch
from raremetric.study.protocol import make_split
from raremetric.validation import check_labels

DATA = ("pima", "german", "abalone", "yeast", "pageblocks", "segmentation", "vehicle", "spambase")
N_TREES, RATE, N_LEAVES = 150, 0.1, 15
Mapped = tuple[np.ndarray, np.ndarray, np.ndarray]  # leaves of both parts, scores of the second


def by_xgboost(X: np.ndarray, y: np.ndarray, X_test: np.ndarray) -> Mapped:
    trees = BoostedLeaves(random_state=0).fit(X, y)
    train, test = trees.transform(X), trees.transform(X_test)
    return train, test, test.sum(axis=1)


def by_lightgbm(X: np.ndarray, y: np.ndarray, X_test: np.ndarray) -> Mapped:
    parameters = {
        "objective": "binary", "learning_rate": RATE, "num_leaves": N_LEAVES, "num_threads": 1,
        "bagging_fraction": 0.7, "bagging_freq": 1, "feature_fraction_bynode": 0.5,
        "min_data_in_leaf": 1, "min_sum_hessian_in_leaf": 0.1, "lambda_l2": 1.0, "verbose": -1,
        "seed": 0,
    }  # fmt: skip
    lightgbm = import_module("lightgbm")
    booster = lightgbm.train(parameters, lightgbm.Dataset(X, y), N_TREES)

    def leaves(rows: np.ndarray) -> np.ndarray:
        found = booster.predict(rows, pred_leaf=True)
        values = [
            [booster.get_leaf_output(t, leaf) for leaf in range(found[:, t].max() + 1)]
            for t in range(found.shape[1])
        ]
        return np.column_stack([np.array(v)[found[:, t]] for t, v in enumerate(values)])

    return leaves(X), leaves(X_test), booster.predict(X_test, raw_score=True)


def by_sklearn(X: np.ndarray, y: np.ndarray, X_test: np.ndarray) -> Mapped:
    model = GradientBoostingClassifier(
        n_estimators=N_TREES, learning_rate=RATE, max_leaf_nodes=N_LEAVES, max_depth=None,
        subsample=0.7, max_features=0.5, random_state=0,
    ).fit(X, y)  # fmt: skip
    values = [tree.tree_.value[:, 0, 0] for tree in model.estimators_[:, 0]]

    def leaves(rows: np.ndarray) -> np.ndarray:
        found = model.apply(rows)[:, :, 0].astype(int)
        return RATE * np.column_stack([v[found[:, t]] for t, v in enumerate(values)])

    return leaves(X), leaves(X_test), model.decision_function(X_test)


LIBRARIES: dict[str, tuple[Callable[..., Mapped], str]] = {
    "XGBoost": (by_xgboost, "xgboost"),
    "LightGBM": (by_lightgbm, "lightgbm"),
    "scikit-learn, GradientBoostingClassifier": (by_sklearn, "sklearn"),
}


def neighbor_precision(train: np.ndarray, test: np.ndarray, y: np.ndarray, truth) -> float:
    """Average precision of the difference of mean squared distances to 20 neighbors per class."""
    metric = BalancedDiscriminant(0.1, 3.0).fit(train, y)
    search = NeighborSearch(metric.transform(train), check_labels(y, "The benchmark"))
    far, near = (
        (each.distances**2).mean(axis=1)
        for each in search.nearest_of_each_class(metric.transform(test), 20)
    )
    return average_precision_score(truth, far - near)


def measure(name: str, split: int, library: str) -> dict:
    X, y = load_dataset(name, return_X_y=True)
    parts = make_split(y, split, 0.5)
    grow, _ = LIBRARIES[library]
    start = time.process_time()
    train, test, scores = grow(X[parts.train], y[parts.train], X[parts.test])
    seconds = time.process_time() - start
    truth = y[parts.test]
    return {
        "library": library,
        "data": name,
        "AP of the trees": 100 * average_precision_score(truth, scores),
        "AP of the neighbors": 100 * neighbor_precision(train, test, y[parts.train], truth),
        "seconds": seconds,
    }


def installed_size(module: str) -> float:
    """Megabytes of the files of a package."""
    folder = Path(import_module(module).__file__).parent
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--splits", type=int, default=3)
    options = parser.parse_args()
    rows = []
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for library in LIBRARIES:
            measure("pima", 1, library)  # compiles and imports
        for name in DATA:
            for split in range(1, options.splits + 1):
                rows += [measure(name, split, library) for library in LIBRARIES]
    found = pd.DataFrame(rows).groupby("library", sort=False).mean(numeric_only=True)
    seconds = found.pop("seconds")
    found["CPU / XGBoost's"] = seconds / seconds["XGBoost"]
    found["MB installed"] = [installed_size(module) for _, module in LIBRARIES.values()]
    print(found.round(2).to_string())


if __name__ == "__main__":
    main()
