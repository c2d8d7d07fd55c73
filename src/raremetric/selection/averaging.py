"""The average of the best candidates: what is in it, and how much each group counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit, logit

from raremetric.selection.sample import Sample

TINY_SPREAD = 1e-12  # of the mean of standardized scores: it is the same for all rows


class Averaging(NamedTuple):
    """How candidates are averaged."""

    n_kept: int  # candidates of each group
    n_metrics: int  # of each group at most, where their number is limited
    strength: float  # of the prior: loss per squared deviation of a logarithm
    drop_cost: float  # loss that must be saved before a group is left out, with many positives
    few: int  # positives, with which twice as much must be saved


class Average(NamedTuple):
    """Σ weight · (score − mean) / scale over several scores of the same row."""

    weights: NDArray[np.float64]  # (n_scores,), as are means and scales
    means: NDArray[np.float64]
    scales: NDArray[np.float64]

    def __call__(self, scores: NDArray) -> NDArray[np.float64]:
        """Average scores of shape (n_scores, n_rows)."""
        weights, means, scales = (column[:, np.newaxis] for column in self)
        return np.sum(weights * (scores.astype(np.float64) - means) / scales, axis=0)


def average_best(
    scores: NDArray,
    groups: Sequence[str],
    ranks: NDArray,
    sample: Sample,
    group_weights: Mapping[str, float],
    averaging: Averaging,
    metrics: NDArray[np.int64] | None = None,
) -> tuple[NDArray[np.int64], Average]:
    """Numbers of the best candidates of each group, the largest weight first, and their average.

    Scores are standardized. The mean of a group's best is standardized again, so that the weights
    of the groups do not depend on how correlated the candidates of a group are. If the number of
    each candidate's metric is given, those of a group have at most ``n_metrics`` metrics. A
    group whose mean is the same for all rows has no weight, unless all groups are like this.
    """
    kept, columns, means_of_best, varies = [], [], [], []
    n_repeats = scores.shape[1]
    rows = sample.repeated(n_repeats)
    names = list(dict.fromkeys(groups))
    for group in names:
        best = _best_of(np.flatnonzero(np.asarray(groups) == group), ranks, averaging, metrics)
        pooled = scores[best].reshape(len(best), -1).astype(np.float64)
        means, scales = _mean_and_std(pooled, rows.weights)
        scales = np.where(scales > 0, scales, 1.0)
        averaged = ((pooled - means[:, np.newaxis]) / scales[:, np.newaxis]).mean(axis=0)
        spread = float(_mean_and_std(averaged, rows.weights)[1])
        varies.append(spread > TINY_SPREAD)
        spread = spread if varies[-1] else 1.0
        means_of_best.append(averaged / spread)
        kept.append(best)
        columns.append([np.full(len(best), 1 / (len(best) * spread)), means, scales])
    prior = np.array([group_weights[group] for group in names])
    used = np.flatnonzero(varies) if any(varies) else np.arange(len(names))
    found = np.zeros(len(names))
    found[used] = weigh_groups(
        np.stack(means_of_best)[used],
        rows.positive,
        prior[used],
        averaging,
        rows.weights,
        n_repeats,
    )
    shares, means, scales = np.concatenate(columns, axis=1)
    shares = shares * np.repeat(found, [len(best) for best in kept])
    shares = shares / sum(shares)
    order = np.argsort(-shares, kind="stable")[: np.count_nonzero(shares)]
    return np.concatenate(kept)[order], Average(shares[order], means[order], scales[order])


def _best_of(
    members: NDArray, ranks: NDArray, averaging: Averaging, metrics: NDArray[np.int64] | None
) -> NDArray[np.int64]:
    """The best candidates of a group, see `average_best`."""
    ordered = members[np.argsort(ranks[members])]
    if metrics is not None:
        own = metrics[ordered]
        best = list(dict.fromkeys(own.tolist()))[: averaging.n_metrics]
        ordered = ordered[np.isin(own, best)]
    return np.sort(ordered[: averaging.n_kept])


def _mean_and_std(values: NDArray, weights: NDArray | None) -> tuple[NDArray, NDArray]:
    """Weighted mean and standard deviation along the last axis."""
    mean = np.average(values, axis=-1, weights=weights)
    squares = (values - mean[..., np.newaxis]) ** 2
    return mean, np.sqrt(np.average(squares, axis=-1, weights=weights))


def weigh_groups(
    scores: NDArray,
    positive: NDArray,
    prior: NDArray,
    averaging: Averaging,
    weights: NDArray | None = None,
    n_repeats: int = 1,
) -> NDArray[np.float64]:
    """Weights of several scores of the same rows; zero for scores that only add noise.

    The weights w minimize the log-loss of a logistic regression on Σ w_g s_g, summed over the rows,
    plus ``strength`` Σ (log w_g − log prior_g)². With few rows they stay close to the prior. All
    subsets of the scores are compared; each score that is left out adds ``drop_cost`` times
    1 + ``few`` / (number of positives).

    Parameters
    ----------
    scores : ndarray of shape (n_groups, n_rows)
        Standardized out-of-fold scores.
    positive : ndarray of bool of shape (n_rows,)
    prior : ndarray of shape (n_groups,)
        Positive numbers.
    averaging : Averaging
    weights : ndarray of shape (n_rows,) or None, default=None
        How much each row counts; None for all the same.
    n_repeats : int, default=1
        How often each example is among the rows.
    """
    n_groups = len(scores)
    if n_groups == 1:
        return np.ones(1)
    row_weights = np.full(len(positive), 1 / n_repeats)
    if weights is not None:
        row_weights = weights / n_repeats
    n_positive = np.count_nonzero(positive) / n_repeats
    drop_cost = averaging.drop_cost * (1 + averaging.few / max(n_positive, 1))
    best_loss, best = np.inf, prior
    for size in range(n_groups, 0, -1):
        for subset in map(list, combinations(range(n_groups), size)):
            found, loss = _fit(
                scores[subset], positive, prior[subset], row_weights, averaging.strength
            )
            loss += drop_cost * (n_groups - size)
            if loss < best_loss:
                best_loss, best = loss, np.zeros(n_groups)
                best[subset] = found
    return best


def _fit(
    scores: NDArray, positive: NDArray, prior: NDArray, row_weights: NDArray, strength: float
) -> tuple[NDArray[np.float64], float]:
    """The best weights and the value of what they minimize."""
    log_prior = np.log(prior)
    sign = np.where(positive, -1.0, 1.0)
    share = np.average(positive, weights=row_weights)

    def objective(parameters: NDArray) -> tuple[float, NDArray]:
        log_weights, (log_slope, intercept) = parameters[:-2], parameters[-2:]
        terms = np.exp(log_weights + log_slope)[:, np.newaxis] * scores
        log_odds = terms.sum(axis=0) + intercept
        error = row_weights * (expit(log_odds) - positive)
        deviation = log_weights - log_prior
        value = row_weights @ np.logaddexp(0, sign * log_odds) + strength * deviation @ deviation
        by_weight = terms @ error
        gradient = [*(by_weight + 2 * strength * deviation), by_weight.sum(), error.sum()]
        return float(value), np.array(gradient)

    start = np.array([*log_prior, -np.log(prior.sum()), logit(np.clip(share, 1e-9, 1 - 1e-9))])
    found = minimize(objective, start, jac=True, method="L-BFGS-B")
    return np.exp(found.x[:-2]), float(found.fun)
