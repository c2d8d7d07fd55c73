"""Compiled L-BFGS over L on the pair-set loss: many iterations in one call."""

from __future__ import annotations

import numpy as np

from raremetric.losses.pair_sets_kernels import evaluate_pair_sets
from raremetric.performance import internal, internal_any_order, jit, merged

TRIALS = 12  # steps tried in one line search
MIN_PROMISE = 0.1  # of small_gain: an iteration that promises less ends the window


@internal_any_order
def inner(a, b):
    """⟨a, b⟩ of two matrices, in the higher of their precisions."""
    x, y, total = a.ravel(), b.ravel(), a.dtype.type(0) * b.dtype.type(0)
    for t in range(x.shape[0]):
        total += x[t] * y[t]
    return total


@internal
def add_multiple(a, factor, b, out):
    """Out = a + factor · b for matrices, in the precision of the result or a higher one."""
    x, y, z, factor = a.ravel(), b.ravel(), out.ravel(), out.dtype.type(factor)
    for t in range(x.shape[0]):
        z[t] = x[t] + factor * y[t]


@internal
def add_to(out, factor, b):
    """Out += factor · b. This loop vectorizes; ``add_multiple`` with ``out is a`` does not."""
    z, y, factor = out.ravel(), b.ravel(), out.dtype.type(factor)
    for t in range(z.shape[0]):
        z[t] += factor * y[t]


@merged
def direction(gradient, inverse, history, heading):
    """Heading = −H·gradient by the two-loop recursion; H starts as a multiple of G ↦ G·inverse."""
    steps, changes, curvatures, state = history
    memory, n_stored, newest = steps.shape[0], state[0], state[1]
    shares, rest = np.empty(memory, np.float64), np.empty(heading.shape, heading.dtype)
    add_multiple(gradient, -2.0, gradient, rest)
    for t in range(n_stored):
        s = (newest - t) % memory
        shares[s] = inner(steps[s], rest) / curvatures[s]
        add_to(rest, -shares[s], changes[s])
    scale = 1.0
    if n_stored > 0:
        np.dot(changes[newest], inverse, heading)
        scale = curvatures[newest] / inner(changes[newest], heading)
    np.dot(rest, inverse, heading)
    add_to(heading, scale - 1.0, heading)
    for t in range(n_stored - 1, -1, -1):
        s = (newest - t) % memory
        share = shares[s] - inner(changes[s], heading) / curvatures[s]
        add_to(heading, share, steps[s])


@merged
def remember(point, L, new_gradient, gradient, history):
    """Store a step and the change of the gradient along it, if the curvature is positive."""
    steps, changes, curvatures, state = history
    slot = (state[1] + 1) % steps.shape[0]
    add_multiple(point, -1.0, L, steps[slot])
    add_multiple(new_gradient, -1.0, gradient, changes[slot])
    curvatures[slot] = inner(steps[slot], changes[slot])
    if curvatures[slot] > 1e-14 * inner(changes[slot], changes[slot]):
        state[0], state[1] = min(state[0] + 1, steps.shape[0]), slot
    elif state[0] == steps.shape[0]:
        state[0] -= 1  # the slot held the oldest correction


@jit
def run_window(
    L, value, gradient, loss, candidates, width, inverse, history, n_iter, patience, small_gain
):
    """Up to n_iter iterations of L-BFGS on the pair-set loss with fixed candidates.

    ``inverse`` (n_features, n_features) is an inverse Hessian for each row of L, up to scale.
    ``history`` holds steps, changes, curvatures and [number stored, newest]; it is updated in
    place. Steps satisfy the weak Wolfe conditions and are found by bisection and doubling. The
    window ends early when ``patience`` iterations gain less than ``small_gain``, or when no step
    decreases the loss. Returns L, its value, the number of iterations and whether it ended early.
    """
    state, heading = history[3], np.empty(L.shape, inverse.dtype)
    recent = np.empty(patience, np.float64)  # values before the last iterations
    for t in range(patience):
        recent[t] = np.inf
    for iteration in range(n_iter):
        recent[iteration % patience] = value
        direction(gradient, inverse, history, heading)
        slope = inner(heading, gradient)
        if -slope <= MIN_PROMISE * small_gain:  # a quadratic model gains half of that
            return L, value, iteration, True
        low, high, step, found = 0.0, np.inf, 1.0, False
        best, best_value, best_gradient = L, value, gradient
        for _ in range(TRIALS):
            point = np.empty(L.shape, np.float64)
            add_multiple(L, step, heading, point)
            new_value, new_gradient, _, _, _ = evaluate_pair_sets(point, loss, candidates, width)
            if new_value <= value + 1e-4 * step * slope:
                best, best_value, best_gradient, found = point, new_value, new_gradient, True
                if inner(heading, new_gradient) >= 0.9 * slope:
                    break
                low = step
            else:
                high = step
            step = (low + high) / 2.0 if high < np.inf else 2.0 * low
        if found:
            remember(best, L, best_gradient, gradient, history)
            L, value, gradient = best, best_value, best_gradient
        elif state[0] == 0:  # not even along the gradient: a minimum, or a kink
            return L, value, iteration, True
        else:
            state[0] = 0
        if recent[(iteration + 1) % patience] - value <= small_gain:
            return L, value, iteration + 1, True
    return L, value, n_iter, False
