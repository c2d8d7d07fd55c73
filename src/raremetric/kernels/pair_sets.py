"""The hinge losses of sets of similar and dissimilar pairs."""

from __future__ import annotations

import numpy as np

from raremetric.kernels import jit
from raremetric.kernels.neighbors import (
    insert_nearest,
    row_distance,
)


@jit
def pair_distances(Z, first, second):
    """‖z_i − z_j‖² for each pair (i, j)."""
    out = np.empty(first.shape[0])
    for p in range(first.shape[0]):
        out[p] = row_distance(Z, first[p], second[p])
    return out


@jit
def hinge(excess, width):
    """[u]₊ with its corner rounded over (0, width), and its derivative."""
    if excess <= 0.0:
        return 0.0, 0.0
    if excess < width:
        return excess * excess / (2.0 * width), excess / width
    return excess - width / 2.0, 1.0


@jit
def similar_terms(distances, weights, width, slopes):
    """Σ w [d² − 1]₊; writes w times the hinge's derivative to slopes."""
    value = 0.0
    for p in range(distances.shape[0]):
        term, slope = hinge(distances[p] - 1.0, width)
        value += weights[p] * term
        slopes[p] = weights[p] * slope
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


@jit
def nearest_terms(distances, weights, margin, cap, width, slopes):
    """Σ_i w_i · (sum of the ``cap`` largest [1 + m − d²_ij]₊) over lists sorted by distance.

    With width δ > 0 an anchor's term is max Σ α u − (δ/2) Σ α² over 0 ≤ α ≤ 1, Σ α ≤ cap:
    smooth also where neighbours change places. Writes w_i α_ij to slopes.
    """
    value = 0.0
    n_anchors, n_candidates = distances.shape
    excess = np.empty(n_candidates)
    for i in range(n_anchors):
        for j in range(n_candidates):
            excess[j] = 1.0 + margin - distances[i, j]
        level = 0.0
        if width > 0.0 and n_candidates > cap and excess[cap] > 0.0:
            level = cap_level(excess, cap, width)
        for j in range(n_candidates):
            slopes[i, j] = 0.0
            if excess[j] <= level or (width == 0.0 and j >= cap):
                continue
            alpha = 1.0 if width == 0.0 else min(1.0, (excess[j] - level) / width)
            value += weights[i] * alpha * (excess[j] - alpha * width / 2.0)
            slopes[i, j] = weights[i] * alpha
    return value


@jit
def add_laplacian_product(coefficients, first, second, sign, Z, out):
    """Out += sign · Lap·Z, where Lap sums c (e_i − e_j)(e_i − e_j)ᵀ over the pairs.

    Row i of ``second`` and ``coefficients`` holds the partners of first[i].
    """
    for p in range(first.shape[0]):
        i = first[p]
        for s in range(second.shape[1]):
            c, j = sign * coefficients[p, s], second[p, s]
            if c == 0.0 or j < 0:
                continue
            for t in range(Z.shape[1]):
                step = c * (Z[i, t] - Z[j, t])
                out[i, t] += step
                out[j, t] -= step


@jit
def pair_set_terms(Z, others, reach, data, width):
    """The hinge terms of the pair-set loss at the projected rows Z.

    reach[i, s] is the squared distance of anchor i to others[i, s], in rising order. Returns the
    value, and the multipliers of the similar and of the dissimilar pairs.
    """
    distances = pair_distances(Z, data.similar_anchors, data.similar_others)
    attract, repel = np.empty_like(distances), np.empty_like(reach)
    value = similar_terms(distances, data.similar_weights, width, attract)
    cap, scale = max(data.refresh, 1), 1.0 + data.margin
    value += nearest_terms(reach, data.anchor_weights, data.margin, cap, width * scale, repel)
    return value, attract, repel


@jit
def nearest_on_lists(Z, lists, k):
    """The k nearest of each row's listed rows, nearest first, and their squared distances."""
    distances = np.full((lists.shape[0], k), np.inf)
    indices = np.full((lists.shape[0], k), -1, dtype=np.int64)
    for i in range(lists.shape[0]):
        for s in range(lists.shape[1]):
            if lists[i, s] >= 0:
                distance = row_distance(Z, i, lists[i, s])
                insert_nearest(i, distance, lists[i, s], distances, indices)
    return indices, distances


