"""The loss of IML, ML1 and ML2 over sets of similar and dissimilar pairs.

F(M) = a Σ_sim w [d²_M − 1]₊ + (1 − a) Σ_dis w [1 + m − d²_M]₊ + λ ‖M − I‖²_F,   M = LᵀL.

The weights w carry the balance between the sets. With *fixed* pairs both sums run over given
pairs. With *refreshed* dissimilar pairs each anchor is paired with its k nearest rows of other
classes under the current metric: its term is w times the sum of its k largest hinges, so F stays
convex in M.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from raremetric.losses.dual import DualPoint, balanced_share
from raremetric.losses.pair_sets_kernels import (
    evaluate_pair_sets,
    laplacian_product,
    pair_distances,
    scaled_loss,
)
from raremetric.metric import matrix_from_components
from raremetric.neighbors import nearest_by_class
from raremetric.scales import unit_of

LOG_SCALES = (-15.0, 15.0)  # the range in which the best multiple of a metric is searched
SMALL_SCALE = 2.0**-16  # of a feature with a large unit
COLLAPSE = 5e-3  # a start must have a loss lower than that of the metric 0 by this fraction


class Multipliers(NamedTuple):
    """The derivative of each pair's term by its squared distance, up to its sign: α ≥ 0."""

    similar: NDArray[np.float64]  # (n_similar,)
    dissimilar: NDArray[np.float64]  # (n_anchors, n_nearest)
    others: NDArray[np.int64]  # (n_anchors, n_nearest), the other row of each dissimilar pair


class Ray(NamedTuple):
    """What F(s·LᵀL) needs to know about L, for any margin, weights and λ."""

    similar: NDArray  # squared distances of the similar pairs under L
    dissimilar: NDArray  # those of the dissimilar pairs
    owners: NDArray  # of each dissimilar pair, the position of its anchor among all anchors
    square: float  # ‖M‖²
    trace: float  # of M


