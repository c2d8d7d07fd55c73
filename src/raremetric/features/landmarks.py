"""Nonlinear features from a kernel between each row and a set of landmark rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from scipy.spatial.distance import cdist
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from raremetric.performance import any_order, one_blas_thread
from raremetric.sampling import draw_evenly
from raremetric.scales import validate_rows
from raremetric.validation import check_integer, check_option, check_real

KERNELS = ("laplacian", "rbf")


class KernelLandmarks(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    r"""Nonlinear features whose inner products approximate a kernel (Nyström's method).

    A linear metric on these features is a nonlinear one on X. Any metric learner can follow in a
    ``Pipeline``.

    Parameters
    ----------
    kernel : {"laplacian", "rbf"}, default="laplacian"
        exp(−‖x − x'‖₁ / w), or exp(−‖x − x'‖₂² / w).
    width : float, default=1.0
        w, as a multiple of the median of the numerator between two landmarks.
    n_landmarks : int, default=500
        Maximum number of landmarks, which are sampled from the training rows. If ``fit`` is given
        labels, the same number is sampled from each class; a class with fewer rows contributes all
        of them.
    n_components : int, default=100
        Maximum number of features: the leading eigenvectors of the landmarks' kernel matrix.
    random_state : int, RandomState instance or None, default=None
        Determines the landmarks, if there are more rows than landmarks.

    Attributes
    ----------
    landmarks_ : ndarray of shape (n_landmarks, n_features)
        The landmarks.
    width_ : float
        w itself.
    projection_ : ndarray of shape (n_landmarks, n_components)
        Maps kernel values at the landmarks to features.
    n_features_in_, feature_names_in_ : int, ndarray of shape (n_features,)
        Number of features seen in ``fit``, and their names when ``X`` has string column names.

    Notes
    -----
    Let :math:`K = U \Lambda U^\top` be the kernel matrix of the landmarks, and k(x) the kernel
    values of a row x at the landmarks. The row is mapped to :math:`\Lambda^{-1/2} U^\top k(x)`,
    restricted to the leading eigenvalues. The cost is n_landmarks³ for ``fit``, and
    n · n_landmarks · (n_features + n_components) for n rows to ``transform``.

    See Also
    --------
    ImportanceWeights : Weights features by their importance, for example before this map.
    sklearn.kernel_approximation.Nystroem : The same method, without labels and a choice of width.

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
        self, kernel="laplacian", width=1.0, *, n_landmarks=500, n_components=100, random_state=None
    ):
        self.kernel = kernel
        self.width = width
        self.n_landmarks = n_landmarks
        self.n_components = n_components
        self.random_state = random_state

    @one_blas_thread
    def fit(self, X, y=None) -> KernelLandmarks:
        """Sample the landmarks and decompose their kernel matrix.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or None, default=None
            Class labels, to sample the same number of landmarks from each class.

        Returns
        -------
        self : KernelLandmarks
        """
        if y is None:
            X = validate_rows(self, X, ensure_min_samples=2)
        else:
            X, y = validate_rows(self, X, y, ensure_min_samples=2)
        check_option(self.kernel, "kernel", KERNELS)
        width = check_real(self.width, "width", low=0, closed="neither")
        n_landmarks = check_integer(self.n_landmarks, "n_landmarks", low=1)
        n_components = check_integer(self.n_components, "n_components", low=1)
        rng = check_random_state(self.random_state)
        self.landmarks_ = X[draw_evenly(len(X), y, n_landmarks, rng)]
        distances = kernel_distances(self.landmarks_, self.landmarks_, self.kernel)
        self.width_ = width * median_distance(distances)
        self.projection_ = kernel_projection(self._kernel(distances), n_components)
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
        return self.map_distances(self.distances(X))

    def distances(self, X) -> NDArray[np.float64]:
        """Distances to the landmarks, (n_samples, n_landmarks); the width plays no part."""
        check_is_fitted(self)
        X = validate_rows(self, X, reset=False)
        return kernel_distances(X, self.landmarks_, self.kernel)

    def map_distances(self, distances: NDArray) -> NDArray:
        """Map rows, given their distances to the landmarks, which are overwritten."""
        return self._kernel(distances) @ self.projection_

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _kernel(self, distances: NDArray) -> NDArray:
        """Kernel values, written over the distances: memory is most of the cost."""
        np.divide(distances, -self.width_, out=distances)
        return np.exp(distances, out=distances)

    @property
    def _n_features_out(self) -> int:
        return self.projection_.shape[1]


def kernel_distances(X: NDArray, Y: NDArray, kernel: str) -> NDArray[np.float64]:
    """The distances in the exponent of a kernel, (n_rows of X, n_rows of Y)."""
    return sums_of_differences(X, Y) if kernel == "laplacian" else cdist(X, Y, "sqeuclidean")


@any_order
def sums_of_differences(X, Y):
    """Sums of absolute differences, which take SciPy two to three times as long."""
    sums = np.empty((X.shape[0], Y.shape[0]))
    for i in range(X.shape[0]):
        for j in range(Y.shape[0]):
            total = 0.0
            for t in range(X.shape[1]):
                total += abs(X[i, t] - Y[j, t])
            sums[i, j] = total
    return sums


def median_distance(distances: NDArray) -> float:
    """The median distance between two landmarks that differ; 1 if all are identical."""
    between = distances[np.triu_indices(len(distances), 1)]
    between = between[between > 0]
    return float(np.median(between)) if len(between) else 1.0


def kernel_projection(kernel: NDArray, n_components: int) -> NDArray:
    """UΛ^-½ for the leading eigenvalues of a kernel matrix, without those close to zero."""
    # LAPACK's other drivers may find no eigenvalue at all if some are equal and others tiny.
    values, vectors = linalg.eigh(kernel, driver="evd")
    values, vectors = values[::-1][:n_components], vectors[:, ::-1][:, :n_components]
    positive = values > 1e-8 * values[0]
    return vectors[:, positive] / np.sqrt(values[positive])
