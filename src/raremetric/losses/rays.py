"""The pair-set loss along a ray of metrics s·LᵀL, s > 0, on which the neighbors do not change."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from raremetric.losses.pair_sets_kernels import pair_distances, scaled_loss
from raremetric.metric import matrix_from_components

if TYPE_CHECKING:
    from raremetric.losses.pair_sets import PairSetLoss

LOG_SCALES = (-15.0, 15.0)  # the range in which the best multiple of a metric is searched
COLLAPSE = 5e-3  # a start must have a loss lower than that of the metric 0 by this fraction


class Ray(NamedTuple):
    """What F(s·LᵀL) needs to know about L, for any margin, weights and λ."""

    similar: NDArray  # squared distances of the similar pairs under L
    dissimilar: NDArray  # those of the dissimilar pairs
    owners: NDArray  # of each dissimilar pair, the position of its anchor among all anchors
    square: float  # ‖M‖²
    trace: float  # of M


def measure_ray(L: NDArray, Z: NDArray, loss: PairSetLoss, candidates: NDArray) -> Ray:
    """The ray through LᵀL, from Z = XLᵀ and candidates that begin with the neighbors under L."""
    M = matrix_from_components(L)
    others = candidates[:, : max(loss.n_refreshed, 1)]
    owners, slots = np.nonzero(others >= 0)
    return Ray(
        pair_distances(Z, loss.similar_anchors, loss.similar_others),
        pair_distances(Z, loss.anchors[owners], others[owners, slots]),
        owners,
        float(np.sum(M * M)),
        float(np.trace(M)),
    )


def loss_on_ray(ray: Ray, loss: PairSetLoss) -> Callable[[float], float]:
    """F(s·LᵀL) as a function of s, convex."""
    weights, limit = loss.anchor_weights[ray.owners], 1.0 + loss.margin
    n_features = loss.X.shape[1]

    def value(s: float) -> float:
        penalty = loss.regularization * (s * s * ray.square - 2 * s * ray.trace + n_features)
        return penalty + scaled_loss(
            s, ray.similar, loss.similar_weights, ray.dissimilar, weights, limit
        )

    return value


def best_multiple(L: NDArray, ray: Ray, loss: PairSetLoss) -> NDArray:
    """The multiple of L with the lowest F, within 5 % in LᵀL; or L itself.

    L itself where a multiple has no loss at all, because then nothing about directions could be
    learned from there; and where the best multiple is hardly better than the metric 0, which is a
    stationary point: the first steps would gain so little that the descent would stop.
    """
    value, scale = loss_on_ray(ray, loss), best_on_ray(ray, loss)
    lowest = value(scale)
    if lowest <= 0 or lowest >= value(1.0) or lowest > (1 - COLLAPSE) * value(0.0):
        return L
    return np.sqrt(scale) * L


def best_on_ray(ray: Ray, loss: PairSetLoss) -> float:
    """The s with the lowest F(s·LᵀL), within 5 %."""
    value = loss_on_ray(ray, loss)
    return float(np.exp(golden_section(lambda t: value(np.exp(t)), *LOG_SCALES, accuracy=0.05)))


def golden_section(f: Callable[[float], float], low: float, high: float, accuracy: float) -> float:
    """The minimum of a convex function of one variable within an interval."""
    golden = (np.sqrt(5.0) - 1.0) / 2.0
    left, right = high - golden * (high - low), low + golden * (high - low)
    f_left, f_right = f(left), f(right)
    while high - low > accuracy:
        if f_left <= f_right:
            high, right, f_right = right, left, f_left
            left = high - golden * (high - low)
            f_left = f(left)
        else:
            low, left, f_left = left, right, f_right
            right = low + golden * (high - low)
            f_right = f(right)
    return (low + high) / 2.0
