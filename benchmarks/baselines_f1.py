"""Mean F1 of the baselines on the paper's splits, beside the paper's cells.

    python benchmarks/baselines_f1.py [--splits 10] [--data wine bupa ...] [--methods LMNN ...]

Split s comes from one RandomState(s): 30 % of the rows to train on, stratified, then five folds.
Each candidate is scored by its mean F1 over the folds (3-NN on the projected data, standardised
on the training part); among equals the one whose printed dictionary comes last wins.
"""

from __future__ import annotations

import argparse
import json
import warnings

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import f1_score
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

from raremetric.datasets import load_dataset
from raremetric.learners.euclidean import Euclidean
from raremetric.learners.gmml import GMML
from raremetric.learners.itml import ITML
from raremetric.learners.lmnn import LMNN

DATA = ("wine", "newthyroid", "bupa", "heart", "spectfheart", "vehicle")
SHARES = [float(share) for share in np.arange(0, 1.01, 0.05)]
GAMMAS = [2.0**power if power < 0 else 2**power for power in range(-10, 11)]

# Learner with the paper's settings, and candidates: the paper's printed dictionary -> parameters.
METHODS = {
    "Euclidean": (Euclidean(), {"{'None': None}": {}}),
    "LMNN": (LMNN(max_iter=100), {str({"mu": mu}): {"push_weight": mu} for mu in SHARES}),
    "LMNN hinge": (
        LMNN(loss="hinge", max_iter=100),
        {str({"mu": mu}): {"push_weight": mu} for mu in SHARES},
    ),
    # The paper's program takes the step that ITML's paper prints: see the Notes of ITML.
    "ITML": (
        ITML(bounds="histogram", max_iter=1000, random_state=1),
        {str({"gamma": gamma}): {"bound_scale": 1 / gamma} for gamma in GAMMAS},
    ),
    "ITML exact step": (
        ITML(bounds="histogram", max_iter=1000, random_state=1),
        {str({"gamma": gamma}): {"gamma": gamma} for gamma in GAMMAS},
    ),
    "GMML": (GMML(random_state=1), {str({"t": t}): {"t": t} for t in SHARES}),
    "GMML balanced": (
        GMML(pairs="neighbors", set_weights="balanced"),
        {str({"t": t}): {"t": t} for t in SHARES},
    ),
}

# The paper's table without resampling, mean F1 in percent over 20 splits, columns as they are
# headed; docs/baselines.md shows that LMNN and GMML are exchanged there.
PAPER = {
    "wine": {"Euclidean": 94.9, "LMNN": 95.5, "ITML": 96.3, "GMML": 96.0},
    "newthyroid": {"Euclidean": 83.4, "LMNN": 90.6, "ITML": 89.8, "GMML": 88.1},
    "bupa": {"Euclidean": 49.8, "LMNN": 52.0, "ITML": 51.3, "GMML": 50.1},
    "heart": {"Euclidean": 76.8, "LMNN": 76.9, "ITML": 76.8, "GMML": 74.8},
    "spectfheart": {"Euclidean": 34.8, "LMNN": 29.3, "ITML": 34.4, "GMML": 39.1},
    "vehicle": {"Euclidean": 80.5, "LMNN": 90.1, "ITML": 90.2, "GMML": 92.6},
}


def score(learner, X_train, y_train, X_test, y_test) -> float:
    scaler = StandardScaler().fit(X_train)
    X_train, X_test = scaler.transform(X_train), scaler.transform(X_test)
    learner = clone(learner).fit(X_train, y_train)
    knn = KNeighborsClassifier(3, algorithm="brute").fit(learner.transform(X_train), y_train)
    predicted = knn.predict(learner.transform(X_test))
    rare = min(np.unique(y_train), key=lambda label: np.sum(y_train == label))
    return f1_score(y_test, predicted, pos_label=rare, zero_division=0)


def tuned_score(X, y, split: int, method: str) -> float:
    """F1 on the test part of one split, of the winner on its folds."""
    learner, candidates = METHODS[method]
    random_state = np.random.RandomState(split)
    X_train, X_test, y_train, y_test = train_test_split(
        X, y, stratify=y, shuffle=True, test_size=0.7, random_state=random_state
    )
    folds = list(
        StratifiedKFold(5, shuffle=True, random_state=random_state).split(X_train, y_train)
    )
    best = (-1.0, "")
    for printed, parameters in candidates.items():
        candidate = clone(learner).set_params(**parameters)
        f1 = np.mean(
            [
                score(candidate, X_train[fit], y_train[fit], X_train[rest], y_train[rest])
                for fit, rest in folds
            ]
        )
        if (f1, printed) > best:
            best, winner = (f1, printed), candidate
    return score(winner, X_train, y_train, X_test, y_test)


def compare(data=DATA, methods=tuple(METHODS), n_splits=10) -> list[dict]:
    """One row a data set and method: mean F1 in percent, its spread, the paper's cell."""
    rows = []
    for dataset in data:
        X, y = load_dataset(dataset, return_X_y=True)
        X, y = np.asarray(X, dtype=float), np.asarray(y)
        for method in methods:
            scores = [100 * tuned_score(X, y, s, method) for s in range(1, n_splits + 1)]
            paper = PAPER.get(dataset, {}).get(method.split()[0])
            row = {
                "data": dataset,
                "method": method,
                "f1": round(float(np.mean(scores)), 2),
                "spread": round(float(np.std(scores)), 2),
                "paper": paper,
                "difference": round(float(np.mean(scores)) - paper, 2) if paper else None,
                "scores": np.round(scores, 2).tolist(),
            }
            print(json.dumps(row), flush=True)
            rows.append(row)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--data", nargs="+", default=DATA)
    parser.add_argument("--methods", nargs="+", default=tuple(METHODS), choices=tuple(METHODS))
    arguments = parser.parse_args()
    # The paper's iteration limits end some fits early: that is part of its settings.
    warnings.simplefilter("ignore", ConvergenceWarning)
    compare(arguments.data, arguments.methods, arguments.splits)


if __name__ == "__main__":
    main()
