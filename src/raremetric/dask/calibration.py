"""From the scores of any classifier to log-odds for all data, and to decisions."""

from __future__ import annotations

from typing import Any, NamedTuple

import dask.array as da
import numpy as np
from dask import delayed
from dask.base import is_dask_collection
from numpy.typing import NDArray
from scipy.special import expit, logit
from sklearn.utils.validation import check_is_fitted

from raremetric.dask.cluster import send_once
from raremetric.dask.partitions import as_rows, row_blocks
from raremetric.selection import Aim, Decision, Quality, Sample, Sigmoid, decide, judge
from raremetric.validation import take_rows

LOWEST = -700.0  # log-odds whose probability is above zero
BLOCK = 2048  # rows scored at a time: a search of neighbors takes memory for each row


def scores_of(estimator: Any, X: Any, column: int) -> NDArray[np.float64]:
    """Scores of rows for one of the classes 0 and 1: the decision function, or else log-odds.

    A probability of 0 or 1, such as the votes of few neighbors, is an infinite score.
    """
    found = [np.empty(0)]
    for start in range(0, X.shape[0], BLOCK):
        block = take_rows(X, np.arange(start, min(start + BLOCK, X.shape[0])))
        if hasattr(estimator, "decision_function"):
            scores = np.asarray(estimator.decision_function(block), dtype=np.float64)
            found.append(scores if column else -scores)
        else:
            found.append(logit(np.asarray(estimator.predict_proba(block), np.float64)[:, column]))
    return np.concatenate(found)


class Calibration(NamedTuple):
    """Maps scores to log-odds."""

    sigmoid: Sigmoid
    low: float  # in place of infinite scores, just beyond all others;
    high: float  # infinite itself if there were none

    def log_odds(self, values: NDArray) -> NDArray[np.float64]:
        """Calibrated log-odds of scores."""
        return self.sigmoid.log_odds(np.clip(values, self.low, self.high))


def calibrate(
    values: NDArray, positive: NDArray, weights: NDArray, aim: Aim
) -> tuple[Calibration, Decision, Quality]:
    """Calibrate scores, choose the threshold and judge it.

    Nothing else is learned from these rows, so that they can judge it.
    """
    finite, step = np.isfinite(values), np.log(2)
    low = values.min(where=finite, initial=0.0) - step if (values == -np.inf).any() else -np.inf
    high = values.max(where=finite, initial=0.0) + step if (values == np.inf).any() else np.inf
    scores, sample = np.clip(values, low, high)[np.newaxis], Sample(positive, weights)
    decision = decide(scores, sample, aim)
    quality = judge(scores, decision.predicted, sample, aim)
    return Calibration(decision.calibration, low, high), decision, quality


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
        p : ndarray or dask.array.Array of shape (n_samples, 2)
        """
        p = expit(np.maximum(self._log_odds(X), LOWEST))
        return np.abs(p[:, np.newaxis] - (np.arange(2) != self._column))

    def decision_function(self, X) -> Any:
        """Difference between the log-odds of a row and those of the threshold.

        Parameters
        ----------
        X : array or data frame of Dask, or array-like of shape (n_samples, n_features)

        Returns
        -------
        s : ndarray or dask.array.Array of shape (n_samples,)
            Values above zero predict ``classes_[1]``.
        """
        above = self._log_odds(X) - logit(self.threshold_)
        return above if self._column else -above

    def predict(self, X) -> Any:
        """The positive class where its probability reaches the threshold, else the other class.

        Parameters
        ----------
        X : array or data frame of Dask, or array-like of shape (n_samples, n_features)

        Returns
        -------
        y : ndarray or dask.array.Array of shape (n_samples,)
        """
        values = self.decision_function(X)
        # At the threshold itself, the positive class is predicted.
        codes = (values >= 0 if self._column else values > 0).astype(int)
        if is_dask_collection(codes):
            return codes.map_blocks(self.classes_.take, meta=self.classes_[:0])
        return self.classes_[codes]

    @property
    def _column(self) -> int:
        """The number of the positive class."""
        return int(self.classes_[1] == self.pos_label_)

    def _log_odds(self, X: Any) -> Any:
        """Of the positive class."""
        check_is_fitted(self)
        if not is_dask_collection(X):
            scores = scores_of(self.estimator_, as_rows(X), self._column)
            return self.calibration_.log_odds(scores)
        log_odds, model, blocks = delayed(PredictionMixin._log_odds), send_once(self), row_blocks(X)
        sizes = X.chunks[0] if hasattr(X, "chunks") else [np.nan] * len(blocks)
        parts = [
            da.from_delayed(log_odds(model, block), (size,), dtype=np.float64)
            for block, size in zip(blocks, sizes, strict=True)
        ]
        return da.concatenate(parts, allow_unknown_chunksizes=True)
