"""The problem that IML solves: everything about it that does not depend on m, a and λ."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import NamedTuple

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray

from raremetric.losses.dual import DualBound
from raremetric.losses.pair_sets import PairSetLoss, Ray, best_multiple
from raremetric.pairs import Pairs, merge_mutual, pair_weights
from raremetric.solvers.reference import (
    Solution,
    minimize_in_stages,
    minimize_lbfgs,
    minimize_projected,
)
from raremetric.solvers.windowed import minimize_windowed, windowed_multipliers
from raremetric.validation import Labels

CANDIDATES_PER_NEIGHBOR = 2  # rows of other classes kept between two searches, times k

Report = Callable[[int, float], None]


class SolverOptions(NamedTuple):
    """How to minimize; see the parameters of :class:`raremetric.IML`."""

    solver: str = "auto"
    max_iter: int = 200
    tol: float = 1e-4
    scale_start: bool = False  # whether to start from the best multiple of the given L
    report: Report | None = None  # called with the iteration and the value


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
    sample_weight : ndarray of shape (n_samples,)
    n_refreshed : int
        Number k of dissimilar neighbors that are found again under every metric; 0 keeps the pairs.
    n_jobs : int or None
        Threads in the search for neighbors. The result does not depend on it.
    """

    def __init__(
        self,
        X: NDArray,
        labels: Labels,
        pairs: tuple[Pairs, Pairs],
        *,
        set_weights: str,
        sample_weight: NDArray,
        n_refreshed: int = 0,
        n_jobs: int | None = None,
    ):
        self.pairs = pairs
        # The weights of "inverse" have no a: the factor cancels a = 1 − a = ½.
        factor = 2.0 if set_weights == "inverse" else 1.0
        similar_weights, dissimilar_weights = (
            factor * pair_weights(each, labels, sample_weight, set_weights) for each in pairs
        )
        self.order = np.argsort(labels.codes, kind="stable")
        position = np.argsort(self.order, kind="stable")
        similar, dissimilar = (
            Pairs(position[each.anchors], position[each.others]) for each in pairs
        )
        similar, similar_weights = merge_mutual(similar, similar_weights, len(X))
        anchors, anchor_weights, others = dissimilar.anchors, dissimilar_weights, dissimilar.others
        if n_refreshed:
            others = _neighbor_lists(dissimilar, len(X), CANDIDATES_PER_NEIGHBOR * n_refreshed)
            anchor_weights = np.zeros(len(X))  # all pairs of an anchor have the same weight
            anchor_weights[anchors] = dissimilar_weights
            anchors = np.arange(len(X))
        else:
            others = others[:, np.newaxis]
        self._template = PairSetLoss(
            X=X[self.order] - X.mean(axis=0),  # the loss depends on differences only
            starts=np.concatenate([[0], np.cumsum(labels.counts)]),
            similar_anchors=similar.anchors,
            similar_others=similar.others,
            similar_weights=similar_weights,
            anchors=anchors,
            anchor_weights=anchor_weights,
            others=others,
            margin=0.0,
            regularization=0.0,
            n_refreshed=int(n_refreshed),
            n_nearest=max(int(n_refreshed), 1),
            n_threads=effective_n_jobs(n_jobs),
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
        template = self._template
        return template._replace(
            similar_weights=similar_weight * template.similar_weights,
            anchor_weights=(1 - similar_weight) * template.anchor_weights,
            margin=float(margin),
            regularization=float(regularization),
            n_nearest=template.others.shape[1] if smooth_exchange else template.n_nearest,
        )

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
        L, candidates = self._start(L, loss, options.scale_start)
        if options.solver == "auto":
            found = self._minimize_fast(loss, similar_weight, L, candidates, options)
            nearest = loss.candidates(found.L)
            value = loss.value(found.L, nearest)
            if regularization > 0:
                multipliers = windowed_multipliers(loss, found.L, nearest, options.tol)
                bound.add(loss.dual_point(multipliers))
        else:
            found = _minimize_proved(loss, bound, L, options)
            value, nearest = found.value, loss.candidates(found.L)
        pairs = self._dissimilar_pairs(nearest)
        return Minimum(found.L, value, found.n_iter, found.converged, bound, pairs)

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
        L, candidates = self._start(L, loss, options.scale_start)
        return self._minimize_fast(loss, similar_weight, L, candidates, options).L

    def _start(
        self, L: NDArray, loss: PairSetLoss, scale: bool
    ) -> tuple[NDArray, NDArray[np.int64] | None]:
        """Where to start, and the candidates for neighbors there if they are known."""
        if np.array_equal(L, np.eye(L.shape[1])):
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
        return minimize_windowed(
            loss, L, candidates, hessian, max_iter=max_iter, tol=tol, report=report
        )

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


def _minimize_proved(
    loss: PairSetLoss, bound: DualBound, L: NDArray, options: SolverOptions
) -> Solution:
    """The reference solvers: less and less rounding, until the bound proves the accuracy."""
    solve: Callable[..., Solution] = minimize_lbfgs
    evaluate = loss.value_and_gradient
    if options.solver == "projected":
        solve, evaluate = minimize_projected, loss.value_and_matrix_gradient

    def minimize(L: NDArray, width: float, max_iter: int, tol: float) -> Solution:
        return solve(
            lambda point: evaluate(point, width),
            L,
            max_iter=max_iter,
            tol=tol,
            report=options.report,
        )

    def lower_bound(L: NDArray, width: float) -> float:
        bound.add(loss.dual_point(loss.multipliers(L, width)))
        return bound.value

    return minimize_in_stages(
        minimize, loss.value, lower_bound, L, max_iter=options.max_iter, tol=options.tol
    )


def _neighbor_lists(pairs: Pairs, n_samples: int, size: int) -> NDArray[np.int64]:
    """Pairs sorted by anchor as lists of neighbors, (n_samples, size), filled with -1."""
    lists = np.full((n_samples, size), -1)
    slots = np.arange(len(pairs.anchors)) - np.searchsorted(pairs.anchors, pairs.anchors)
    lists[pairs.anchors, slots] = pairs.others
    return lists
