"""BalancedDiscriminant: a closed form in which every class has the same weight."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import linalg

from raremetric.learners.base import MetricLearner
from raremetric.validation import Labels, check_labels, check_real, weighted_rows

# By a shrinkage: the covariance and its inverse square root. Cost: n_features³.
Shrunk = Callable[[float], tuple[NDArray, NDArray]]

ROUNDING = 8 * np.finfo(np.float64).eps  # of the means: not a variance within classes


class BalancedDiscriminant(MetricLearner):
    r"""Whiten by the classes' mean covariance, then stretch the directions between their means.

    Every class has the same weight, no matter how few examples it has, as in :class:`IML`. The
    metric is a closed form: one eigendecomposition.

    Parameters
    ----------
    shrinkage : float, default=0.1
        ρ in (0, 1]: how far the covariance is shrunk toward a multiple of the identity.
    stretch : float, default=3.0
        g ≥ 1: the factor by which differences along the directions between the class means are
        stretched. 1 leaves the whitened distance unchanged.

    Attributes
    ----------
    components_ : ndarray of shape (n_features, n_features)
        L = (I + (g − 1) UUᵀ) W.
    covariance_ : ndarray of shape (n_features, n_features)
        The mean of the classes' covariances, shrunk.
    classes_, n_features_in_, feature_names_in_ : ndarray, int, ndarray
        Class labels, number of features and, if ``X`` has string column names, their names.

    Notes
    -----
    With C classes of covariances :math:`\Sigma_c` and means :math:`\mu_c`,

    .. math::

        S = \frac1C \sum_c \Sigma_c, \qquad
        W = \bigl((1-\rho) S + \rho \tfrac{\operatorname{tr} S}{d} I\bigr)^{-1/2},

    and U an orthonormal basis of the span of the whitened differences of the class means, of which
    there are C − 1. For two classes that is the one direction of the linear discriminant in which
    each class has the same weight, and

    .. math::

        d^2(x, x') = \|W\Delta\|^2 + (g^2 - 1)\,(u^\top W\Delta)^2, \qquad \Delta = x - x'.

    **Weights.** They multiply the examples in the mean and the covariance of their class; each
    class has the same weight as before. An example of weight 0 is left out.

    See Also
    --------
    GMML : A closed form from pairs of examples.
    RareClassifier : Uses this metric with several settings.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from raremetric import BalancedDiscriminant
    >>> X, y = load_iris(return_X_y=True)
    >>> BalancedDiscriminant(stretch=3).fit(X, y).components_.shape
    (4, 4)
    """

    def __init__(self, shrinkage=0.1, stretch=3.0):
        self.shrinkage = shrinkage
        self.stretch = stretch

    def _fit(self, X: NDArray, labels: Labels, sample_weight: ArrayLike | None) -> None:
        self._fit_spectrum(*find_spectrum(X, labels, sample_weight, type(self).__name__))

    @classmethod
    def fit_settings(cls, learners: Sequence[Self], X, y, sample_weight=None) -> None:
        """Fit several settings to the same data; see `MetricLearner.fit_settings`.

        One eigendecomposition serves them all, and one whitening those with the same shrinkage.
        """
        X, labels = learners[0]._check_training_data(X, y)
        labels, means, shrunk = find_spectrum(X, labels, sample_weight, cls.__name__)
        for learner in learners:
            learner.n_features_in_ = X.shape[1]
            learner._fit_spectrum(labels, means, shrunk)

    def _fit_spectrum(self, labels: Labels, means: NDArray, shrunk: Shrunk) -> None:
        """Set the attributes, from the means of the classes and their shrunk mean covariance."""
        shrinkage = check_real(self.shrinkage, "shrinkage", low=0, high=1, closed="right")
        stretch = check_real(self.stretch, "stretch", low=1)
        self.classes_ = labels.classes
        self.covariance_, whitening = shrunk(shrinkage)
        between = between_directions(means @ whitening)
        self.components_ = whitening + (stretch - 1) * between @ (between.T @ whitening)


def find_spectrum(
    X: NDArray, labels: Labels, sample_weight: ArrayLike | None, owner: str
) -> tuple[Labels, NDArray, Shrunk]:
    """Labels and class means of the examples with weight, and their covariance by its shrinkage."""
    weights = None
    if sample_weight is not None:
        rows, weights = weighted_rows(sample_weight, len(X))
        X, labels = X[rows], check_labels(labels.classes[labels.codes[rows]], owner)
    means, covariance = class_moments(X, labels, weights)
    variances, axes = linalg.eigh(covariance)
    variances = np.maximum(variances, 0.0)
    if variances.max() <= (ROUNDING * np.abs(X).max()) ** 2:
        variances = np.ones_like(variances)
    mean = variances.mean()

    def shrunk(shrinkage: float) -> tuple[NDArray, NDArray]:
        values = (1 - shrinkage) * variances + shrinkage * mean
        return (axes * values) @ axes.T, (axes / np.sqrt(values)) @ axes.T

    return labels, means, cache(shrunk)


def class_moments(
    X: NDArray, labels: Labels, weights: NDArray | None = None
) -> tuple[NDArray, NDArray]:
    """Means of the classes, (n_classes, n_features), and the mean of their covariances."""
    codes, n_classes = labels.codes, len(labels.classes)
    if weights is None:
        means = np.stack([X[codes == c].mean(axis=0) for c in range(n_classes)])
        shares = 1 / (n_classes * labels.counts[codes])
    else:
        shares = weights / (n_classes * np.bincount(codes, weights)[codes])
        means = np.stack([n_classes * (shares * (codes == c)) @ X for c in range(n_classes)])
    centered = (X - means[codes]) * np.sqrt(shares)[:, np.newaxis]
    centered[:, np.ptp(X, axis=0) == 0] = 0.0  # without the rounding of the means
    return means, centered.T @ centered


def between_directions(means: NDArray) -> NDArray:
    """Orthonormal basis, (n_features, at most n_classes − 1), of the differences of the means."""
    differences = means[1:] - means[0]
    _, lengths, axes = linalg.svd(differences, full_matrices=False)
    present = lengths > 1e-10 * max(1.0, float(np.abs(means).max()))
    return axes[present].T
