"""What is kept: the best candidates of each group, averaged into one calibrated score."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from raremetric.selection.averaging import Average, average_best
from raremetric.selection.calibration import Sigmoid, fit_sigmoid
from raremetric.selection.measures import Evaluation, evaluate, pool, rank, standard_error, validate
from raremetric.selection.thresholds import Aim, observed_utility


class Selection(NamedTuple):
    """The candidates that are kept, with the calibration and the threshold of their average."""

    evaluation: Evaluation  # of all candidates
    ranks: NDArray[np.int64]  # of all candidates, each within its group, from 1
    kept: NDArray[np.int64]  # numbers of the kept candidates, the largest weight first
    average: Average  # of the scores of the kept candidates, in the same order
    calibration: Sigmoid
    threshold: float
    score: float  # out-of-fold utility of the average at that threshold
    score_std: float  # its standard error
    validation: dict[str, float]  # other out-of-fold measures at that threshold
    missed: float | None  # the expected value of a constrained measure, if it is too low

    def log_odds(self, scores: NDArray) -> NDArray[np.float64]:
        """Log-odds of the positive class, from scores of shape (n_kept, n_rows)."""
        return self.calibration.log_odds(self.average(scores))

    def with_odds(self, factor: float) -> Selection:
        """The same decisions for data with ``factor`` times the odds of a positive."""
        shift = np.log(factor)
        slope, intercept = self.calibration
        return self._replace(
            calibration=Sigmoid(slope, intercept + shift),
            threshold=float(expit(logit(self.threshold) + shift)),
        )


def select(
    scores: NDArray,
    groups: Sequence[str],
    positive: NDArray,
    aim: Aim,
    group_weights: Mapping[str, float],
    weights: NDArray | None = None,
    metrics: NDArray[np.int64] | None = None,
) -> Selection:
    """Judge candidates of any kind by their out-of-fold scores, and average the best.

    Parameters
    ----------
    scores : ndarray of shape (n_candidates, n_repeats, n_samples)
        Higher scores mean that an example is more likely positive.
    groups : sequence of str
        The group of each candidate.
    positive : ndarray of bool of shape (n_samples,)
    aim : Aim
        What to maximize.
    group_weights : mapping of str to float
        The prior weight of each group in the average, see `weigh_groups`.
    weights : ndarray of shape (n_samples,) or None, default=None
        How much each example counts; None for all the same.
    metrics : ndarray of int or None, default=None
        See `average_best`.
    """
    n_repeats = scores.shape[1]
    evaluation = evaluate(scores, positive, aim, weights)
    ranks = rank(evaluation, groups, aim.measures)
    kept, average = average_best(scores, groups, ranks, positive, group_weights, weights, metrics)
    averaged = average(scores[kept].reshape(len(kept), -1))
    truth, pooled = pool(positive, weights, n_repeats)
    calibration = fit_sigmoid(averaged, truth, pooled)
    p = calibration(averaged)
    threshold = aim.threshold(p, pooled)
    predicted = (p >= threshold).reshape(n_repeats, -1)
    return Selection(
        evaluation,
        ranks,
        kept,
        average,
        calibration,
        threshold,
        score=float(observed_utility(predicted.ravel(), truth, aim.utility, pooled)),
        score_std=standard_error(predicted, positive, aim.utility, weights),
        validation=validate(
            averaged.reshape(n_repeats, -1), positive, predicted, aim.row_weights(positive, weights)
        ),
        missed=aim.missed(p, threshold, pooled),
    )
