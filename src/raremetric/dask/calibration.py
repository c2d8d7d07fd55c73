"""From the scores of any classifier to log-odds for all data, and to a decision."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit

from raremetric.selection import Aim, Sample, Sigmoid, fit_sigmoid, standard_error, validate
from raremetric.validation import take_rows

BLOCK = 2048  # rows scored at a time: a search of neighbors takes memory for each row


class Scores(NamedTuple):
    """What a fitted classifier says of rows that it was not fitted on."""

    values: NDArray[np.float64]  # (n_rows, n_columns), see `scores_of`
    codes: NDArray[np.int64]  # of the classes of the rows
    weights: NDArray[np.float64]

    @classmethod
    def joined(cls, parts: Sequence[Scores]) -> Scores:
        """The scores of all rows, one part after the other."""
        return cls(*(np.concatenate(each) for each in zip(*parts, strict=True)))


def scores_of(estimator: Any, X: Any, columns: Sequence[int]) -> NDArray[np.float64]:
    """Scores of rows for some of the classes: the decision function, or else log-odds.

    A probability of 0 or 1, such as the votes of few neighbors, is an infinite score.

    Parameters
    ----------
    estimator : classifier
        Fitted on classes 0, 1, ...
    X : array or table of shape (n_rows, n_features)
    columns : sequence of int
        The classes.
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

    @classmethod
    def fit(cls, values: NDArray, positive: NDArray, weights: NDArray) -> Calibration:
        """Logistic regressions on scores, (n_rows, n_columns); `positive` is alike."""
        finite, step = np.isfinite(values), np.log(2)
        low = values.min(axis=0, where=finite, initial=0.0) - step
        high = values.max(axis=0, where=finite, initial=0.0) + step
        low = np.where((values == -np.inf).any(axis=0), low, -np.inf)
        high = np.where((values == np.inf).any(axis=0), high, np.inf)
        values = np.clip(values, low, high)
        found = [fit_sigmoid(*each, weights) for each in zip(values.T, positive.T, strict=True)]
        slope, intercept = (np.array(each) for each in zip(*found, strict=True))
        return cls(Sigmoid(slope, intercept), low, high)

    def log_odds(self, values: NDArray) -> NDArray[np.float64]:
        """Calibrated log-odds of scores, (n_rows, n_columns)."""
        return self.sigmoid.log_odds(np.clip(values, self.low, self.high).T).T


class Decision(NamedTuple):
    """A threshold of probabilities, and what it achieves."""

    threshold: float
    score: float
    score_std: float
    validation: dict[str, float]
    missed: float | None  # the expected value of a constrained measure, if it is too low

    @classmethod
    def best(
        cls,
        p: NDArray,
        positive: NDArray,
        weights: NDArray,
        aim: Aim,
        given: float | None = None,
    ) -> Decision:
        """The given or the best threshold for rows with probabilities, true classes and weights."""
        sample = Sample(positive, weights)
        threshold = aim.threshold(p, sample) if given is None else given
        predicted = p >= threshold
        return cls(
            threshold,
            float(aim.value(predicted, sample)),
            standard_error(predicted[np.newaxis], sample, aim.utility),
            validate(p[np.newaxis], sample, predicted[np.newaxis]),
            aim.missed(p, threshold, sample) if given is None else None,
        )
