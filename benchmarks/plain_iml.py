"""A straightforward implementation of IML in NumPy and SciPy.

SciPy's L-BFGS-B minimizes the loss over L, from the identity, with at most 200 iterations. The
dissimilar neighbors are found again at every evaluation.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.neighbors import NearestNeighbors


class PlainIML(TransformerMixin, BaseEstimator):
    """IML for two classes, with the loss computed pair by pair in the input space."""

    def __init__(self, margin=1.0, similar_weight=0.5, regularization=0.01, k=3, max_iter=200):
        self.margin = margin
        self.similar_weight = similar_weight
        self.regularization = regularization
        self.k = k
        self.max_iter = max_iter

    def fit(self, X, y):
        """Choose the similar pairs and minimize the loss."""
        self.X_, self.y_ = np.asarray(X, dtype=float), np.asarray(y)
        self.similar_ = [
            self._pairs(self.X_, self.y_ == c, self.y_ == c, skip_self=True) for c in (0, 1)
        ]
        d = X.shape[1]
        result = minimize(
            self.loss,
            np.eye(d).ravel(),
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": self.max_iter},
        )
        self.components_ = result.x.reshape(d, d)
        self.objective_ = float(result.fun)
        return self

    def transform(self, X):
        """Multiply the data by Lᵀ."""
        return X @ self.components_.T

    def loss(self, flat):
        """Value and gradient of the loss at a flattened L."""
        d = self.X_.shape[1]
        L = flat.reshape(d, d)
        Z = self.X_ @ L.T
        M = L.T @ L
        residual = M - np.eye(d)
        value = self.regularization * np.sum(residual**2)
        gradient = 4 * self.regularization * L @ residual
        a, m = self.similar_weight, self.margin
        for c in (0, 1):
            dissimilar = self._pairs(Z, self.y_ == c, self.y_ != c)
            for (i, j), weight, sign, offset in (
                (self.similar_[c], a, 1.0, -1.0),
                (dissimilar, 1 - a, -1.0, 1.0 + m),
            ):
                delta = self.X_[i] - self.X_[j]
                hinge = sign * np.sum((delta @ L.T) ** 2, axis=1) + offset
                active = hinge > 0
                weight = weight / (4 * len(i))
                value += weight * hinge[active].sum()
                gradient += sign * weight * 2 * L @ (delta[active].T @ delta[active])
        return value, gradient.ravel()

    def _pairs(self, Z, anchors, others, skip_self=False):
        anchors, others = np.flatnonzero(anchors), np.flatnonzero(others)
        search = NearestNeighbors(n_neighbors=self.k).fit(Z[others])
        query = None if skip_self else Z[anchors]
        found = others[search.kneighbors(query, return_distance=False)]
        return np.repeat(anchors, found.shape[1]), found.ravel()
