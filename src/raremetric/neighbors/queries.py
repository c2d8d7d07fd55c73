"""The nearest examples to each query.

Squared distances are first estimated in single precision, by a matrix product for a block of
queries and a tile of examples. An upper bound of the distance to the k-th nearest is found from the
estimates. Only the examples within the bound, rounding included, are measured in double precision
and sorted.
"""

from __future__ import annotations

import math

import numpy as np

from raremetric.neighbors.self_join import squared_distance
from raremetric.performance import internal, internal_any_order, jit

BLOCK = 128  # queries whose distances are estimated together
TILE = 4096  # examples whose distances are estimated together: 2 MB for a block of queries
BUFFER = 128  # measured examples that are sorted together
FAR = 2.0**60  # largest squared norm, after scaling, of queries whose distances are estimated
TOLERANCE = np.float32(1 / 16)  # relative error of squared distances accepted without ``exact``
TINY = np.float32(2.0**-100)  # more than is lost when squares underflow
NO_ROW = np.iinfo(np.int64).max  # in lists that are not full; greater than any row
INFINITY = 0x7F800000  # the bits of infinity in single precision


@internal_any_order
def round_row(row, center, scale, rounded):
    """Write (row − center) / scale in single precision and return its squared norm.

    A row that is too far away is replaced by zeros, and the norm is infinite.
    """
    factor, squares = 1.0 / scale, 0.0
    for t in range(row.shape[0]):
        value = (row[t] - center[t]) * factor
        rounded[t] = value
        squares += value * value
    if squares <= FAR:
        return np.float32(squares)
    for t in range(row.shape[0]):
        rounded[t] = 0.0
    return np.float32(np.inf)


@jit
def round_rows(Z, order, center, scale):
    """`round_row` of the rows of Z in the given order: the rounded rows and their norms."""
    rows, norms = np.empty(Z.shape, np.float32), np.empty(Z.shape[0], np.float32)
    for i in range(Z.shape[0]):
        norms[i] = round_row(Z[order[i]], center, scale, rows[i])
    return rows, norms


