"""How a fitted DaskClassifier decides: probabilities, decision function, classes."""

from __future__ import annotations

from typing import Any

import dask.array as da
import numpy as np
from dask import delayed
from dask.base import is_dask_collection
from numpy.typing import NDArray
from scipy.special import expit, logit
from sklearn.utils.validation import check_is_fitted

from raremetric.dask.calibration import Calibration, scores_of
from raremetric.dask.cluster import send_once
from raremetric.dask.collections import as_rows, row_blocks

LOWEST = -700.0  # log-odds whose probability is above zero


class PredictionMixin:
    """The methods of DaskClassifier that classify rows, also of Dask collections, lazily."""

    classes_: NDArray
    estimator_: Any
    pos_label_: Any
    threshold_: Any
    calibration_: Calibration

    def predict_proba(self, X) -> Any:
        """Calibrated probabilities; for Dask collections an array of Dask, which is not computed.

        Parameters
        ----------
        X : array or data frame of Dask, or array-like of shape (n_samples, n_features)

        Returns
        -------
        p : ndarray or dask.array.Array of shape (n_samples, n_classes)
        """
        p = expit(np.maximum(self._log_odds(X), LOWEST))
        if len(self.classes_) > 2:
            return p / p.sum(axis=1, keepdims=True)
        return np.abs(p - (np.arange(2) != self._columns[0]))

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
        above = self._log_odds(X) - logit(self.threshold_)
        if len(self.classes_) > 2:
            return above
        return -above[:, 0] if self._columns == [0] else above[:, 0]

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
        values = self.decision_function(X)
        if values.ndim == 2:
            codes = values.argmax(axis=1)
        else:  # at the threshold itself, the positive class is predicted
            codes = (values > 0 if self._columns == [0] else values >= 0).astype(int)
        if is_dask_collection(codes):
            return codes.map_blocks(self.classes_.take, meta=self.classes_[:0])
        return self.classes_[codes]

    @property
    def _columns(self) -> list[int]:
        """The classes that are calibrated: the positive one of two, or all of more."""
        n_classes = len(self.classes_)
        return [*range(n_classes)] if n_classes > 2 else [int(self.classes_[1] == self.pos_label_)]

    def _log_odds(self, X: Any) -> Any:
        """Of the calibrated classes, (n_rows, n_columns)."""
        check_is_fitted(self)
        if not is_dask_collection(X):
            scores = scores_of(self.estimator_, as_rows(X), self._columns)
            return self.calibration_.log_odds(scores)
        log_odds, model, blocks = delayed(PredictionMixin._log_odds), send_once(self), row_blocks(X)
        sizes = X.chunks[0] if hasattr(X, "chunks") else [np.nan] * len(blocks)
        parts = [
            da.from_delayed(log_odds(model, block), (size, len(self._columns)), dtype=np.float64)
            for block, size in zip(blocks, sizes, strict=True)
        ]
        return da.concatenate(parts, allow_unknown_chunksizes=True)
