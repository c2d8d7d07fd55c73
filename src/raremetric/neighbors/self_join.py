"""Nearest rows to each row, within and across classes, with ties broken by the lowest index.

Squared distances are first estimated in single precision, by a matrix product for each tile of
rows and other rows. Only pairs whose estimate is small enough, rounding included, are measured in
double precision. Each estimate serves both rows of the pair.
"""

from __future__ import annotations

import numpy as np

from raremetric.performance import inlined, internal, internal_any_order, jit, merged

TILE = 1024  # rows and other rows whose distances are estimated together: 4 MB
GROUPS = 16  # the minima of this many groups bound the distance to the k-th nearest row


@inlined
def squared_distance(a, b):
    """‖a − b‖² of two rows, in their precision."""
    total = a.dtype.type(0)
    for t in range(a.shape[0]):
        difference = a[t] - b[t]
        total += difference * difference
    return total


@inlined
def row_distance(Z, i, j):
    """‖z_i − z_j‖², in the precision of Z."""
    return squared_distance(Z[i], Z[j])


@inlined
def insert_nearest(i, distance, j, distances, indices):
    """Insert row j into the sorted list of row i if it is nearer than the last entry.

    It is inserted after entries at the same distance. If rows come in the order of their indices,
    ties are therefore broken by the lowest index.
    """
    near, who = distances[i], indices[i]
    slot = near.shape[0] - 1
    if not distance < near[slot]:
        return
    while slot > 0 and distance < near[slot - 1]:
        near[slot], who[slot] = near[slot - 1], who[slot - 1]
        slot -= 1
    near[slot], who[slot] = distance, j


@internal_any_order
def squared_norms(rows, norms):
    """‖row‖² of each row, written to norms."""
    for i in range(rows.shape[0]):
        total = rows[i, 0] * rows[i, 0]
        for t in range(1, rows.shape[1]):
            total += rows[i, t] * rows[i, t]
        norms[i] = total


@internal
def fill_with_infinity(values):
    """Set all entries of a matrix to infinity."""
    for i in range(values.shape[0]):
        for j in range(values.shape[1]):
            values[i, j] = np.inf


@internal
def estimate_row(products, norm, norms, nearest):
    """Turn inner products into squared distances and update the minima: a loop that vectorizes."""
    for t in range(products.shape[0]):
        estimate = norm + norms[t] - np.float32(2.0) * products[t]
        products[t] = estimate
        nearest[t] = estimate if estimate < nearest[t] else nearest[t]


@internal
def group_nearest(estimates, nearest):
    """Update the minimum of each group t: of the rows t, t + GROUPS, t + 2 GROUPS, …"""
    n_whole = estimates.shape[0] // GROUPS * GROUPS
    for low in range(0, n_whole, GROUPS):
        part = estimates[low : low + GROUPS]
        for t in range(GROUPS):
            nearest[t] = part[t] if part[t] < nearest[t] else nearest[t]
    for t in range(estimates.shape[0] - n_whole):
        nearest[t] = min(nearest[t], estimates[n_whole + t])


@internal
def keep_smaller(ranked, values):
    """Exchange entries so that the smaller of two is in ranked: a loop that vectorizes."""
    for t in range(values.shape[0]):
        value, other = values[t], ranked[t]
        ranked[t] = value if value < other else other
        values[t] = other if value < other else value


@internal
def smallest_of_columns(values, ranked):
    """Write the smallest of each column to the rows of ranked, in order. The values are lost.

    Where there are fewer values than rows of ranked, infinity follows.
    """
    fill_with_infinity(ranked)
    for g in range(values.shape[0]):
        for s in range(min(g + 1, ranked.shape[0])):
            keep_smaller(ranked[s], values[g])


@internal
def mark_near(estimates, bound, bounds, marks):
    """Mark the rows within one of the bounds by 1, the others by 0: a loop that vectorizes."""
    for t in range(estimates.shape[0]):
        marks[t] = np.uint8(estimates[t] <= bound) | np.uint8(estimates[t] <= bounds[t])


