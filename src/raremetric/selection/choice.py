"""What is kept: the best candidates of each group, averaged into one calibrated score."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from raremetric.selection.averaging import Average, Averaging, average_best
from raremetric.selection.calibration import Sigmoid, fit_sigmoid
from raremetric.selection.measures import Evaluation, evaluate, rank, standard_error, validate
from raremetric.selection.sample import Sample
from raremetric.selection.thresholds import Aim


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


def select(
    scores: NDArray,
    groups: Sequence[str],
    sample: Sample,
    aim: Aim,
    group_weights: Mapping[str, float],
    averaging: Averaging,
    metrics: NDArray[np.int64] | None = None,
    threshold: float | None = None,
) -> Selection:
    """Judge candidates of any kind by their out-of-fold scores, and average the best.

    Probabilities and threshold are those for the table that the sample stands for.

    Parameters
    ----------
    scores : ndarray of shape (n_candidates, n_repeats, n_samples)
        Higher scores mean that an example is more likely positive.
    groups : sequence of str
        The group of each candidate.
    sample : Sample
    aim : Aim
        What to maximize.
    group_weights : mapping of str to float
        The prior weight of each group in the average, see `weigh_groups`.
    averaging : Averaging
    metrics : ndarray of int or None, default=None
        See `average_best`.
    threshold : float or None, default=None
        On the probability of the average; None for the best one.
    """
    n_repeats, shift = scores.shape[1], float(np.log(sample.odds))
    evaluation = evaluate(scores, sample, aim)
    ranks = rank(evaluation, groups, aim.measures)
    kept, average = average_best(scores, groups, ranks, sample, group_weights, averaging, metrics)
    averaged = average(scores[kept].reshape(len(kept), -1))
    rows = sample.repeated(n_repeats)
    slope, intercept = calibration = fit_sigmoid(averaged, rows.positive, rows.weights)
    p = calibration(averaged)
    if threshold is None:
        cut = aim.threshold(p, rows)
        missed = aim.missed(p, cut, rows)
    else:
        cut, missed = float(expit(logit(threshold) - shift)), None
    predicted = (p >= cut).reshape(n_repeats, -1)
    return Selection(
        evaluation,
        ranks,
        kept,
        average,
        Sigmoid(slope, intercept + shift),
        float(expit(logit(cut) + shift)),
        score=float(aim.value(predicted.ravel(), rows)),
        score_std=standard_error(predicted, sample, aim.utility),
        validation=validate(averaged.reshape(n_repeats, -1), sample, predicted),
        missed=missed,
    )
