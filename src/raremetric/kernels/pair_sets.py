"""The hinge losses of sets of similar and dissimilar pairs.

Rows come in double or, where speed counts more, in single precision; sums over pairs are always
taken in double precision.
"""

from __future__ import annotations

import numpy as np

from raremetric.kernels import any_order, inlined, jit
from raremetric.kernels.neighbors import row_distance

LANES = 8  # numbers of single precision in a vector


@jit
def pair_distances(Z, first, second):
    """‖z_i − z_j‖² for each pair (i, j)."""
    out = np.empty(first.shape[0])
    for p in range(first.shape[0]):
        out[p] = row_distance(Z, first[p], second[p])
    return out


@inlined
def add_pull(c, i, j, Z, out):
    """Out += c (e_i − e_j)(e_i − e_j)ᵀ Z."""
    weight = Z.dtype.type(c)
    for t in range(Z.shape[1]):
        step = weight * (Z[i, t] - Z[j, t])
        out[i, t] += step
        out[j, t] -= step


@inlined
def hinge(excess, width):
    """[u]₊ with its corner rounded over (0, width), and its derivative."""
    if excess <= 0.0:
        return 0.0, 0.0
    if excess < width:
        return excess * excess / (2.0 * width), excess / width
    return excess - width / 2.0, 1.0


@jit
def similar_terms(Z, anchors, others, weights, width, slopes, out):
    """Σ w [d² − 1]₊; writes w times the hinge's derivative to slopes, adds Lap·Z to out."""
    value = 0.0
    for p in range(anchors.shape[0]):
        i, j = anchors[p], others[p]
        term, slope = hinge(row_distance(Z, i, j) - 1.0, width)
        value += weights[p] * term
        slopes[p] = weights[p] * slope
        if slopes[p] != 0.0:
            add_pull(slopes[p], i, j, Z, out)
    return value


@jit
def cap_level(excess, cap, width):
    """The smallest τ ≥ 0 with Σ clip((u − τ)/width, 0, 1) ≤ cap.

    Newton's method on a convex-concave piecewise linear function, safeguarded by bisection.
    """
    low, high = 0.0, excess[0]
    level = 0.0
    for _ in range(60):
        total, moving = 0.0, 0
        for j in range(excess.shape[0]):
            share = (excess[j] - level) / width
            if share >= 1.0:
                total += 1.0
            elif share > 0.0:
                total += share
                moving += 1
        surplus = total - cap
        if surplus > 0.0:
            low = level
        else:
            high = level
        if abs(surplus) <= 1e-12 or level == 0.0 >= surplus:
            break
        level = level + surplus * width / moving if moving > 0 else -1.0
        if not low < level < high:
            level = (low + high) / 2.0
    return level


@inlined
def nearest_term(excess, weight, cap, width, slopes, p):
    """W · (sum of the ``cap`` largest [u]₊) over falling u = 1 + m − d².

    With width δ > 0 the term is max Σ α u − (δ/2) Σ α² over 0 ≤ α ≤ 1, Σ α ≤ cap: smooth also
    where neighbors change places. Writes w α to row p of slopes.
    """
    value, level = 0.0, 0.0
    if width > 0.0 and excess.shape[0] > cap and excess[cap] > 0.0:
        level = cap_level(excess, cap, width)
    for s in range(excess.shape[0]):
        slopes[p, s] = 0.0
        if excess[s] <= level or (width == 0.0 and s >= cap):
            continue
        alpha = 1.0 if width == 0.0 else min(1.0, (excess[s] - level) / width)
        value += weight * alpha * (excess[s] - alpha * width / 2.0)
        slopes[p, s] = weight * alpha
    return value


@inlined
def nearest_candidates(Z, i, candidates, near, who):
    """Squared distances from row i to its nearest candidates, rising, and these rows.

    Returns how many there are. A candidate of -1 is none; of equally near ones the first stays.
    """
    size, count, farthest = near.shape[0], 0, np.inf
    for s in range(candidates.shape[0]):
        j = candidates[s]
        if j < 0:
            continue
        distance = np.float64(row_distance(Z, i, j))
        if distance >= farthest:
            continue
        slot = min(count, size - 1)
        while slot > 0 and distance < near[slot - 1]:
            near[slot], who[slot] = near[slot - 1], who[slot - 1]
            slot -= 1
        near[slot], who[slot] = distance, j
        count = min(count + 1, size)
        if count == size:
            farthest = near[size - 1]
    return count


