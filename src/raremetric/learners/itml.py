"""ITML: the metric nearest to the identity that satisfies bounds on the distances of pairs."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import linalg
from sklearn.utils import check_random_state

from raremetric.learners.base import MetricLearner
from raremetric.pairs import draw_pairs, sample_rows
from raremetric.solvers.bregman import project_bregman
from raremetric.validation import (
    Labels,
    check_integer,
    check_option,
    check_real,
    warn_stopped,
)

PAIRS_PER_CLASS_PAIR = 40


class ITML(MetricLearner):
    r"""Information-Theoretic Metric Learning.

    Learns the metric M nearest to the identity, in LogDet divergence, under which the squared
    distance of similar pairs is at most u and that of dissimilar pairs at least l, with slack.

    Parameters
    ----------
    gamma : float, default=1.0
        γ > 0: the price of slack. ``numpy.inf`` allows none, for bounds that do not contradict each
        other.
    n_pairs : int or None, default=None
        How many pairs are drawn, if there are enough: half of them similar, one more if the
        number is odd. None means 40·n_classes².
    bounds : {"percentiles", "histogram"} or (u, l), default="percentiles"
        "percentiles" takes the 5th and the 95th percentile of squared Euclidean distances of random
        pairs of examples. "histogram" takes the 5 % and 95 % edges of 100 equal bins of
        their Euclidean distances (not squared), as in the program behind [2]_.
    bound_scale : float, default=1.0
        Both bounds are multiplied by this factor, which should be tuned: below one it lets the
        metric shrink, above one it moves dissimilar pairs farther apart.
    max_iter : int, default=10000
        Maximum number of sweeps through all pairs. Thousands are needed if bounds contradict each
        other and γ is large.
    tol : float, default=1e-3
        Stop when a sweep changes the multipliers by less than this fraction.
    random_state : int, RandomState instance or None, default=None
        For the pairs and the distances drawn in ``fit``.

    Attributes
    ----------
    components_ : ndarray of shape (n_features, n_features)
        L, with LᵀL = M.
    objective_ : float
        Divergence of M from the identity plus γ times that of the bounds after their slack.
    bounds_ : tuple (u, l)
        Upper bound of similar and lower bound of dissimilar squared distances, scaled, before
        slack.
    pair_indices_ : ndarray of shape (n_pairs, 2)
        Rows of the pairs that were drawn, similar ones first.
    pair_bounds_ : ndarray of shape (n_pairs,)
        ξ: the bound of each pair after its slack.
    multipliers_ : ndarray of shape (n_pairs,)
        λ: the multiplier of each pair's bound; zero where the bound does not bind.
    n_iter_ : int
        Number of sweeps.
    classes_, n_features_in_, feature_names_in_ : ndarray, int, ndarray
        Class labels, number of features and, if ``X`` has string column names, their names.

    Notes
    -----
    The problem is that of [1]_ with slack,

    .. math::

        \min_{M \succeq 0,\, \xi} D(M, I) + \gamma D(\mathrm{diag}\,\xi, \mathrm{diag}\,\xi_0)
        \quad\text{s.t.}\quad
        \delta^T M \delta \le \xi \text{ (similar)},\
        \delta^T M \delta \ge \xi \text{ (dissimilar)},

    with D(A, B) = tr AB⁻¹ − log det AB⁻¹ − d, for d features, and ξ₀ = u or l. It is
    solved by cyclic projections onto one bound at a time: M⁻¹ changes by a multiple of δδᵀ. The
    multiple is applied to L as a rank-one change, so that M is positive definite at every step.

    Departures from the paper: the step of a projection is γ/(γ + 1)·(1/p − 1/ξ), which makes the
    bound hold with equality. The paper's Algorithm 1 prints ½(1/p − γ/ξ). The two agree for γ = 1;
    otherwise the printed step is the exact one for γ = 1 and bounds divided by γ (ξ/γ instead of
    ξ), so it changes the bounds and not the price of slack. Pairs of equal points are skipped.

    **Weights.** An example of weight 0 is left out. Otherwise, examples are drawn in proportion to
    their weights, as if rows were repeated: the first of a pair, its partner in the same or another
    class, and the pairs of examples for the bounds. All pairs then count the same, and a pair is
    drawn once at most. Only ratios of weights matter.

    See Also
    --------
    GMML : A closed form with similar aims.
    IML : A metric learner for imbalanced classes.

    References
    ----------
    .. [1] J. Davis, B. Kulis, P. Jain, S. Sra and I. Dhillon. "Information-Theoretic Metric
       Learning". ICML, 2007.
    .. [2] L. Gautheron, E. Morvant, A. Habrard and M. Sebban. "Metric Learning from Imbalanced
       Data". ICTAI, 2019.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from raremetric import ITML
    >>> X, y = load_iris(return_X_y=True)
    >>> itml = ITML(random_state=0).fit(X, y)
    >>> itml.pair_indices_.shape
    (360, 2)
    """

    def __init__(
        self,
        gamma=1.0,
        *,
        n_pairs=None,
        bounds="percentiles",
        bound_scale=1.0,
        max_iter=10000,
        tol=1e-3,
        random_state=None,
    ):
        self.gamma = gamma
        self.n_pairs = n_pairs
        self.bounds = bounds
        self.bound_scale = bound_scale
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def _fit(self, X: NDArray, labels: Labels, sample_weight: ArrayLike | None) -> None:
        X, labels, rows, weights = self._weighted_data(X, labels, sample_weight)
        if self.gamma != np.inf:
            check_real(self.gamma, "gamma", low=0, closed="neither")
        if self.n_pairs is not None:
            check_integer(self.n_pairs, "n_pairs", low=2)
        check_real(self.bound_scale, "bound_scale", low=0, closed="neither")
        check_integer(self.max_iter, "max_iter", low=1)
        check_real(self.tol, "tol", low=0, closed="neither")
        random_state = check_random_state(self.random_state)
        n_pairs = self.n_pairs or PAIRS_PER_CLASS_PAIR * len(labels.classes) ** 2
        n_dissimilar = n_pairs // 2
        similar = draw_pairs(labels, n_pairs - n_dissimilar, True, random_state, weights)
        dissimilar = draw_pairs(labels, n_dissimilar, False, random_state, weights)
        pairs = np.concatenate([similar, dissimilar])
        signs = np.repeat([1.0, -1.0], [len(similar), len(dissimilar)])
        self.classes_, self.pair_indices_ = labels.classes, rows[pairs]
        first, second = sample_rows(len(X), random_state, weights)
        bounds = self._resolve_bounds(X[first] - X[second])
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            projection = project_bregman(
                X[pairs[:, 0]] - X[pairs[:, 1]], signs, np.where(signs > 0, *bounds),
                gamma=self.gamma, max_iter=self.max_iter, tol=self.tol,
            )  # fmt: skip
        if not np.isfinite(projection.objective):
            raise ValueError(
                f"The bounds {bounds[0]:g} and {bounds[1]:g} are too far from the squared "
                "Euclidean distances. Scale the features, or change bounds or bound_scale."
            )
        if not projection.converged:
            goal = f"a sweep changed the multipliers by less than tol={self.tol:g}"
            advice = (
                f", or lower gamma={self.gamma:g}: bounds that contradict each other need slack"
            )
            warn_stopped("ITML", projection.n_iter, self.max_iter, goal, advice)
        self.bounds_, self.components_ = bounds, projection.L
        self.objective_, self.n_iter_ = projection.objective, projection.n_iter
        self.pair_bounds_, self.multipliers_ = projection.bounds, projection.multipliers

    def _resolve_bounds(self, differences: NDArray) -> tuple[float, float]:
        if not isinstance(self.bounds, str):
            upper, lower = _check_bounds(self.bounds)
        elif check_option(self.bounds, "bounds", ("histogram", "percentiles")) == "histogram":
            edges = np.histogram_bin_edges(linalg.norm(differences, axis=1), 100)
            upper, lower = _positive_bounds(edges[4], edges[94], edges)
        else:
            squared = np.einsum("ij,ij->i", differences, differences)
            low, high = np.percentile(squared, [5, 95])
            upper, lower = _positive_bounds(low, high, squared)
        return self.bound_scale * upper, self.bound_scale * lower


def _check_bounds(bounds: Any) -> tuple[float, float]:
    with suppress(TypeError, ValueError):
        upper, lower = (float(value) for value in bounds)
        if 0 < upper <= lower < np.inf:
            return upper, lower
    raise ValueError(
        "bounds must be 'percentiles', 'histogram' or two numbers (u, l) with 0 < u <= l, "
        f"bounds on squared distances; got {bounds!r}."
    )


def _positive_bounds(upper: float, lower: float, values: NDArray) -> tuple[float, float]:
    """The bounds, with the smallest distance above zero in place of zero."""
    smallest = float(np.min(values, initial=np.inf, where=values > 0))
    if not np.isfinite(smallest):
        smallest = 1.0  # all points are equal: any bound is satisfied
    return max(float(upper), smallest), max(float(lower), smallest)
