"""The loss of IML, ML1 and ML2 over sets of similar and dissimilar pairs.

F(M) = a Σ_sim w [d²_M − 1]₊ + (1 − a) Σ_dis w [1 + m − d²_M]₊ + λ ‖M − I‖²_F,   M = LᵀL.

The weights w carry the balance between the sets. With *fixed* pairs both sums run over given
pairs. With *refreshed* dissimilar pairs each anchor is paired with its k nearest rows of other
classes under the current metric: its term is w times the sum of its k largest hinges, so F stays
convex in M.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from raremetric.losses.dual import DualPoint
from raremetric.losses.pair_sets_kernels import evaluate_pair_sets, laplacian_product
from raremetric.losses.rays import Ray, loss_on_ray, measure_ray
from raremetric.metric import matrix_from_components
from raremetric.neighbors import search_in_parts
from raremetric.neighbors.self_join import class_neighbors


class Multipliers(NamedTuple):
    """The derivative of each pair's term by its squared distance, up to its sign: α ≥ 0."""

    similar: NDArray[np.float64]  # (n_similar,)
    dissimilar: NDArray[np.float64]  # (n_anchors, n_nearest)
    others: NDArray[np.int64]  # (n_anchors, n_nearest), the other row of each dissimilar pair


class PairSetLoss(NamedTuple):
    """F and its gradients, exact (width 0) or with the corners of the hinges rounded.

    A loss never changes. Rows are grouped by class and centered, and a and 1 − a are part of the
    weights. The methods take the candidates for refreshed neighbors; without them they search.

    Notes
    -----
    All terms are evaluated in the projected space. With Z = XLᵀ and c the derivative of each
    pair's term by its squared distance, the gradient over L is 2 (Lap Z)ᵀX + 4λL(M − I) and that
    over M is Xᵀ Lap X + 2λ(M − I), where Lap = Σ c (e_i − e_j)(e_i − e_j)ᵀ.

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
    anchors: NDArray  # (n_anchors,): one per dissimilar pair, or all rows when refreshed
    anchor_weights: NDArray  # (n_anchors,)
    others: NDArray  # (n_anchors, n_candidates): the other row, or the nearest under the identity
    margin: float
    regularization: float
    n_refreshed: int  # k, or 0 for fixed pairs
    n_nearest: int  # candidates that enter the terms: 1, k, or more for a smoother rounded loss
    n_threads: int = 1  # in the search for candidates; no result depends on it

    def in_precision(self, dtype: DTypeLike) -> PairSetLoss:
        """The same loss evaluated from rows of the given precision."""
        return self._replace(X=self.X.astype(dtype))

    def candidates(self, L: NDArray) -> NDArray[np.int64]:
        """The nearest rows of other classes under L, (n_anchors, n_candidates), nearest first.

        Exact in double precision; chosen by estimated distances in single precision.
        """
        if not self.n_refreshed:
            return self.others
        exact = self.X.dtype == np.float64
        Z = self.project(L)
        rows = Z.astype(np.float32, copy=False)
        Z = Z if exact else np.empty((0, 0))  # compiled for double precision only
        k, n_parts = self.others.shape[1], self.n_threads
        lists, _ = search_in_parts(
            lambda part: class_neighbors(Z, rows, self.starts, k, False, exact, part, n_parts),
            n_parts,
        )
        return lists

    def value(self, L: NDArray, candidates: NDArray | None = None) -> float:
        """F, exactly."""
        return loss_on_ray(self.ray(L, candidates), self)(1.0)

    def value_and_gradient(
        self, L: NDArray, width: float = 0.0, candidates: NDArray | None = None
    ) -> tuple[float, NDArray]:
        """F and its gradient over L, shape (n_components, n_features)."""
        return self._evaluate(L, width, candidates)[:2]

    def value_and_matrix_gradient(
        self, L: NDArray, width: float = 0.0, candidates: NDArray | None = None
    ) -> tuple[float, NDArray]:
        """F and its gradient over M at M = LᵀL, shape (n_features, n_features)."""
        value, _, *multipliers = self._evaluate(L, width, candidates)
        residual = matrix_from_components(L) - np.eye(L.shape[1])
        A = self._multiplied_scatter(Multipliers(*multipliers))
        return value, A + 2 * self.regularization * residual

    def multipliers(
        self, L: NDArray, width: float, candidates: NDArray | None = None
    ) -> Multipliers:
        """The multipliers α of the rounded loss at L."""
        return Multipliers(*self._evaluate(L, width, candidates)[2:])

    def dual_point(self, multipliers: Multipliers) -> DualPoint:
        """Multipliers as the dual problem needs them; any within their bounds will do."""
        linear = (1 + self.margin) * multipliers.dissimilar.sum() - multipliers.similar.sum()
        return DualPoint(self._multiplied_scatter(multipliers), linear)

    def ray(self, L: NDArray, candidates: NDArray | None = None) -> Ray:
        """What F(s·LᵀL) depends on, for every s > 0: the neighbors are the same for all s."""
        candidates = self.candidates(L) if candidates is None else candidates
        return measure_ray(L, self.project(L), self, candidates)

    def project(self, L: NDArray) -> NDArray:
        """XLᵀ, in the precision of X."""
        return self.X @ L.T.astype(self.X.dtype, copy=False)

    def scatter_of_similar(self, weights: NDArray) -> NDArray:
        """Σ w δδᵀ of the similar pairs."""
        return scatter(self.X, self.similar_anchors, self.similar_others, weights)

    def scatter_of_dissimilar(self, others: NDArray, weights: NDArray) -> NDArray:
        """Σ w δδᵀ of the anchors with other rows, both (n_anchors, n_others); -1 is no row."""
        anchors = np.repeat(self.anchors, others.shape[1])
        return scatter(self.X, anchors, others.ravel(), weights.ravel())

    def _evaluate(self, L: NDArray, width: float, candidates: NDArray | None) -> tuple:
        candidates = self.candidates(L) if candidates is None else candidates
        return evaluate_pair_sets(np.ascontiguousarray(L), self, candidates, width)

    def _multiplied_scatter(self, multipliers: Multipliers) -> NDArray:
        """Σ_sim α δδᵀ − Σ_dis α δδᵀ."""
        return self.scatter_of_similar(multipliers.similar) - self.scatter_of_dissimilar(
            multipliers.others, multipliers.dissimilar
        )


def scatter(X: NDArray, first: NDArray, second: NDArray, weights: NDArray) -> NDArray:
    """Σ w δδᵀ over pairs of rows; pairs whose second row is -1 are skipped."""
    A = laplacian_product(X, first, second, weights).T @ X
    return (A + A.T) / 2
