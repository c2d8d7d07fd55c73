"""The loss of MLFP, whose metric measures distances to positive examples only."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from raremetric.metric import matrix_from_components, project_psd, squared_lengths


class FewPositivesLoss(NamedTuple):
    """F(M) = Σ_p w_p Σ_t [c_pt + s_p δ_pᵀMδ_p]₊ + μ‖M − I‖²_F over 0 ⪯ M ⪯ I.

    Each pair p has a positive example as its second one, so that its distance is measured under M.
    For two positives, s = 1: the distance is to be smaller than the plain distances of the first
    one to negatives. For a negative and a positive, s = −1: it is to be larger.
    """

    differences: NDArray[np.float64]  # (n_pairs, n_features), δ
    signs: NDArray[np.float64]  # (n_pairs,), s
    constants: NDArray[np.float64]  # (n_pairs, k), c; −inf where there is no neighbor
    weights: NDArray[np.float64]  # (n_pairs,), w
    regularization: float  # μ

    def value_and_gradient(self, L: NDArray, width: float = 0.0) -> tuple[float, NDArray]:
        """F and its gradient over M, with the corners of the hinges rounded over ``width``."""
        lengths = squared_lengths(L, self.differences)
        values, slopes = _rounded_hinge(
            self.constants + (self.signs * lengths)[:, np.newaxis], width
        )
        pulls = self.weights * self.signs * slopes.sum(axis=1)
        away = matrix_from_components(L) - np.eye(L.shape[1])
        value = self.weights @ values.sum(axis=1) + self.regularization * np.sum(away**2)
        gradient = (self.differences.T * pulls) @ self.differences
        return float(value), gradient + 2 * self.regularization * away

    def lower_bound(self, L: NDArray, width: float) -> float:
        """A lower bound on F over all M, from its slope at M = LᵀL.

        The rounded loss is nowhere above F, and F(M) + ⟨G, Z − M⟩ + μ‖Z − M‖² is nowhere above the
        rounded loss at Z. The minimum over Z is a projection, or for μ = 0 a sum of eigenvalues.
        """
        value, G = self.value_and_gradient(L, width)
        M = matrix_from_components(L)
        if self.regularization == 0:
            return value - np.sum(G * M) + np.minimum(np.linalg.eigvalsh(G), 0.0).sum()
        Z, _ = project_psd(M - G / (2 * self.regularization), largest=1.0)
        return value + np.sum(G * (Z - M)) + self.regularization * np.sum((Z - M) ** 2)


def _rounded_hinge(u: NDArray, width: float) -> tuple[NDArray, NDArray]:
    """[u]₊ with its corner rounded over (0, width), and its derivative."""
    u = np.maximum(u, 0.0)
    slopes = np.minimum(u / width, 1.0) if width else (u > 0).astype(np.float64)
    return slopes * u - width * slopes**2 / 2, slopes
