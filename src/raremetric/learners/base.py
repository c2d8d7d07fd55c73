"""The base class of all metric learners."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from raremetric.metric import matrix_from_components, squared_lengths
from raremetric.performance import one_blas_thread
from raremetric.scales import LabeledRows, check_size, validate_rows
from raremetric.validation import (
    Labels,
    accepted_weights,
    check_labels,
    relative_weights,
    weighted_rows,
)


class MetricLearner(LabeledRows, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Base of all learners of a Mahalanobis metric d²(x, x') = ‖L(x − x')‖².

    A subclass sets ``components_`` (L) and ``classes_`` in ``_fit``.
    """

    @one_blas_thread
    def fit(self, X, y, sample_weight=None) -> Self:
        """Learn the metric.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training examples; standardize them first.
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Weights of the examples: see the notes of the class.

        Returns
        -------
        self : estimator
        """
        X, labels = self._check_training_data(X, y)
        self._fit(X, labels, sample_weight)
        return self

    def _fit(self, X: NDArray, labels: Labels, sample_weight: ArrayLike | None) -> None:
        """Check parameters and weights, and learn from rows and labels that are checked already."""
        raise NotImplementedError

    @classmethod
    def fit_settings(cls, learners: Sequence[Self], X, y, sample_weight=None) -> None:
        """Fit several learners of this class to the same data; a subclass can share work."""
        for learner in learners:
            learner.fit(X, y, **accepted_weights(learner, sample_weight))

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
        X = validate_rows(self, X, reset=False)
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
                "two points for each pair, with the features seen in fit."
            )
        check_size(pairs, "pairs")
        return np.sqrt(squared_lengths(self.components_, pairs[:, 0] - pairs[:, 1]))

    def pair_score(self, pairs):
        """Score of each pair: the negative of its learned distance, higher for similar points.

        Parameters
        ----------
        pairs : array-like of shape (n_pairs, 2, n_features)

        Returns
        -------
        scores : ndarray of shape (n_pairs,)

        Examples
        --------
        >>> from raremetric import Euclidean
        >>> pairs = [[[0.0, 0.0], [3.0, 4.0]], [[0.0, 0.0], [0.0, 1.0]]]
        >>> Euclidean().fit([[0.0, 0.0], [1.0, 1.0]], [0, 1]).pair_score(pairs)
        array([-5., -1.])
        """
        return -self.pair_distance(pairs)

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
        X, y = validate_rows(self, X, y, ensure_min_samples=2)
        return X, check_labels(y, type(self).__name__)

    def _weighted_data(
        self, X: NDArray, labels: Labels, sample_weight
    ) -> tuple[NDArray, Labels, NDArray[np.int64], NDArray | None]:
        """Examples with a weight above zero, their labels, numbers and weights.

        The weights have a mean of one; they are None if they are all the same.
        """
        rows, weights = weighted_rows(sample_weight, len(X))
        if len(rows) < len(X):
            X, y = X[rows], labels.classes[labels.codes[rows]]
            labels = check_labels(y, type(self).__name__)
        return X, labels, rows, relative_weights(weights)


def _distance(u: ArrayLike, v: ArrayLike, squared: bool = False, *, components: NDArray) -> float:
    difference = np.asarray(u, dtype=np.float64) - np.asarray(v, dtype=np.float64)
    length = float(squared_lengths(components, difference[np.newaxis])[0])
    return length if squared else float(np.sqrt(length))


def feature_names(learner) -> NDArray:
    """The names seen in ``fit``, or x0, x1, …"""
    given = getattr(learner, "feature_names_in_", None)
    return np.array([f"x{j}" for j in range(learner.n_features_in_)]) if given is None else given