def round_examples(Z, order):
    """The rows of Z in the given order, centered, scaled and rounded to single precision.

    The scale is a power of two, by which numbers are divided without rounding, and the largest
    coordinate is about 1, so that squares do not overflow. Returns the rows, their squared norms,
    the center and the scale.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        center = Z.mean(axis=0)
        largest = np.abs(Z - center).max(initial=0.0)
    exponent = math.frexp(largest)[1] if largest < np.inf else 500
    scale = 2.0 ** min(max(exponent, -500), 500)
    return *round_rows(Z, order, center, scale), center, scale


@internal
def estimate_distances(products, norm, norms, nearest):
    """Turn inner products into squared distances and find the nearest of each group.

    Group t consists of the examples t, t + n_groups, t + 2 n_groups, …: a loop that vectorizes.
    """
    n_groups = nearest.shape[0]
    for t in range(n_groups):
        nearest[t] = np.inf
    for low in range(0, products.shape[0], n_groups):
        part, others = products[low : low + n_groups], norms[low : low + n_groups]
        for t in range(part.shape[0]):
            estimate = max(norm + others[t] - np.float32(2.0) * part[t], np.float32(0.0))
            part[t] = estimate
            nearest[t] = estimate if estimate < nearest[t] else nearest[t]


@internal
def bound_kth(values, k, bound):
    """Write an upper bound of the k-th smallest of the values, which are not negative.

    It is found by bisection of their bits, which are in the same order. At most k / 16 more than k
    values are within it, unless values are equal. Infinity if there are fewer than k values.
    """
    bits, low, high = values.view(np.int32), -1, INFINITY
    while high - low > 1:
        middle, count = (low + high) // 2, np.int32(0)
        threshold = np.int32(middle)
        for t in range(bits.shape[0]):
            count += np.int32(bits[t] <= threshold)
        if count < k:
            low = middle
        else:
            high = middle
            if count - k <= k // 16:
                break
    bound.view(np.int32)[0] = high


@internal
def list_within(estimates, nearest, bound, groups, positions):
    """List the positions of the estimates within the bound; returns their number.

    Only the groups whose nearest example is within the bound are read. Writing each position and
    then counting it, or not, avoids branches that the processor cannot predict.
    """
    n_groups, n_near, count = nearest.shape[0], 0, 0
    for g in range(n_groups):
        groups[n_near] = g
        n_near += int(nearest[g] <= bound)
    for s in range(n_near):
        for t in range(groups[s], estimates.shape[0], n_groups):
            positions[count] = t
            count += int(estimates[t] <= bound)
    return count


@internal_any_order
def sort_found(found, rows, n_found, ranks, sorted_found, sorted_rows):
    """Sort distances, equal ones by their rows; the rank of each is found by n comparisons.

    Lengths are rounded up to a multiple of 16, so that the loop over j consists of whole vectors.
    """
    n_padded = -(-n_found // 16) * 16
    for i in range(n_found, n_padded):
        found[i] = np.inf
    for i in range(n_found):
        distance, rank = found[i], 0
        for j in range(n_padded):
            rank += int(found[j] < distance)
        ranks[i], sorted_rows[i] = rank, -1
    for i in range(n_found):
        distance, row, slot = found[i], rows[i], ranks[i]
        while sorted_rows[slot] >= 0:  # equal distances
            if sorted_rows[slot] > row:
                sorted_rows[slot], row = row, sorted_rows[slot]
            slot += 1
        sorted_found[slot], sorted_rows[slot] = distance, row


@internal
def merge_found(found, found_rows, n_found, distances, rows):
    """Merge what was found into a sorted list; both are in the order of distances, then of rows."""
    k = rows.shape[0]
    left, right = k - 1, n_found - 1
    for slot in range(k + n_found - 1, -1, -1):  # from the farthest on; those beyond k are dropped
        if right < 0:
            return
        farther = distances[left] > found[right] or (
            distances[left] == found[right] and rows[left] > found_rows[right]
        )
        if left >= 0 and farther:
            if slot < k:
                distances[slot], rows[slot] = distances[left], rows[left]
            left -= 1
        else:
            if slot < k:
                distances[slot], rows[slot] = found[right], found_rows[right]
            right -= 1


@internal
def measure_positions(query, own_row, Z, order, positions, reals, integers, distances, rows):
    """Measure the examples at these positions and merge the nearest into the sorted list."""
    found, found_rows, ranks = reals[0], integers[0], integers[2]
    for low in range(0, positions.shape[0], BUFFER):
        n_found, limit = 0, distances[-1]
        for c in range(low, min(low + BUFFER, positions.shape[0])):
            row = order[positions[c]]
            distance = squared_distance(query, Z[row])
            found[n_found], found_rows[n_found] = distance, row
            n_found += int(distance <= limit) & int(row != own_row)
        sort_found(found, found_rows, n_found, ranks, reals[1], integers[1])
        merge_found(reals[1], integers[1], n_found, distances, rows)


@jit
def nearest_examples(
    queries, own_row, Z, order, rounded, norms, center, scale, exact, distances, indices
):
    """The squared distances and the numbers of the k nearest examples to each query, nearest first.

    They are merged into lists that are infinite and NO_ROW before, and remain so at their ends if
    there are fewer examples.

    The examples are the rows ``order`` of Z; ``rounded``, ``norms``, ``center`` and ``scale`` are
    from ``round_examples``. If the queries are the rows of Z from ``own_row`` on, each is left out
    of its own list; otherwise ``own_row`` is negative. Cost: n_queries · n_examples · n_dims in
    single precision.
    """
    (n_queries, n_dims), n_examples, k = queries.shape, rounded.shape[0], distances.shape[1]
    largest = np.float32(0.0)
    for j in range(n_examples):
        largest = max(largest, norms[j])
    need = k + 1 if own_row >= 0 else k  # the query itself may be among the nearest
    n_groups = 16 * (need // 4 + 2)  # four per neighbor: few other examples are within the bound
    tile = max(TILE, 2 * n_groups)
    points, sizes = np.empty((BLOCK, n_dims), np.float32), np.empty(BLOCK, np.float32)
    products = np.empty(min(BLOCK, n_queries) * min(tile, n_examples), np.float32)
    nearest, bound = np.empty(2 * n_groups, np.float32), np.empty(1, np.float32)
    groups, positions = np.empty(2 * n_groups, np.int64), np.empty(tile, np.int64)
    reals, integers = np.empty((2, BUFFER), np.float64), np.empty((3, BUFFER), np.int64)
    for start in range(0, n_queries, BLOCK):
        block = min(BLOCK, n_queries - start)
        for r in range(block):
            sizes[r] = round_row(queries[start + r], center, scale, points[r])
        for first in range(0, n_examples, tile):
            stop = min(first + tile, n_examples)
            width = stop - first
            estimates = products[: block * width].reshape(block, width)
            np.dot(points[:block], rounded[first:stop].T, estimates)
            minima = nearest[: n_groups if width >= 2 * n_groups else width]
            for r in range(block):
                i, own = start + r, own_row + start + r if own_row >= 0 else -1
                estimate_distances(estimates[r], sizes[r], norms[first:stop], minima)
                bound_kth(minima, need, bound)
                limit = min(bound[0], np.float32(distances[i, k - 1] / scale / scale))
                # Twice what rounding can change in an inner product of n_dims terms.
                slack = np.float32((n_dims + 8) * 2.0**-22) * (sizes[r] + largest) + TINY
                if exact or not slack <= TOLERANCE * limit:
                    limit += slack
                count = list_within(estimates[r], minima, limit, groups, positions)
                measure_positions(
                    queries[i], own, Z, order[first:stop], positions[:count], reals, integers,
                    distances[i], indices[i],
                )  # fmt: skip
