"""The problem that LMNN solves: everything about it that does not depend on the push weight."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from raremetric.losses.large_margin import (
    LargeMarginLoss,
    find_targets,
    make_large_margin_loss,
)
from raremetric.pairs import Anchors
from raremetric.solvers.smooth import (
    PATIENCE,
    Solution,
    SolverOptions,
    minimize_in_stages,
    minimize_lbfgs,
)
from raremetric.validation import Labels

STEP_TOLERANCE = 1e-3  # gain of one iteration that ends a plain descent, as a share of tol
SINGLE_PRECISION_TOL = 1e-5  # the tightest tolerance for which single precision is enough
SEPARATED = 1e-3  # share of the loss at the start: less means that the metric is not determined
RIDGE = 1e-3  # of the mean curvature, for directions in which no target differs


class LargeMarginProblem:
    """Minimize the large-margin loss of one training set for any number of push weights.

    Distances are measured in units in which the features have about unit variance, so that the
    result for c·X is that for X divided by c, without overflow. ``anchors`` are the rows whose
    terms enter the loss, their weights, and their shares of the classes.
    """

    def __init__(
        self,
        X: NDArray,
        labels: Labels,
        n_neighbors: int,
        *,
        squared: bool,
        anchors: Anchors,
        n_jobs: int | None,
    ):
        self.targets = find_targets(X, labels, n_neighbors, n_jobs, anchors.rows)
        self.unit = unit_of_features(X)
        self._loss = make_large_margin_loss(
            X / self.unit, labels, self.targets, anchors, push_weight=0.5, squared=squared
        )
        is_weighted = bool((anchors.weights != 1).any())
        self._allows_single_precision = squared and not is_weighted
        n_targets = np.bincount(labels.codes, (self.targets >= 0).sum(axis=1) * anchors.weights)
        self._n_targets = max(np.sum(n_targets / anchors.shares), 1)

    def loss(self, push_weight: float, tol: float = 0.0) -> LargeMarginLoss:
        """The loss for a push weight, in the lowest precision that is enough for a tolerance."""
        single = self._allows_single_precision and tol >= SINGLE_PRECISION_TOL
        return (self._in_single_precision if single else self._loss).weighted(push_weight)

    def solve(self, push_weight: float, L: NDArray, options: SolverOptions) -> Solution:
        """Minimize from the start L; the value of the solution is that of the exact loss.

        With ``scale_start`` only the directions of the start matter, not its scale.
        """
        found, _ = self.minimize(push_weight, L, options)
        if not self._allows_single_precision or options.tol < SINGLE_PRECISION_TOL:
            return found
        loss, L = self.loss(push_weight), found.L * self.unit
        value, _ = loss.value_and_gradient(L)
        if abs(value - found.value) <= options.tol * abs(value):
            return found._replace(value=value)
        # Single precision is not enough: some examples are far from all others.
        return self._in_unit(_descend(loss, L, self._inverse_root, options))

    def minimize(
        self, push_weight: float, L: NDArray, options: SolverOptions, *, plain: bool = False
    ) -> tuple[Solution, bool]:
        """The same as ``solve``, but the value may be that of the loss in single precision.

        Returns also whether the loss determines the metric. It does not with a push weight of 0,
        nor where classes can be separated with hardly any pull: with few examples of many
        features, or a push weight of 1. The path then decides which metric is found, and plain
        L-BFGS is used; ``plain`` says that this is known.
        """
        L = L if options.scale_start else L * self.unit
        if push_weight > 0 and not plain:
            loss = self.loss(push_weight, options.tol)
            start = self._scaled(L) if options.scale_start else L
            found = _descend(loss, start, self._inverse_root, options)
            is_separated = options.scale_start and (
                found.value <= SEPARATED * loss.value_and_gradient(start)[0]
            )
            if not is_separated:
                return self._in_unit(found), True
        return self._in_unit(_descend(self.loss(push_weight), L, None, options)), False

    def path(
        self, push_weights: Sequence[float], L: NDArray, options: SolverOptions
    ) -> list[NDArray]:
        """The metric for each push weight, by ``minimize``.

        From the largest weight on, each starts from the metric of the one before: the rank of the
        metric falls with the weight, and a descent over L cannot raise it again. Metrics that
        the loss does not determine all start from L.
        """
        metrics, last, plain = [L] * len(push_weights), (L, options), False
        for i in sorted(range(len(push_weights)), key=lambda i: -push_weights[i]):
            weight = push_weights[i]
            start = (L, options) if plain or weight == 0 else last
            solution, determined = self.minimize(weight, *start, plain=plain)
            if determined:
                last = solution.L, options._replace(scale_start=False)
            plain = plain or (weight < 1 and not determined)
            metrics[i] = solution.L
        return metrics

    def _in_unit(self, solution: Solution) -> Solution:
        """A solution in the units of the features."""
        return solution._replace(L=solution.L / self.unit)

    def _scaled(self, L: NDArray) -> NDArray:
        """The multiple of L with a mean squared distance of one between targets."""
        mean = np.sum((L @ self._loss.scatter_of_targets()) * L) / self._n_targets
        return L / np.sqrt(mean) if mean > 0 else L

    @cached_property
    def _in_single_precision(self) -> LargeMarginLoss:
        return self._loss.in_single_precision()

    @cached_property
    def _inverse_root(self) -> NDArray:
        """P with L = L'P: the pull of the targets has about the same curvature for all of L'."""
        values, vectors = np.linalg.eigh(self._loss.scatter_of_targets())
        values = np.maximum(values, 0) + max(RIDGE * values.mean(), np.finfo(float).tiny)
        return (vectors * np.sqrt(values.mean() / values)) @ vectors.T


def _descend(
    loss: LargeMarginLoss, L: NDArray, inverse: NDArray | None, options: SolverOptions
) -> Solution:
    """Minimize over L' with L = L'·inverse, or without an inverse over L itself."""
    patience, factor = (1, STEP_TOLERANCE) if inverse is None else (PATIENCE, 1.0)
    start = L if inverse is None else np.linalg.solve(inverse, L.T).T

    def mapped(point: NDArray) -> NDArray:
        return point if inverse is None else point @ inverse

    def evaluate(point: NDArray, width: float = 0.0) -> tuple[float, NDArray]:
        value, gradient = loss.value_and_gradient(mapped(point), width)
        return value, mapped(gradient)

    solve = partial(minimize_lbfgs, patience=patience)
    if loss.squared:
        tol = factor * options.tol
        solution = solve(evaluate, start, max_iter=options.max_iter, tol=tol)
    else:
        solution = minimize_in_stages(
            solve, evaluate, lambda point: evaluate(point)[0], start,
            max_iter=options.max_iter, tol=options.tol,
        )  # fmt: skip
    return solution._replace(L=mapped(solution.L))


def unit_of_features(X: NDArray) -> float:
    """The power of two nearest to the root mean square of the centered features."""
    if not np.ptp(X, axis=0).any():  # equal examples; centered, they can differ from 0 by rounding
        return 1.0
    centered = X - X.mean(axis=0)
    largest = float(np.abs(centered).max())
    return float(2.0 ** np.round(np.log2(largest * np.sqrt(np.mean((centered / largest) ** 2)))))
