"""L-BFGS over L on the pair-set loss, several iterations in one call."""

from __future__ import annotations

import numpy as np

from raremetric.kernels import jit
from raremetric.kernels.pair_sets import pair_set_value_and_gradient

TRIALS = 30  # steps tried in one line search


@jit
def inner(a, b):
    """⟨a, b⟩ of two contiguous matrices."""
    return np.dot(a.ravel(), b.ravel())


@jit
def add_multiple(a, factor, b):
    """A += factor · b for contiguous matrices."""
    flat, other = a.ravel(), b.ravel()
    for t in range(flat.shape[0]):
        flat[t] += factor * other[t]


@jit
def direction(gradient, inverse, scale, steps, changes, curvatures, n_stored, newest):
    """−H·gradient by the two-loop recursion; H starts as scale times G ↦ G·inverse."""
    memory = steps.shape[0]
    heading = -gradient
    shares = np.empty(memory)
    for t in range(n_stored):
        s = (newest - t) % memory
        shares[s] = inner(steps[s], heading) / curvatures[s]
        add_multiple(heading, -shares[s], changes[s])
    heading = scale * np.dot(heading, inverse)
    for t in range(n_stored - 1, -1, -1):
        s = (newest - t) % memory
        share = shares[s] - inner(changes[s], heading) / curvatures[s]
        add_multiple(heading, share, steps[s])
    return heading


@jit
def search_line(L, data, width, value, slope, heading):
    """A step that satisfies the weak Wolfe conditions, by bisection and doubling.

    Returns the new point, its value and gradient, and whether any step was good enough.
    """
    low, high, step = 0.0, np.inf, 1.0
    best, best_value, best_gradient, found = L, value, heading, False
    for _ in range(TRIALS):
        point = L + step * heading
        new_value, gradient = pair_set_value_and_gradient(point, data, width)
        if new_value <= value + 1e-4 * step * slope:
            best, best_value, best_gradient, found = point, new_value, gradient, True
            if inner(gradient, heading) >= 0.9 * slope:
                break
            low = step
        else:
            high = step
        step = (low + high) / 2.0 if high < np.inf else 2.0 * low
    return best, best_value, best_gradient, found


@jit
def run_window(L, value, gradient, data, width, inverse, history, n_iter):
    """n_iter iterations of L-BFGS on the pair-set loss, its candidates left as they are.

    ``inverse`` (n_features, n_features) is an inverse Hessian for each row of L, up to scale.
    history holds steps, changes, curvatures and [stored, newest], all kept up to date. Returns L
    and the number of iterations that made progress.
    """
    steps, changes, curvatures, state = history
    scale = 1.0
    for iteration in range(n_iter):
        n_stored, newest = state[0], state[1]
        if n_stored > 0:
            change = changes[newest]
            scale = curvatures[newest] / inner(change, np.dot(change, inverse))
        heading = direction(gradient, inverse, scale, steps, changes, curvatures, n_stored, newest)
        slope = inner(heading, gradient)
        point, new_value, new_gradient, found = search_line(L, data, width, value, slope, heading)
        if not found:
            if n_stored == 0:  # not even along the plain gradient: a minimum, or a kink
                return L, iteration
            state[0], scale = 0, 1.0
            continue
        step, change = point - L, new_gradient - gradient
        curvature = inner(step, change)
        if curvature > 1e-14 * inner(change, change):
            newest = (newest + 1) % steps.shape[0]
            steps[newest], changes[newest], curvatures[newest] = step, change, curvature
            state[0], state[1] = min(n_stored + 1, steps.shape[0]), newest
        L, value, gradient = point, new_value, new_gradient
    return L, n_iter
