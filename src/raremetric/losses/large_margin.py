"""The loss of LMNN over triplets of an example, a target neighbor and an impostor.

F(L) = (1 − μ) Σ_i Σ_{j ∈ T(i)} d²(i, j)
     + μ Σ_i Σ_{j ∈ T(i)} Σ_{l: y_l ≠ y_i} h(1 + d²(i, j) − d²(i, l)),

with h(u) = [u]₊² or [u]₊. The targets T(i) are fixed; the impostors l, those with h > 0, are
found anew at every evaluation, among all examples of other classes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from raremetric.validation import Labels


class LargeMarginData(NamedTuple):
    """What the kernels read. Rows are grouped by class."""

    X: NDArray  # (n_samples, n_features)
    starts: NDArray  # (n_classes + 1,), first row of each class
    targets: NDArray  # (n_samples, k), ends in -1 for small classes
    push_weight: float
    squared: bool


class LargeMarginObjective:
    """F and its gradient over L, exact (width 0) or with the corner of the hinge rounded.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
    labels : Labels
    targets : ndarray of shape (n_samples, k)
        Rows of the target neighbors of each row; -1 at the end of a row that has fewer.
    push_weight : float
        μ.
    squared : bool
        Whether h is the squared hinge.

    Notes
    -----
    Everything is evaluated in the projected space Z = XLᵀ. With c the derivative of F by the
    squared distance of each pair of rows, the gradient is 2 (Lap Z)ᵀX, where
    Lap = Σ c (e_i − e_j)(e_i − e_j)ᵀ. Cost n²·n_components for the search (a matrix product, in
    tiles) and k·n_components for each impostor; memory does not grow with the number of pairs.

    Rounding by a width δ replaces [u]₊ by u²/(2δ) on (0, δ) and by u − δ/2 beyond. The squared
    hinge has no corner and is left as it is.
    """

    def __init__(
        self, X: NDArray, labels: Labels, targets: NDArray, *, push_weight: float, squared: bool
    ):
        order = np.argsort(labels.codes, kind="stable")
        place = np.append(np.argsort(order, kind="stable"), -1)  # -1 stays -1
        self.data = LargeMarginData(
            X=np.ascontiguousarray(X[order], dtype=np.float64),
            starts=np.concatenate([[0], np.cumsum(labels.counts)]),
            targets=place[targets[order]],
            push_weight=float(push_weight),
            squared=bool(squared),
        )

    def value_and_gradient(self, L: NDArray, width: float = 0.0) -> tuple[float, NDArray]:
        """F and its gradient over L, shape (n_components, n_features)."""
        from raremetric.losses import large_margin_kernels as kernels

        return kernels.large_margin_value_and_gradient(
            np.ascontiguousarray(L), self.data, float(width)
        )


def target_table(labels: Labels, neighbors: list[NDArray[np.int64]], k: int) -> NDArray[np.int64]:
    """The class-wise neighbor lists as one table (n_samples, k), filled up with -1."""
    table = np.full((len(labels.codes), k), -1, dtype=np.int64)
    for c, lists in enumerate(neighbors):
        table[np.flatnonzero(labels.codes == c), : lists.shape[1]] = lists
    return table
