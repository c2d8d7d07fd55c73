"""What all learners share once they have their components_."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import linalg
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted, validate_data

from raremetric.learners.display import MetricDisplayMixin
from raremetric.metric import matrix_from_components, squared_lengths
from raremetric.validation import Labels, check_integer, check_labels, check_option

logger = logging.getLogger("raremetric")


class MetricLearner(
    MetricDisplayMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator
):
    """Base of all learners of a Mahalanobis metric d²(x, x') = ‖L(x − x')‖².

    A subclass sets ``components_`` (L) in ``fit``.
    """

    def transform(self, X):
        """Project the data, so that the plain distance becomes the learned one.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        Z : ndarray of shape (n_samples, n_components)
            XLᵀ.
        """
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=np.float64)
        return X @ self.components_.T

    def get_mahalanobis_matrix(self) -> NDArray:
        """The matrix M = LᵀL of the learned metric, shape (n_features, n_features)."""
        check_is_fitted(self)
        return matrix_from_components(self.components_)

    def pair_distance(self, pairs):
        """Learned distance between the two points of each pair.

        Parameters
        ----------
        pairs : array-like of shape (n_pairs, 2, n_features)

        Returns
        -------
        distances : ndarray of shape (n_pairs,)
        """
        check_is_fitted(self)
        pairs = check_array(pairs, allow_nd=True, ensure_2d=False, dtype=np.float64)
        if pairs.ndim != 3 or pairs.shape[1:] != (2, self.n_features_in_):
            raise ValueError(
                f"pairs.shape == {pairs.shape}, expected (n_pairs, 2, {self.n_features_in_}): "
                "two points with the features seen in fit for each pair."
            )
        return np.sqrt(squared_lengths(self.components_, pairs[:, 0] - pairs[:, 1]))

    def get_metric(self) -> Callable[..., float]:
        """The learned distance as a function of two vectors.

        Returns
        -------
        metric : callable (u, v, squared=False) -> float
            Fits scikit-learn's ``metric=`` parameters; it can be pickled and does not change when
            the learner is fitted again. ``transform`` and the plain distance give the same
            neighbors many times faster.
        """
        check_is_fitted(self)
        return partial(_distance, components=self.components_.copy())

    @property
    def _n_features_out(self) -> int:
        return self.components_.shape[0]

    def _check_training_data(self, X, y) -> tuple[NDArray, Labels]:
        """Validated float64 data with at least two rows, and encoded labels."""
        X, y = validate_data(self, X, y, dtype=np.float64, ensure_min_samples=2)
        return X, check_labels(y, type(self).__name__)

    def _reporter(self, verbose: int) -> Callable[[int, float], None] | None:
        """What a solver calls after each iteration: a log line when verbose, else nothing."""
        if not verbose:
            return None
        if not logging.getLogger().handlers and not logger.handlers:
            logger.addHandler(logging.StreamHandler(sys.stderr))
        logger.setLevel(min(logger.level or logging.INFO, logging.INFO))
        name = type(self).__name__
        return lambda n, value: logger.info("[%s] iteration %4d  objective %.6g", name, n, value)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


def initial_components(
    init: str | ArrayLike, X: NDArray, n_components: int | None = None
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
        _, axes = linalg.eigh(np.cov(X, rowvar=False).reshape(n_features, n_features))
        return np.ascontiguousarray(axes.T[::-1][: shape[0]])  # largest variance first
    L = check_array(init, dtype=np.float64, input_name="init", copy=True)
    if L.shape != shape:
        raise ValueError(
            f"init.shape == {L.shape}, expected (n_components, n_features) == {shape}."
        )
    return L


def _distance(u: ArrayLike, v: ArrayLike, squared: bool = False, *, components: NDArray) -> float:
    difference = np.asarray(u, dtype=np.float64) - np.asarray(v, dtype=np.float64)
    length = float(squared_lengths(components, difference[np.newaxis])[0])
    return length if squared else float(np.sqrt(length))
