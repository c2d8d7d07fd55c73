"""How good the out-of-fold scores of each candidate are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from raremetric.selection.calibration import fit_sigmoid, log_loss, total_weight
from raremetric.selection.sample import Sample, Utility
from raremetric.selection.thresholds import (
    MEASURES,
    Aim,
    f_utility,
    observed_utility,
    precision_utility,
    recall_utility,
)


class Evaluation(NamedTuple):
    """Out-of-fold measures, one entry per candidate."""

    utility: NDArray[np.float64]  # what is to be maximized, at the candidate's own threshold
    log_loss: NDArray[np.float64]
    average_precision: NDArray[np.float64]


def average_precision(
    scores: NDArray, positive: NDArray, weights: NDArray | None = None
) -> NDArray:
    """Average precision of scores of shape (..., n_samples), for many scores at once.

    Examples with the same score share one threshold, so that their order does not matter.
    """
    order = np.argsort(-scores, axis=-1)
    ranked, hits = np.take_along_axis(scores, order, axis=-1), positive[order]
    n = hits.shape[-1]
    counts: NDArray = np.arange(1, n + 1)
    if weights is not None:
        hits, counts = hits * weights[order], np.cumsum(weights[order], axis=-1)
    last_of_equals = np.where(np.diff(ranked, axis=-1, append=-np.inf) != 0, np.arange(n), n)
    last_of_equals = np.minimum.accumulate(last_of_equals[..., ::-1], axis=-1)[..., ::-1]
    precision = np.cumsum(hits, axis=-1) / counts
    precision = np.take_along_axis(precision, last_of_equals, axis=-1)
    return np.sum(hits * precision, axis=-1) / total_weight(positive, weights)


def evaluate(scores: NDArray, sample: Sample, aim: Aim) -> Evaluation:
    """Measure the out-of-fold scores of each candidate, (n_candidates, n_repeats, n_samples).

    Calibration and threshold are common to all repeats of a candidate.
    """
    n_candidates, n_repeats, _ = scores.shape
    pooled, rows = scores.reshape(n_candidates, -1).astype(np.float64), sample.repeated(n_repeats)
    p = fit_sigmoid(pooled, rows.positive, rows.weights)(pooled)
    predicted = np.stack([each >= aim.threshold(each, rows) for each in p])
    return Evaluation(
        aim.value(predicted, rows),
        log_loss(p, rows.positive, rows.weights),
        average_precision(scores, sample.positive, sample.row_weights).mean(axis=-1),
    )


def rank(
    evaluation: Evaluation, groups: Sequence[str], measures: Sequence[str] = MEASURES
) -> NDArray[np.int64]:
    """Rank of each candidate within its group, from 1 for the best.

    Candidates are ordered by the sum of their ranks in these measures, by default in utility,
    log-loss and average precision. Ties are broken by their order.
    """
    values = [
        evaluation.log_loss if name == "log_loss" else -getattr(evaluation, name)
        for name in measures
    ]
    ranks = np.zeros(len(groups), dtype=np.int64)
    for group in dict.fromkeys(groups):
        members = np.flatnonzero(np.asarray(groups) == group)
        rank_sum = np.sum([rankdata(column[members]) for column in values], axis=0)
        ranks[members[np.argsort(rank_sum, kind="stable")]] = np.arange(1, len(members) + 1)
    return ranks


def validate(
    scores: NDArray, sample: Sample, predicted: NDArray, sets: NDArray | None = None
) -> dict[str, float]:
    """Precision, recall, F1, average precision, and the `alerts`.

    Scores and predictions are (n_repeats, n_samples). The average precision is the mean over the
    repeats; the other measures are those of all repeats together.
    """
    flat, rows = predicted.ravel(), sample.repeated(len(predicted))
    utilities = {"precision": precision_utility, "recall": recall_utility, "f1": f_utility(1.0)}
    values = {
        name: float(observed_utility(flat, rows.positive, utility, rows.row_weights))
        for name, utility in utilities.items()
    }
    found = average_precision(scores, sample.positive, sample.row_weights)
    values["average_precision"] = float(found.mean())
    return values | alerts(predicted, sample, sets)


def alerts(predicted: NDArray, sample: Sample, sets: NDArray | None = None) -> dict[str, float]:
    """Predicted positives per 1000 rows of the table, with their standard error."""
    share = np.average(predicted, axis=-1, weights=sample.row_weights).mean()
    error = standard_error(predicted, sample, alert_share, sets)
    return {"alerts_per_1000": 1000 * float(share), "alerts_per_1000_std": 1000 * error}


def alert_share(tn: NDArray, fp: NDArray, fn: NDArray, tp: NDArray) -> NDArray:
    """The share of the rows that are predicted positive."""
    return (fp + tp) / np.maximum(tn + fp + fn + tp, 1e-300)


def standard_error(
    predicted: NDArray, sample: Sample, utility: Utility, sets: NDArray | None = None
) -> float:
    """Jackknife estimate of the standard error of a utility: leaves out each example in turn.

    With ``sets``, numbers of groups or copies, it leaves out each set: the rows of one are not
    independent. For the same reason, an example is left out of all repeats of ``predicted``,
    (n_repeats, n_samples).
    """
    n_repeats, n_samples = predicted.shape
    weights = np.ones(n_samples) if sample.weights is None else sample.weights
    numbers = np.arange(n_samples) if sets is None else np.unique(sets, return_inverse=True)[1]
    n_predicted = predicted.sum(axis=0)
    of_sets = [np.bincount(numbers, n * weights * own)
               for own in (~sample.positive, sample.positive)
               for n in (n_repeats - n_predicted, n_predicted)]  # fmt: skip
    without = sample.in_table(utility)(*(counts.sum() - counts for counts in of_sets))
    return float(np.sqrt((len(without) - 1) * np.var(without)))
