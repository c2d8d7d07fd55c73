"""DMBK: a projection that separates all pairs of classes, measured by their KL divergences."""

from __future__ import annotations

from math import ceil
from numbers import Integral
from typing import NamedTuple
from warnings import warn

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.optimize import minimize
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.covariance import ledoit_wolf_shrinkage
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted, validate_data

NO_DIVERGENCE = 1e-12  # less is rounding; added to each, so that equal classes have a logarithm
NO_SPREAD = 1e-6  # share of the largest total variance of a class: less is none
NO_SLOPE = 1e-10  # where all of the gradient is smaller, the descent ends
TIES = 1e-6  # weight of the variance where directions at the start have equal divergences
MIN_SHRINKAGE = 1e-3  # of "auto"
ITERATION_LIMIT = 1  # SciPy's status when maxiter ended the run


class DMBK(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    r"""Distance Metric by Balancing KL-divergence.

    Classes are described by Gaussian distributions. The metric is the projection that maximizes
    the geometric mean of the KL divergences between all ordered pairs of classes, each divided by
    a power of their sum: a pair of classes that are near each other lowers a geometric mean much
    more than a mean, so no pair is neglected. Every class has the same weight, no matter how few
    examples it has.

    Parameters
    ----------
    n_components : int, float or None, default=0.5
        Number r of dimensions of the projection. A float is a fraction of the number of features,
        rounded up; None keeps all n_features. The divergences do not change then, so that the
        metric is that of the whitening alone, see the notes.
    balance : float, default=0.5
        β between 0 and 1: 0 maximizes the geometric mean of the divergences, 1 that of the
        divergences normalized by their sum. With 1 only their ratios matter: two classes are then
        not separated, but only made equally far from each other in both directions.
    shrinkage : float or "auto", default="auto"
        ρ in (0, 1]: how far the covariance of each class is shrunk toward a multiple of the
        identity. "auto" computes it for each class by the formula of Ledoit and Wolf; it is large
        for classes with few examples, and at least 0.001.
    max_iter : int, default=100
        Maximum number of iterations.
    tol : float, default=1e-5
        The descent ends when an iteration increases the objective by less than this.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        L.
    objective_ : float
        The logarithm of the maximized mean. With β = 1, it is at most −log C(C − 1) for C classes.
    divergences_ : ndarray of shape (n_classes, n_classes)
        KL divergence of class i (row) from class j (column) after the projection.
    n_iter_ : int
        Number of iterations; 1 also where the start cannot be improved.

    Notes
    -----
    With C classes of means :math:`\mu_c` and shrunk covariances :math:`\Sigma_c`, the divergence
    after the projection by L is that of the Gaussian distributions
    :math:`N(L\mu_c, S_c), S_c = L\Sigma_c L^\top`,

    .. math::

        D_{ij} = \tfrac12 \bigl[\log|S_j| - \log|S_i|
        + \operatorname{tr} S_j^{-1}(S_i + L\delta\delta^\top L^\top) - r\bigr],
        \qquad \delta = \mu_i - \mu_j,

    and L maximizes

    .. math::

        F(L) = \frac{1}{C(C-1)} \sum_{i \ne j} \log D_{ij} - \beta \log \sum_{i \ne j} D_{ij}

    by L-BFGS. The gradient is :math:`\sum_{ij} w_{ij} \nabla D_{ij}` with
    :math:`w_{ij} = 1/(C(C-1) D_{ij}) - \beta / \sum D` and

    .. math::

        \nabla D_{ij} = S_j^{-1} L\Sigma_j - S_i^{-1} L\Sigma_i + S_j^{-1} L A
        - S_j^{-1} (L A L^\top) S_j^{-1} L\Sigma_j, \qquad A = \Sigma_i + \delta\delta^\top.

    Choices where [1]_, of which only the abstract was available to us, leaves something open:

    - The abstract combines the geometric mean with normalized divergences. For two classes, the
      geometric mean of the two normalized divergences is largest where they are equal, whether or
      not the classes are apart. F therefore is the third criterion of [2]_, a combination of the
      geometric means of the divergences and of the normalized divergences; β = 1 is the latter.
    - F does not change if L is multiplied by an invertible matrix from the left: it determines
      only the row space of L. Within it, distances are whitened by the mean covariance of the
      classes: :math:`L \bar\Sigma L^\top = I` with :math:`\bar\Sigma = \sum_c \Sigma_c / C`. With
      r = n_features, :math:`M = \bar\Sigma^{-1}`.
    - The descent starts from the r directions in which the sum of the divergences is largest to
      second order; ties go to those of largest variance. F is not concave: a local maximum is
      found.
    - A class without any spread, such as one with a single example, has the mean covariance of
      the others.

    References
    ----------
    .. [1] L. Feng, H. Wang, B. Jin, H. Li, M. Xue and L. Wang. "Learning a Distance Metric by
       Balancing KL-Divergence for Imbalanced Datasets". IEEE Transactions on Systems, Man, and
       Cybernetics: Systems 49(12), 2019.
    .. [2] D. Tao, X. Li, X. Wu and S. Maybank. "Geometric Mean for Subspace Selection". IEEE
       Transactions on Pattern Analysis and Machine Intelligence 31(2), 2009.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from paper.rivals import DMBK
    >>> X, y = load_iris(return_X_y=True)
    >>> dmbk = DMBK(n_components=2).fit(X, y)
    >>> dmbk.transform(X).shape
    (150, 2)
    >>> bool(dmbk.divergences_[1, 2] < dmbk.divergences_[0, 2])  # versicolor is near virginica
    True
    """

    def __init__(self, n_components=0.5, balance=0.5, shrinkage="auto", *, max_iter=100, tol=1e-5):
        self.n_components = n_components
        self.balance = balance
        self.shrinkage = shrinkage
        self.max_iter = max_iter
        self.tol = tol

    @staticmethod
    def candidates(split):
        """Rank, balance and shrinkage to try; with full rank, the balance does not matter."""
        shapes = [(share, balance) for share in (0.1, 0.25, 0.5) for balance in (0.5, 1.0)]
        return [
            {"n_components": share, "balance": balance, "shrinkage": shrinkage}
            for share, balance in [*shapes, (None, 0.5)]
            for shrinkage in ("auto", 0.1, 0.5)
        ]

    def fit(self, X, y) -> DMBK:
        """Learn the metric.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training examples; standardize them first, because the shrinkage depends on scales.
        y : array-like of shape (n_samples,)
            Class labels.

        Returns
        -------
        self : DMBK
        """
        X, y = validate_data(self, X, y, dtype=np.float64, ensure_min_samples=2)
        n_components = self._rank(X.shape[1])
        self.classes_, codes = np.unique(y, return_inverse=True)
        classes = class_gaussians(X, codes, self.shrinkage)
        whitening = whitening_of(classes)
        classes = Gaussians(classes.means @ whitening, whitening @ classes.covariances @ whitening)
        L = first_directions(classes, whitened_covariance(X, whitening), n_components)
        self.n_iter_ = 1
        if n_components < X.shape[1]:
            L = self._ascend(classes, L)
        self.objective_, _ = value_and_gradient(L, classes, self.balance)
        rows = np.linalg.svd(L, full_matrices=False)[2]  # orthonormal, with the same span
        self.components_ = rows @ whitening
        self.divergences_ = Projected.of(rows, classes).divergences
        return self

    def transform(self, X):
        """Project the data, so that the plain distance becomes the learned one: XLᵀ."""
        check_is_fitted(self)
        return validate_data(self, X, reset=False, dtype=np.float64) @ self.components_.T

    def _ascend(self, classes: Gaussians, start: NDArray) -> NDArray:
        """Maximize the objective; SciPy minimizes a function that is one at the start."""
        start_value, _ = value_and_gradient(start, classes, self.balance)

        def evaluate(x: NDArray) -> tuple[float, NDArray]:
            value, gradient = value_and_gradient(x.reshape(start.shape), classes, self.balance)
            flat = np.abs(gradient).max() < NO_SLOPE
            return 1 + start_value - value, np.zeros(x.shape) if flat else -gradient.ravel()

        options = {"maxiter": self.max_iter, "ftol": self.tol, "gtol": 0.0, "maxcor": 10}
        found = minimize(evaluate, start.ravel(), jac=True, method="L-BFGS-B", options=options)
        if found.status == ITERATION_LIMIT:
            warn(
                f"DMBK stopped after max_iter={self.max_iter} iterations, while an iteration still "
                f"increased the objective by more than tol={self.tol:g}. Raise max_iter or tol.",
                ConvergenceWarning,
                stacklevel=3,
            )
        self.n_iter_ = max(int(found.nit), 1)
        return found.x.reshape(start.shape)

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def _rank(self, n_features: int) -> int:
        """The number of components."""
        if isinstance(self.n_components, Integral):
            return int(self.n_components)
        return n_features if self.n_components is None else ceil(self.n_components * n_features)


class Gaussians(NamedTuple):
    """A Gaussian distribution for each class."""

    means: NDArray[np.float64]  # (n_classes, n_features)
    covariances: NDArray[np.float64]  # (n_classes, n_features, n_features)


def class_gaussians(X: NDArray, codes: NDArray, shrinkage: float | str) -> Gaussians:
    """Means and shrunk covariances of the classes."""
    found = [class_moments(X[codes == c], shrinkage) for c in range(codes.max() + 1)]
    means, covariances = (np.stack(each) for each in zip(*found, strict=True))
    traces = np.trace(covariances, axis1=1, axis2=2)
    spread = traces > NO_SPREAD * traces.max()
    default = covariances[spread].mean(axis=0) if spread.any() else np.eye(X.shape[1])
    covariances[~spread] = default
    return Gaussians(means, covariances)


def class_moments(rows: NDArray, shrinkage: float | str) -> tuple[NDArray, NDArray]:
    """Mean and shrunk covariance of the examples of one class."""
    mean = rows.mean(axis=0)
    centered = rows - mean
    centered[:, np.ptp(rows, axis=0) == 0] = 0.0  # without the rounding of the mean
    covariance = centered.T @ centered / len(rows)
    if isinstance(shrinkage, str):
        estimate = ledoit_wolf_shrinkage(centered, assume_centered=True) if len(rows) > 1 else 1.0
        shrinkage = max(float(estimate), MIN_SHRINKAGE)
    sphere = np.trace(covariance) / len(mean) * np.eye(len(mean))
    return mean, (1 - shrinkage) * covariance + shrinkage * sphere


def whitening_of(classes: Gaussians) -> NDArray:
    """The inverse square root of the mean covariance."""
    variances, axes = eigh(classes.covariances.mean(axis=0))
    return (axes / np.sqrt(variances)) @ axes.T


def whitened_covariance(X: NDArray, whitening: NDArray) -> NDArray:
    """The covariance of all examples, (n_features, n_features)."""
    return whitening @ np.cov(X, rowvar=False).reshape(whitening.shape) @ whitening


def first_directions(classes: Gaussians, covariance: NDArray, n_components: int) -> NDArray:
    """Orthonormal directions in which the sum of the divergences is largest to second order.

    Near Σ_i = Σ_j = I, the divergence is ½‖δ‖² + ¼‖Σ_i − Σ_j‖². Ties, as between all directions
    that are orthogonal to the means of spherical classes, go to those of largest variance.
    """
    shifts = classes.means[:, np.newaxis] - classes.means
    changes = classes.covariances[:, np.newaxis] - classes.covariances
    total = np.einsum("ija,ijb->ab", shifts, shifts) / 2
    total += np.einsum("ijab,ijbc->ac", changes, changes) / 4
    traces = (max(float(np.trace(each)), np.finfo(float).tiny) for each in (total, covariance))
    shares = [each / trace for each, trace in zip((total, covariance), traces, strict=True)]
    both = shares[0] + TIES * shares[1]
    _, axes = eigh((both + both.T) / 2)
    return np.ascontiguousarray(axes.T[::-1][:n_components])


class Projected(NamedTuple):
    """The classes after a projection by L, and what the gradient needs of it."""

    halves: NDArray  # LΣ_c, (n_classes, r, n_features)
    inverses: NDArray  # S_c⁻¹, (n_classes, r, r)
    shifts: NDArray  # δ = μ_i − μ_j, (n_classes, n_classes, n_features)
    projected_shifts: NDArray  # Lδ, (n_classes, n_classes, r)
    divergences: NDArray  # D_ij, (n_classes, n_classes)

    @classmethod
    def of(cls, L: NDArray, classes: Gaussians) -> Projected:
        """Project the classes by L, (r, n_features)."""
        halves = L @ classes.covariances
        S = halves @ L.T
        inverses, logs = np.linalg.inv(S), np.linalg.slogdet(S)[1]
        shifts = classes.means[:, np.newaxis] - classes.means
        projected = shifts @ L.T
        traces = np.einsum("jab,iba->ij", inverses, S)
        distances = np.einsum("ija,jab,ijb->ij", projected, inverses, projected)
        divergences = (logs - logs[:, np.newaxis] + traces + distances - len(L)) / 2
        return cls(halves, inverses, shifts, projected, np.maximum(divergences, 0.0))


def value_and_gradient(L: NDArray, classes: Gaussians, balance: float) -> tuple[float, NDArray]:
    """The objective F at L and its gradient, (r, n_features)."""
    halves, inverses, shifts, projected, divergences = Projected.of(L, classes)
    pairs = ~np.eye(len(divergences), dtype=bool)
    found = divergences[pairs] + NO_DIVERGENCE
    total = found.sum()
    value = float(np.log(found).mean() - balance * np.log(total))
    # The gradient of a divergence of zero is zero: what is computed is rounding.
    apart = divergences > NO_DIVERGENCE
    weights = np.zeros_like(divergences)
    weights[pairs] = 1 / (len(found) * found) - balance / total
    weights[~apart] = 0.0
    # LA summed over i for each class j, (n_classes, r, n_features)
    sums = np.einsum("ij,ird->jrd", weights, halves)
    sums += np.einsum("ij,ijr,ijd->jrd", weights, projected, shifts)
    surplus = (weights.sum(axis=0) - weights.sum(axis=1))[:, np.newaxis, np.newaxis]
    gradient = inverses @ (surplus * halves + sums - sums @ L.T @ inverses @ halves)
    return value, gradient.sum(axis=0)
