"""How IML's default margin, similar_weight and regularization were chosen.

For every setting of a coarse grid, this computes the mean F1 of the rare class over the validation
folds of the paper's 22 data sets, within the training parts of the protocol's first splits. The
test parts are not used. Run ``python benchmarks/defaults.py [SPLITS]``; it writes
benchmarks/results/defaults.csv.
"""

from __future__ import annotations

import csv
import itertools
import sys
import warnings
from pathlib import Path

import numpy as np
from sklearn.metrics import f1_score
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.preprocessing import StandardScaler

from raremetric import IML, MetricKNNClassifier, list_datasets, load_dataset

MARGINS = (1.0, 10.0, 100.0, 1000.0)
WEIGHTS = (0.1, 0.3, 0.5, 0.7, 0.9)
REGULARIZATIONS = (0.0, 0.001, 0.01, 0.1, 1.0, 10.0)
OUT = Path(__file__).parent / "results" / "defaults.csv"


def validation_f1(X, y, folds, **setting) -> float:
    """Mean F1 of 3-NN under IML over the folds."""
    scores = []
    for train, test in folds:
        model = MetricKNNClassifier(IML(**setting)).fit(X[train], y[train])
        scores.append(f1_score(y[test], model.predict(X[test]), zero_division=0))
    return float(np.mean(scores))


def main(n_splits: int) -> None:
    warnings.simplefilter("ignore")
    OUT.parent.mkdir(exist_ok=True)
    with OUT.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["split", "dataset", "margin", "similar_weight", "regularization", "f1"])
        for split, name in itertools.product(range(1, n_splits + 1), list_datasets("paper")):
            X, y = load_dataset(name, return_X_y=True)
            rng = np.random.RandomState(split)
            X, _, y, _ = train_test_split(X, y, stratify=y, test_size=0.7, random_state=rng)
            X = StandardScaler().fit_transform(X)
            folds = list(StratifiedKFold(5, shuffle=True, random_state=rng).split(X, y))
            for m, a, lam in itertools.product(MARGINS, WEIGHTS, REGULARIZATIONS):
                f1 = validation_f1(X, y, folds, margin=m, similar_weight=a, regularization=lam)
                rows.writerow([split, name, m, a, lam, f"{f1:.4f}"])
            file.flush()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1)
