"""How a fitted DaskClassifier decides: probabilities, decision function, classes."""

from __future__ import annotations

from typing import Any

import dask
import dask.array as da
import numpy as np
from dask.base import is_dask_collection
from numpy.typing import NDArray
from scipy.special import expit, logit
from sklearn.utils.validation import check_is_fitted

from raremetric.cluster import send_once
from raremetric.dask.calibration import Calibration, scores_of
from raremetric.dask.partitions import as_rows, row_blocks

LOWEST = -700.0  # log-odds whose probability is above zero


class PredictionMixin:
    """The methods of DaskClassifier that classify rows, also of Dask collections, lazily."""

    classes_: NDArray
    estimator_: Any
    pos_label_: Any
    threshold_: Any
    calibration_: Calibration

    @property
    def n_features_in_(self) -> int:
        """Number of features that the fitted classifier has seen."""
        check_is_fitted(self)
        return self.estimator_.n_features_in_

    @property
    def feature_names_in_(self) -> NDArray:
        """Names of the features that the fitted classifier has seen."""
        check_is_fitted(self)
        return self.estimator_.feature_names_in_

    def predict_proba(self, X) -> Any:
        """Calibrated probabilities; for Dask collections an array of Dask, which is not computed.

        Parameters
        ----------
        X : array or data frame of Dask, or array-like of shape (n_samples, n_features)

        Returns
        -------
        p : ndarray or dask.array.Array of shape (n_samples, n_classes)
        """
        check_is_fitted(self)
        return self._apply(_probabilities, X, np.empty((0, len(self.classes_))))

    def decision_function(self, X) -> Any:
        """Difference between the log-odds of a row and those of the threshold.

        Parameters
        ----------
        X : array or data frame of Dask, or array-like of shape (n_samples, n_features)

        Returns
        -------
        s : ndarray or dask.array.Array of shape (n_samples,) or (n_samples, n_classes)
            With two classes, values above zero predict ``classes_[1]``.
        """
        check_is_fitted(self)
        n_classes = len(self.classes_)
        return self._apply(_decisions, X, np.empty((0, n_classes) if n_classes > 2 else 0))

    def predict(self, X) -> Any:
        """The positive class where its probability reaches the threshold, else the other class.

        With more than two classes: the class whose decision function is largest.

        Parameters
        ----------
        X : array or data frame of Dask, or array-like of shape (n_samples, n_features)

        Returns
        -------
        y : ndarray or dask.array.Array of shape (n_samples,)
        """
        check_is_fitted(self)
        return self._apply(_predictions, X, self.classes_[:0])

    @property
    def _columns(self) -> list[int]:
        """The classes that are calibrated: the positive one of two, or all of more."""
        n_classes = len(self.classes_)
        return [*range(n_classes)] if n_classes > 2 else [int(self.classes_[1] == self.pos_label_)]

    def _log_odds(self, X: Any) -> NDArray[np.float64]:
        """Of the calibrated classes, (n_rows, n_columns)."""
        return self.calibration_.log_odds(scores_of(self.estimator_, as_rows(X), self._columns))

    def _apply(self, function: Any, X: Any, empty: NDArray) -> Any:
        """The result for rows in memory, or a Dask array of the results for each partition."""
        if not is_dask_collection(X):
            return function(self, X)
        model, blocks = send_once(self), row_blocks(X)
        sizes = X.chunks[0] if hasattr(X, "chunks") else [np.nan] * len(blocks)
        call = dask.delayed(function)
        return da.concatenate(
            [
                da.from_delayed(call(model, block), (size, *empty.shape[1:]), meta=empty)
                for block, size in zip(blocks, sizes, strict=True)
            ],
            allow_unknown_chunksizes=True,
        )


def _probabilities(model: PredictionMixin, X: Any) -> NDArray[np.float64]:
    p = expit(np.maximum(model._log_odds(X), LOWEST))
    if len(model.classes_) > 2:
        return p / p.sum(axis=1, keepdims=True)
    return np.hstack([p, 1 - p] if model._columns == [0] else [1 - p, p])


def _decisions(model: PredictionMixin, X: Any) -> NDArray[np.float64]:
    above = model._log_odds(X) - logit(model.threshold_)
    if len(model.classes_) > 2:
        return above
    return -above[:, 0] if model._columns == [0] else above[:, 0]


def _predictions(model: PredictionMixin, X: Any) -> NDArray:
    values = _decisions(model, X)
    if values.ndim == 2:
        return model.classes_[np.argmax(values, axis=1)]
    # At the threshold itself, the positive class is predicted.
    second = values > 0 if model._columns == [0] else values >= 0
    return model.classes_[second.astype(int)]