@jit
def dissimilar_reach(Z, data):
    """The dissimilar rows of each anchor at Z, nearest first, and how far they are.

    Given ones; or, when they are refreshed, the nearest of the anchor's candidates.
    """
    if data.refresh > 0:
        return nearest_on_lists(Z, data.lists, data.n_nearest)
    distances = pair_distances(Z, data.anchors, data.others[:, 0])
    return data.others, distances.reshape((-1, 1))


@jit
def pair_set_laplacian(rows, data, attract, others, repel):
    """Lap·rows for the multipliers of the similar (+) and dissimilar (−) pairs."""
    out = np.zeros_like(rows)
    partners = data.similar_others.reshape((-1, 1))
    add_laplacian_product(attract.reshape((-1, 1)), data.similar_anchors, partners, 1.0, rows, out)
    add_laplacian_product(repel, data.anchors, others, -1.0, rows, out)
    return out


@jit
def add_regularization(value, gradient, L, regularization):
    """Add λ‖LᵀL − I‖² and its gradient 4λL(LᵀL − I), the latter in place."""
    if regularization == 0.0:
        return value
    residual = np.dot(L.T, L) - np.eye(L.shape[1])
    gradient += 4.0 * regularization * np.dot(L, residual)
    return value + regularization * np.sum(residual * residual)


@jit
def pair_set_value_and_gradient(L, data, width):
    """The pair-set loss and its gradient over L: 2 (Lap Z)ᵀX + 4λL(LᵀL − I).

    Refreshed neighbors are looked for among the candidates: a lower bound of the loss, exact
    while the candidates hold the nearest.
    """
    Z = np.dot(data.X, L.T)
    others, reach = dissimilar_reach(Z, data)
    value, attract, repel = pair_set_terms(Z, others, reach, data, width)
    laplacian = pair_set_laplacian(Z, data, attract, others, repel)
    gradient = 2.0 * np.dot(laplacian.T, data.X)
    return add_regularization(value, gradient, L, data.regularization), gradient


@jit
def pair_curvature(data):
    """Σ 2w δδᵀ over all pairs, dissimilar ones as they are listed now: (n_features, n_features)."""
    others = data.lists[:, : data.refresh] if data.refresh > 0 else data.others[:, :1]
    product = np.zeros_like(data.X)
    weights = data.similar_weights.reshape((-1, 1))
    partners = data.similar_others.reshape((-1, 1))
    add_laplacian_product(weights, data.similar_anchors, partners, 2.0, data.X, product)
    weights = np.repeat(data.anchor_weights, others.shape[1]).reshape(others.shape)
    add_laplacian_product(weights, data.anchors, others, 2.0, data.X, product)
    return np.dot(product.T, data.X)


@jit
def scaled_loss(scale, distances, reach, data, trace, norm):
    """F(s·M), less a constant, from the distances under M, tr M and ‖M‖²_F."""
    value = data.regularization * (scale * scale * norm - 2.0 * scale * trace)
    for p in range(distances.shape[0]):
        value += data.similar_weights[p] * max(scale * distances[p] - 1.0, 0.0)
    for i in range(reach.shape[0]):
        for s in range(min(reach.shape[1], max(data.refresh, 1))):
            excess = 1.0 + data.margin - scale * reach[i, s]
            value += data.anchor_weights[i] * max(excess, 0.0)
    return value


@jit
def best_scale(L, data, log_low, log_high):
    """The s that minimises F(s·LᵀL) within 1 %: golden sections of a convex function of s."""
    Z = np.dot(data.X, L.T)
    _, reach = dissimilar_reach(Z, data)
    distances = pair_distances(Z, data.similar_anchors, data.similar_others)
    M = np.dot(L.T, L)
    trace, norm = np.trace(M), np.sum(M * M)
    golden = (np.sqrt(5.0) - 1.0) / 2.0
    low, high = log_low, log_high
    left, right = high - golden * (high - low), low + golden * (high - low)
    f_left = scaled_loss(np.exp(left), distances, reach, data, trace, norm)
    f_right = scaled_loss(np.exp(right), distances, reach, data, trace, norm)
    while high - low > 0.01:
        if f_left <= f_right:
            high, right, f_right = right, left, f_left
            left = high - golden * (high - low)
            f_left = scaled_loss(np.exp(left), distances, reach, data, trace, norm)
        else:
            low, left, f_left = left, right, f_right
            right = low + golden * (high - low)
            f_right = scaled_loss(np.exp(right), distances, reach, data, trace, norm)
    return np.exp((low + high) / 2.0)
