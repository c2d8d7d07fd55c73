"""Compiled evaluation of the pair-set loss: hinges over similar and dissimilar pairs.

Rows are in double or, for speed, in single precision; sums over pairs are always accumulated in
double precision.
"""

from __future__ import annotations

import numpy as np

from raremetric.neighbors.self_join import row_distance
from raremetric.performance import any_order, inlined, internal, jit

LANES = 8  # single-precision numbers in a vector register


@jit
def pair_distances(Z, first, second):
    """‖z_i − z_j‖² for each pair (i, j)."""
    out = np.empty(first.shape[0], np.float64)
    for p in range(first.shape[0]):
        out[p] = row_distance(Z, first[p], second[p])
    return out


@inlined
def add_pull(c, i, j, Z, out):
    """Add c (e_i − e_j)(e_i − e_j)ᵀ Z to out."""
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


@internal
def similar_terms(Z, loss, width, slopes, out):
    """Σ w [d² − 1]₊; writes w times the hinge's derivative to slopes, adds Lap·Z to out."""
    value = 0.0
    for p in range(slopes.shape[0]):
        i, j, weight = loss.similar_anchors[p], loss.similar_others[p], loss.similar_weights[p]
        term, slope = hinge(row_distance(Z, i, j) - 1.0, width)
        value += weight * term
        slopes[p] = weight * slope
        if slopes[p] != 0.0:
            add_pull(slopes[p], i, j, Z, out)
    return value


@internal
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
    """The weight times the sum of the ``cap`` largest [u]₊ over decreasing u = 1 + m − d².

    With width δ > 0 the term is max Σ α u − (δ/2) Σ α² over 0 ≤ α ≤ 1, Σ α ≤ cap: smooth even
    where two neighbors exchange their order. Writes w α to row p of slopes.
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
    """Write the nearest candidates of row i to who, nearest first, and squared distances to near.

    Returns their number. Candidates of -1 are skipped; among equal distances the first is kept.
    """
    # `insert_nearest` reads the farthest distance from the list: a fit takes a third longer.
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


@internal
def dissimilar_terms(Z, loss, candidates, width, others, slopes, out):
    """Σ_i w_i · (sum of the k largest [1 + m − d²]₊) over each anchor's candidates.

    Writes the nearest candidates to others and the derivatives to slopes; subtracts Lap·Z from out.
    """
    value, (n_anchors, size) = 0.0, others.shape
    near, excess = np.empty(size, np.float64), np.empty(size, np.float64)
    cap, limit = max(loss.n_refreshed, 1), 1.0 + loss.margin
    for p in range(n_anchors):
        i, who = loss.anchors[p], others[p]
        count = nearest_candidates(Z, i, candidates[p], near, who)
        for s in range(size):
            excess[s] = limit - near[s] if s < count else -np.inf
            who[s] = who[s] if s < count else -1
        value += nearest_term(excess, loss.anchor_weights[p], cap, width * limit, slopes, p)
        for s in range(count):
            if slopes[p, s] != 0.0:
                add_pull(-slopes[p, s], i, who[s], Z, out)
    return value


@jit
def laplacian_product(rows, first, second, weights):
    """Σ w (e_i − e_j)(e_i − e_j)ᵀ rows over the pairs (i, j); pairs with j = -1 are skipped."""
    out = np.zeros(rows.shape, rows.dtype)
    for p in range(first.shape[0]):
        if second[p] >= 0:
            add_pull(weights[p], first[p], second[p], rows, out)
    return out


@internal
def add_regularization(value, gradient, axes, regularization, scales):
    """Add λ‖M − I‖² with M = SLᵀLS, and add its gradient 4λLS(M − I)S in place.

    ``axes`` is Lᵀ, and S has the ``scales`` on its diagonal.
    """
    if regularization == 0.0:
        return value
    n_features, whole = axes.shape
    residual = np.empty((n_features, n_features), axes.dtype)
    change = np.empty((whole, n_features), axes.dtype)
    np.dot(axes, axes.T, residual)
    squares = 0.0
    for i in range(n_features):
        for j in range(n_features):
            residual[i, j] *= scales[i] * scales[j]
        residual[i, i] -= 1.0
        for j in range(n_features):
            squares += np.float64(residual[i, j]) * residual[i, j]
            residual[i, j] *= scales[i] * scales[j]
    np.dot(axes.T, residual, change)
    for i in range(gradient.shape[0]):
        for j in range(n_features):
            gradient[i, j] += 4.0 * regularization * change[i, j]
    return value + regularization * squares


@internal
def project(X, L):
    """Lᵀ and Z = XLᵀ in the precision of X.

    Columns of zeros make rows of whole vectors, for which distances are computed faster.
    """
    (n_components, n_features), n_samples = L.shape, X.shape[0]
    whole = -(-n_components // LANES) * LANES
    axes, Z = np.empty((n_features, whole), X.dtype), np.empty((n_samples, whole), X.dtype)
    for j in range(n_features):
        for i in range(whole):
            axes[j, i] = L[i, j] if i < n_components else 0.0
    np.dot(X, axes, Z)
    return axes, Z


@internal
def over_components(laplacian, X, L):
    """2 (Lap Z)ᵀX in double precision, without the columns of zeros."""
    product = np.empty((laplacian.shape[1], X.shape[1]), X.dtype)
    np.dot(laplacian.T, X, product)
    gradient = np.empty(L.shape, np.float64)
    for i in range(L.shape[0]):
        for j in range(L.shape[1]):
            gradient[i, j] = 2.0 * product[i, j]
    return gradient


@jit
def evaluate_pair_sets(L, loss, candidates, width):
    """The pair-set loss and its gradient over L: 2 (Lap Z)ᵀX + 4λLS(SLᵀLS − I)S.

    ``loss`` is a ``PairSetLoss``. Refreshed neighbors are searched among the candidates, of shape
    (n_anchors, n_candidates), only: a lower bound of the loss, which is exact as long as the
    candidates contain the nearest rows. Returns also the multipliers of the similar pairs, those of
    the dissimilar pairs, and for the latter the other rows, nearest first.
    """
    axes, Z = project(loss.X, L)
    laplacian = np.zeros(Z.shape, Z.dtype)
    attract = np.empty(loss.similar_anchors.shape[0], np.float64)
    shape = (loss.anchors.shape[0], loss.n_nearest)
    others, repel = np.empty(shape, np.int64), np.empty(shape, np.float64)
    value = similar_terms(Z, loss, width, attract, laplacian)
    value += dissimilar_terms(Z, loss, candidates, width, others, repel, laplacian)
    gradient = over_components(laplacian, loss.X, L)
    value = add_regularization(value, gradient, axes, loss.regularization, loss.scales)
    return value, gradient, attract, repel, others


@any_order
def scaled_loss(s, similar, weights, dissimilar, anchor_weights, limit):
    """The hinge terms at s·M, from the pairs' squared distances under M; limit is 1 + m."""
    value = 0.0
    for p in range(similar.shape[0]):
        value += weights[p] * max(s * similar[p] - 1.0, 0.0)
    for p in range(dissimilar.shape[0]):
        value += anchor_weights[p] * max(limit - s * dissimilar[p], 0.0)
    return value
