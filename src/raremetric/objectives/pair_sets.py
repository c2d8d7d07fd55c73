"""The loss of IML, ML1 and ML2 over sets of similar and dissimilar pairs.

F(M) = a Σ_sim w [d²_M − 1]₊ + (1 − a) Σ_dis w [1 + m − d²_M]₊ + λ ‖M − I‖²_F,   M = LᵀL.

The weights w carry the balance between the sets. With *fixed* pairs both sums run over given
pairs. With *refreshed* dissimilar pairs each anchor meets its k nearest of other classes under
the current metric: its term is w times the sum of its k largest hinges, so F stays convex in M.
"""

from __future__ import annotations

from copy import copy
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from raremetric.metric import matrix_from_components, project_psd
from raremetric.neighbors import search_in_parts
from raremetric.pairs import Pairs
from raremetric.validation import Labels

CANDIDATES = 2  # times k rows of other classes are kept in sight between two searches
RIDGE = 1e-3  # of the mean curvature, against directions in which no pair differs
LOG_SCALES = (-15.0, 15.0)  # where the best multiple of the starting metric is looked for


class PairSetData(NamedTuple):
    """What the kernels read. Rows are grouped by class; a and 1 − a are in the weights."""

    X: NDArray  # (n_samples, n_features)
    starts: NDArray  # (n_classes + 1,), first row of each class
    similar_anchors: NDArray  # (n_similar,)
    similar_others: NDArray  # (n_similar,)
    similar_weights: NDArray  # (n_similar,)
    anchors: NDArray  # (n_dissimilar,), or all rows when refreshed
    others: NDArray  # (n_dissimilar, 1), unused when refreshed
    anchor_weights: NDArray  # (n_dissimilar,), or one per row when refreshed
    margin: float
    regularization: float
    refresh: int  # k, or 0 for fixed pairs
    n_nearest: int  # how many nearest rows enter the refreshed terms: k and the spare ones
    lists: NDArray  # (n_samples, candidates), the candidates for neighbors found last


class DualPoint(NamedTuple):
    """Feasible multipliers α, summed up. Feasible points are convex, so these may be mixed."""

    A: NDArray  # Σ_sim α δδᵀ − Σ_dis α δδᵀ, (n_features, n_features)
    linear: float  # (1 + m) Σ_dis α − Σ_sim α


