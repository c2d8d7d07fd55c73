"""Nearest rows within and across classes: exact, ties broken by the lowest index.

Squared distances are first taken in single precision, by a matrix product for a block of rows at
a time. Only pairs that come near enough to matter, rounding included, are measured exactly.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from raremetric.kernels import jit

BLOCK_ENTRIES = 1 << 20  # of a block of single-precision distances: 4 MB
CHUNK = 64  # distances tested together before any is looked at alone


# Summing in any order lets the loop use vector instructions; infinities keep their meaning.
@njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
def row_distance(Z, i, j):
    """‖z_i − z_j‖²."""
    total = 0.0
    for t in range(Z.shape[1]):
        difference = Z[i, t] - Z[j, t]
        total += difference * difference
    return total


@jit
def insert_nearest(i, distance, j, distances, indices):
    """Put row j on the sorted list of row i, if it belongs there; among equals the lowest index."""
    k = distances.shape[1]
    if distance > distances[i, k - 1]:
        return False
    slot = k
    while slot > 0 and (
        distance < distances[i, slot - 1]
        or (distance == distances[i, slot - 1] and j < indices[i, slot - 1])
    ):
        slot -= 1
    if slot == k:
        return False
    for s in range(k - 1, slot, -1):
        distances[i, s] = distances[i, s - 1]
        indices[i, s] = indices[i, s - 1]
    distances[i, slot] = distance
    indices[i, slot] = j
    return True


@jit
def reach_of_lists(Z, lists):
    """Squared distance to the farthest row on each list: a bound on the k-th nearest."""
    reach = np.zeros(Z.shape[0])
    for i in range(Z.shape[0]):
        for s in range(lists.shape[1]):
            j = lists[i, s]
            reach[i] = max(reach[i], row_distance(Z, i, j)) if j >= 0 else np.inf
    return reach


@jit
def count_near(products, norm, norms, bound, bounds):
    """How many of a chunk of rows may be near: a loop that vectorises."""
    near = np.int32(0)
    for t in range(products.shape[0]):
        estimate = norm + norms[t] - np.float32(2.0) * products[t]
        near += np.int32(estimate <= bound) | np.int32(estimate <= bounds[t])
    return near


@jit
def list_near(products, norm, norms, bound, bounds, near):
    """Which of a chunk of rows may be near: a loop without branches."""
    count = np.int64(0)
    for t in range(products.shape[0]):
        estimate = norm + norms[t] - np.float32(2.0) * products[t]
        near[count] = t
        count += np.int64(estimate <= bound) | np.int64(estimate <= bounds[t])
    return count


@jit
def scan_row(i, products, first, Z, norms, bounds, slack, distances, indices, near):
    """Offer row i and the rows first, first + 1, … to each other as neighbors.

    products[t] is the single-precision inner product of row i and row first + t.
    """
    norm = norms[i]
    for low in range(0, products.shape[0], CHUNK):
        part = products[low : low + CHUNK]
        start = first + low
        others, limits = norms[start : start + len(part)], bounds[start : start + len(part)]
        if count_near(part, norm, others, bounds[i], limits) == 0:
            continue
        for h in range(list_near(part, norm, others, bounds[i], limits, near)):
            j = start + near[h]
            distance = row_distance(Z, i, j)
            if insert_nearest(i, distance, j, distances, indices):
                bounds[i] = min(bounds[i], np.float32(distances[i, -1] + slack))
            if insert_nearest(j, distance, i, distances, indices):
                bounds[j] = min(bounds[j], np.float32(distances[j, -1] + slack))


@jit
def squared_norms(rows):
    """‖row‖² in the precision of the rows."""
    norms = np.empty(rows.shape[0], dtype=rows.dtype)
    for i in range(rows.shape[0]):
        total = rows[i, 0] * rows[i, 0]
        for t in range(1, rows.shape[1]):
            total += rows[i, t] * rows[i, t]
        norms[i] = total
    return norms


@jit
def class_neighbors(Z, rows, starts, reach, k, within, part, n_parts):
    """The k nearest rows to each row, of its own class (``within``) or of all other classes.

    Rows are grouped by class: class c owns rows starts[c] to starts[c + 1]. ``rows`` is Z in single
    precision, moved to the origin, where that says most. reach[i] bounds the
    distance of the k-th neighbor of row i (infinity where nothing is known). Blocks of rows are
    dealt out to n_parts workers, of which this is number ``part``: see ``merge_lists``.
    Lists shorter than k end in index -1 and infinite distance. Each pair is looked at once:
    cost n² · n_dims / 2 in single precision, memory n · (n_dims + k) and one block.
    """
    n_samples, n_dims = Z.shape
    distances = np.full((n_samples, k), np.inf)
    indices = np.full((n_samples, k), -1, dtype=np.int64)
    norms = squared_norms(rows)
    # What single precision can get wrong, for inner products of n_dims terms.
    slack = (n_dims + 8) * 2.0**-22 * np.float64(norms.max())
    bounds = (reach + slack).astype(np.float32)
    near, block = np.empty(CHUNK, dtype=np.int64), 0
    for c in range(starts.shape[0] - 1):
        low, high = starts[c], starts[c + 1]
        end = high if within else n_samples
        while low < high:
            first = low if within else high
            size = max(16, BLOCK_ENTRIES // max(end - first, 1))
            stop = min(low + size, high)
            block += 1
            if block % n_parts == part and end > first:
                products = np.dot(rows[low:stop], rows[first:end].T)
                for i in range(low, stop):
                    skip = i + 1 - first if within else 0
                    scan_row(
                        i, products[i - low, skip:], first + skip,
                        Z, norms, bounds, slack, distances, indices, near,
                    )  # fmt: skip
            low = stop
    return indices, distances


@jit
def merge_lists(indices, distances, more_indices, more_distances):
    """Take the nearest of two sets of lists, in place in the first."""
    for i in range(indices.shape[0]):
        for s in range(indices.shape[1]):
            j = more_indices[i, s]
            if j < 0 or not insert_nearest(i, more_distances[i, s], j, distances, indices):
                break
