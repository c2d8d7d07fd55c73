"""What is kept: the best candidates of each group, averaged into one calibrated score."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit, logit

from raremetric.copies import join_groups
from raremetric.selection.calibration import Sigmoid, fit_sigmoid
from raremetric.selection.folds import parts_of
from raremetric.selection.measures import (
    Evaluation,
    alerts,
    evaluate,
    rank,
    standard_error,
    validate,
)
from raremetric.selection.sample import Sample
from raremetric.selection.thresholds import Aim

N_PARTS = 5  # of the rows, for each of which everything is chosen on the others
TINY_SPREAD = 1e-12  # of the mean of standardized scores: it is the same for all rows


class Groups(NamedTuple):
    """The groups of candidates, of each of which the best are averaged."""

    names: Sequence[str]  # the group of each candidate
    weights: Mapping[str, float]  # of each group in the average, before the scores are seen

    @classmethod
    def one(cls, n_candidates: int) -> Groups:
        """A single group."""
        return cls(["all"] * n_candidates, {"all": 1.0})


class Averaging(NamedTuple):
    """How candidates are averaged."""

    n_kept: int  # candidates of each group
    strength: float  # of the prior: loss per squared deviation of a logarithm


class Average(NamedTuple):
    """Σ weight · (score − mean) / scale over several scores of the same row."""

    weights: NDArray[np.float64]  # (n_scores,), as are means and scales
    means: NDArray[np.float64]
    scales: NDArray[np.float64]

    def __call__(self, scores: NDArray) -> NDArray[np.float64]:
        """Average scores of shape (n_scores, n_rows) or (n_scores, n_repeats, n_rows)."""
        return np.sum(self.terms(scores), axis=0)

    def terms(self, scores: NDArray) -> NDArray[np.float64]:
        """What each of the scores adds to the average, in the shape of the scores."""
        shape = (-1, *[1] * (scores.ndim - 1))
        weights, means, scales = (column.reshape(shape) for column in self)
        return weights * (scores.astype(np.float64) - means) / scales


class Choice(NamedTuple):
    """The candidates that are kept."""

    evaluation: Evaluation  # of all candidates
    ranks: NDArray[np.int64]  # of all candidates, each within its group, from 1
    kept: NDArray[np.int64]  # numbers of the kept candidates, the largest weight first
    average: Average  # of the scores of the kept candidates, in the same order


class Decision(NamedTuple):
    """The calibration and the threshold of the average of the kept candidates."""

    calibration: Sigmoid
    threshold: float
    predicted: NDArray[np.bool_]  # of each repeat, (n_repeats, n_samples)
    missed: float | None  # the expected value of a constrained measure, if it is too low


class Quality(NamedTuple):
    """What to expect of an average of candidates at its threshold."""

    score: float  # the utility
    score_std: float  # its standard error
    measures: dict[str, float]  # precision, recall and others, see `validate`
    missed: float | None = None  # see `Decision`


def choose(
    scores: NDArray, groups: Groups, sample: Sample, aim: Aim, averaging: Averaging
) -> Choice:
    """Judge candidates of any kind by their out-of-fold scores, and average the best.

    ``scores`` are (n_candidates, n_repeats, n_samples), higher for more likely positives.
    """
    evaluation = evaluate(scores, sample, aim)
    ranks = rank(evaluation, groups.names, aim.measures)
    return Choice(evaluation, ranks, *average_best(scores, groups, ranks, sample, averaging))


def decide(averaged: NDArray, sample: Sample, aim: Aim, threshold: float | None = None) -> Decision:
    """Calibrate the out-of-fold averages of each repeat, (n_repeats, n_samples).

    Probabilities and threshold are those for the table that the sample stands for. A given
    ``threshold`` on the probability is used instead of the best one.
    """
    n_repeats, shift = len(averaged), float(np.log(sample.odds))
    rows = sample.repeated(n_repeats)
    slope, intercept = calibration = fit_sigmoid(averaged.ravel(), rows.positive, rows.weights)
    p = calibration(averaged.ravel())
    if threshold is None:
        cut = aim.threshold(p, rows)
        missed = aim.missed(p, cut, rows)
    else:
        cut, missed = float(expit(logit(threshold) - shift)), None
    predicted = (p >= cut).reshape(n_repeats, -1)
    calibration = Sigmoid(slope, intercept + shift)
    return Decision(calibration, float(expit(logit(cut) + shift)), predicted, missed)


def assess(
    decision: Decision,
    scores: NDArray,
    groups: Groups,
    sample: Sample,
    aim: Aim,
    averaging: Averaging,
    together: tuple[NDArray | None, NDArray | None] = (None, None),
    threshold: float | None = None,
) -> Quality:
    """What to expect of the decision that followed from such scores.

    The value of what was chosen, on the rows that it was chosen on, would be too high. So the rows
    are divided into parts, and for the rows of each part everything is chosen again, from the
    out-of-fold scores of the other parts: candidates, weights, calibration and threshold. Nothing
    is fitted again. Only the number of alerts is that of the decision itself.

    ``together`` are the groups and the copies of the rows: those of one are in one part. Other
    arguments are those of `choose` and `decide`, and ``scores`` are those of all candidates.
    """
    log_odds, predicted = np.empty(scores.shape[1:]), np.empty(scores.shape[1:], dtype=bool)
    for others, own in parts_of(sample.labels, N_PARTS, *together):
        part = sample.take(others)
        _, _, kept, average = choose(scores[:, :, others], groups, part, aim, averaging)
        kept_scores = scores[kept]
        again = decide(average(kept_scores[:, :, others]), part, aim, threshold)
        log_odds[:, own] = again.calibration.log_odds(average(kept_scores[:, :, own]))
        predicted[:, own] = log_odds[:, own] >= logit(again.threshold)
    sets = join_groups(*reversed(together))
    found = judge(log_odds, predicted, sample, aim, sets)
    measures = found.measures | alerts(decision.predicted, sample, sets)
    return found._replace(measures=measures, missed=decision.missed)


def judge(
    scores: NDArray,
    predicted: NDArray,
    sample: Sample,
    aim: Aim,
    sets: NDArray | None = None,
    missed: float | None = None,
) -> Quality:
    """The quality of predictions, with the scores of the same rows, (n_repeats, n_samples)."""
    return Quality(
        float(aim.value(predicted.ravel(), sample.repeated(len(predicted)))),
        standard_error(predicted, sample, aim.utility, sets),
        validate(scores, sample, predicted, sets),
        missed,
    )


def average_best(
    scores: NDArray, groups: Groups, ranks: NDArray, sample: Sample, averaging: Averaging
) -> tuple[NDArray[np.int64], Average]:
    """Numbers of the best candidates of each group, the largest weight first, and their average.

    Scores are standardized. The mean of a group's best is standardized again, so that the weights
    of the groups do not depend on how correlated the candidates of a group are. A group whose mean
    is the same for all rows has no weight, unless all groups are like this.
    """
    kept, columns, means_of_best, varies = [], [], [], []
    n_repeats = scores.shape[1]
    rows = sample.repeated(n_repeats)
    names = list(dict.fromkeys(groups.names))
    for group in names:
        members = np.flatnonzero(np.asarray(groups.names) == group)
        best = np.sort(members[np.argsort(ranks[members])][: averaging.n_kept])
        pooled = scores[best].reshape(len(best), -1).astype(np.float64)
        means, scales = mean_and_std(pooled, rows.weights)
        scales = np.where(scales > 0, scales, 1.0)
        averaged = ((pooled - means[:, np.newaxis]) / scales[:, np.newaxis]).mean(axis=0)
        spread = float(mean_and_std(averaged, rows.weights)[1])
        varies.append(spread > TINY_SPREAD)
        spread = spread if varies[-1] else 1.0
        means_of_best.append(averaged / spread)
        kept.append(best)
        columns.append([np.full(len(best), 1 / (len(best) * spread)), means, scales])
    used = np.flatnonzero(varies) if any(varies) else np.arange(len(names))
    prior = np.array([groups.weights[names[i]] for i in used])
    found = np.zeros(len(names))
    found[used] = weigh_groups(np.stack(means_of_best)[used], prior, rows, averaging, n_repeats)
    shares, means, scales = np.concatenate(columns, axis=1)
    shares = shares * np.repeat(found, [len(best) for best in kept])
    shares = shares / sum(shares)
    order = np.argsort(-shares, kind="stable")[: np.count_nonzero(shares)]
    return np.concatenate(kept)[order], Average(shares[order], means[order], scales[order])


def mean_and_std(values: NDArray, weights: NDArray | None) -> tuple[NDArray, NDArray]:
    """Weighted mean and standard deviation along the last axis."""
    mean = np.average(values, axis=-1, weights=weights)
    squares = (values - mean[..., np.newaxis]) ** 2
    return mean, np.sqrt(np.average(squares, axis=-1, weights=weights))


def weigh_groups(
    scores: NDArray, prior: NDArray, rows: Sample, averaging: Averaging, n_repeats: int = 1
) -> NDArray[np.float64]:
    """Weights of several scores of the same rows; nearly zero for scores that only add noise.

    The weights w minimize the log-loss of a logistic regression on Σ w_g s_g, summed over the rows,
    plus ``strength`` Σ (log w_g − log prior_g)². With few rows they stay close to the prior.

    Scores are standardized, (n_groups, n_rows), and each example is ``n_repeats`` times among the
    rows.
    """
    if len(scores) == 1:
        return np.ones(1)
    positive, strength = rows.positive, averaging.strength
    weights = (np.ones(len(positive)) if rows.weights is None else rows.weights) / n_repeats
    log_prior = np.log(prior)
    sign = np.where(positive, -1.0, 1.0)
    share = np.average(positive, weights=weights)

    def objective(parameters: NDArray) -> tuple[float, NDArray]:
        log_weights, (log_slope, intercept) = parameters[:-2], parameters[-2:]
        terms = np.exp(log_weights + log_slope)[:, np.newaxis] * scores
        log_odds = terms.sum(axis=0) + intercept
        error = weights * (expit(log_odds) - positive)
        deviation = log_weights - log_prior
        value = weights @ np.logaddexp(0, sign * log_odds) + strength * deviation @ deviation
        by_weight = terms @ error
        gradient = [*(by_weight + 2 * strength * deviation), by_weight.sum(), error.sum()]
        return float(value), np.array(gradient)

    start = np.array([*log_prior, -np.log(prior.sum()), logit(np.clip(share, 1e-9, 1 - 1e-9))])
    found = minimize(objective, start, jac=True, method="L-BFGS-B")
    return np.exp(found.x[:-2])
