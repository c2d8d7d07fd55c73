"""Maps before the metric: what a linear metric cannot see in the features as they come."""

from __future__ import annotations

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from scipy import linalg
from scipy.spatial.distance import cdist
from sklearn import config_context
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    OneToOneFeatureMixin,
    TransformerMixin,
)
from sklearn.utils import check_random_state, column_or_1d
from sklearn.utils.validation import check_is_fitted, validate_data

from raremetric.threads import one_blas_thread
from raremetric.validation import Labels, check_integer, check_labels, check_option, check_real

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


class ImportanceWeights(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Each feature times a power of its importance to a small, class-balanced random forest.

    A distance on weighted features no longer drowns in those that say nothing about the class.

    Parameters
    ----------
    power : float, default=0.5
        0 leaves the features as they are; 0.5 makes squared differences count by importance.
    n_estimators : int, default=30
        Trees in the forest.
    random_state : int, RandomState instance or None, default=None
        Of the forest.
    n_jobs : int or None, default=None
        Threads over the trees. The result does not depend on it.

    Attributes
    ----------
    weights_ : ndarray of shape (n_features,)
        What each feature is multiplied by; their mean square is one.
    n_features_in_ : int
        Number of features seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, when ``X`` has string column names.

    Examples
    --------
    >>> import numpy as np
    >>> from raremetric import ImportanceWeights
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 2))
    >>> weights = ImportanceWeights(random_state=0).fit(X, X[:, 0] > 1).weights_
    >>> bool(weights[0] > 2 * weights[1])
    True
    """

    def __init__(self, power=0.5, *, n_estimators=30, random_state=None, n_jobs=None):
        self.power = power
        self.n_estimators = n_estimators
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X, y) -> ImportanceWeights:
        """Grow the forest and keep its importances.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Standardised examples: the weights come on top.
        y : array-like of shape (n_samples,)
            Class labels.

        Returns
        -------
        self : ImportanceWeights
        """
        X, y = validate_data(self, X, y, dtype=np.float64)
        power = check_real(self.power, "power", low=0)
        labels = check_labels(y, type(self).__name__)
        n_trees = check_integer(self.n_estimators, "n_estimators", low=1)
        seeds = check_random_state(self.random_state).randint(2**31 - 1, size=n_trees)
        weights = mean_importances(X, labels, seeds, self.n_jobs) ** power
        mean_square = np.mean(weights**2)
        # A forest that could not split a single time has no opinion.
        self.weights_ = weights / np.sqrt(mean_square) if mean_square > 0 else np.ones_like(weights)
        return self

    def transform(self, X) -> NDArray:
        """Weight the features.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        Z : ndarray of shape (n_samples, n_features)
        """
        check_is_fitted(self)
        return validate_data(self, X, reset=False, dtype=np.float64) * self.weights_

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


def mean_importances(
    X: NDArray, labels: Labels, seeds: NDArray, n_jobs: int | None = None
) -> NDArray[np.float64]:
    """Feature importances, averaged over the trees of a class-balanced random forest.

    The same as those of scikit-learn's ``RandomForestClassifier`` with balanced class weights, in a
    third of the time where examples are few: most of it is spent on checks, tree by tree. The
    squared error of indicators of the classes is in proportion to the Gini impurity, so that a
    regression tree splits as a classification tree does.
    """
    from sklearn.tree import DecisionTreeRegressor  # slow to import, seldom needed

    n_samples = len(X)
    X = X.astype(np.float32)  # as trees want it
    indicators = labels.codes.astype(np.float64)  # of two classes one says it all
    if len(labels.classes) > 2:
        indicators = np.eye(len(labels.classes))[labels.codes]
    balanced = (n_samples / (len(labels.classes) * labels.counts))[labels.codes]

    def importances(seed: int) -> NDArray:
        rng = np.random.RandomState(seed)
        drawn = np.bincount(rng.randint(n_samples, size=n_samples), minlength=n_samples)
        tree = DecisionTreeRegressor(max_features="sqrt", min_samples_leaf=2, random_state=rng)
        with config_context(skip_parameter_validation=True, assume_finite=True):
            tree.fit(X, indicators, sample_weight=balanced * drawn, check_input=False)
        return tree.feature_importances_

    found = Parallel(n_jobs=n_jobs, prefer="threads")(delayed(importances)(s) for s in seeds)
    return np.maximum(np.mean(found, axis=0), 0.0)  # rounding leaves -1e-17 of a useless split


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
