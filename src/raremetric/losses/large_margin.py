"""The loss of LMNN over triplets of an example, a target neighbor and an impostor.

F(L) = (1 − μ) Σ_i w_i Σ_{j ∈ T(i)} d²(i, j)
     + μ Σ_i w_i Σ_{j ∈ T(i)} Σ_{l: y_l ≠ y_i} [1 + d²(i, j) − d²(i, l)]₊².

The weights w and the targets T(i) are fixed. The impostors l, those with a term above zero, are
found again at every evaluation, among all examples of other classes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from raremetric.losses.large_margin_kernels import evaluate_large_margin
from raremetric.neighbors import ClassSearch, group_by_class
from raremetric.validation import Labels


class LargeMarginLoss(NamedTuple):
    """F and its gradient over L. Rows are centered and grouped by class.

    Notes
    -----
    Everything is evaluated in the projected space Z = XLᵀ. With c the derivative of F by the
    squared distance of each pair of rows, the gradient is 2 (Lap Z)ᵀX, where
    Lap = Σ c (e_i − e_j)(e_i − e_j)ᵀ. Cost n²·n_components for the search (a matrix product, in
    tiles) and k·n_components for each impostor; memory does not grow with the number of pairs.
    """

    X: NDArray  # (n_samples, n_features)
    starts: NDArray  # (n_classes + 1,), first row of each class
    targets: NDArray  # (n_samples, k); rows end in -1 for small classes, all of them for no anchor
    weights: NDArray  # (n_samples,), w
    push_weight: float  # μ

    def weighted(self, push_weight: float) -> LargeMarginLoss:
        """The same loss with another μ."""
        return self._replace(push_weight=float(push_weight))

    def value_and_gradient(self, L: NDArray) -> tuple[float, NDArray]:
        """F and its gradient over L, shape (n_components, n_features)."""
        return evaluate_large_margin(np.ascontiguousarray(L), self)

    def scatter_of_targets(self) -> NDArray:
        """Σ w δδᵀ over the pairs of examples and their target neighbors."""
        rows, slots = np.nonzero(self.targets >= 0)
        differences = self.X[rows] - self.X[self.targets[rows, slots]]
        differences *= np.sqrt(self.weights[rows])[:, np.newaxis]
        return differences.T @ differences


def find_targets(
    X: NDArray,
    labels: Labels,
    k: int,
    n_jobs: int | None = None,
    anchors: NDArray[np.int64] | None = None,
) -> NDArray[np.int64]:
    """The k nearest rows of the class of each anchor, (n_samples, k); -1 is no row."""
    search = ClassSearch(X, labels, n_jobs, anchors)
    nearest, targets = search.within(k), np.full((len(X), k), -1)
    targets[search.rows, : nearest.shape[1]] = nearest
    return targets


def make_large_margin_loss(
    X: NDArray, labels: Labels, targets: NDArray, weights: NDArray, *, push_weight: float
) -> LargeMarginLoss:
    """The loss of rows with their target neighbors, (n_samples, k); -1 is no row."""
    order, starts = group_by_class(labels)
    centered = X[order] - X.mean(axis=0)  # the loss depends on differences only
    centered[:, np.ptp(X, axis=0) == 0] = 0.0  # rounding of the mean of large numbers
    position = np.append(np.argsort(order, kind="stable"), -1)  # the last one for -1, no row
    return LargeMarginLoss(
        np.ascontiguousarray(centered, dtype=np.float64), starts, position[targets[order]],
        np.ascontiguousarray(weights[order], dtype=np.float64), float(push_weight),
    )  # fmt: skip
