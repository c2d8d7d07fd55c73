"""Folds on which metrics are judged by the votes of neighbors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.frozen import FrozenEstimator
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import has_fit_parameter

from raremetric.contenders.resampling import resample
from raremetric.features.ranks import DifferingFeatures
from raremetric.learners.grid import Fold
from raremetric.neighbors.one_sided import map_rows, prepare_search
from raremetric.validation import accepted_weights, check_labels, quiet_constants

N_NEIGHBORS = 3
N_FINALISTS = 6  # candidates that successive halving tries on all folds


class PreparedFold(NamedTuple):
    """One fold, resampled and standardized."""

    X: NDArray
    y: NDArray
    X_validation: NDArray
    y_validation: NDArray
    weights: NDArray | None = None  # of the rows that are learned from
    queries: NDArray | None = None  # the rows to validate on, for methods that may look at them

    def for_learning(self) -> Fold:
        """The same fold for learners that share work between candidates."""
        labels = check_labels(self.y, "A fold")
        return Fold(self.X, labels, self.X_validation, self.y_validation, self.weights)


def nearest_voters(
    learner: Any, voters: NDArray, y: NDArray, queries: NDArray
) -> NDArray[np.int64]:
    """The numbers of the rows that vote on each query, under the metric of a fitted learner."""
    # Copies, because a user's class may change its arguments in place.
    Z, mapped = (map_rows(learner, X.copy()) for X in (voters, queries))
    search = prepare_search(learner, Z, check_labels(y, "A fold"))
    return search.nearest(mapped, min(N_NEIGHBORS, len(voters))).indices


def is_transductive(learner: Any) -> bool:
    """Whether ``fit`` has a parameter for the features of the rows to be classified."""
    return has_fit_parameter(learner, "queries")


def fit_learner(
    learner: Any, X: NDArray, y: NDArray, queries: NDArray | None, weights: NDArray | None = None
) -> Any:
    """Fit a learner; weights and queries are for those whose ``fit`` has such a parameter."""
    given: dict[str, Any] = dict(accepted_weights(learner, weights))
    if is_transductive(learner):
        given["queries"] = queries
    return learner.fit(X, y, **given)


def learn_first(
    learner: Any,
    X: NDArray,
    y: NDArray,
    voters: NDArray,
    queries: NDArray | None,
    weights: NDArray | None = None,
    voter_weights: NDArray | None = None,
) -> FrozenEstimator:
    """Fit a learner before a vote, on rows that are scaled as those that vote."""
    with quiet_constants():
        scaler = StandardScaler().fit(voters, sample_weight=voter_weights)
    scaled = None if queries is None else scaler.transform(queries)
    return FrozenEstimator(fit_learner(learner, scaler.transform(X), y, scaled, weights))


Read = Callable[[NDArray], Any]  # of the numbers of the neighbors of the rows to validate on


def prepare_fold(
    X: NDArray,
    y: NDArray,
    fold: tuple[NDArray, NDArray],
    resampling: str = "none",
    weights: NDArray | None = None,
    *,
    max_features: int | None = None,
    transductive: bool = False,
) -> PreparedFold:
    """Select features and resample the rows that are learned from, then standardize by them.

    If ``transductive``, methods may look at the features of the rows to validate on.
    """
    train, validation = fold
    own = None if weights is None else weights[train]
    X_train, X_validation = X[train], X[validation]
    if selection := select_features(X_train, y[train], own, max_features):
        X_train, X_validation = selection.transform(X_train), selection.transform(X_validation)
    X_train, y_train = resample(X_train, y[train], resampling)
    with quiet_constants():
        scaler = StandardScaler().fit(X_train, sample_weight=own)
    X_validation = scaler.transform(X_validation)
    queries = X_validation if transductive else None
    return PreparedFold(
        scaler.transform(X_train), y_train, X_validation, y[validation], own, queries
    )


def select_features(
    X: NDArray, y: NDArray, weights: NDArray | None, max_features: int | None
) -> DifferingFeatures | None:
    """A fitted selection of features; None if all are used."""
    if max_features is None or X.shape[1] <= max_features:
        return None
    return DifferingFeatures(max_features).fit(X, y, weights)
