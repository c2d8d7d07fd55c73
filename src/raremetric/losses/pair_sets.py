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

from raremetric.losses.dual import DualPoint
from raremetric.losses.rays import Ray, best_on_ray, loss_on_ray, measure_ray
from raremetric.metric import matrix_from_components
from raremetric.neighbors import search_in_parts
from raremetric.pairs import Pairs
from raremetric.validation import Labels

CANDIDATES = 2  # times k rows of other classes are kept in sight between two searches
COLLAPSE = 5e-3  # a start must have a loss lower than the metric 0 by at least this fraction
RIDGE = 1e-3  # of the mean curvature, against directions in which no pair differs


class PairSetData(NamedTuple):
    """What the kernels read. Rows are grouped by class; a and 1 − a are in the weights."""

    X: NDArray  # (n_samples, n_features)
    starts: NDArray  # (n_classes + 1,), first row of each class
    similar_anchors: NDArray  # (n_similar,)
    similar_others: NDArray  # (n_similar,)
    similar_weights: NDArray  # (n_similar,)
    anchors: NDArray  # (n_dissimilar,), or all rows when refreshed
    anchor_weights: NDArray  # (n_dissimilar,), or one per row when refreshed
    margin: float
    regularization: float
    refresh: int  # k, or 0 for fixed pairs
    n_nearest: int  # how many candidates enter the terms: k and the spare ones, or 1
    lists: NDArray  # (n_samples, candidates) found last, or the other rows (n_dissimilar, 1)


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
        self.similar_weight = similar_weight
        self._shared: dict = {}  # what does not depend on m, a and λ, found when first needed
        self._inverse: NDArray | None = None
        self.order = np.argsort(labels.codes, kind="stable")
        place = np.argsort(self.order, kind="stable")
        anchors, weights = place[dissimilar.anchors], dissimilar_weights
        self.first_others = Pairs(anchors, place[dissimilar.others])
        if refresh:
            # All pairs of an anchor weigh the same: keep one weight per row.
            per_row = np.zeros(len(X))
            per_row[anchors] = weights
            anchors, weights = np.arange(len(X)), per_row
        similar, similar_weights = merge_mutual(
            Pairs(place[similar.anchors], place[similar.others]), similar_weights, len(X)
        )
        self._set_weights = similar_weights, weights
        self.data = PairSetData(
            X=X[self.order] - X.mean(axis=0),  # only differences count
            starts=np.concatenate([[0], np.cumsum(labels.counts)]),
            similar_anchors=similar.anchors,
            similar_others=similar.others,
            similar_weights=similar_weight * similar_weights,
            anchors=anchors,
            anchor_weights=(1 - similar_weight) * weights,
            margin=float(margin),
            regularization=float(regularization),
            refresh=int(refresh),
            n_nearest=max(int(refresh + spare), 1),
            lists=self.first_others.others[:, np.newaxis],
        )
        if refresh:
            self.data = self.data._replace(lists=self._first_lists())
        # Spare neighbors are not known, should these be wanted.
        self._searched_at = np.eye(X.shape[1]) if refresh and not spare else None
        self._first_candidates = self.candidates

    def with_parameters(
        self, margin: float, similar_weight: float, regularization: float
    ) -> PairSetObjective:
        """The same loss for other m, a and λ: shares all arrays but the candidates for neighbors.

        The candidates start as those under the identity.
        """
        similar_weights, anchor_weights = self._set_weights
        other = copy(self)
        other._inverse, other.similar_weight = None, similar_weight
        other.data = self.data._replace(
            similar_weights=similar_weight * similar_weights,
            anchor_weights=(1 - similar_weight) * anchor_weights,
            margin=float(margin),
            regularization=float(regularization),
            lists=self._first_candidates[0],
        )
        other._searched_at = self._first_candidates[1]
        return other

    def _first_lists(self) -> NDArray:
        """The given pairs, neighbors under the identity, as candidates: (n_samples, candidates)."""
        anchors, others = self.first_others
        lists = np.full((len(self.data.X), self._n_candidates), -1)
        lists[anchors, np.arange(len(anchors)) - np.searchsorted(anchors, anchors)] = others
        return lists

    @property
    def _n_candidates(self) -> int:
        return max(self.data.n_nearest, CANDIDATES * self.data.refresh)

    def in_single_precision(self) -> PairSetObjective:
        """The same loss from rows in single precision, with candidates of its own: faster."""
        self._inverse = self._inverse_hessian()
        other = copy(self)
        other._inverse = self._inverse.astype(np.float32)
        other.data = self.data._replace(X=self.data.X.astype(np.float32))
        return other

    def value_and_gradient(self, L: NDArray, width: float = 0.0) -> tuple[float, NDArray]:
        """F and its gradient over L, shape (n_components, n_features)."""
        return self._evaluate(L, width)[:2]

    def value_and_matrix_gradient(self, L: NDArray, width: float = 0.0) -> tuple[float, NDArray]:
        """F and its gradient over M at M = LᵀL, shape (n_features, n_features)."""
        value, _, attract, repel, others = self._evaluate(L, width)
        A = self._of_similar(attract) - self._of_dissimilar(others, repel.ravel())
        residual = matrix_from_components(L) - np.eye(L.shape[1])
        return value, A + 2 * self.data.regularization * residual

    def dual_point(
        self, L: NDArray, width: float, multipliers_from: PairSetObjective | None = None
    ) -> DualPoint:
        """The multipliers α of the rounded loss at L, as far as the dual problem sees them.

        Any multipliers within their bounds will do, also those of a less exact copy of the loss.
        """
        _, _, attract, repel, others = (multipliers_from or self)._evaluate(L, width)
        A = self._of_similar(attract) - self._of_dissimilar(others, repel.ravel())
        return DualPoint(A, (1 + self.data.margin) * repel.sum() - attract.sum())

    def dissimilar_pairs(self, L: NDArray) -> Pairs:
        """The dissimilar pairs of the exact loss at L, in the rows' original order."""
        anchors, others = self.first_others
        if self.data.refresh:
            self.renew_candidates(L)
            neighbors = self.data.lists[:, : self.data.refresh]
            anchors, others = np.repeat(self.data.anchors, self.data.refresh), neighbors.ravel()
            anchors, others = anchors[others >= 0], others[others >= 0]
        return Pairs(self.order[anchors], self.order[others])

    def renew_candidates(self, L: NDArray) -> None:
        """Find the candidates for neighbors under L, unless that was done last."""
        known = self._searched_at
        if not self.data.refresh or L is known or (known is not None and np.array_equal(L, known)):
            return
        from raremetric.neighbors.self_join import class_neighbors

        starts, k = self.data.starts, self._n_candidates
        Z, exact = self._project(L), self.dtype == np.float64
        rows = Z.astype(np.float32, copy=False)
        Z = Z if exact else np.empty((0, 0))  # compiled for double precision only
        lists, _ = search_in_parts(
            lambda part: class_neighbors(Z, rows, starts, k, False, exact, part, self.n_parts),
            self.n_parts,
        )
        self.data = self.data._replace(lists=lists)
        self._searched_at = L

    @property
    def dtype(self) -> np.dtype:
        """Precision of the rows."""
        return self.data.X.dtype

    @property
    def candidates(self) -> tuple[NDArray, NDArray | None]:
        """The candidates for neighbors, and the L under which they are the nearest."""
        return self.data.lists, self._searched_at

    def look_also_at(self, before: tuple[NDArray, NDArray | None]) -> None:
        """Return to the candidates of before, and add the neighbors that were found since."""
        lists, self._searched_at = before
        found = self.data.lists[:, : self.data.refresh]
        known = (found[:, :, np.newaxis] == lists[:, np.newaxis, :]).any(axis=2)
        lists = np.hstack([lists, np.where(known, -1, found)])
        self.data = self.data._replace(lists=lists)

    def value(self, L: NDArray) -> float:
        """F, exactly."""
        return loss_on_ray(self._ray(L), self.data)(1.0)

    def best_multiple(self, L: NDArray) -> NDArray:
        """The multiple of L with the lowest F, within 5 % in LᵀL; or L itself.

        A multiple that fits everything would leave nothing to learn about directions, and from one
        that fits hardly more than the metric 0 does, a stationary point, first steps gain so little
        that they would be the last.
        """
        ray = self._ray(L)
        loss, scale = loss_on_ray(ray, self.data), best_on_ray(ray, self.data)
        lowest = loss(scale)
        if lowest <= 0 or lowest >= loss(1.0) or lowest > (1 - COLLAPSE) * loss(0.0):
            return L
        best = np.sqrt(scale) * L
        if self._searched_at is not None:
            self._searched_at = best  # the same neighbors as for L
        return best

    def _ray(self, L: NDArray) -> Ray:
        """The metrics s·LᵀL; the ray through the identity is shared with other parameters."""
        at_identity = np.array_equal(L, np.eye(*L.shape))
        if at_identity and "ray" in self._shared:
            return self._shared["ray"]
        self.renew_candidates(L)
        ray = measure_ray(L, self._project(L), self.data)
        if at_identity and L.shape[0] == L.shape[1]:
            self._shared["ray"] = ray
        return ray

    def run_window(
        self,
        L: NDArray,
        value: float,
        gradient: NDArray,
        width: float,
        history: tuple,
        n_iter: int,
        patience: int,
        small_gain: float,
    ) -> tuple[NDArray, float, int, bool]:
        """Compiled iterations of L-BFGS with the candidates as they are."""
        from raremetric.solvers import windowed_kernels as lbfgs

        if self._inverse is None:
            self._inverse = self._inverse_hessian()
        return lbfgs.run_window(
            L, value, gradient, self.data, width, self._inverse, tuple(history),
            n_iter, patience, small_gain,
        )  # fmt: skip

    def _project(self, L: NDArray) -> NDArray:
        """XLᵀ, in the precision of X."""
        return self.data.X @ L.T.astype(self.data.X.dtype, copy=False)

    def _inverse_hessian(self) -> NDArray:
        """An inverse Hessian for each row of L, as if no hinge were at rest.

        The curvature of all pairs' terms counts as positive: Σ 2w δδᵀ + 8λI.
        """
        if "scatters" not in self._shared:
            self._shared["scatters"] = self._scatters()
        of_similar, of_dissimilar = self._shared["scatters"]
        a = self.similar_weight
        hessian = 2 * a * of_similar + 2 * (1 - a) * of_dissimilar
        extra = 8 * self.data.regularization + RIDGE * np.trace(hessian) / len(hessian)
        return np.linalg.inv(hessian + max(extra, np.finfo(float).tiny) * np.eye(len(hessian)))

    def _scatters(self) -> tuple[NDArray, NDArray]:
        """Σ w δδᵀ of the similar pairs, and of the dissimilar pairs under the identity."""
        (similar, dissimilar), lists = self._set_weights, self._first_candidates[0]
        repeated = np.repeat(dissimilar, lists.shape[1])
        return self._of_similar(similar), self._of_dissimilar(lists, repeated)

    def _evaluate(self, L: NDArray, width: float) -> tuple:
        """See ``kernels.pair_sets.pair_set_value_and_gradient``; neighbors are those under L."""
        from raremetric.losses.pair_sets_kernels import pair_set_value_and_gradient

        self.renew_candidates(L)
        return pair_set_value_and_gradient(np.ascontiguousarray(L), self.data, width)

    def _of_similar(self, weights: NDArray) -> NDArray:
        """Σ w δδᵀ of the similar pairs."""
        return scatter(self.data.X, self.data.similar_anchors, self.data.similar_others, weights)

    def _of_dissimilar(self, others: NDArray, weights: NDArray) -> NDArray:
        """Σ w δδᵀ of the anchors with other rows, (n_anchors, n_others); one weight a pair."""
        anchors = np.repeat(self.data.anchors, others.shape[1])
        return scatter(self.data.X, anchors, others.ravel(), weights)


def scatter(X: NDArray, first: NDArray, second: NDArray, weights: NDArray) -> NDArray:
    """Σ w δδᵀ over pairs of rows, a second row of -1 being none."""
    from raremetric.losses.pair_sets_kernels import laplacian_product

    A = laplacian_product(X, first, second, weights).T @ X
    return (A + A.T) / 2


def merge_mutual(pairs: Pairs, weights: NDArray, n_samples: int) -> tuple[Pairs, NDArray]:
    """Each unordered pair once, with the sum of its weights: (i, j) is as long as (j, i)."""
    low, high = np.minimum(*pairs), np.maximum(*pairs)
    keys, place = np.unique(low * n_samples + high, return_inverse=True)
    return Pairs(*np.divmod(keys, n_samples)), np.bincount(place, weights, minlength=len(keys))
