"""What a selection of features keeps and gains, on generated rows with many features.

The first table has the number of informative features among 500 that are selected from 3,000 by
three criteria. The second one has the average precision of one simple model of each group of
`RareClassifier` on other rows, with all features and with 500 selected ones. ::

    python -m benchmarks.selection
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.feature_selection import f_classif
from sklearn.metrics import average_precision_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from raremetric import BoostedLeaves, ImportanceWeights, KernelLandmarks
from raremetric.features.importances import mean_importances
from raremetric.features.ranks import DifferingFeatures
from raremetric.validation import check_labels

N_KEPT = 500
N_INFORMATIVE = {"10 means": 10, "100 means": 100, "10 spreads": 10, "20 heavy tails": 20}
SHARE = 0.1  # of positives


def make_rows(kind: str, n_rows: int, n_features: int, seed: int = 0) -> tuple[NDArray, NDArray]:
    """Rows in which the first features say something about the class, or factors behind all."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_features))
    k = N_INFORMATIVE.get(kind, 0)
    if kind == "factors":
        factors = rng.normal(size=(n_rows, 5))
        X = 1.5 * X + factors @ rng.normal(size=(5, n_features)) / 2
        score = 3 * factors[:, 0] + 2 * factors[:, 1]
    elif kind == "10 spreads":
        score = np.sum(X[:, :k] ** 2, axis=1) / k**0.5
    elif kind == "20 heavy tails":
        X = rng.standard_t(1.5, size=X.shape)
        score = np.arctan(X[:, :k]).sum(axis=1) / k**0.5
    else:
        score = X[:, :k].sum(axis=1) * (2 / k**0.5)
    score = score + rng.normal(size=n_rows)
    return X, (score > np.quantile(score, 1 - SHARE)).astype(int)


def count_kept(kind: str) -> list[int]:
    """Informative features that three criteria keep."""
    X, y = make_rows(kind, 1600, 3000)
    importances = mean_importances(X, check_labels(y, "y"), np.arange(30))
    chosen = [np.argsort(-each)[:N_KEPT] for each in (f_classif(X, y)[0], importances)]
    chosen.append(DifferingFeatures(N_KEPT).fit(X, y).get_support(indices=True))
    return [int(np.sum(each < N_INFORMATIVE[kind])) for each in chosen]


def precisions(kind: str, n_kept: int) -> list[float]:
    """Average precision of a linear model, of trees, and after a kernel map."""
    X, y = make_rows(kind, 5200, 1500)
    selection = DifferingFeatures(n_kept).fit(X[:1500], y[:1500])
    train, test = selection.transform(X[:1500]), selection.transform(X[1500:])
    linear = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.5)
    landmarks = KernelLandmarks(width=2.0, random_state=0)
    scores = []
    for steps in ([], [ImportanceWeights(random_state=0), landmarks]):
        model = make_pipeline(StandardScaler(), *steps, linear).fit(train, y[:1500])
        scores.append(model.decision_function(test))
    trees = BoostedLeaves(60, max_leaves=5, random_state=0).fit(train, y[:1500])
    scores.insert(1, trees.transform(test).sum(axis=1))
    return [float(average_precision_score(y[1500:], each)) for each in scores]


if __name__ == "__main__":
    print("| informative | F statistic | forest | Kolmogorov and Smirnov |\n|---|---|---|---|")
    for kind in N_INFORMATIVE:
        print(f"| {kind} | {' | '.join(map(str, count_kept(kind)))} |", flush=True)
    print("\n| informative | features | linear | trees | kernel map |\n|---|---|---|---|---|")
    for kind in (*N_INFORMATIVE, "factors"):
        for n_kept in (1500, N_KEPT):
            found = " | ".join(f"{each:.3f}" for each in precisions(kind, n_kept))
            print(f"| {kind} | {n_kept} | {found} |", flush=True)
