"""The loss of MLFP term by term, and its optimum by a conic solver."""

from itertools import product

import cvxpy as cp
import numpy as np


def triplets(X, positive, k):
    """Per term: the sign of the learned distance, its two rows, and the squared plain distance.

    The learned pair ends at a positive, the plain one at a negative.
    """
    plain = ((X[:, np.newaxis] - X) ** 2).sum(axis=2)
    np.fill_diagonal(plain, np.inf)
    for i in range(len(X)):
        negatives, positives = (
            [j for j in np.argsort(plain[i], kind="stable") if positive[j] == c and j != i][:k]
            for c in (False, True)
        )
        for negative, other in product(negatives, positives):
            yield 1.0 if positive[i] else -1.0, i, other, plain[i, negative]


def mlfp_terms(X, positive, k, margin, weights=None):
    """The arguments of the hinges as sign, difference, constant and weight."""
    weights = np.ones(len(X)) if weights is None else weights
    alpha = weights[positive].sum() / weights.sum()
    for sign, i, other, plain in triplets(X, positive, k):
        share = (1 - alpha) if positive[i] else alpha
        own = weights[i] / weights.mean() * share / (len(X) * k**2)
        yield sign, X[i] - X[other], margin - sign * plain, own


def mlfp_loss(M, X, positive, k, margin, mu, weights=None):
    value = mu * ((M - np.eye(len(M))) ** 2).sum()
    for sign, difference, constant, weight in mlfp_terms(X, positive, k, margin, weights):
        value += weight * max(0.0, constant + sign * difference @ M @ difference)
    return value


def mlfp_optimum(X, positive, k, margin, mu):
    """The smallest loss over 0 ⪯ M ⪯ I."""
    d = X.shape[1]
    M = cp.Variable((d, d), PSD=True)
    value = mu * cp.sum_squares(M - np.eye(d))
    for sign, difference, constant, weight in mlfp_terms(X, positive, k, margin):
        length = cp.sum(cp.multiply(M, np.outer(difference, difference)))
        value += weight * cp.pos(constant + sign * length)
    problem = cp.Problem(cp.Minimize(value), [np.eye(d) - M >> 0])
    problem.solve(solver=cp.CLARABEL)
    return problem.value