@internal
def scan_row(i, estimates, first, Z, exact, bound, bounds, distances, indices, words):
    """Update the lists of row i and of the rows first, first + 1, … with each other."""
    marks, size = words.view(np.uint8), estimates.shape[0]
    mark_near(estimates, bound, bounds, marks)
    n_words = -(-size // 8)
    for t in range(size, 8 * n_words):
        marks[t] = 0
    for w in range(n_words):
        if words[w] == 0:
            continue
        for t in range(8 * w, 8 * w + 8):
            if marks[t] == 0:
                continue
            j, distance = first + t, np.float64(estimates[t])
            if exact:
                distance = np.float64(row_distance(Z, i, j))
            if estimates[t] <= bound:
                insert_nearest(i, distance, j, distances, indices)
            if estimates[t] <= bounds[t]:
                insert_nearest(j, distance, i, distances, indices)


@internal
def group_bounds(nearest, first, slack, distances):
    """Upper bounds of the distance to the k-th nearest: from this tile's groups or the lists.

    ``nearest`` has one row per group. Its entries are lost.
    """
    k, n_rows = distances.shape[1], nearest.shape[1]
    bounds, ranked = np.empty(n_rows, np.float32), np.empty((k, n_rows), np.float32)
    smallest_of_columns(nearest, ranked)
    for r in range(n_rows):
        bounds[r] = min(ranked[k - 1, r], np.float32(distances[first + r, k - 1])) + slack
    return bounds


@merged
def scan_tile(Z, exact, norms, products, low, first, slack, distances, indices):
    """Update the lists of the rows low, low + 1, … and first, first + 1, … with each other."""
    size, width = products.shape
    own, theirs = np.empty((size, GROUPS), norms.dtype), np.empty((GROUPS, width), norms.dtype)
    turned = np.empty((GROUPS, size), norms.dtype)
    fill_with_infinity(own)
    fill_with_infinity(theirs)
    for r in range(size):
        skip = max(low + r + 1 - first, 0)
        estimates, others = products[r, skip:], norms[first + skip : first + width]
        estimate_row(estimates, norms[low + r], others, theirs[r % GROUPS, skip:])
        group_nearest(estimates, own[r])
    if low == first:  # ``own`` covers the later rows of the tile, ``theirs`` the earlier ones
        for r in range(size):
            for g in range(GROUPS):
                own[r, g] = theirs[g, r] = min(own[r, g], theirs[g, r])
    for g in range(GROUPS):
        for r in range(size):
            turned[g, r] = own[r, g]
    bounds = group_bounds(turned, low, slack, distances)
    limits = group_bounds(theirs, first, slack, distances)
    words = np.empty(TILE // 8, np.uint64)  # eight marks each
    for r in range(size):
        skip = max(low + r + 1 - first, 0)
        scan_row(
            low + r, products[r, skip:], first + skip, Z, exact, bounds[r], limits[skip:],
            distances, indices, words,
        )  # fmt: skip


@jit
def class_neighbors(Z, rows, starts, k, within, exact, part, n_parts):
    """The k nearest rows to each row, of its own class (``within``) or of all other classes.

    Rows are grouped by class: class c consists of rows starts[c] to starts[c + 1] − 1. ``rows`` is
    Z in single precision, centered so that little is lost by rounding. Unless ``exact``, neighbors
    are chosen by their estimated distances and Z is not read. One call processes every n_parts-th
    tile, starting with number ``part``; ``merge_lists`` combines the results. Lists shorter than k
    end with index -1 and infinite distance. Cost: n² · n_dims / 2 in single precision; memory:
    n · (n_dims + k) and one tile.
    """
    n_samples, n_dims = rows.shape
    distances, indices = np.empty((n_samples, k), np.float64), np.empty((n_samples, k), np.int64)
    norms, largest = np.empty(n_samples, np.float32), np.float32(0.0)
    fill_with_infinity(distances)
    squared_norms(rows, norms)
    for i in range(n_samples):
        largest = max(largest, norms[i])
        for s in range(k):
            indices[i, s] = -1
    # Twice what rounding can change in an inner product of n_dims terms.
    slack = np.float32((n_dims + 8) * 2.0**-21 * largest if exact else 0.0)
    tile = 0
    for c in range(starts.shape[0] - 1):
        end = starts[c + 1] if within else n_samples
        for low in range(starts[c], starts[c + 1], TILE):
            stop = min(low + TILE, starts[c + 1])
            for first in range(low if within else starts[c + 1], end, TILE):
                tile += 1
                if tile % n_parts == part:
                    others = rows[first : min(first + TILE, end)]
                    products = np.empty((stop - low, others.shape[0]), rows.dtype)
                    np.dot(rows[low:stop], others.T, products)
                    scan_tile(Z, exact, norms, products, low, first, slack, distances, indices)
    return indices, distances


@jit
def merge_lists(indices, distances, more_indices, more_distances):
    """The nearest of two sets of sorted lists: indices and distances."""
    chosen, nearest = np.empty_like(indices), np.empty_like(distances)
    for i in range(indices.shape[0]):
        s, t = 0, 0
        for slot in range(indices.shape[1]):
            first = distances[i, s] < more_distances[i, t] or (
                distances[i, s] == more_distances[i, t] and indices[i, s] < more_indices[i, t]
            )
            if first:
                chosen[i, slot], nearest[i, slot] = indices[i, s], distances[i, s]
                s += 1
            else:
                chosen[i, slot], nearest[i, slot] = more_indices[i, t], more_distances[i, t]
                t += 1
    return chosen, nearest