@jit
def dissimilar_terms(Z, data, width, others, reach, slopes, out):
    """Σ_i w_i · (sum of the k largest [1 + m − d²]₊) over each anchor's candidates.

    Writes the nearest candidates and their squared distances to others and reach, the derivatives
    to slopes, and takes Lap·Z off out.
    """
    value, size = 0.0, reach.shape[1]
    near, who, excess = np.empty(size), np.empty(size, dtype=np.int64), np.empty(size)
    cap, limit = max(data.refresh, 1), 1.0 + data.margin
    for p in range(data.anchors.shape[0]):
        i = data.anchors[p]
        count = nearest_candidates(Z, i, data.lists[p], near, who)
        for s in range(size):
            reach[p, s] = near[s] if s < count else np.inf
            others[p, s] = who[s] if s < count else -1
            excess[s] = limit - reach[p, s]
        value += nearest_term(excess, data.anchor_weights[p], cap, width * limit, slopes, p)
        for s in range(count):
            if slopes[p, s] != 0.0:
                add_pull(-slopes[p, s], i, who[s], Z, out)
    return value


@jit
def pair_set_terms(Z, data, width):
    """The hinge terms of the pair-set loss at the projected rows Z.

    Returns their value, Lap·Z, the multipliers of the similar pairs, those of the dissimilar
    pairs, and for the latter the other rows and their squared distances, nearest first.
    """
    shape = (data.anchors.shape[0], data.n_nearest)
    others, reach = np.empty(shape, dtype=np.int64), np.empty(shape)
    attract, repel = np.empty(data.similar_anchors.shape[0]), np.empty(shape)
    out = np.zeros_like(Z)
    value = similar_terms(
        Z, data.similar_anchors, data.similar_others, data.similar_weights, width, attract, out
    )
    value += dissimilar_terms(Z, data, width, others, reach, repel, out)
    return value, out, attract, repel, others, reach


@jit
def pair_set_laplacian(rows, data, attract, others, repel):
    """Lap·rows for the multipliers of the similar (+) and dissimilar (−) pairs."""
    out = np.zeros_like(rows)
    for p in range(data.similar_anchors.shape[0]):
        add_pull(attract[p], data.similar_anchors[p], data.similar_others[p], rows, out)
    for p in range(data.anchors.shape[0]):
        for s in range(others.shape[1]):
            if others[p, s] >= 0:
                add_pull(-repel[p, s], data.anchors[p], others[p, s], rows, out)
    return out


@jit
def add_regularization(value, gradient, axes, regularization):
    """Add λ‖LᵀL − I‖² and its gradient 4λL(LᵀL − I), the latter in place; axes is Lᵀ."""
    if regularization == 0.0:
        return value
    residual = np.dot(axes, axes.T)
    for j in range(residual.shape[0]):
        residual[j, j] -= 1.0
    change = np.dot(axes.T, residual)
    for i in range(gradient.shape[0]):
        for j in range(gradient.shape[1]):
            gradient[i, j] += 4.0 * regularization * change[i, j]
    squares = 0.0
    for i in range(residual.shape[0]):
        for j in range(residual.shape[1]):
            squares += np.float64(residual[i, j]) * residual[i, j]
    return value + regularization * squares


@jit
def pair_set_value_and_gradient(L, data, width):
    """The pair-set loss and its gradient over L: 2 (Lap Z)ᵀX + 4λL(LᵀL − I).

    Refreshed neighbors are looked for among the candidates: a lower bound of the loss, exact
    while the candidates hold the nearest.
    """
    # Columns of zeros make rows of whole vectors, for which distances are found faster.
    whole = -(-L.shape[0] // LANES) * LANES
    axes = np.zeros((L.shape[1], whole), dtype=data.X.dtype)
    for i in range(L.shape[0]):
        for j in range(L.shape[1]):
            axes[j, i] = L[i, j]
    Z = np.dot(data.X, axes)
    value, laplacian, _, _, _, _ = pair_set_terms(Z, data, width)
    product = np.dot(laplacian.T, data.X)
    gradient = np.empty_like(L)
    for i in range(L.shape[0]):
        for j in range(L.shape[1]):
            gradient[i, j] = 2.0 * product[i, j]
    return add_regularization(value, gradient, axes, data.regularization), gradient


@any_order
def scaled_loss(s, similar, weights, dissimilar, anchor_weights, limit):
    """The hinge terms at s·M, from the pairs' squared distances under M; limit is 1 + m."""
    value = 0.0
    for p in range(similar.shape[0]):
        value += weights[p] * max(s * similar[p] - 1.0, 0.0)
    for p in range(dissimilar.shape[0]):
        value += anchor_weights[p] * max(limit - s * dissimilar[p], 0.0)
    return value
