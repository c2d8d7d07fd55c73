"""What a user might pick instead, tuned as RareClassifier is: same folds, ranking and threshold."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist
from scipy.special import expit, logit
from sklearn import config_context
from sklearn.base import ClassifierMixin
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from raremetric.extras import import_optional
from raremetric.features.landmarks import KERNELS, median_distance
from raremetric.rare.ensemble import Selection, select
from raremetric.rare.evaluation import make_folds
from raremetric.validation import check_labels
from raremetric.voting.aims import check_aim

Settings = Sequence[dict[str, Any]]
# Of each setting, learned from (X, y), the scores of the queries: (n_settings, n_queries).
Scorer = Callable[[NDArray, NDArray, NDArray, Settings, int], NDArray]

N_CANDIDATES = 20
N_TREES = 100
F1 = check_aim("f1")


def score_by_svm(kernel: str) -> Scorer:
    """Support vectors on a kernel of standardised features.

    ``width`` is in units of the median distance; the distances are computed once for all settings.
    """

    def score(X: NDArray, y: NDArray, queries: NDArray, settings: Settings, seed: int) -> NDArray:
        from sklearn.svm import SVC

        scaler = StandardScaler().fit(X)
        X, queries = scaler.transform(X), scaler.transform(queries)
        own, others = cdist(X, X, KERNELS[kernel]), cdist(queries, X, KERNELS[kernel])
        unit = median_distance(own)

        def scores_of(width: float, **params: Any) -> NDArray:
            machine = SVC(kernel="precomputed", **params).fit(np.exp(-own / (width * unit)), y)
            return machine.decision_function(np.exp(-others / (width * unit)))

        return np.stack([scores_of(**params) for params in settings])

    return score


def score_by_classifier(make: Callable[[dict[str, Any], int], ClassifierMixin]) -> Scorer:
    """Decision function of any classifier that has one, on standardised features."""

    def score(X: NDArray, y: NDArray, queries: NDArray, settings: Settings, seed: int) -> NDArray:
        fitted = (make_pipeline(StandardScaler(), make(each, seed)).fit(X, y) for each in settings)
        return np.stack([model.decision_function(queries) for model in fitted])

    return score


def score_by_forest(
    X: NDArray, y: NDArray, queries: NDArray, settings: Settings, seed: int
) -> NDArray:
    """Log-odds of the balanced random forest of Chen, Liaw and Breiman (2004).

    Each tree learns from as many examples of the one class as of the other, drawn with
    replacement. imbalanced-learn's forest is the same and takes several times as long: it prepares
    and checks every tree's sample anew. Why regression trees: see ``mean_importances``.
    """
    from sklearn.tree import DecisionTreeRegressor

    X, queries = X.astype(np.float32), queries.astype(np.float32)  # as trees want them
    values = y.astype(np.float64)
    classes = [np.flatnonzero(y == label) for label in (0, 1)]
    size = min(map(len, classes))

    def scores_of(params: dict[str, Any]) -> NDArray:
        rng, p = np.random.RandomState(seed), np.zeros(len(queries))
        for _ in range(N_TREES):
            rows = np.concatenate([own[rng.randint(len(own), size=size)] for own in classes])
            # The generator itself: to seed another would cost as much as the tree.
            tree = DecisionTreeRegressor(**params, random_state=rng)
            tree.fit(X[rows], values[rows], check_input=False)
            p += tree.predict(queries, check_input=False) / N_TREES
        # Half a tree more or less: a forest is never certain.
        return logit(np.clip(p, 0.5 / N_TREES, 1 - 0.5 / N_TREES))

    with config_context(skip_parameter_validation=True, assume_finite=True):
        return np.stack([scores_of(params) for params in settings])


def score_by_boosting(
    X: NDArray, y: NDArray, queries: NDArray, settings: Settings, seed: int
) -> NDArray:
    """Log-odds of XGBoost's trees, grown leaf by leaf on the histograms that all settings share."""
    xgboost = import_optional("xgboost", "Gradient boosting")
    learned = xgboost.QuantileDMatrix(X, y, nthread=1)
    asked = xgboost.DMatrix(queries, nthread=1)
    fixed = {
        "objective": "binary:logistic",
        "grow_policy": "lossguide",
        "max_depth": 0,  # the leaves alone are bounded
        "nthread": 1,  # the study has its processes
        "seed": seed,
    }
    balanced = np.sum(y == 0) / np.sum(y == 1)

    def scores_of(rounds: int, balance: bool, **params: Any) -> NDArray:
        given = {**fixed, **params, "scale_pos_weight": balanced if balance else 1.0}
        return xgboost.train(given, learned, rounds).predict(asked, output_margin=True)

    return np.stack([scores_of(**params) for params in settings])


