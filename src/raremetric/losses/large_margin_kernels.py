"""Compiled evaluation of the large-margin loss.

Squared distances are estimated by inner products, tile by tile. In double precision, each pair
that can be an impostor is then measured. In single precision, for the squared hinge without
weights, the estimates are used as they are: a row of a tile with few impostors is processed pair
by pair, one with many by loops over the whole row that vectorize, followed by a matrix product.
Sums over pairs of rows are accumulated in double precision.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from raremetric.losses.pair_sets_kernels import add_pull, hinge, over_components, project
from raremetric.neighbors.self_join import row_distance, squared_norms
from raremetric.performance import inlined, internal, internal_any_order, jit, merged

TILE_ROWS = 128
TILE_COLUMNS = 1024  # a multiple of 8
DENSE = 0.25  # share of impostors in a row of a tile from which on the whole row is processed


class PushSums(NamedTuple):
    """What the push terms depend on, and the sums over impostors that they add up to."""

    norms: np.ndarray  # (n_samples,), ‖z_i‖², or slightly less in double precision
    radii: np.ndarray  # (k, n_samples), 1 + d² to each target; minus infinity for none
    farthest: np.ndarray  # (n_samples,), the largest radius of each row
    depths: np.ndarray  # (k, n_samples), half of Σ_l w h'(radius − d²(i, l))
    degrees: np.ndarray  # (n_samples,), Σ_l c(i, l), with c the sum of w h'/2 over both ways
    products: np.ndarray  # (n_samples, n_components), Σ_l c(i, l) z_l
    # In double precision, products has Σ_l c(i, l) (z_l − z_i), and degrees has zeros.


@internal_any_order
def mark_impostors(products, norm, norms, radius, radii, marks):
    """Turn inner products into squared distances; mark and count those within either radius."""
    for b in range(products.shape[0]):
        estimate = norm + norms[b] - np.float32(2.0) * products[b]
        products[b] = estimate
        marks[b] = np.uint8(estimate < radius) | np.uint8(estimate < radii[b])
    count = 0
    for b in range(products.shape[0]):
        count += marks[b]
    return count


@internal_any_order
def whole_row(estimates, radii, i, first, depths, coefficients):
    """Σ [radius − d²]₊² between row i and the rows first, first + 1, …, each way.

    Adds to ``depths`` and writes c to ``coefficients``.
    """
    value, zero, width = np.float32(0.0), np.float32(0.0), estimates.shape[0]
    for b in range(width):
        coefficients[b] = zero
    for s in range(radii.shape[0]):
        radius, total = radii[s, i], np.float32(0.0)
        others, sums = radii[s, first : first + width], depths[s, first : first + width]
        for b in range(width):
            own = max(radius - estimates[b], zero)
            other = max(others[b] - estimates[b], zero)
            value += own * own + other * other
            total += own
            sums[b] += other
            coefficients[b] += own + other
        depths[s, i] += total
    return np.float64(value)


@inlined
def add_row(coefficient, j, Z, i, out):
    """Add c · z_j to row i of out."""
    for t in range(Z.shape[1]):
        out[i, t] += coefficient * Z[j, t]


@inlined
def single_pair(estimate, i, j, sums):
    """Σ [radius − d²]₊² of one pair, each way; adds to the depths and returns also c."""
    value, coefficient, zero = 0.0, np.float32(0.0), np.float32(0.0)
    for s in range(sums.radii.shape[0]):
        own = max(sums.radii[s, i] - estimate, zero)
        other = max(sums.radii[s, j] - estimate, zero)
        sums.depths[s, i] += own
        sums.depths[s, j] += other
        coefficient += own + other
        value += own * own + other * other
    return value, coefficient


@internal
def exact_pair(i, j, Z, loss, width, sums):
    """Σ w h(radius − d²) of one pair, each way; adds to the depths and the products."""
    distance, value, coefficient = row_distance(Z, i, j), 0.0, 0.0
    for s in range(sums.radii.shape[0]):
        for row in (i, j):
            excess = sums.radii[s, row] - distance
            if excess > 0.0:
                term, half_slope = excess * excess, excess
                if not loss.squared:
                    term, slope = hinge(excess, width)
                    half_slope = slope / 2.0
                value += loss.weights[row] * term
                sums.depths[s, row] += loss.weights[row] * half_slope
                coefficient += loss.weights[row] * half_slope
    add_pull(-coefficient, i, j, Z, sums.products)
    return value


@internal
def marked_pairs(estimates, words, i, first, Z, loss, width, exact, sums):
    """The same as ``whole_row``, and its matrix product, for the marked pairs only."""
    marks, value, size = words.view(np.uint8), 0.0, estimates.shape[0]
    for w in range(-(-size // 8)):
        if words[w] == 0:
            continue
        for b in range(8 * w, min(8 * w + 8, size)):
            if marks[b] == 0:
                continue
            j = first + b
            if exact:
                value += exact_pair(i, j, Z, loss, width, sums)
                continue
            term, coefficient = single_pair(estimates[b], i, j, sums)
            value += term
            sums.degrees[i] += coefficient
            sums.degrees[j] += coefficient
            add_row(coefficient, j, Z, i, sums.products)
            add_row(coefficient, i, Z, j, sums.products)
    return value


@internal_any_order
def add_degrees(coefficients, degrees):
    """Add a row of coefficients to the degrees of its columns; returns their sum."""
    total = np.float32(0.0)
    for b in range(coefficients.shape[0]):
        total += coefficients[b]
        degrees[b] += coefficients[b]
    return total


@internal
def add_whole_rows(coefficients, dense, first, Z, sums):
    """Add the matrix products of the rows ``dense`` of a tile to the sums."""
    n_dense, width = coefficients.shape
    own, others = np.empty((n_dense, Z.shape[1]), Z.dtype), np.empty((width, Z.shape[1]), Z.dtype)
    gathered = np.empty((n_dense, Z.shape[1]), Z.dtype)
    for a in range(n_dense):
        for t in range(Z.shape[1]):
            gathered[a, t] = Z[dense[a], t]
    np.dot(coefficients, Z[first : first + width], own)
    np.dot(coefficients.T, gathered, others)
    for a in range(n_dense):
        i = dense[a]
        sums.degrees[i] += add_degrees(coefficients[a], sums.degrees[first : first + width])
        for t in range(Z.shape[1]):
            sums.products[i, t] += own[a, t]
    for b in range(width):
        for t in range(Z.shape[1]):
            sums.products[first + b, t] += others[b, t]


@internal
def push_tile(Z, low, stop, first, last, loss, width, exact, sums):
    """The push terms between two ranges of rows of different classes, each way."""
    value, n_dense, size = 0.0, 0, last - first
    estimates = np.empty((stop - low, size), Z.dtype)
    coefficients = np.empty((stop - low, size), Z.dtype)
    dense = np.empty(stop - low, np.int64)
    words = np.zeros(TILE_COLUMNS // 8, np.uint64)  # eight marks each
    np.dot(Z[low:stop], Z[first:last].T, estimates)
    for i in range(low, stop):
        row = estimates[i - low]
        count = mark_impostors(
            row, sums.norms[i], sums.norms[first:last], sums.farthest[i],
            sums.farthest[first:last], words.view(np.uint8),
        )  # fmt: skip
        if count > DENSE * size and not exact:
            value += whole_row(row, sums.radii, i, first, sums.depths, coefficients[n_dense])
            dense[n_dense] = i
            n_dense += 1
        elif count > 0:
            value += marked_pairs(row, words, i, first, Z, loss, width, exact, sums)
    if n_dense > 0:
        add_whole_rows(coefficients[:n_dense], dense, first, Z, sums)
    return value


@merged
def pull_terms(Z, loss, sums):
    """Σ w d² over all targets; writes the norms and the radii."""
    value = 0.0
    squared_norms(Z, sums.norms)
    for i in range(Z.shape[0]):
        sums.farthest[i] = -np.inf
        for s in range(loss.targets.shape[1]):
            radius = np.float32(-np.inf)
            if loss.targets[i, s] >= 0:
                distance = row_distance(Z, i, loss.targets[i, s])
                value += loss.weights[i] * distance
                radius = np.float32(1.0) + distance
            sums.radii[s, i] = radius
            sums.farthest[i] = max(sums.farthest[i], radius)
    return value


@internal
def push_terms(Z, loss, width, exact, sums):
    """Σ w h(radius − d²) over all triplets; class c owns rows starts[c] to starts[c + 1]."""
    value, starts = 0.0, loss.starts
    if exact:  # the estimates must not be too large
        for i in range(Z.shape[0]):
            sums.norms[i] *= 1.0 - 1e-12
    for c in range(starts.shape[0] - 2):
        end = starts[c + 1]
        for low in range(starts[c], end, TILE_ROWS):
            for first in range(end, Z.shape[0], TILE_COLUMNS):
                stop, last = min(low + TILE_ROWS, end), min(first + TILE_COLUMNS, Z.shape[0])
                value += push_tile(Z, low, stop, first, last, loss, width, exact, sums)
    return value


@merged
def finish_laplacian(Z, loss, sums):
    """Turn the products into Lap·Z: Σ c (e_i − e_j)(e_i − e_j)ᵀZ over all pairs."""
    targets, push_weight = loss.targets, loss.push_weight
    double = Z.dtype.type(2.0 * push_weight)
    for i in range(Z.shape[0]):
        for t in range(Z.shape[1]):
            sums.products[i, t] = double * (sums.products[i, t] - sums.degrees[i] * Z[i, t])
    for i in range(Z.shape[0]):
        for s in range(targets.shape[1]):
            if targets[i, s] >= 0:
                own = (1.0 - push_weight) * loss.weights[i]
                weight = own + 2.0 * push_weight * sums.depths[s, i]
                add_pull(weight, i, targets[i, s], Z, sums.products)


@jit
def evaluate_large_margin(L, loss, width, exact):
    """The large-margin loss and its gradient over L: 2 (Lap Z)ᵀX.

    ``loss`` is a `Part`. Its rows are in double precision if ``exact``, otherwise in single.
    """
    mu, k, dtype = loss.push_weight, loss.targets.shape[1], loss.X.dtype
    _, Z = project(loss.X, L)
    n_samples = Z.shape[0]
    sums = PushSums(
        np.empty(n_samples, dtype), np.empty((k, n_samples), dtype), np.empty(n_samples, dtype),
        np.zeros((k, n_samples), dtype), np.zeros(n_samples, dtype), np.zeros(Z.shape, dtype),
    )  # fmt: skip
    value = (1.0 - mu) * pull_terms(Z, loss, sums)
    if mu > 0.0:
        value += mu * push_terms(Z, loss, width, exact, sums)
    finish_laplacian(Z, loss, sums)
    return value, over_components(sums.products, loss.X, L)
