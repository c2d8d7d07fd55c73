"""The problem that IML solves: everything about it that does not depend on m, a and λ."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from raremetric.losses.dual import DualBound
from raremetric.losses.pair_sets import Multipliers, PairSetLoss, Ray, best_multiple
from raremetric.neighbors import group_by_class
from raremetric.pairs import Anchors, Pairs, merge_mutual, pair_weights
from raremetric.scales import unit_of
from raremetric.solvers.smooth import (
    PROVED_FACTOR,
    WIDTHS,
    Solution,
    SolverOptions,
    minimize_lbfgs,
    minimize_proved,
    not_proved,
)
from raremetric.solvers.windowed import minimize_windowed, windowed_multipliers
from raremetric.validation import Labels

CANDIDATES_PER_NEIGHBOR = 2  # rows of other classes kept between two searches, times k
MODERATE = 5  # features with a standard deviation of up to 2^5 are used as they are
MODERATE_FOR_ALL = 16  # the same for λ = 0, where all features have the same unit
TINY = 40  # examples, for which a proof of the accuracy takes milliseconds
POLISH_FACTOR = 5  # times max_iter: iterations for a result that was not proved
POLISH_WIDTHS = WIDTHS[2:]  # the fast solver ends with the first of these


class LossParameters(NamedTuple):
    """m, a and λ."""

    margin: float
    similar_weight: float
    regularization: float


class PairSetProblem:
    """Minimize the pair-set loss of one training set for any number of (m, a, λ).

    Everything that does not depend on these three is computed once: the grouped rows, the pairs
    and their weights, the neighbors under the identity, and the curvature.

    ``pairs`` are the similar and the dissimilar ones of the ``anchors``. With ``n_refreshed``, the
    number k of dissimilar neighbors that are found again under every metric, the dissimilar pairs
    are those under the identity. For ``set_weights`` see :class:`raremetric.IML`.
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
        similar_weights, anchor_weights = (
            factor * pair_weights(each, labels, anchors.weights, set_weights, anchors.shares)
            for each in pairs
        )
        self.order, starts = group_by_class(labels)
        position = np.argsort(self.order, kind="stable")
        similar, dissimilar = (
            Pairs(position[each.anchors], position[each.others]) for each in pairs
        )
        similar, similar_weights = merge_mutual(similar, similar_weights, len(X))
        owners, others = dissimilar.anchors, dissimilar.others[:, np.newaxis]
        if n_refreshed:
            first = np.flatnonzero(np.diff(owners, prepend=-1))  # they are sorted
            lengths = np.diff(first, append=len(owners))
            slots = np.arange(CANDIDATES_PER_NEIGHBOR * n_refreshed)
            others = np.full((len(first), len(slots)), -1)
            others[slots < lengths[:, np.newaxis]] = dissimilar.others
            # All pairs of an anchor have the same weight.
            owners, anchor_weights = owners[first], anchor_weights[first]
        means, high, low = X.mean(axis=0), X.max(axis=0), X.min(axis=0)
        # Without the rounding of the means, constant features do not vary.
        self._deviations = np.where(high > low, X.std(axis=0), 0.0)
        self._template = PairSetLoss(
            X=X[self.order] - means,  # the loss depends on differences only
            starts=starts,
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
            units=np.ones(X.shape[1]),
            scales=np.ones(X.shape[1]),
            n_threads=n_threads,
        )

    def loss(self, parameters: LossParameters, *, smooth_exchange: bool = False) -> PairSetLoss:
        """The loss for given m, a and λ; it shares all large arrays with the problem.

        With ``smooth_exchange`` the rounded loss also looks at rows that are about to become
        neighbors, so that it is smooth where two neighbors exchange ranks.
        """
        template, (margin, similar_weight, regularization) = self._template, parameters
        units = self._units(similar_weight, regularization)
        return template._replace(
            X=template.X if (units == 1).all() else template.X / units,
            units=units,
            scales=1 / units if regularization > 0 else template.scales,
            similar_weights=similar_weight * template.similar_weights,
            anchor_weights=(1 - similar_weight) * template.anchor_weights,
            margin=float(margin),
            regularization=float(regularization),
            n_nearest=template.others.shape[1] if smooth_exchange else template.n_nearest,
        )

    def _units(self, similar_weight: float, regularization: float) -> NDArray:
        """What each feature is divided by: 1 unless it is large, or λ = 0 and all are small.

        Single precision and the search for a start assume an optimum of moderate size, and the
        first steps assume features of about the same size. Where λ > 0 and nothing attracts, as
        beside small features or for a = 0, M is about the identity.
        """
        deviations = self._deviations
        if regularization == 0:
            largest = deviations.max()
            return np.full_like(deviations, unit_of(largest, -MODERATE_FOR_ALL, MODERATE_FOR_ALL))
        if similar_weight == 0:
            return np.ones_like(deviations)
        return unit_of(deviations, -1074, MODERATE)

    def solve(
        self, parameters: LossParameters, L: NDArray, options: SolverOptions
    ) -> tuple[Solution, DualBound, Pairs]:
        """Minimize the loss from the start L.

        Returns also a lower bound on the minimum, and the dissimilar pairs of the exact loss.
        """
        bound = DualBound(parameters.regularization)
        if options.solver == "auto":
            loss, found = self._minimize_fast(parameters, L, options)
            nearest = loss.candidates(found.L)
            value = loss.value(found.L, nearest)
            is_sensible = value <= 1.001 * loss.value_of_zero()  # not if rounding prevents descent
            found = found._replace(value=value, converged=found.converged and is_sensible)
            if loss.regularization > 0:
                multipliers = windowed_multipliers(loss, found.L, nearest, options.tol)
                bound.add(loss.dual_point(multipliers, balanced=loss.has_units))
            # The gain of the last iterations says little about the rest beside large features.
            is_tiny = len(loss.X) <= TINY
            if (is_tiny or loss.has_units) and not_proved(found, bound, options):
                if is_tiny:
                    found = self._polish(loss, bound, found, options)
                    nearest = loss.candidates(found.L)
                else:
                    found = found._replace(converged=False)
        else:
            loss = self.loss(parameters, smooth_exchange=True)
            start, _ = self._start(L, loss, options.scale_start)
            found = minimize_proved(loss, bound, start, options)
            nearest = loss.candidates(found.L)
        found = found._replace(L=found.L / loss.units)
        return found, bound, self._dissimilar_pairs(nearest)

    def minimize(self, parameters: LossParameters, L: NDArray, options: SolverOptions) -> NDArray:
        """The metric of ``solve`` alone: faster, because its exact loss is not evaluated."""
        if options.solver != "auto":
            return self.solve(parameters, L, options)[0].L
        loss, found = self._minimize_fast(parameters, L, options)
        return found.L / loss.units

    def _minimize_fast(
        self, parameters: LossParameters, L: NDArray, options: SolverOptions
    ) -> tuple[PairSetLoss, Solution]:
        """Minimize a rounded loss; the value of the solution is that of the rounded loss."""
        loss, similar_weight = self.loss(parameters), parameters.similar_weight
        L, candidates = self._start(L, loss, options.scale_start)
        max_iter, tol = options.max_iter, options.tol
        if similar_weight == 0 and loss.regularization == 0:
            # Any metric that is large enough has no loss: the path decides which one is found.
            # Take the path of the paper's program.
            return loss, minimize_lbfgs(loss.value_and_gradient, L, max_iter=max_iter, tol=tol)
        of_similar, of_dissimilar = self._scatters
        hessian = 2 * similar_weight * of_similar + 2 * (1 - similar_weight) * of_dissimilar
        hessian = hessian / np.outer(loss.units, loss.units)
        return loss, minimize_windowed(loss, L, candidates, hessian, max_iter=max_iter, tol=tol)

    def _start(
        self, L: NDArray, loss: PairSetLoss, scale: bool
    ) -> tuple[NDArray, NDArray[np.int64] | None]:
        """Where to start, and the candidates for neighbors there if they are known.

        In other units, L is only a direction: its largest entry is about 1.
        """
        if loss.has_units:
            L = L / unit_of(np.abs(L).max())
        elif np.array_equal(L, np.eye(L.shape[1])):
            return (best_multiple(L, self._identity_ray, loss) if scale else L), loss.others
        if not scale:
            return L, None
        candidates = loss.candidates(L)
        return best_multiple(L, loss.ray(L, candidates), loss), candidates

    def _polish(
        self, loss: PairSetLoss, bound: DualBound, found: Solution, options: SolverOptions
    ) -> Solution:
        """Continue until the bound proves the solution; without a proof, it has not converged."""
        smooth_loss = loss._replace(n_nearest=loss.others.shape[1])
        options = options._replace(
            max_iter=POLISH_FACTOR * options.max_iter, tol=PROVED_FACTOR * options.tol
        )
        polished = minimize_proved(smooth_loss, bound, found.L, options, POLISH_WIDTHS)
        return polished._replace(n_iter=found.n_iter + polished.n_iter)

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
        return template.scatters(Multipliers(template.similar_weights, weights, template.others))

    def _dissimilar_pairs(self, candidates: NDArray) -> Pairs:
        """The dissimilar pairs of the exact loss, in the rows' original order."""
        template = self._template
        n_nearest = max(template.n_refreshed, 1)
        others = candidates[:, :n_nearest].ravel()
        anchors = np.repeat(template.anchors, n_nearest)[others >= 0]
        return Pairs(self.order[anchors], self.order[others[others >= 0]])
