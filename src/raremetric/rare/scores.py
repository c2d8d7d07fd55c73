"""Members of the ensemble that are plain scores: one number per row, which needs no neighbors."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.linear_model import LogisticRegression

from raremetric.learners.base import MetricLearner
from raremetric.validation import Labels


class PlainScore(MetricLearner):
    """A score that is linear in the features: `transform` maps rows to it, up to a constant."""


class LogOdds(PlainScore):
    """The sum of the features: after boosted trees, their log-odds."""

    def _fit(self, X: NDArray, labels: Labels, sample_weight: ArrayLike | None) -> None:
        self.classes_, self.components_ = labels.classes, np.ones((1, X.shape[1]))


class LogisticScore(PlainScore):
    """The log-odds of scikit-learn's logistic regression.

    Parameters
    ----------
    C : float, default=1.0
        Inverse of the weight of the sum of squared coefficients.
    """

    def __init__(self, C=1.0):
        self.C = C

    def _fit(self, X: NDArray, labels: Labels, sample_weight: ArrayLike | None) -> None:
        model = LogisticRegression(C=self.C, solver="newton-cholesky")
        self.components_ = model.fit(X, labels.codes, sample_weight).coef_
        self.classes_ = labels.classes
