"""The loss of LMNN over triplets of an example, a target neighbor and an impostor.

F(L) = (1 − μ) Σ_i w_i Σ_{j ∈ T(i)} d²(i, j)
     + μ Σ_i w_i Σ_{j ∈ T(i)} Σ_{l: y_l ≠ y_i} h(1 + d²(i, j) − d²(i, l)),

with h(u) = [u]₊² or [u]₊. The weights w and the targets T(i) are fixed. The impostors l, those with
h > 0, are found again at every evaluation, among all examples of other classes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from raremetric.losses.large_margin_kernels import evaluate_large_margin
from raremetric.neighbors import ClassSearch, group_by_class
from raremetric.pairs import Anchors
from raremetric.validation import Labels


class Part(NamedTuple):
    """Anchors with their targets, and the rows among which their impostors are; all by class."""

    X: NDArray  # (n_samples, n_features)
    starts: NDArray  # (n_classes + 1,), first row of each class
    targets: NDArray  # (n_samples, k); rows end in -1 for small classes, all of them for no anchor
    weights: NDArray  # (n_samples,), w
    push_weight: float  # μ
    squared: bool  # whether h is the squared hinge

    def in_single_precision(self) -> Part:
        """The same part with rows in single precision."""
        centered = self.X - self.X.mean(axis=0)  # the loss depends on differences only
        centered[:, np.ptp(self.X, axis=0) == 0] = 0.0  # rounding of the mean of large numbers
        single = centered.astype(np.float32), self.weights.astype(np.float32)
        return self._replace(X=single[0], weights=single[1])

    def scatter_of_targets(self) -> NDArray:
        """Σ w δδᵀ over the pairs of anchors and their target neighbors."""
        rows, slots = np.nonzero(self.targets >= 0)
        differences = self.X[rows] - self.X[self.targets[rows, slots]]
        differences *= np.sqrt(self.weights[rows])[:, np.newaxis]
        return differences.T @ differences


class LargeMarginLoss(NamedTuple):
    """F and its gradient over L, exact (width 0) or with the corner of the hinge rounded.

    If the anchors i are a sample, F is estimated by Σ_c F_c / s_c, with F_c the terms of the
    anchors that were drawn of class c, one part for each class, and s_c their share of the class:
    if they are drawn at random, the expectation is F. Otherwise there is one part.

    Notes
    -----
    Everything is evaluated in the projected space Z = XLᵀ. With c the derivative of F by the
    squared distance of each pair of rows, the gradient is 2 (Lap Z)ᵀX, where
    Lap = Σ c (e_i − e_j)(e_i − e_j)ᵀ. Cost n²·n_components for the search (a matrix product, in
    tiles) and k·n_components for each impostor; memory does not grow with the number of pairs.

    Rounding by a width δ replaces [u]₊ by u²/(2δ) on (0, δ) and by u − δ/2 beyond. The squared
    hinge has no corner and is not rounded.
    """

    parts: tuple[Part, ...]
    shares: tuple[float, ...]

    @property
    def squared(self) -> bool:
        """Whether h is the squared hinge."""
        return self.parts[0].squared

    def weighted(self, push_weight: float) -> LargeMarginLoss:
        """The same loss with another μ."""
        parts = (part._replace(push_weight=float(push_weight)) for part in self.parts)
        return self._replace(parts=tuple(parts))

    def in_single_precision(self) -> LargeMarginLoss:
        """The same loss in single precision; with the squared hinge and weights of one only."""
        return self._replace(parts=tuple(part.in_single_precision() for part in self.parts))

    def value_and_gradient(self, L: NDArray, width: float = 0.0) -> tuple[float, NDArray]:
        """F and its gradient over L, shape (n_components, n_features)."""
        L, total, slope = np.ascontiguousarray(L), 0.0, np.zeros(L.shape)
        for part, share in zip(self.parts, self.shares, strict=True):
            exact = part.X.dtype == np.float64
            value, gradient = evaluate_large_margin(L, part, float(width), exact)
            total, slope = total + value / share, slope + gradient / share
        return total, slope

    def scatter_of_targets(self) -> NDArray:
        """Σ w δδᵀ over the pairs of examples and their target neighbors."""
        parts = zip(self.parts, self.shares, strict=True)
        return np.sum([part.scatter_of_targets() / share for part, share in parts], axis=0)


def find_targets(
    X: NDArray,
    labels: Labels,
    k: int,
    n_jobs: int | None = None,
    anchors: NDArray | None = None,
) -> NDArray[np.int64]:
    """The k nearest rows of the class of each anchor, (n_samples, k); -1 is no row."""
    search = ClassSearch(X, labels, n_jobs, anchors)
    nearest, targets = search.within(k), np.full((len(X), k), -1)
    targets[search.rows, : nearest.shape[1]] = nearest
    return targets


def make_large_margin_loss(
    X: NDArray,
    labels: Labels,
    targets: NDArray,
    anchors: Anchors | None = None,
    *,
    push_weight: float,
    squared: bool,
) -> LargeMarginLoss:
    """The loss of anchors, None for all rows, with their target neighbors, (n_samples, k).

    With a sample of anchors, a part holds those of one class, their targets, and all rows of other
    classes.
    """
    if anchors is None:
        anchors = Anchors(None, np.ones(len(X)), np.ones(len(labels.classes)))
    if anchors.rows is None:
        pieces, shares = [(*group_by_class(labels), np.arange(len(X)))], (1.0,)
    else:
        pieces, shares = [], tuple(anchors.shares.tolist())
        for c in range(len(labels.classes)):
            is_own = labels.codes == c
            rows = anchors.rows[is_own[anchors.rows]]
            own = np.setdiff1d(np.append(rows, targets[rows]), [-1])
            chosen = np.append(own, np.flatnonzero(~is_own))
            pieces.append((chosen, np.array([0, len(own), len(chosen)]), rows))
    parts = []
    for chosen, starts, rows in pieces:
        position = np.full(len(X) + 1, -1)  # the last one for -1, no row
        position[chosen] = np.arange(len(chosen))
        table = np.full((len(chosen), targets.shape[1]), -1)
        table[position[rows]] = position[targets[rows]]
        data = np.ascontiguousarray(X[chosen], dtype=np.float64), starts, table
        weights = np.ascontiguousarray(anchors.weights[chosen], dtype=np.float64)
        parts.append(Part(*data, weights, float(push_weight), bool(squared)))
    return LargeMarginLoss(tuple(parts), shares)
