"""How much each group counts in the average: a prior that the out-of-fold scores may change."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit, logit

STRENGTH = 3.0  # of the prior: loss per squared deviation of a logarithm
DROP_COST = 2.0  # loss that must be saved before a group is left out, with many positives
FEW = 40  # positives, with which twice as much must be saved


def weigh_groups(
    scores: NDArray,
    positive: NDArray,
    prior: NDArray,
    weights: NDArray | None = None,
    n_repeats: int = 1,
) -> NDArray[np.float64]:
    """Weights of several scores of the same rows; zero for scores that only add noise.

    The weights w minimize the log-loss of a logistic regression on Σ w_g s_g, summed over the rows,
    plus ``STRENGTH`` Σ (log w_g − log prior_g)². With few rows they stay close to the prior. All
    subsets of the scores are compared; each score that is left out adds ``DROP_COST`` times
    1 + ``FEW`` / (number of positives).

    Parameters
    ----------
    scores : ndarray of shape (n_groups, n_rows)
        Standardized out-of-fold scores.
    positive : ndarray of bool of shape (n_rows,)
    prior : ndarray of shape (n_groups,)
        Positive numbers.
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
    drop_cost = DROP_COST * (1 + FEW / max(n_positive, 1))
    best_loss, best = np.inf, prior
    for size in range(n_groups, 0, -1):
        for subset in map(list, combinations(range(n_groups), size)):
            found, loss = _fit(scores[subset], positive, prior[subset], row_weights)
            loss += drop_cost * (n_groups - size)
            if loss < best_loss:
                best_loss, best = loss, np.zeros(n_groups)
                best[subset] = found
    return best


def _fit(
    scores: NDArray, positive: NDArray, prior: NDArray, row_weights: NDArray
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
        value = row_weights @ np.logaddexp(0, sign * log_odds) + STRENGTH * deviation @ deviation
        by_weight = terms @ error
        gradient = [*(by_weight + 2 * STRENGTH * deviation), by_weight.sum(), error.sum()]
        return float(value), np.array(gradient)

    start = np.array([*log_prior, -np.log(prior.sum()), logit(np.clip(share, 1e-9, 1 - 1e-9))])
    found = minimize(objective, start, jac=True, method="L-BFGS-B")
    return np.exp(found.x[:-2]), float(found.fun)
