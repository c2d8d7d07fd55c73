"""The loss of LMNN of a sample of the examples, the anchors."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from raremetric.losses.large_margin import LargeMarginLoss
from raremetric.validation import Labels


class SampledLargeMarginLoss(NamedTuple):
    """An estimate Σ_c F_c / s_c of F, with F_c the terms of the anchors that were drawn of class c.

    s_c is the share of the rows of class c that are anchors: if they are drawn at random, the
    expectation is F. The impostors are searched among all rows. A part holds the anchors of one
    class, their targets and all rows of other classes.
    """

    parts: tuple[LargeMarginLoss, ...]
    shares: tuple[float, ...]

    @property
    def squared(self) -> bool:
        """Whether h is the squared hinge."""
        return self.parts[0].squared

    def weighted(self, push_weight: float) -> SampledLargeMarginLoss:
        """The same loss with another μ."""
        return self._replace(parts=tuple(part.weighted(push_weight) for part in self.parts))

    def in_single_precision(self) -> SampledLargeMarginLoss:
        """The same loss, evaluated from rows in single precision: see `LargeMarginLoss`."""
        return self._replace(parts=tuple(part.in_single_precision() for part in self.parts))

    def value_and_gradient(self, L: NDArray, width: float = 0.0) -> tuple[float, NDArray]:
        """F and its gradient over L, shape (n_components, n_features)."""
        total, slope = 0.0, np.zeros(L.shape)
        for part, share in zip(self.parts, self.shares, strict=True):
            value, gradient = part.value_and_gradient(L, width)
            total, slope = total + value / share, slope + gradient / share
        return total, slope

    def scatter_of_targets(self) -> NDArray:
        """Σ w δδᵀ over the pairs of examples and their target neighbors, estimated."""
        parts = zip(self.parts, self.shares, strict=True)
        return np.sum([part.scatter_of_targets() / share for part, share in parts], axis=0)


AnyLargeMarginLoss = LargeMarginLoss | SampledLargeMarginLoss


def make_sampled_loss(
    X: NDArray,
    labels: Labels,
    targets: NDArray,
    weights: NDArray,
    anchors: NDArray,
    shares: NDArray,
    *,
    push_weight: float,
    squared: bool,
) -> SampledLargeMarginLoss:
    """The loss of some rows, the anchors, which are a share of each class.

    ``targets``, of shape (n_samples, k), holds their target neighbors; rows end in -1. ``weights``
    are those of all rows.
    """
    parts = []
    for c in range(len(labels.classes)):
        is_own = labels.codes == c
        rows = anchors[is_own[anchors]]
        own = np.setdiff1d(np.append(rows, targets[rows]), [-1])
        chosen = np.append(own, np.flatnonzero(~is_own))
        table = np.full((len(chosen), targets.shape[1]), -1)
        table[np.searchsorted(own, rows)] = np.where(
            targets[rows] < 0, -1, np.searchsorted(own, targets[rows])
        )
        part = LargeMarginLoss(
            X=np.ascontiguousarray(X[chosen], dtype=np.float64),
            starts=np.array([0, len(own), len(chosen)]),
            targets=table,
            weights=weights[chosen],
            push_weight=float(push_weight),
            squared=bool(squared),
        )
        parts.append(part)
    return SampledLargeMarginLoss(tuple(parts), tuple(shares.tolist()))
