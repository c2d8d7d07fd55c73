"""From the scores of any classifier to log-odds for all data, and to decisions."""

from __future__ import annotations

from collections.abc import Sequence
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


def scores_of(estimator: Any, X: Any, columns: Sequence[int]) -> NDArray[np.float64]:
    """Scores of rows for some of the classes 0, 1, ...: the decision function, or else log-odds.

    A probability of 0 or 1, such as the votes of few neighbors, is an infinite score.
    """
    found = [np.empty((0, len(columns)))]
    for start in range(0, X.shape[0], BLOCK):
        block = take_rows(X, np.arange(start, min(start + BLOCK, X.shape[0])))
        if hasattr(estimator, "decision_function"):
            scores = np.asarray(estimator.decision_function(block), dtype=np.float64)
            scores = np.column_stack([-scores, scores]) if scores.ndim == 1 else scores
        else:
            scores = logit(np.asarray(estimator.predict_proba(block), dtype=np.float64))
        found.append(scores[:, columns])
    return np.concatenate(found)


class Calibration(NamedTuple):
    """Maps scores to log-odds, with one entry of each field per column of the scores."""

    sigmoid: Sigmoid
    low: NDArray[np.float64]  # in place of infinite scores, just beyond all others;
    high: NDArray[np.float64]  # infinite itself if there were none

    def log_odds(self, values: NDArray) -> NDArray[np.float64]:
        """Calibrated log-odds of scores, (n_rows, n_columns)."""
        return self.sigmoid.log_odds(np.clip(values, self.low, self.high).T).T


def calibrate(
    values: NDArray, positive: NDArray, weights: NDArray, aim: Aim
) -> tuple[Calibration, list[tuple[Decision, Quality]]]:
    """Calibrate each column of the scores, choose its threshold and judge it; `positive` is alike.

    Nothing else is learned from these rows, so that they can judge it.
    """
    finite, step = np.isfinite(values), np.log(2)
    low = values.min(axis=0, where=finite, initial=0.0) - step
    high = values.max(axis=0, where=finite, initial=0.0) + step
    low = np.where((values == -np.inf).any(axis=0), low, -np.inf)
    high = np.where((values == np.inf).any(axis=0), high, np.inf)
    found = []
    for column, own in zip(np.clip(values, low, high).T, positive.T, strict=True):
        scores, sample = column[np.newaxis], Sample(own, weights)
        decision = decide(scores, sample, aim)
        found.append((decision, judge(scores, decision.predicted, sample, aim)))
    sigmoids = zip(*(decision.calibration for decision, _ in found), strict=True)
    return Calibration(Sigmoid(*map(np.array, sigmoids)), low, high), found


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
