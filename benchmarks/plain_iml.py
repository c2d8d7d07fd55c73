"""A straightforward implementation of IML in NumPy and SciPy, organized like the authors' program.

SciPy's L-BFGS-B minimizes the loss over L, from the identity, with at most 200 iterations. Each
evaluation computes one matrix of squared distances between the two classes, by inner products, and
finds the nearest neighbors of both classes in it by ``numpy.argpartition``.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize
from sklearn.base import BaseEstimator, TransformerMixin


class PlainIML(TransformerMixin, BaseEstimator):
    """IML for two classes, with gradients as sums of outer products in the input space."""

    def __init__(self, margin=1.0, similar_weight=0.5, regularization=0.01, k=3, max_iter=200):
        self.margin = margin
        self.similar_weight = similar_weight
        self.regularization = regularization
        self.k = k
        self.max_iter = max_iter

    def fit(self, X, y):
        """Choose the similar pairs and minimize the loss."""
        X, y = np.asarray(X, dtype=float), np.asarray(y)
        self.classes_ = [X[y == c] for c in (0, 1)]
        self.similar_ = []
        for rows in self.classes_:
            distances = squared_distances(rows, rows)
            np.fill_diagonal(distances, np.inf)
            anchors, others = nearest_pairs(distances, self.k)
            self.similar_.append(rows[anchors] - rows[others])
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
        d = self.classes_[0].shape[1]
        L = flat.reshape(d, d)
        residual = L.T @ L - np.eye(d)
        value = self.regularization * np.sum(residual**2)
        gradient = 4 * self.regularization * L @ residual
        between = squared_distances(*(rows @ L.T for rows in self.classes_))
        for c, distances in enumerate((between, between.T)):
            own, other = self.classes_[c], self.classes_[1 - c]
            anchors, others = nearest_pairs(distances, self.k)
            similar, dissimilar = self.similar_[c], own[anchors] - other[others]
            depths = 1 + self.margin - distances[anchors, others]
            lengths = np.sum((similar @ L.T) ** 2, axis=1)
            for differences, hinge, sign, share in (
                (similar, lengths - 1, 1.0, self.similar_weight),
                (dissimilar, depths, -1.0, 1 - self.similar_weight),
            ):
                weight, active = share / (4 * len(hinge)), hinge > 0
                value += weight * hinge[active].sum()
                chosen = differences[active]
                gradient += 2 * sign * weight * L @ (chosen.T @ chosen)
        return value, gradient.ravel()


def squared_distances(A, B):
    """‖a − b‖² between all rows of A and B, by inner products."""
    norms = np.einsum("ij,ij->i", A, A)[:, np.newaxis] + np.einsum("ij,ij->i", B, B)
    return norms - 2 * A @ B.T


def nearest_pairs(distances, k):
    """Each row with its k columns of smallest distance: positions of rows and columns."""
    k = min(k, distances.shape[1] - 1)
    others = np.argpartition(distances, k, axis=1)[:, :k]
    return np.repeat(np.arange(len(others)), k), others.ravel()
