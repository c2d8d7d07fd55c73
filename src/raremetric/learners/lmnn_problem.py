"""The problem that LMNN solves: everything about it that does not depend on the push weight."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from raremetric.losses.large_margin import (
    LargeMarginLoss,
    find_targets,
    make_large_margin_loss,
)
from raremetric.pairs import Anchors
from raremetric.solvers.smooth import PATIENCE, Solution, SolverOptions, minimize_lbfgs
from raremetric.validation import Labels

STEP_TOLERANCE = 1e-3  # gain of one iteration that ends a plain descent, as a share of tol
SEPARATED = 1e-3  # share of the loss at the start: less means that the metric is not determined
RIDGE = 1e-3  # of the mean curvature, for directions in which no target differs


class LargeMarginProblem:
    """Minimize the large-margin loss of one training set for any number of push weights.

    Distances are measured in units in which the features have about unit variance, so that the
    result for c·X is that for X divided by c, without overflow. ``anchors`` are the rows whose
    terms enter the loss, and their weights.
    """

    def __init__(
        self, X: NDArray, labels: Labels, n_neighbors: int, *, anchors: Anchors, n_jobs: int | None
    ):
        self.targets = find_targets(X, labels, n_neighbors, n_jobs, anchors.rows)
        self.unit = unit_of_features(X)
        self._loss = make_large_margin_loss(
            X / self.unit, labels, self.targets, anchors.weights, push_weight=0.5
        )
        self._n_targets = max(np.sum((self.targets >= 0).sum(axis=1) * anchors.weights), 1)

    def loss(self, push_weight: float) -> LargeMarginLoss:
        """The loss for a push weight."""
        return self._loss.weighted(push_weight)

    def path(
        self, push_weights: Sequence[float], L: NDArray, options: SolverOptions
    ) -> list[Solution]:
        """The minimum for each push weight; with ``scale_start`` only the directions of L matter.

        From the largest weight on, each starts from the metric of the one before: the rank of the
        metric falls with the weight, and a descent over L cannot raise it again. Metrics that
        the loss does not determine all start from L, by plain L-BFGS: that path then decides which
        metric is found. They are those with a push weight of 0, and those of classes that can be
        separated with hardly any pull: with few examples of many features, or a push weight of 1.
        """
        found, last, plain = {}, (L, options), False
        for weight in sorted(set(push_weights), reverse=True):
            determined = None
            if weight > 0 and not plain:
                determined = self._minimize(weight, *last)
            if determined is None:
                start = L if options.scale_start else L * self.unit
                found[weight] = _descend(self.loss(weight), start, None, options)
                plain = plain or weight < 1
            else:
                found[weight] = determined
                last = determined.L / self.unit, options._replace(scale_start=False)
        return [found[weight]._replace(L=found[weight].L / self.unit) for weight in push_weights]

    def _minimize(self, push_weight: float, L: NDArray, options: SolverOptions) -> Solution | None:
        """Minimize from the start L; None if the loss does not determine the metric."""
        loss = self.loss(push_weight)
        start = self._scaled(L) if options.scale_start else L * self.unit
        found = _descend(loss, start, self._inverse_root, options)
        if options.scale_start and found.value <= SEPARATED * loss.value_and_gradient(start)[0]:
            return None
        return found

    def _scaled(self, L: NDArray) -> NDArray:
        """The multiple of L with a mean squared distance of one between targets."""
        mean = np.sum((L @ self._loss.scatter_of_targets()) * L) / self._n_targets
        return L / np.sqrt(mean) if mean > 0 else L

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

    def evaluate(point: NDArray) -> tuple[float, NDArray]:
        value, gradient = loss.value_and_gradient(mapped(point))
        return value, mapped(gradient)

    found = minimize_lbfgs(
        evaluate, start, max_iter=options.max_iter, tol=factor * options.tol, patience=patience
    )
    return found._replace(L=mapped(found.L))


def unit_of_features(X: NDArray) -> float:
    """The power of two nearest to the root mean square of the centered features."""
    if not np.ptp(X, axis=0).any():  # equal examples; centered, they can differ from 0 by rounding
        return 1.0
    return float(2.0 ** np.round(np.log2(np.sqrt(np.mean((X - X.mean(axis=0)) ** 2)))))
