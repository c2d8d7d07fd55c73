"""The distance between the log-odds of two rows under boosted trees."""

from __future__ import annotations

import numpy as np

from raremetric.learners.base import MetricLearner


class LogOddsDistance(MetricLearner):
    """The absolute difference between the sums of two rows.

    After :class:`raremetric.BoostedLeaves`, the sum of a row is its log-odds under the boosted
    trees. The difference of the mean squared distances to all examples of both classes is a linear
    function of these log-odds, and so is the difference of the mean distances between the classes:
    this metric ranks rows as the trees do. Where trees learn from many more rows than can be
    neighbors, their log-odds are more exact than the density of the neighbors.

    Attributes
    ----------
    components_ : ndarray of shape (1, n_features)
        Ones.
    classes_ : ndarray of shape (n_classes,)
        Class labels seen in ``fit``.
    n_features_in_ : int
        Number of features seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, when ``X`` has string column names.
    """

    def fit(self, X, y) -> LogOddsDistance:
        """Check the data.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)

        Returns
        -------
        self : LogOddsDistance
        """
        X, labels = self._check_training_data(X, y)
        self.classes_ = labels.classes
        self.components_ = np.ones((1, X.shape[1]))
        return self
