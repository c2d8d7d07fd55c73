"""Maps by the ranks of a feature's values: normal scores, and the features that differ most."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.preprocessing import QuantileTransformer
from sklearn.utils.validation import check_is_fitted

from raremetric.performance import jit
from raremetric.scales import LabeledRows, validate_rows
from raremetric.validation import check_integer, check_labels, weighted_rows

EDGE = 1e-7  # closer values count as the smallest and the largest, as in scikit-learn
CLOSEST = EDGE - np.spacing(1)  # to 0 and 1
LARGEST = float(-ndtri(CLOSEST))


class NormalScores(QuantileTransformer):
    """`QuantileTransformer` with normal output, computed for all features at once.

    scikit-learn's calls the quantile function three times per feature: more than ten times slower.
    """

    def __init__(self, n_quantiles=1000, *, random_state=None):
        super().__init__(n_quantiles=n_quantiles, random_state=random_state)

    def transform(self, X) -> NDArray[np.float64]:
        """The normal score of each value."""
        check_is_fitted(self)
        X = validate_rows(self, X, reset=False)
        return np.clip(ndtri(levels(X, self.quantiles_, self.references_)), -LARGEST, LARGEST)


@jit
def levels(X, quantiles, references):
    """The share of training rows below each value, interpolated between the quantiles.

    Equal quantiles have the mean of the first and the last of their shares.
    """
    found, n = np.empty(X.shape), len(references)
    for j in range(X.shape[1]):
        known = np.ascontiguousarray(quantiles[:, j])
        for i in range(X.shape[0]):
            value = X[i, j]
            first = last = np.searchsorted(known, value)
            while last < n and known[last] == value:
                last += 1
            if value - EDGE < known[0]:
                found[i, j] = 0.0
            elif value + EDGE > known[-1]:
                found[i, j] = 1.0
            elif first < last:
                found[i, j] = (references[first] + references[last - 1]) / 2
            else:
                below, above = references[first - 1], references[first]
                part = (value - known[first - 1]) / (known[first] - known[first - 1])
                found[i, j] = below + part * (above - below)
    return found


class DifferingFeatures(LabeledRows, SelectorMixin, BaseEstimator):
    """Keep the features whose distributions differ most between two classes, in their order.

    The difference is the statistic of Kolmogorov and Smirnov: the largest difference between the
    shares of both classes that are below a value. It does not depend on the scale of a feature, and
    sees differences in spread as well as in location. ``support_`` says which features are kept.
    """

    def __init__(self, max_features=500):
        self.max_features = max_features

    def fit(self, X, y, sample_weight=None) -> DifferingFeatures:
        """Compare the distributions in two classes; examples count by their weights."""
        X, y = validate_rows(self, X, y)
        n_kept = check_integer(self.max_features, "max_features", low=1)
        rows, weights = weighted_rows(sample_weight, len(X))
        codes = check_labels(y[rows], type(self).__name__).codes
        shares = (2 * codes - 1) / np.bincount(codes, weights)[codes]
        if weights is not None:
            shares = shares * weights
        differences = np.array([largest_difference(X[rows, j], shares) for j in range(X.shape[1])])
        self.support_ = np.zeros(X.shape[1], dtype=bool)
        self.support_[np.argsort(-differences, kind="stable")[:n_kept]] = True
        return self

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self)
        return self.support_


def largest_difference(values: NDArray, shares: NDArray) -> float:
    """The largest absolute sum of the shares of all rows with at most some value."""
    order = np.argsort(values, kind="stable")
    last = np.append(np.diff(values[order]) > 0, True)  # of several equal values
    return float(np.abs(np.cumsum(shares[order])[last]).max())
