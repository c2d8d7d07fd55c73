"""The problem that IML solves: everything about it that does not depend on m, a and λ."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from raremetric.learners.accuracy import SolverOptions, minimize_proved, not_proved, polish
from raremetric.losses.dual import DualBound
from raremetric.losses.pair_sets import PairSetLoss, Ray, best_multiple
from raremetric.pairs import Anchors, Pairs, merge_mutual, pair_weights
from raremetric.scales import unit_of
from raremetric.solvers.reference import Solution, minimize_lbfgs
from raremetric.solvers.windowed import minimize_windowed, windowed_multipliers
from raremetric.validation import Labels

CANDIDATES_PER_NEIGHBOR = 2  # rows of other classes kept between two searches, times k
MODERATE = 16  # examples of up to 2^16 in size are used as they are
TINY = 40  # examples, for which a proof of the accuracy takes milliseconds


class Minimum(NamedTuple):
    """A solution, and what is known about it."""

    L: NDArray  # (n_components, n_features)
    value: float  # of the exact loss
    n_iter: int
    converged: bool
    bound: DualBound  # a lower bound on the minimum
    dissimilar: Pairs  # the dissimilar pairs of the exact loss at L


class PairSetProblem:
    """Minimize the pair-set loss of one training set for any number of (m, a, λ).

    Everything that does not depend on these three is computed once: the grouped rows, the pairs
    and their weights, the neighbors under the identity, and the curvature.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
    labels : Labels
    pairs : tuple of Pairs
        The similar and the dissimilar pairs. With ``n_refreshed``, the dissimilar pairs are those
        under the identity.
    set_weights : {"balanced", "uniform", "inverse"}
        See :class:`raremetric.IML`.
    anchors : Anchors
        The rows whose pairs these are, and their weights.
    n_refreshed : int
        Number k of dissimilar neighbors that are found again under every metric; 0 keeps the pairs.
    n_threads : int
        Threads in the search for neighbors. The result does not depend on it.
    """

    def __init__(
        self,
        X: NDArray,
        labels: Labels,
        pairs: tuple[Pairs, Pairs],
        *,
        set_weights: str,
        anchors: Anchors,
        n_refreshed: int = 0,
        n_threads: int = 1,
    ):
        self.pairs = pairs
        # The weights of "inverse" have no a: the factor cancels a = 1 − a = ½.
        factor = 2.0 if set_weights == "inverse" else 1.0
        similar_weights, dissimilar_weights = (
            factor * pair_weights(each, labels, anchors.weights, set_weights, anchors.shares)
            for each in pairs
        )
        self.order = np.argsort(labels.codes, kind="stable")
        position = np.argsort(self.order, kind="stable")
        similar, dissimilar = (
            Pairs(position[each.anchors], position[each.others]) for each in pairs
        )
        similar, similar_weights = merge_mutual(similar, similar_weights, len(X))
        owners, anchor_weights, others = dissimilar.anchors, dissimilar_weights, dissimilar.others
        if n_refreshed:
            first = np.flatnonzero(np.diff(owners, prepend=-1))  # they are sorted
            anchor_weights = dissimilar_weights[first]  # all pairs of an anchor have the same one
            others = _neighbor_lists(dissimilar, first, CANDIDATES_PER_NEIGHBOR * n_refreshed)
            owners = owners[first]
        else:
            others = others[:, np.newaxis]
        means, high, low = X.mean(axis=0), X.max(axis=0), X.min(axis=0)
        centered = X[self.order] - means  # the loss depends on differences only
        # Without the rounding of the means, constant features have no size.
        self._sizes = np.where(high > low, np.maximum(high - means, means - low), 0.0)
        self._is_tiny = len(X) <= TINY
        self._template = PairSetLoss(
            X=centered,
            starts=np.concatenate([[0], np.cumsum(labels.counts)]),
            similar_anchors=similar.anchors,
            similar_others=similar.others,
            similar_weights=similar_weights,
            anchors=owners,
            anchor_weights=anchor_weights,
            others=others,
            margin=0.0,
            regularization=0.0,
            n_refreshed=int(n_refreshed),
            n_nearest=max(int(n_refreshed), 1),
            scales=np.ones(X.shape[1]),
            n_threads=n_threads,
        )

    def loss(
        self,
        margin: float,
        similar_weight: float,
        regularization: float,
        *,
        smooth_exchange: bool = False,
    ) -> PairSetLoss:
        """The loss for given m, a and λ; it shares all large arrays with the problem.

        With ``smooth_exchange`` the rounded loss also looks at rows that are about to become
        neighbors, so that it is smooth where two neighbors exchange ranks.
        """
        template, units = self._template, self._units(similar_weight, regularization)
        return template._replace(
            X=template.X if (units == 1).all() else template.X / units,
            scales=1 / units if regularization > 0 else template.scales,
            similar_weights=similar_weight * template.similar_weights,
            anchor_weights=(1 - similar_weight) * template.anchor_weights,
            margin=float(margin),
            regularization=float(regularization),
            n_nearest=template.others.shape[1] if smooth_exchange else template.n_nearest,
        )

    def _units(self, similar_weight: float, regularization: float) -> NDArray:
        """What each feature is divided by: 1 unless it is large, or λ = 0 and all are small.

        Single precision and the search for a start assume an optimum of moderate size. Where λ > 0
        and nothing attracts, as beside small features or for a = 0, M is about the identity.
        """
        if regularization == 0:
            return self._common_unit
        return self._own_units if similar_weight > 0 else np.ones_like(self._sizes)

    @cached_property
    def _common_unit(self) -> NDArray:
        return np.full_like(self._sizes, unit_of(self._sizes.max(), -MODERATE, MODERATE))

    @cached_property
    def _own_units(self) -> NDArray:
        return unit_of(self._sizes, -1074, MODERATE)

    def solve(
        self,
        margin: float,
        similar_weight: float,
        regularization: float,
        L: NDArray,
        options: SolverOptions,
    ) -> Minimum:
        """Minimize the loss for m, a and λ from the start L, and bound its minimum from below."""
        smooth, bound = options.solver != "auto", DualBound(regularization)
        loss = self.loss(margin, similar_weight, regularization, smooth_exchange=smooth)
        L, candidates = self._start(L, loss, similar_weight, options.scale_start)
        if options.solver == "auto":
            found = self._minimize_fast(loss, similar_weight, L, candidates, options)
            nearest = loss.candidates(found.L)
            value = loss.value(found.L, nearest)
            is_sensible = value <= 1.001 * loss.value_of_zero()  # not if rounding prevents descent
            found = found._replace(value=value, converged=found.converged and is_sensible)
            if regularization > 0:
                multipliers = windowed_multipliers(loss, found.L, nearest, options.tol)
                bound.add(loss.dual_point(multipliers))
            if self._is_tiny and not_proved(found, bound, options):
                smooth_loss = loss._replace(n_nearest=loss.others.shape[1])
                found = polish(smooth_loss, bound, found, options)
                nearest = loss.candidates(found.L)
        else:
            found = minimize_proved(loss, bound, L, options)
            nearest = loss.candidates(found.L)
        L = found.L / self._units(similar_weight, regularization)
        pairs = self._dissimilar_pairs(nearest)
        return Minimum(L, found.value, found.n_iter, found.converged, bound, pairs)

    def minimize(
        self,
        margin: float,
        similar_weight: float,
        regularization: float,
        L: NDArray,
        options: SolverOptions,
    ) -> NDArray:
        """The metric of ``solve`` alone: faster, because its exact loss is not evaluated."""
        if options.solver != "auto":
            return self.solve(margin, similar_weight, regularization, L, options).L
        loss = self.loss(margin, similar_weight, regularization)
        L, candidates = self._start(L, loss, similar_weight, options.scale_start)
        found = self._minimize_fast(loss, similar_weight, L, candidates, options)
        return found.L / self._units(similar_weight, regularization)

    def _start(
        self, L: NDArray, loss: PairSetLoss, similar_weight: float, scale: bool
    ) -> tuple[NDArray, NDArray[np.int64] | None]:
        """Where to start, and the candidates for neighbors there if they are known.

        In other units, L is only a direction: its largest entry is about 1.
        """
        if (self._units(similar_weight, loss.regularization) != 1).any():
            L = L / unit_of(np.abs(L).max())
        elif np.array_equal(L, np.eye(L.shape[1])):
            return (best_multiple(L, self._identity_ray, loss) if scale else L), loss.others
        if not scale:
            return L, None
        candidates = loss.candidates(L)
        return best_multiple(L, loss.ray(L, candidates), loss), candidates

    def _minimize_fast(
        self,
        loss: PairSetLoss,
        similar_weight: float,
        L: NDArray,
        candidates: NDArray[np.int64] | None,
        options: SolverOptions,
    ) -> Solution:
        """Minimize a rounded loss; the value of the solution is that of the rounded loss."""
        max_iter, tol, report = options.max_iter, options.tol, options.report
        if similar_weight == 0 and loss.regularization == 0:
            # Any metric that is large enough has no loss: the path decides which one is found.
            # Take the path of the paper's program.
            return minimize_lbfgs(
                loss.value_and_gradient, L, max_iter=max_iter, tol=tol, report=report
            )
        of_similar, of_dissimilar = self._scatters
        hessian = 2 * similar_weight * of_similar + 2 * (1 - similar_weight) * of_dissimilar
        units = self._units(similar_weight, loss.regularization)
        hessian = hessian / np.outer(units, units)
        return minimize_windowed(
            loss, L, candidates, hessian, max_iter=max_iter, tol=tol, report=report
        )

    def extent(self) -> tuple[float, float]:
        """The radius of a ball that contains all examples, and the distance of two of them.

        The ball is around their mean, or around the middle between the example that is farthest
        from the mean and the one that is farthest from that: the smaller one of the two balls.
        """
        X = self._template.X  # the mean is zero
        first, from_mean = _farthest(X)
        second, distance = _farthest(X - X[first])
        _, from_middle = _farthest(X - (X[first] + X[second]) / 2)
        return min(from_mean, from_middle), distance

    @cached_property
    def _identity_ray(self) -> Ray:
        """The same for all m, a and λ."""
        n_features = self._template.X.shape[1]
        return self._template.ray(np.eye(n_features), self._template.others)

    @cached_property
    def _scatters(self) -> tuple[NDArray, NDArray]:
        """Σ w δδᵀ of the similar pairs, and of the dissimilar pairs under the identity.

        All hinges count as active: the curvature of the loss for each row of L is twice their sum.
        """
        template = self._template
        weights = np.repeat(template.anchor_weights, template.others.shape[1])
        return (
            template.scatter_of_similar(template.similar_weights),
            template.scatter_of_dissimilar(template.others, weights),
        )

    def _dissimilar_pairs(self, candidates: NDArray) -> Pairs:
        """The dissimilar pairs of the exact loss, in the rows' original order."""
        template = self._template
        n_nearest = max(template.n_refreshed, 1)
        others = candidates[:, :n_nearest].ravel()
        anchors = np.repeat(template.anchors, n_nearest)[others >= 0]
        return Pairs(self.order[anchors], self.order[others[others >= 0]])


def _farthest(X: NDArray) -> tuple[int, float]:
    """The longest row and its length."""
    squares = np.einsum("ij,ij->i", X, X)
    longest = int(squares.argmax())
    return longest, float(np.sqrt(squares[longest]))


def _neighbor_lists(pairs: Pairs, first: NDArray, size: int) -> NDArray[np.int64]:
    """Pairs sorted by anchor as lists of neighbors, (n_anchors, size), filled with -1.

    ``first`` holds the position of each anchor's first pair.
    """
    lists = np.full((len(first), size), -1)
    lengths = np.diff(first, append=len(pairs.anchors))
    slots = np.arange(len(pairs.anchors)) - np.repeat(first, lengths)
    lists[np.repeat(np.arange(len(first)), lengths), slots] = pairs.others
    return lists
