"""CPU seconds of each estimator on one simulated table: `python benchmarks/estimators.py`.

The table of docs/choose.md. 2,000 rows of 20 features, 5 % of them positive; one thread; compiled
code is loaded before. Each figure is the smallest of three runs.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import sys
import warnings
from time import process_time

from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from raremetric import (
    GMML,
    IML,
    IMLCV,
    ITML,
    LMNN,
    BalancedDiscriminant,
    Euclidean,
    MetricKNNClassifier,
    RareClassifier,
)

LEARNERS = {
    "Euclidean()": Euclidean(),
    "BalancedDiscriminant()": BalancedDiscriminant(),
    "GMML()": GMML(random_state=0),
    "IML()": IML(),
    "LMNN()": LMNN(),
    "ITML()": ITML(random_state=0),
    "IMLCV()": IMLCV(random_state=0),
}
MODELS = {
    **{f"`MetricKNNClassifier({name})`": MetricKNNClassifier(L) for name, L in LEARNERS.items()},
    '`MetricKNNClassifier(IML(), vote="score")`': MetricKNNClassifier(
        IML(), vote="score", random_state=0
    ),
    "`RareClassifier()`": RareClassifier(random_state=0),
    '`RareClassifier(budget="thorough")`': RareClassifier(budget="thorough", random_state=0),
}
N_RUNS = 3


def seconds(work) -> float:
    """The smallest CPU time of a few calls."""
    times = []
    for _ in range(N_RUNS):
        start = process_time()
        work()
        times.append(process_time() - start)
    return min(times)


def main() -> None:
    """Print one line for each model."""
    warnings.simplefilter("ignore", ConvergenceWarning)
    X, y = make_classification(3000, 20, n_informative=8, weights=[0.95], random_state=0)
    X, y, X_new = X[:2000], y[:2000], X[2000:]
    sys.stdout.write("| | fit | predict 1,000 rows |\n|---|---|---|\n")
    for name, estimator in MODELS.items():
        model = make_pipeline(StandardScaler(), estimator)
        model.fit(X[:200], y[:200])
        fitting = seconds(lambda model=model: model.fit(X, y))
        predicting = seconds(lambda model=model: model.predict(X_new))
        sys.stdout.write(f"| {name} | {fitting:.2g} | {predicting:.2g} |\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
