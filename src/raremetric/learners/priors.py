"""The metric that ITML and GMML lean on."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import linalg
from sklearn.utils import check_array

from raremetric.metric import components_from_matrix
from raremetric.validation import check_option


def prior_components(prior: str | ArrayLike, X: NDArray) -> NDArray[np.float64]:
    """L₀ with L₀ᵀL₀ the prior metric."""
    n_features = X.shape[1]
    if isinstance(prior, str):
        check_option(prior, "prior", ("covariance", "identity"))
        if prior == "identity":
            return np.eye(n_features)
        covariance = np.cov(X, rowvar=False).reshape(n_features, n_features)
        values, vectors = linalg.eigh(covariance)
        if values[0] <= values[-1] * n_features * np.finfo(float).eps:
            raise ValueError(
                "prior='covariance' needs a covariance of full rank, but some features are "
                "constant or follow from others. Drop them, or use prior='identity'."
            )
        return (vectors / np.sqrt(values)) @ vectors.T
    M = check_array(prior, dtype=np.float64, input_name="prior")
    if M.shape != (n_features, n_features):
        raise ValueError(
            f"prior.shape == {M.shape}, expected (n_features, n_features) == "
            f"{(n_features, n_features)}."
        )
    if not np.allclose(M, M.T) or linalg.eigvalsh(M)[0] <= 0:
        raise ValueError(
            "prior must be symmetric and positive definite. Add a small multiple of the identity."
        )
    return components_from_matrix(M)
