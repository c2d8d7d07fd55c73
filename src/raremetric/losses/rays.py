"""The pair-set loss along a ray of metrics s·LᵀL, s > 0: where the neighbors stay the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from raremetric.metric import matrix_from_components

if TYPE_CHECKING:
    from raremetric.losses.pair_sets import PairSetData

LOG_SCALES = (-15.0, 15.0)  # where the best multiple of a metric is looked for


class Ray(NamedTuple):
    """What F(s·LᵀL) needs to know of L, for any margin, weights and λ."""

    similar: NDArray  # squared distances of the similar pairs under L
    dissimilar: NDArray  # those of the dissimilar pairs
    places: NDArray  # of the dissimilar pairs' anchors among all anchors
    square: float  # ‖M‖²
    trace: float  # of M


def measure_ray(L: NDArray, Z: NDArray, data: PairSetData) -> Ray:
    """The ray through LᵀL; Z = XLᵀ, and the candidates begin with the neighbors under L."""
    from raremetric.losses.pair_sets_kernels import pair_distances

    M = matrix_from_components(L)
    others = data.lists[:, : max(data.refresh, 1)]
    places, slots = np.nonzero(others >= 0)
    return Ray(
        pair_distances(Z, data.similar_anchors, data.similar_others),
        pair_distances(Z, data.anchors[places], others[places, slots]),
        places,
        float(np.sum(M * M)),
        float(np.trace(M)),
    )


def loss_on_ray(ray: Ray, data: PairSetData) -> Callable[[float], float]:
    """F(s·LᵀL) as a function of s, convex."""
    from raremetric.losses.pair_sets_kernels import scaled_loss

    weights, limit = data.anchor_weights[ray.places], 1.0 + data.margin
    n_features = data.X.shape[1]

    def loss(s: float) -> float:
        penalty = data.regularization * (s * s * ray.square - 2 * s * ray.trace + n_features)
        return penalty + scaled_loss(
            s, ray.similar, data.similar_weights, ray.dissimilar, weights, limit
        )

    return loss


def best_on_ray(ray: Ray, data: PairSetData) -> float:
    """The s with the lowest F(s·LᵀL), within 5 %."""
    loss = loss_on_ray(ray, data)
    return float(np.exp(golden_section(lambda t: loss(np.exp(t)), *LOG_SCALES, accuracy=0.05)))


def golden_section(f: Callable[[float], float], low: float, high: float, accuracy: float) -> float:
    """The minimum of a convex function of one dimension within an interval."""
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
