"""Compiled evaluation of the large-margin loss.

Squared distances are estimated in single precision, tile by tile, by a matrix product. Each pair of
rows that can be an impostor is then measured in double precision.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from raremetric.losses.pair_sets_kernels import add_pull, over_components, project
from raremetric.neighbors.self_join import row_distance, squared_norms
from raremetric.performance import inlined, internal, internal_any_order, jit, merged

TILE_ROWS = 128
TILE_COLUMNS = 1024  # a multiple of 8


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
            depth = sums.radii[row, s] - distance
            if depth > 0.0:
                weighted = loss.weights[row] * depth
                value += weighted * depth
                sums.depths[row, s] += weighted
                coefficient += weighted
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
        sums.norms[i] -= slack * sums.norms[i]
        sums.farthest[i] += slack * abs(sums.farthest[i])
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
