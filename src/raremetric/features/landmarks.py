"""Kernel features at landmarks: a linear metric on them is a curved one on the data."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from scipy.spatial.distance import cdist
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
)
from sklearn.utils import check_random_state, column_or_1d
from sklearn.utils.validation import check_is_fitted, validate_data

from raremetric.performance import one_blas_thread
from raremetric.validation import check_integer, check_option, check_real

KERNELS = {"laplacian": "cityblock", "rbf": "sqeuclidean"}  # what each is a function of


class KernelLandmarks(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    r"""Features of a kernel at landmarks, so that a linear metric on them is a curved one on X.

    The inner product of two mapped rows is the kernel between them, as near as the landmarks and
    components allow (Nyström's method). Any metric learner may follow in a ``Pipeline``.

    Parameters
    ----------
    kernel : {"laplacian", "rbf"}, default="laplacian"
        exp(−‖x − x'‖₁ / w), or exp(−‖x − x'‖₂² / w).
    width : float, default=1.0
        w, in units of the median of ‖·‖ between landmarks.
    n_landmarks : int, default=500
        How many training rows serve as landmarks, at most. When labels are given, each class
        gives the same number of them, as far as it has so many.
    n_components : int, default=100
        How many features come out, at most: the leading principal axes among the landmarks.
    random_state : int, RandomState instance or None, default=None
        For the choice of landmarks, when there are more rows than landmarks.

    Attributes
    ----------
    landmarks_ : ndarray of shape (n_landmarks, n_features)
        The rows that serve.
    width_ : float
        w in the units of X.
    projection_ : ndarray of shape (n_landmarks, n_components)
        From kernel values at the landmarks to features.
    n_features_in_ : int
        Number of features seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, when ``X`` has string column names.

    Notes
    -----
    With :math:`K = U \Lambda U^\top` the kernel matrix of the landmarks, a row x becomes
    :math:`\Lambda^{-1/2} U^\top k(x)`, k(x) its kernel values at the landmarks, for the leading
    eigenvalues. Cost n · n_landmarks · n_features, and n_landmarks³ once.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from raremetric import BalancedDiscriminant, KernelLandmarks, MetricKNNClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = make_pipeline(
    ...     StandardScaler(), KernelLandmarks(), MetricKNNClassifier(BalancedDiscriminant())
    ... ).fit(X[:400], y[:400])
    >>> bool(model.score(X[400:], y[400:]) > 0.9)
    True
    """

    def __init__(
        self,
        kernel="laplacian",
        width=1.0,
        *,
        n_landmarks=500,
        n_components=100,
        random_state=None,
    ):
        self.kernel = kernel
        self.width = width
        self.n_landmarks = n_landmarks
        self.n_components = n_components
        self.random_state = random_state

    @one_blas_thread
    def fit(self, X, y=None) -> KernelLandmarks:
        """Choose the landmarks and find their principal axes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or None, default=None
            Class labels, for landmarks that are spread evenly over the classes.

        Returns
        -------
        self : KernelLandmarks
        """
        X = validate_data(self, X, dtype=np.float64, ensure_min_samples=2)
        check_option(self.kernel, "kernel", KERNELS)
        width = check_real(self.width, "width", low=0, closed="neither")
        n_landmarks = check_integer(self.n_landmarks, "n_landmarks", low=1)
        n_components = check_integer(self.n_components, "n_components", low=1)
        rng = check_random_state(self.random_state)
        rows = draw_evenly(len(X), y, n_landmarks, rng)
        self.landmarks_ = X[rows]
        distances = self._distances(self.landmarks_)
        self.width_ = width * median_distance(distances)
        self.projection_ = kernel_projection(np.exp(-distances / self.width_), n_components)
        return self

    def transform(self, X) -> NDArray:
        """Map the data.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        Z : ndarray of shape (n_samples, n_components)
        """
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=np.float64)
        return np.exp(-self._distances(X) / self.width_) @ self.projection_

    def _distances(self, X: NDArray) -> NDArray:
        return cdist(X, self.landmarks_, KERNELS[self.kernel])

    @property
    def _n_features_out(self) -> int:
        return self.projection_.shape[1]


def draw_evenly(n_samples: int, y, n_drawn: int, rng: np.random.RandomState) -> NDArray[np.int64]:
    """Rows in rising order: all, or a number of them spread evenly over the classes."""
    if n_drawn >= n_samples:
        return np.arange(n_samples)
    _, codes, counts = np.unique(
        np.zeros(n_samples) if y is None else column_or_1d(y),
        return_inverse=True,
        return_counts=True,
    )
    chosen = [
        rng.permutation(np.flatnonzero(codes == c))[:quota]
        for c, quota in enumerate(even_quotas(counts, n_drawn))
    ]
    return np.sort(np.concatenate(chosen))


def even_quotas(counts: NDArray, total: int) -> list[int]:
    """How many of each class: equal shares; what a small class cannot fill goes to larger ones."""
    quotas, left = [0] * len(counts), total
    order = np.argsort(counts, kind="stable")
    for place, c in enumerate(order):
        quotas[c] = int(min(counts[c], left // (len(order) - place)))
        left -= quotas[c]
    return quotas


def median_distance(distances: NDArray) -> float:
    """The median between two different landmarks; one where they all lie on the same spot."""
    between = distances[np.triu_indices(len(distances), 1)]
    between = between[between > 0]
    return float(np.median(between)) if len(between) else 1.0


def kernel_projection(kernel: NDArray, n_components: int) -> NDArray:
    """UΛ^-½ of a kernel matrix, for its leading eigenvalues that stand out from rounding."""
    first = max(0, len(kernel) - n_components)
    values, axes = linalg.eigh(kernel, subset_by_index=[first, len(kernel) - 1])
    values, axes = values[::-1], axes[:, ::-1]
    present = values > 1e-8 * values[0]
    return axes[:, present] / np.sqrt(values[present])