def _logistic(params: dict[str, Any], seed: int) -> ClassifierMixin:
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(max_iter=1000, **params)


class Family(NamedTuple):
    """A kind of classifier and the grid that its candidates are drawn from."""

    score: Scorer
    grid: dict[str, list]


_WEIGHTS = [None, "balanced"]
_SVM_GRID: dict[str, list] = {
    "width": [0.5, 1.0, 2.0, 4.0, 8.0, 16.0],
    "C": [0.1, 1.0, 10.0, 100.0, 1000.0],
    "class_weight": _WEIGHTS,
}
ALTERNATIVES = {
    "logistic-regression": Family(
        score_by_classifier(_logistic),
        {"C": np.logspace(-3, 3, 13).round(6).tolist(), "class_weight": _WEIGHTS},
    ),
    "gradient-boosting": Family(
        score_by_boosting,
        {
            "learning_rate": [0.03, 0.1, 0.3],
            "rounds": [50, 100, 200],
            "max_leaves": [3, 7, 15, 31],
            "min_child_weight": [0.1, 0.3, 1.0],
            "reg_lambda": [0.1, 1.0, 10.0],
            "subsample": [0.7, 1.0],
            "colsample_bynode": [0.5, 1.0],
            "balance": [False, True],
        },
    ),
    "balanced-forest": Family(
        score_by_forest,
        {
            "max_features": ["sqrt", 0.3, 0.6, 1.0],
            "min_samples_leaf": [1, 2, 4, 8],
            "max_depth": [None, 8, 4],
        },
    ),
    "SVM-rbf": Family(score_by_svm("rbf"), _SVM_GRID),
    "SVM-laplacian": Family(score_by_svm("laplacian"), _SVM_GRID),
}


class Tuned(NamedTuple):
    """What the best settings, averaged, say of the queries."""

    log_odds: NDArray[np.float64]  # of the positive class
    called: NDArray[np.bool_]
    selection: Selection
    n_repeats: int


def tune(
    score: Scorer,
    settings: Settings,
    X: NDArray,
    y: NDArray,
    queries: NDArray,
    seed: int,
    thorough: bool = False,
) -> Tuned:
    """Judge settings out of fold, average the five best, put the threshold, score the queries.

    Parameters
    ----------
    score : Scorer
    settings : sequence of dict
    X, y : ndarray
        What may be learned from; y is 0 or 1.
    queries : ndarray of shape (n_queries, n_features)
    seed : int
        Of the folds and of the classifiers.
    thorough : bool
        Whether the cross-validation is repeated as often as ``RareClassifier("thorough")`` does,
        or as ``"fast"``.
    """
    labels = check_labels(y, "The training part")
    repeats = make_folds(labels, seed, thorough)
    found = np.empty((len(settings), len(repeats), len(X)))
    for repeat, folds in enumerate(repeats):
        for train, test in folds:
            found[:, repeat, test] = score(X[train], y[train], X[test], settings, seed)
    selection = select(found, ["all"] * len(settings), y == 1, F1, {"all": 1.0})
    kept = [settings[number] for number in selection.kept]
    log_odds = selection.log_odds(score(X, y, queries, kept, seed))
    return Tuned(log_odds, expit(log_odds) >= selection.threshold, selection, len(repeats))
