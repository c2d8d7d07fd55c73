"""A Mahalanobis metric as L and as M = LᵀL, and the geometry of positive semidefinite M."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import linalg
from sklearn.utils import check_array

from raremetric.validation import check_integer, check_option


def matrix_from_components(L: NDArray) -> NDArray:
    """M = LᵀL, symmetric to the last bit."""
    M = L.T @ L
    return (M + M.T) / 2


def components_from_matrix(M: NDArray) -> NDArray:
    """The symmetric square root of a PSD matrix: L = M^½, so that LᵀL = M.

    Eigenvalues that are negative because of rounding count as zero.
    """
    values, vectors = linalg.eigh(M)
    return (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T


def squared_lengths(L: NDArray, differences: NDArray) -> NDArray:
    """‖L δ‖² for each row δ of differences, shape (n, n_features)."""
    projected = differences @ L.T
    return np.einsum("ij,ij->i", projected, projected)


def axis_shares(L: NDArray) -> NDArray:
    """M_jj / trace(M) for each feature j; zeros where M is zero."""
    diagonal = np.einsum("ij,ij->j", L, L)
    trace = diagonal.sum()
    return diagonal / trace if trace else diagonal


def project_psd(M: NDArray, largest: float = np.inf) -> tuple[NDArray, NDArray]:
    """The nearest matrix with eigenvalues from 0 to ``largest``, and an L with LᵀL equal to it."""
    values, vectors = linalg.eigh((M + M.T) / 2)
    L = np.sqrt(np.clip(values, 0.0, largest))[:, np.newaxis] * vectors.T
    return matrix_from_components(L), L


def spd_geodesic(A: NDArray, B: NDArray, t: float) -> NDArray:
    """The point A #ₜ B = A^½ (A^-½ B A^-½)ᵗ A^½ on the geodesic of SPD matrices.

    t = 0 gives A, t = 1 gives B. Computed from A = RᵀR (Cholesky) and one symmetric
    eigendecomposition: with R^-ᵀ B R^-¹ = U diag(s) Uᵀ the point is (RᵀU) diag(sᵗ) (RᵀU)ᵀ.
    """
    R = linalg.cholesky(A)
    half = linalg.solve_triangular(R, B, trans="T")
    core = linalg.solve_triangular(R, half.T, trans="T")
    values, vectors = linalg.eigh((core + core.T) / 2)
    factor = R.T @ vectors
    point = (factor * np.maximum(values, 0.0) ** t) @ factor.T
    return (point + point.T) / 2


def initial_components(
    init: str | ArrayLike,
    X: NDArray,
    n_components: int | None = None,
    weights: NDArray | None = None,
) -> NDArray[np.float64]:
    """Where a solver starts: unit axes, principal axes or a given matrix, (n_components, d)."""
    n_features = X.shape[1]
    if n_components is not None:
        check_integer(n_components, "n_components", low=1, high=n_features)
    shape = (n_components or n_features, n_features)
    if isinstance(init, str):
        check_option(init, "init", ("auto", "identity", "pca"))
        if init == "identity" or (init == "auto" and shape[0] == n_features):
            return np.eye(*shape)
        _, axes = linalg.eigh(_covariance(X, weights))
        return np.ascontiguousarray(axes.T[::-1][: shape[0]])  # largest variance first
    L = check_array(init, dtype=np.float64, input_name="init", copy=True)
    if L.shape != shape:
        raise ValueError(
            f"init.shape == {L.shape}, expected (n_components, n_features) == {shape}."
        )
    return L


def _covariance(X: NDArray, weights: NDArray | None) -> NDArray[np.float64]:
    """The covariance of examples; their weights have a mean of one."""
    if weights is None:
        return np.cov(X, rowvar=False).reshape(X.shape[1], X.shape[1])
    centered = X - weights @ X / len(X)
    return (centered.T * weights) @ centered / (len(X) - 1)