class PairSetObjective:
    """F and its gradients, exact (width 0) or with the corners of the hinges rounded.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
    labels : Labels
    similar, dissimilar : Pairs
        With ``refresh``, the dissimilar pairs are those under the identity.
    similar_weights, dissimilar_weights : ndarray of shape (n_pairs,)
        Weight of each pair within its set.
    margin, similar_weight, regularization : float
        m, a and λ.
    refresh : int
        Number k of dissimilar neighbors to find anew at each evaluation; 0 keeps the pairs.
    spare : int
        Number of further rows to look at with them, those about to become neighbors: the rounded
        loss is then smooth also where neighbors change places.
    n_parts : int
        Threads in the search for neighbors; no result depends on it.

    Notes
    -----
    All terms are evaluated in the projected space. With Z = XLᵀ and c the derivative of each
    pair's term by its squared distance, the gradient over L is 2 (Lap Z)ᵀX + 4λL(M − I) and that
    over M is Xᵀ Lap X + 2λ(M − I), where Lap = Σ c (e_i − e_j)(e_i − e_j)ᵀ.

    Rounding by a relative width δ replaces [u]₊ by max αu − (δs/2)α² over 0 ≤ α ≤ 1, with s = 1
    for similar and s = 1 + m for dissimilar pairs, and a sum of k largest hinges by the same
    maximum under Σα ≤ k. The rounded F is at most the exact one, and its maximisers α, which
    the gradient needs anyway, are a feasible point of the dual problem.
    """

    def __init__(
        self,
        X: NDArray,
        labels: Labels,
        similar: Pairs,
        dissimilar: Pairs,
        similar_weights: NDArray,
        dissimilar_weights: NDArray,
        *,
        margin: float,
        similar_weight: float,
        regularization: float,
        refresh: int = 0,
        spare: int = 0,
        n_parts: int = 1,
    ):
        self.n_parts = n_parts
        self._inverse: NDArray | None = None
        self._first_lists: NDArray | None = None
        self.order = np.argsort(labels.codes, kind="stable")
        place = np.argsort(self.order, kind="stable")
        anchors, weights = place[dissimilar.anchors], dissimilar_weights
        self.first_others = Pairs(anchors, place[dissimilar.others])
        if refresh:
            # All pairs of an anchor weigh the same: keep one weight per row.
            per_row = np.zeros(len(X))
            per_row[anchors] = weights
            anchors, weights = np.arange(len(X)), per_row
        self._set_weights = similar_weights, weights
        self.data = PairSetData(
            X=X[self.order] - X.mean(axis=0),  # only differences count
            starts=np.concatenate([[0], np.cumsum(labels.counts)]),
            similar_anchors=place[similar.anchors],
            similar_others=place[similar.others],
            similar_weights=similar_weight * similar_weights,
            anchors=anchors,
            others=self.first_others.others[:, np.newaxis],
            anchor_weights=(1 - similar_weight) * weights,
            margin=float(margin),
            regularization=float(regularization),
            refresh=int(refresh),
            n_nearest=int(refresh + spare),
            lists=np.full((len(X), max(refresh + spare, CANDIDATES * refresh)), -1),
        )

    def with_parameters(
        self, margin: float, similar_weight: float, regularization: float
    ) -> PairSetObjective:
        """The same loss for other m, a and λ: shares all arrays but the candidates for neighbors.

        The candidates start as those under the identity, which are found only once.
        """
        if self._first_lists is None:
            self.renew_candidates(np.eye(self.data.X.shape[1]))
            self._first_lists = self.data.lists.copy()
        similar_weights, anchor_weights = self._set_weights
        other = copy(self)
        other._inverse = None
        other.data = self.data._replace(
            similar_weights=similar_weight * similar_weights,
            anchor_weights=(1 - similar_weight) * anchor_weights,
            margin=float(margin),
            regularization=float(regularization),
            lists=self._first_lists.copy(),
        )
        return other

    def value_and_gradient(self, L: NDArray, width: float = 0.0) -> tuple[float, NDArray]:
        """F and its gradient over L, shape (n_components, n_features)."""
        from raremetric.kernels import pair_sets as kernels

        self.renew_candidates(L)
        return kernels.pair_set_value_and_gradient(np.ascontiguousarray(L), self.data, width)

    def value_and_matrix_gradient(self, L: NDArray, width: float = 0.0) -> tuple[float, NDArray]:
        """F and its gradient over M at M = LᵀL, shape (n_features, n_features)."""
        value, A, _, _ = self._multipliers(L, width)
        residual = matrix_from_components(L) - np.eye(L.shape[1])
        value += self.data.regularization * np.sum(residual**2)
        return value, A + 2 * self.data.regularization * residual

    def dual_point(self, L: NDArray, width: float) -> DualPoint:
        """The multipliers α of the rounded loss at L, as far as the dual problem sees them."""
        _, A, attract, repel = self._multipliers(L, width)
        return DualPoint(A, (1 + self.data.margin) * repel.sum() - attract.sum())

    def dual_value(self, point: DualPoint) -> float:
        """A value that F nowhere falls below; minus infinity when λ = 0.

        The minimum over M ⪰ 0 of linear + ⟨A, M⟩ + λ‖M − I‖², at the projection of I − A/(2λ).
        """
        regularization = self.data.regularization
        if regularization == 0:
            return -np.inf
        identity = np.eye(len(point.A))
        M, _ = project_psd(identity - point.A / (2 * regularization))
        penalty = regularization * np.sum((M - identity) ** 2)
        return float(point.linear + np.sum(point.A * M) + penalty)

    def dissimilar_pairs(self, L: NDArray) -> Pairs:
        """The dissimilar pairs of the exact loss at L, in the rows' original order."""
        anchors, others = self.first_others
        if self.data.refresh:
            neighbors = self._terms(L, 0.0)[0][:, : self.data.refresh]
            anchors, others = np.repeat(self.data.anchors, self.data.refresh), neighbors.ravel()
            anchors, others = anchors[others >= 0], others[others >= 0]
        return Pairs(self.order[anchors], self.order[others])

    def renew_candidates(self, L: NDArray) -> None:
        """Find the candidates for neighbors under L; the last ones tell how far to look."""
        if not self.data.refresh:
            return
        from raremetric.kernels.neighbors import class_neighbors, reach_of_lists

        lists, starts, k = self.data.lists, self.data.starts, self.data.lists.shape[1]
        Z = self.data.X @ L.T
        rows, reach = Z.astype(np.float32), reach_of_lists(Z, lists)
        lists[:], _ = search_in_parts(
            lambda part: class_neighbors(Z, rows, starts, reach, k, False, part, self.n_parts),
            self.n_parts,
        )

    def best_scale(self, L: NDArray) -> float:
        """The s that minimises F along s·LᵀL, a convex function of one dimension."""
        from raremetric.kernels import pair_sets as kernels

        self.renew_candidates(L)
        return kernels.best_scale(np.ascontiguousarray(L), self.data, *LOG_SCALES)

    def run_window(
        self, L: NDArray, value: float, gradient: NDArray, width: float, history: tuple, n_iter: int
    ) -> tuple[NDArray, int]:
        """Compiled iterations of L-BFGS with the candidates as they are."""
        from raremetric.kernels import lbfgs

        if self._inverse is None:
            self._inverse = self._inverse_hessian()
        return lbfgs.run_window(
            L, value, gradient, self.data, width, self._inverse, tuple(history), n_iter
        )

    def _inverse_hessian(self) -> NDArray:
        """An inverse Hessian for each row of L, as if no hinge were at rest.

        The curvature of all pairs' terms counts as positive: Σ 2w δδᵀ + 8λI.
        """
        from raremetric.kernels import pair_sets as kernels

        hessian = kernels.pair_curvature(self.data)
        extra = 8 * self.data.regularization + RIDGE * np.trace(hessian) / len(hessian)
        return np.linalg.inv(hessian + max(extra, np.finfo(float).tiny) * np.eye(len(hessian)))

    def _terms(self, L: NDArray, width: float):
        """The dissimilar rows, the hinge terms' value, and the multipliers."""
        from raremetric.kernels import pair_sets as kernels

        self.renew_candidates(L)
        Z = np.ascontiguousarray(self.data.X @ L.T)
        others, reach = kernels.dissimilar_reach(Z, self.data)
        return others, *kernels.pair_set_terms(Z, others, reach, self.data, width)

    def _multipliers(self, L: NDArray, width: float):
        """The hinge terms' value, their gradient A over M, and the multipliers."""
        from raremetric.kernels import pair_sets as kernels

        others, value, attract, repel = self._terms(L, width)
        product = kernels.pair_set_laplacian(self.data.X, self.data, attract, others, repel)
        A = product.T @ self.data.X
        return value, (A + A.T) / 2, attract, repel


class DualBound:
    """The best lower bound on F that the points met so far can prove.

    The dual problem is concave: each new point is mixed with the best mixture before it.
    """

    def __init__(self, objective: PairSetObjective):
        self.objective = objective
        self.best: DualPoint | None = None
        self.value = -np.inf

    def __call__(self, L: NDArray, width: float) -> float:
        """Take in the dual point of the loss rounded by ``width`` at L; the bound so far."""
        if self.objective.data.regularization == 0:
            return self.value
        new = self.objective.dual_point(L, width)
        if self.best is None:
            self.best, self.value = new, self.objective.dual_value(new)
            return self.value

        best = self.best

        def mixture(share: float) -> DualPoint:
            return DualPoint(
                (1 - share) * best.A + share * new.A,
                (1 - share) * best.linear + share * new.linear,
            )

        found = minimize_scalar(
            lambda share: -self.objective.dual_value(mixture(share)),
            bounds=(0.0, 1.0),
            method="bounded",
            options={"maxiter": 15},
        )
        if -found.fun > self.value:
            self.best, self.value = mixture(found.x), float(-found.fun)
        return self.value
