"""The large-margin loss: target neighbours pulled, impostors pushed."""

from __future__ import annotations

import numpy as np

from raremetric.losses.pair_sets_kernels import hinge
from raremetric.performance import jit

TILE_ROWS = 128
TILE_COLUMNS = 1024


@jit
def squared_distance(a, b):
    """‖a − b‖²."""
    total = 0.0
    for t in range(a.shape[0]):
        difference = a[t] - b[t]
        total += difference * difference
    return total


@jit
def target_radii(Z, targets):
    """1 + d² to each target, farthest first, and the place of each in ``targets``.

    ``targets``, shape (n_samples, k), ends in -1 where a class is small; so does the order, with
    a radius of minus infinity: nothing is within it.
    """
    radii = np.full(targets.shape, -np.inf)
    places = np.full(targets.shape, -1, dtype=np.int64)
    for i in range(targets.shape[0]):
        for j in range(targets.shape[1]):
            if targets[i, j] < 0:
                break
            radius = 1.0 + squared_distance(Z[i], Z[targets[i, j]])
            slot = j
            while slot > 0 and radius > radii[i, slot - 1]:
                radii[i, slot] = radii[i, slot - 1]
                places[i, slot] = places[i, slot - 1]
                slot -= 1
            radii[i, slot] = radius
            places[i, slot] = j
    return radii, places


@jit
def push_terms(distance, radii, places, squared, width, pulls):
    """Σ_j h(radius_j − d²) for one impostor at squared distance d²; returns also Σ_j h'.

    h is [u]₊² or [u]₊ with its corner rounded. Adds h' to each target's entry of ``pulls``.
    """
    value, push = 0.0, 0.0
    for slot in range(radii.shape[0]):
        excess = radii[slot] - distance
        if excess <= 0.0:
            break
        if squared:
            term, slope = excess * excess, 2.0 * excess
        else:
            term, slope = hinge(excess, width)
        value += term
        push += slope
        pulls[places[slot]] += slope
    return value, push


@jit
def tile_terms(Z, near, rows, columns, radii, places, squared, width, pulls, laplacian):
    """Push terms between two ranges of rows of different classes, each row both ways.

    ``near`` holds rough squared distances (rows × columns): they only choose whom to look at.
    Adds Σ −h' (e_i − e_l)(e_i − e_l)ᵀZ to ``laplacian``.
    """
    value = 0.0
    for a in range(near.shape[0]):
        i = rows + a
        for b in range(near.shape[1]):
            m = columns + b
            if near[a, b] >= max(radii[i, 0], radii[m, 0]):
                continue
            distance = squared_distance(Z[i], Z[m])
            term, push = push_terms(distance, radii[i], places[i], squared, width, pulls[i])
            other_term, other_push = push_terms(
                distance, radii[m], places[m], squared, width, pulls[m]
            )
            value += term + other_term
            push += other_push
            for t in range(Z.shape[1]):
                step = push * (Z[i, t] - Z[m, t])
                laplacian[i, t] -= step
                laplacian[m, t] += step
    return value


@jit
def impostor_terms(Z, starts, radii, places, squared, width, pulls, laplacian):
    """The push loss over all triplets; class c owns rows starts[c] to starts[c + 1].

    Distances come tile by tile from a matrix product, so memory is that of a tile. Its rounding
    error is of the order of 1e-16 times the squared norms: the slack lets no impostor escape.
    """
    n_samples = Z.shape[0]
    value = 0.0
    norms = (1.0 - 1e-12) * np.sum(Z * Z, axis=1)
    for c in range(starts.shape[0] - 2):
        end = starts[c + 1]
        for rows in range(starts[c], end, TILE_ROWS):
            rows_end = min(rows + TILE_ROWS, end)
            for columns in range(end, n_samples, TILE_COLUMNS):
                columns_end = min(columns + TILE_COLUMNS, n_samples)
                near = np.dot(Z[rows:rows_end], Z[columns:columns_end].T)
                for a in range(near.shape[0]):
                    for b in range(near.shape[1]):
                        near[a, b] = norms[rows + a] + norms[columns + b] - 2.0 * near[a, b]
                value += tile_terms(
                    Z, near, rows, columns, radii, places, squared, width, pulls, laplacian
                )
    return value


@jit
def large_margin_value_and_gradient(L, data, width):
    """The large-margin loss and its gradient over L: 2 (Lap Z)ᵀX."""
    Z = np.dot(data.X, L.T)
    radii, places = target_radii(Z, data.targets)
    pulls = np.zeros(data.targets.shape)
    laplacian = np.zeros_like(Z)
    push = impostor_terms(Z, data.starts, radii, places, data.squared, width, pulls, laplacian)
    laplacian *= data.push_weight
    pull = 0.0
    for i in range(Z.shape[0]):
        for slot in range(radii.shape[1]):
            if places[i, slot] < 0:
                break
            pull += radii[i, slot] - 1.0
            target = data.targets[i, places[i, slot]]
            weight = (1.0 - data.push_weight) + data.push_weight * pulls[i, places[i, slot]]
            for t in range(Z.shape[1]):
                step = weight * (Z[i, t] - Z[target, t])
                laplacian[i, t] += step
                laplacian[target, t] -= step
    value = (1.0 - data.push_weight) * pull + data.push_weight * push
    return value, 2.0 * np.dot(laplacian.T, data.X)