class PairSetLoss(NamedTuple):
    """F and its gradients, exact (width 0) or with the corners of the hinges rounded.

    A loss never changes. Rows are grouped by class and centered, and a and 1 − a are part of the
    weights. The methods take the candidates for refreshed neighbors; without them they search.

    Notes
    -----
    All terms are evaluated in the projected space. With Z = XLᵀ and c the derivative of each
    pair's term by its squared distance, the gradient over L is 2 (Lap Z)ᵀX + 4λL(M − I), where
    Lap = Σ c (e_i − e_j)(e_i − e_j)ᵀ.

    Rounding by a relative width δ replaces [u]₊ by max αu − (δs/2)α² over 0 ≤ α ≤ 1, with s = 1
    for similar and s = 1 + m for dissimilar pairs, and a sum of k largest hinges by the same
    maximum under Σα ≤ k. The rounded F is at most the exact one, and its maximizers α, which the
    gradient needs anyway, are a feasible point of the dual problem.
    """

    X: NDArray  # (n_samples, n_features)
    starts: NDArray  # (n_classes + 1,), first row of each class
    similar_anchors: NDArray  # (n_similar,)
    similar_others: NDArray  # (n_similar,)
    similar_weights: NDArray  # (n_similar,)
    anchors: NDArray  # (n_anchors,): one per dissimilar pair; when refreshed, all rows or a sample
    anchor_weights: NDArray  # (n_anchors,)
    others: NDArray  # (n_anchors, n_candidates): the other row, or the nearest under the identity
    margin: float
    regularization: float
    n_refreshed: int  # k, or 0 for fixed pairs
    n_nearest: int  # candidates that enter the terms: 1, k, or more for a smoother rounded loss
    units: NDArray  # (n_features,), what the features were divided by
    scales: NDArray  # (n_features,), S = 1/units: M = SLᵀLS is what is regularized; 1 for λ = 0
    n_threads: int = 1  # in the search for candidates; no result depends on it

    @property
    def has_units(self) -> bool:
        """Whether any feature was divided by a unit."""
        return bool((self.units != 1).any())

    def in_precision(self, dtype: DTypeLike) -> PairSetLoss:
        """The same loss evaluated from rows of the given precision."""
        return self._replace(X=self.X.astype(dtype))

    def candidates(self, L: NDArray) -> NDArray[np.int64]:
        """The nearest rows of other classes under L, (n_anchors, n_candidates), nearest first.

        Exact in double precision; chosen by estimated distances in single precision.
        """
        if not self.n_refreshed:
            return self.others
        Z, exact = self._project(L), self.X.dtype == np.float64
        if exact:  # an exact division, so that squares do not overflow in single precision
            Z = Z / unit_of(np.abs(Z).max(), -50, 50)
        return nearest_by_class(
            Z, self.starts, self.others.shape[1], within=False, exact=exact,
            rounded=Z.astype(np.float32, copy=False),
            anchors=self.anchors if len(self.anchors) < len(self.X) else None,
            n_threads=self.n_threads,
        )  # fmt: skip

    def value(self, L: NDArray, candidates: NDArray | None = None) -> float:
        """F, exactly."""
        return self.on_ray(self.ray(L, candidates))(1.0)

    def value_of_zero(self) -> float:
        """F at M = 0."""
        pushed = (1 + self.margin) * max(self.n_refreshed, 1) * self.anchor_weights.sum()
        return float(pushed + self.regularization * self.X.shape[1])

    def value_and_gradient(
        self, L: NDArray, width: float = 0.0, candidates: NDArray | None = None
    ) -> tuple[float, NDArray]:
        """F and its gradient over L, shape (n_components, n_features)."""
        return self._evaluate(L, width, candidates)[:2]

    def multipliers(
        self, L: NDArray, width: float, candidates: NDArray | None = None
    ) -> Multipliers:
        """The multipliers α of the rounded loss at L."""
        return Multipliers(*self._evaluate(L, width, candidates)[2:])

    def dual_point(self, multipliers: Multipliers, balanced: bool = False) -> DualPoint:
        """The statistics of multipliers, any within their bounds, for the dual problem.

        Beside large features λ has hardly any effect, and a bound is of use only if A has no
        negative eigenvalue. If ``balanced``, and always beside features with large units, the
        multipliers of dissimilar pairs are lowered accordingly.
        """
        similar, dissimilar = self.scatters(multipliers)
        balanced = balanced or bool(self.scales.min() < SMALL_SCALE)
        share = balanced_share(similar, dissimilar) if balanced else 1.0
        pushed = share * multipliers.dissimilar.sum()
        linear = (1 + self.margin) * pushed - multipliers.similar.sum()
        A = (similar - share * dissimilar) / np.outer(self.scales, self.scales)
        return DualPoint(A, linear, is_psd=balanced)

    def ray(self, L: NDArray, candidates: NDArray | None = None) -> Ray:
        """What F(s·LᵀL) depends on, for every s > 0: the neighbors are the same for all s."""
        candidates = self.candidates(L) if candidates is None else candidates
        M = np.outer(self.scales, self.scales) * matrix_from_components(L)
        Z, others = self._project(L), candidates[:, : max(self.n_refreshed, 1)]
        owners, slots = np.nonzero(others >= 0)
        return Ray(
            pair_distances(Z, self.similar_anchors, self.similar_others),
            pair_distances(Z, self.anchors[owners], others[owners, slots]),
            owners,
            float(np.sum(M * M)),
            float(np.trace(M)),
        )

    def on_ray(self, ray: Ray) -> Callable[[float], float]:
        """F(s·LᵀL) as a function of s, convex."""
        n_features, weights = self.X.shape[1], self.anchor_weights[ray.owners]
        limit = 1.0 + self.margin

        def value(s: float) -> float:
            penalty = self.regularization * (s * s * ray.square - 2 * s * ray.trace + n_features)
            return penalty + scaled_loss(
                s, ray.similar, self.similar_weights, ray.dissimilar, weights, limit
            )

        return value

    def _project(self, L: NDArray) -> NDArray:
        """XLᵀ, in the precision of X."""
        return self.X @ L.T.astype(self.X.dtype, copy=False)

    def scatters(self, multipliers: Multipliers) -> tuple[NDArray, NDArray]:
        """Σ α δδᵀ of the similar and of the dissimilar pairs."""
        weights, repelled, others = multipliers
        anchors = np.repeat(self.anchors, others.shape[1])
        return (
            scatter(self.X, self.similar_anchors, self.similar_others, weights),
            scatter(self.X, anchors, others.ravel(), repelled.ravel()),
        )

    def _evaluate(self, L: NDArray, width: float, candidates: NDArray | None) -> tuple:
        candidates = self.candidates(L) if candidates is None else candidates
        return evaluate_pair_sets(np.ascontiguousarray(L), self, candidates, width)


def scatter(X: NDArray, first: NDArray, second: NDArray, weights: NDArray) -> NDArray:
    """Σ w δδᵀ over pairs of rows; pairs whose second row is -1 are skipped."""
    A = laplacian_product(X, first, second, weights).T @ X
    return (A + A.T) / 2


def best_multiple(L: NDArray, ray: Ray, loss: PairSetLoss) -> NDArray:
    """The multiple of L with the lowest F, within 5 % in LᵀL; or L itself.

    L itself where a multiple has no loss at all, because then nothing about directions could be
    learned from there; and where the best multiple is hardly better than the metric 0, which is a
    stationary point: the first steps would gain so little that the descent would stop.
    """
    value = loss.on_ray(ray)
    exponent = golden_section(lambda t: value(np.exp(t)), *LOG_SCALES, accuracy=0.05)
    scale = float(np.exp(exponent))
    lowest = value(scale)
    if lowest <= 0 or lowest >= value(1.0) or lowest > (1 - COLLAPSE) * value(0.0):
        return L
    return np.sqrt(scale) * L


def golden_section(f: Callable[[float], float], low: float, high: float, accuracy: float) -> float:
    """The minimum of a convex function of one variable within an interval."""
    golden = (np.sqrt(5.0) - 1.0) / 2.0
    left, right = high - golden * (high - low), low + golden * (high - low)
    f_left, f_right = f(left), f(right)
    while high - low > accuracy:
        if f_left <= f_right:
            high, right, f_right = right, left, f_left
            left = high - golden * (high - low)
            f_left = f(left)
        else:
            low, left, f_left = left, right, f_right
            right = low + golden * (high - low)
            f_right = f(right)
    return (low + high) / 2.0
