"""The loss of LMNN over triplets of an example, a target neighbor and an impostor.

F(L) = (1 − μ) Σ_i w_i Σ_{j ∈ T(i)} d²(i, j)
     + μ Σ_i w_i Σ_{j ∈ T(i)} Σ_{l: y_l ≠ y_i} [1 + d²(i, j) − d²(i, l)]₊².

The weights w and the targets T(i) are fixed. The impostors l, those with a term above zero, are
found again at every evaluation, among all examples of other classes: squared distances are
estimated in single precision, tile by tile, by a matrix product, and each pair of rows that can be
an impostor is then measured in double precision.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from raremetric.losses.pair_sets_kernels import add_pull, over_components, project
from raremetric.neighbors import ClassSearch, group_by_class
from raremetric.neighbors.self_join import row_distance, squared_norms
from raremetric.performance import inlined, internal, internal_any_order, jit, merged
from raremetric.validation import Labels

TILE_ROWS = 128
TILE_COLUMNS = 1024  # a multiple of 8


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


# The compiled evaluation.


class PushSums(NamedTuple):
    """What the push terms depend on, and the sums over impostors that they add up to."""

    radii: np.ndarray  # (n_samples, k), 1 + d² to each target; minus infinity for none
    farthest: np.ndarray  # (n_samples,), the largest radius of each row, in single precision
    norms: np.ndarray  # (n_samples,), ‖z_i‖² in single precision, less what rounding can change
    depths: np.ndarray  # (n_samples, k), Σ_l w (radius − d²(i, l))
    laplacian: np.ndarray  # (n_samples, n_components), Lap·Z


@internal_any_order
def mark_impostors(products, norm, norms, radius, radii, marks):
    """Mark and count the rows whose estimated distances are within either radius, or overflow."""
    for b in range(products.shape[0]):
        estimate = norm + norms[b] - np.float32(2.0) * products[b]
        marks[b] = np.uint8(not estimate >= radius) | np.uint8(not estimate >= radii[b])
    count = 0
    for b in range(products.shape[0]):
        count += marks[b]
    return count


@inlined
def push_pair(i, j, Z, loss, sums):
    """Σ w [radius − d²]₊² of a pair, each way; adds to the depths and to Lap·Z."""
    distance, value, coefficient = row_distance(Z, i, j), 0.0, 0.0
    for s in range(sums.radii.shape[1]):
        for row in (i, j):
            depth = max(sums.radii[row, s] - distance, 0.0)
            weighted = loss.weights[row] * depth
            value += weighted * depth
            sums.depths[row, s] += weighted
            coefficient += weighted
    # Also if the coefficient is 0: a branch here makes the evaluation several times slower.
    add_pull(-2.0 * loss.push_weight * coefficient, i, j, Z, sums.laplacian)
    return value


@internal
def push_tile(Z, rounded, low, stop, first, last, loss, sums):
    """The push terms between two ranges of rows of different classes, each way."""
    value, size = 0.0, last - first
    estimates = np.empty((stop - low, size), rounded.dtype)
    words = np.zeros(TILE_COLUMNS // 8, np.uint64)  # eight marks each
    marks = words.view(np.uint8)
    np.dot(rounded[low:stop], rounded[first:last].T, estimates)
    for i in range(low, stop):
        count = mark_impostors(
            estimates[i - low], sums.norms[i], sums.norms[first:last], sums.farthest[i],
            sums.farthest[first:last], marks,
        )  # fmt: skip
        if count == 0:
            continue
        for w in range(-(-size // 8)):
            if words[w] == 0:
                continue
            for b in range(8 * w, min(8 * w + 8, size)):
                if marks[b] != 0:
                    value += push_pair(i, first + b, Z, loss, sums)
    return value


@merged
def pull_terms(Z, loss, sums):
    """Σ w d² over all targets; writes the radii."""
    value = 0.0
    for i in range(Z.shape[0]):
        sums.farthest[i] = -np.inf
        for s in range(loss.targets.shape[1]):
            radius = -np.inf
            if loss.targets[i, s] >= 0:
                distance = row_distance(Z, i, loss.targets[i, s])
                value += loss.weights[i] * distance
                radius = 1.0 + distance
            sums.radii[i, s] = radius
            sums.farthest[i] = max(sums.farthest[i], np.float32(radius))
    return value


@internal
def push_terms(Z, loss, sums):
    """Σ w [radius − d²]₊² over all triplets; class c owns rows starts[c] to starts[c + 1]."""
    value, starts = 0.0, loss.starts
    rounded = np.empty(Z.shape, np.float32)
    for i in range(Z.shape[0]):
        for t in range(Z.shape[1]):
            rounded[i, t] = Z[i, t]
    squared_norms(rounded, sums.norms)
    # Twice what rounding can change in an inner product of this many terms.
    slack = np.float32((Z.shape[1] + 8) * 2.0**-22)
    for i in range(Z.shape[0]):
        sums.norms[i] *= np.float32(1.0) - slack
        sums.farthest[i] *= np.float32(1.0) + slack
    for c in range(starts.shape[0] - 2):
        end = starts[c + 1]
        for low in range(starts[c], end, TILE_ROWS):
            for first in range(end, Z.shape[0], TILE_COLUMNS):
                stop, last = min(low + TILE_ROWS, end), min(first + TILE_COLUMNS, Z.shape[0])
                value += push_tile(Z, rounded, low, stop, first, last, loss, sums)
    return value


@merged
def add_targets(Z, loss, sums):
    """Add the pull of the targets to Lap·Z, and what the radii add to it."""
    for i in range(Z.shape[0]):
        for s in range(loss.targets.shape[1]):
            if loss.targets[i, s] >= 0:
                own = (1.0 - loss.push_weight) * loss.weights[i]
                weight = own + 2.0 * loss.push_weight * sums.depths[i, s]
                add_pull(weight, i, loss.targets[i, s], Z, sums.laplacian)


@jit
def evaluate_large_margin(L, loss):
    """The large-margin loss, a `LargeMarginLoss`, and its gradient over L: 2 (Lap Z)ᵀX."""
    mu, k = loss.push_weight, loss.targets.shape[1]
    _, Z = project(loss.X, L)
    n_samples = Z.shape[0]
    sums = PushSums(
        np.empty((n_samples, k), np.float64), np.empty(n_samples, np.float32),
        np.empty(n_samples, np.float32), np.zeros((n_samples, k), np.float64),
        np.zeros(Z.shape, np.float64),
    )  # fmt: skip
    value = (1.0 - mu) * pull_terms(Z, loss, sums)
    if mu > 0.0:
        value += mu * push_terms(Z, loss, sums)
    add_targets(Z, loss, sums)
    return value, over_components(sums.laplacian, loss.X, L)
