"""Euclidean: the Euclidean distance with the interface of a metric learner."""

from __future__ import annotations

import numpy as np

from raremetric.learners.base import MetricLearner


class Euclidean(MetricLearner):
    """The Euclidean distance, with the interface of a metric learner.

    It learns nothing. Use it as the baseline in a comparison of learners.

    Attributes
    ----------
    components_ : ndarray of shape (n_features, n_features)
        The identity.
    classes_, n_features_in_, feature_names_in_ : ndarray, int, ndarray
        Class labels, number of features and, if ``X`` has string column names, their names.

    See Also
    --------
    MetricKNNClassifier : Nearest neighbors under a learned metric.

    Examples
    --------
    >>> from raremetric import Euclidean
    >>> Euclidean().fit([[0.0, 0.0], [3.0, 4.0]], [0, 1]).pair_distance([[[0, 0], [3, 4]]])
    array([5.])
    """

    def fit(self, X, y) -> Euclidean:  # type: ignore[override]  # it has no use for weights
        """Check the data and set the identity.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)

        Returns
        -------
        self : Euclidean
        """
        X, labels = self._check_training_data(X, y)
        self.classes_, self.components_ = labels.classes, np.eye(X.shape[1])
        return self
