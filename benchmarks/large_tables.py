"""RareClassifier and tuned XGBoost on the large tables, side by side, in CPU time.

Each table is halved as in ``raremetric study run paper/large-*.toml``. Both methods tune on the
same folds, one after the other in the same process with one thread; what is measured is the CPU
time of ``fit`` and of ``predict``. Besides the tables of the study, there are two generated ones
with 10,000 rows and 30 features to train on, and 2 % and 10 % positives. Lines are appended to the
file as they are finished, and lines that are in the file are not run again::

    python -m benchmarks.large_tables --out benchmarks/results/large_tables.csv
    python -m benchmarks.large_tables --datasets ada,satimage-4 --halvings 1 --out /tmp/few.csv
"""

from __future__ import annotations

import argparse
import csv
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import make_classification
from sklearn.metrics import average_precision_score, f1_score
from threadpoolctl import threadpool_limits

from raremetric import RareClassifier
from raremetric.contenders import CONTENDERS
from raremetric.datasets import list_datasets, load_dataset
from raremetric.study.protocol import make_split

METHODS = ("gradient-boosting", "RareClassifier-fast")
GENERATED = {"generated-2": 0.02, "generated-10": 0.1}  # the shares of positives
COLUMNS = (
    *("dataset", "halving", "method", "rows", "features", "positives"),
    *("average_precision", "f1", "fit_seconds", "microseconds_per_row"),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--datasets", help="separated by commas; default: all tables")
    parser.add_argument("--halvings", default="1", help="numbers, separated by commas")
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/large_tables.csv"))
    options = parser.parse_args()
    names = (
        options.datasets.split(",") if options.datasets else [*list_datasets("large"), *GENERATED]
    )
    compile_kernels()
    for dataset in names:
        for halving in map(int, options.halvings.split(",")):
            for method in options.methods.split(","):
                if not is_done(options.out, dataset, halving, method):
                    append(options.out, measure(dataset, halving, method))
    print(summary(pd.read_csv(options.out)))


def compile_kernels() -> None:
    """Fit a small model, so that the compilation is not measured."""
    rng = np.random.default_rng(0)
    y = np.arange(1200) % 10 == 0
    RareClassifier(random_state=0).fit(rng.normal(size=(1200, 3)) + y[:, np.newaxis], y)


def load(dataset: str) -> tuple[np.ndarray, np.ndarray]:
    if dataset not in GENERATED:
        return load_dataset(dataset, return_X_y=True)
    return make_classification(
        *(20_000, 30),
        n_informative=10,
        n_redundant=5,
        n_clusters_per_class=4,
        weights=[1 - GENERATED[dataset]],
        flip_y=0.005,
        random_state=0,
    )


def measure(dataset: str, halving: int, method: str) -> dict:
    """Fit one method on one half of a table, and test it on the other."""
    X, y = load(dataset)
    split = make_split(y, halving, 0.5)
    contender = CONTENDERS[method]
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start = time.process_time()
        tuned = contender.fit(
            contender.candidates(halving), X[split.train], y[split.train], seed=halving
        )
        fitted = time.process_time()
        tuned.model.predict(X[split.test])
        predicted = time.process_time()
        answer = tuned.answer(X[split.test])
    truth = y[split.test]
    values = (
        *(dataset, halving, method, len(split.train), X.shape[1], int(y[split.train].sum())),
        round(100 * average_precision_score(truth, answer.scores), 2),
        round(100 * f1_score(truth, answer.predicted), 2),
        round(fitted - start, 2),
        round(1e6 * (predicted - fitted) / len(truth), 1),
    )
    return dict(zip(COLUMNS, values, strict=True))


def is_done(path: Path, dataset: str, halving: int, method: str) -> bool:
    if not path.exists():
        return False
    with path.open(newline="") as stream:
        return any(
            (row["dataset"], row["halving"], row["method"]) == (dataset, str(halving), method)
            for row in csv.DictReader(stream)
        )


def append(path: Path, row: dict) -> None:
    is_new = not path.exists()
    with path.open("a", newline="") as stream:
        writer = csv.DictWriter(stream, COLUMNS)
        if is_new:
            writer.writeheader()
        writer.writerow(row)
    print(" ".join(str(value) for value in row.values()), flush=True)


def summary(results: pd.DataFrame) -> str:
    """Means per table and over all tables, both methods next to each other, as Markdown."""
    measures = list(COLUMNS[6:])
    means = results.groupby(["dataset", "method"])[measures].mean().unstack("method").dropna()
    overall = means.mean().to_frame("mean over the tables").T
    return pd.concat([means, overall]).round(1).to_string()


if __name__ == "__main__":
    main()
