"""Folds on which metrics are judged by the votes of neighbors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from numpy.typing import NDArray
from sklearn.preprocessing import StandardScaler

from raremetric.contenders.resampling import resample
from raremetric.learners.grid import Fold
from raremetric.validation import check_labels, quiet_constants

N_NEIGHBORS = 3
N_FINALISTS = 6  # candidates that successive halving tries on all folds


class PreparedFold(NamedTuple):
    """One fold, resampled and standardized."""

    X: NDArray
    y: NDArray
    X_validation: NDArray
    y_validation: NDArray
    weights: NDArray | None = None  # of the rows that are learned from

    def for_learning(self) -> Fold:
        """The same fold for learners that share work between candidates."""
        labels = check_labels(self.y, "A fold")
        return Fold(self.X, labels, self.X_validation, self.y_validation, self.weights)


Read = Callable[[NDArray, NDArray], Any]  # of the mapped rows: to learn from, to validate on


def prepare_fold(
    X: NDArray,
    y: NDArray,
    fold: tuple[NDArray, NDArray],
    resampling: str = "none",
    weights: NDArray | None = None,
) -> PreparedFold:
    """Resample the rows that are learned from, then standardize by them."""
    train, validation = fold
    X_train, y_train = resample(X[train], y[train], resampling)
    own = None if weights is None else weights[train]
    with quiet_constants():
        scaler = StandardScaler().fit(X_train, sample_weight=own)
    return PreparedFold(
        scaler.transform(X_train), y_train, scaler.transform(X[validation]), y[validation], own
    )
