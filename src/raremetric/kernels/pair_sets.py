"""The hinge losses of sets of similar and dissimilar pairs."""

from __future__ import annotations

import numpy as np

from raremetric.kernels import jit
from raremetric.kernels.neighbors import nearest_of_other_classes


@jit
def pair_distances(Z, first, second):
    """‖z_i − z_j‖² for each pair (i, j)."""
    out = np.zeros(first.shape[0])
    for p in range(first.shape[0]):
        a, b = Z[first[p]], Z[second[p]]
        total = 0.0
        for t in range(Z.shape[1]):
            difference = a[t] - b[t]
            total += difference * difference
        out[p] = total
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
def add_laplacian_product(coefficients, first, second, Z, out):
    """Out += Lap·Z, where Lap sums c (e_i − e_j)(e_i − e_j)ᵀ over the pairs."""
    for p in range(first.shape[0]):
        c = coefficients[p]
        if c == 0.0:
            continue
        i, j = first[p], second[p]
        for t in range(Z.shape[1]):
            step = c * (Z[i, t] - Z[j, t])
            out[i, t] += step
            out[j, t] -= step


@jit
def pair_set_terms(Z, data, width):
    """The hinge terms of the pair-set loss at the projected rows Z.

    Returns the value, the multipliers of the similar pairs, the anchors' candidates among other
    classes, and their multipliers.
    """
    distances = pair_distances(Z, data.similar_anchors, data.similar_others)
    attract = np.empty_like(distances)
    value = similar_terms(distances, data.similar_weights, width, attract)
    cap, others = 1, data.others
    if data.refresh > 0:
        cap = data.refresh
        # Rounding shares weight among neighbours about to change places: twice k see them.
        n_candidates = cap if width == 0.0 else 2 * cap
        others, reach = nearest_of_other_classes(Z, data.starts, n_candidates)
    else:
        reach = pair_distances(Z, data.anchors, others[:, 0]).reshape((-1, 1))
    repel = np.empty_like(reach)
    scale = 1.0 + data.margin
    value += nearest_terms(reach, data.anchor_weights, data.margin, cap, width * scale, repel)
    return value, attract, others, repel


@jit
def pair_set_laplacian(rows, data, attract, others, repel):
    """Lap·rows for the multipliers of the similar (+) and dissimilar (−) pairs."""
    out = np.zeros_like(rows)
    add_laplacian_product(attract, data.similar_anchors, data.similar_others, rows, out)
    for j in range(others.shape[1]):
        add_laplacian_product(-repel[:, j], data.anchors, others[:, j], rows, out)
    return out


@jit
def pair_set_value_and_gradient(L, data, width):
    """The pair-set loss and its gradient over L: 2 (Lap Z)ᵀX + 4λL(LᵀL − I)."""
    Z = np.dot(data.X, L.T)
    value, attract, others, repel = pair_set_terms(Z, data, width)
    laplacian = pair_set_laplacian(Z, data, attract, others, repel)
    gradient = 2.0 * np.dot(laplacian.T, data.X)
    if data.regularization > 0.0:
        residual = np.dot(L.T, L) - np.eye(L.shape[1])
        value += data.regularization * np.sum(residual * residual)
        gradient += 4.0 * data.regularization * np.dot(L, residual)
    return value, gradient
