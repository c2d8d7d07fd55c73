"""BalancedDiscriminant: a closed form in which every class has the same weight."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from raremetric.learners.base import MetricLearner
from raremetric.metric import symmetric_eigen
from raremetric.performance import one_blas_thread
from raremetric.scales import spread_of
from raremetric.validation import Labels, check_labels, check_real, weighted_rows

ROUNDING = 8 * np.finfo(np.float64).eps  # of the means: not a variance within classes


class BalancedDiscriminant(MetricLearner):
    r"""Whiten by the classes' mean covariance, then stretch the directions between their means.

    Every class has the same weight, no matter how few examples it has, as in :class:`IML`. The
    metric is a closed form: one eigendecomposition.

    .. versionadded:: 0.1

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
    classes_ : ndarray of shape (n_classes,)
        Class labels seen in ``fit``.
    n_features_in_ : int
        Number of features seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, when ``X`` has string column names.

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

    @one_blas_thread
    def fit(self, X, y, sample_weight=None) -> BalancedDiscriminant:
        """Compute the metric.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training examples; standardize them first, because the shrinkage depends on scales.
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Weights of the examples in the mean and covariance of their class. Each class has the
            same weight as before; an example of weight 0 is left out.

        Returns
        -------
        self : BalancedDiscriminant
        """
        self.fit_settings([self], X, y, sample_weight)
        return self

    @classmethod
    def fit_settings(cls, learners: Sequence[Any], X, y, sample_weight=None) -> None:
        """Fit several settings to the same data.

        One eigendecomposition serves them all, and one whitening those with the same shrinkage.

        Parameters
        ----------
        learners : sequence of BalancedDiscriminant
        X, y, sample_weight
            See `fit`.
        """
        first = learners[0]
        X, labels = first._check_training_data(X, y)
        weights = None
        if sample_weight is not None:
            rows, weights = weighted_rows(sample_weight, len(X))
            X, labels = X[rows], check_labels(labels.classes[labels.codes[rows]], cls.__name__)
        means, covariance = class_moments(X, labels, weights)
        variances, axes = symmetric_eigen(covariance)
        if variances.max() <= (ROUNDING * np.abs(X).max()) ** 2:
            variances = np.zeros_like(variances)
        spectrum = Spectrum(means, variances, axes)
        known: dict[float, Shrunk] = {}
        for learner in learners:
            learner.classes_, learner.n_features_in_ = labels.classes, first.n_features_in_
            learner._fit_spectrum(spectrum, known)

    def _fit_spectrum(self, spectrum: Spectrum, known: dict[float, Shrunk]) -> None:
        shrinkage = check_real(self.shrinkage, "shrinkage", low=0, high=1, closed="right")
        stretch = check_real(self.stretch, "stretch", low=1)
        if shrinkage not in known:
            known[shrinkage] = spectrum.shrunk(shrinkage)
        self.covariance_, whitening = known[shrinkage]
        between = between_directions(spectrum.means @ whitening)
        self.components_ = whitening + (stretch - 1) * between @ (between.T @ whitening)


class Shrunk(NamedTuple):
    """A shrunk covariance and its inverse square root."""

    covariance: NDArray[np.float64]
    whitening: NDArray[np.float64]


class Spectrum(NamedTuple):
    """Means of the classes, (n_classes, n_features), and the mean covariance's axes."""

    means: NDArray[np.float64]
    variances: NDArray[np.float64]
    axes: NDArray[np.float64]

    def shrunk(self, shrinkage: float) -> Shrunk:
        """The covariance with shrunk eigenvalues. Cost: n_features³."""
        variances = shrink_variances(self.variances, shrinkage)
        return Shrunk(
            (self.axes * variances) @ self.axes.T,
            (self.axes / np.sqrt(variances)) @ self.axes.T,
        )


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
    centered[:, spread_of(X) == 0] = 0.0  # without the rounding of the means
    return means, centered.T @ centered


def shrink_variances(variances: NDArray, shrinkage: float) -> NDArray:
    """Eigenvalues shrunk toward their mean; ones if all of them are zero."""
    variances = np.maximum(variances, 0.0)
    mean = variances.mean()
    if mean == 0:
        return np.ones_like(variances)
    return (1 - shrinkage) * variances + shrinkage * mean


def between_directions(means: NDArray) -> NDArray:
    """Orthonormal basis, (n_features, at most n_classes − 1), of the differences of the means."""
    differences = means[1:] - means[0]
    _, lengths, axes = linalg.svd(differences, full_matrices=False)
    present = lengths > 1e-10 * max(1.0, float(np.abs(means).max()))
    return axes[present].T
