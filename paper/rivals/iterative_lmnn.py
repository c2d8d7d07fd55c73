"""IterativeLMNN: LMNN on the examples near the queries, selected again until they are stable."""

from __future__ import annotations

from warnings import warn

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_scalar
from sklearn.utils.validation import check_is_fitted, validate_data

from raremetric import LMNN


class IterativeLMNN(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    r"""Iterative metric learning: LMNN on a selection of examples near the rows to be classified.

    For each query, the nearest training examples of each class are selected under the current
    metric, the same number from each class. LMNN learns a metric from all selected examples, under
    which they are selected again, until the selection is stable. Examples that are far from all
    queries have no influence.

    The method is transductive: give ``fit`` the features of the rows that will be classified.
    Their labels are not needed. For other rows, fit it again.

    Parameters
    ----------
    n_neighbors, push_weight, max_samples, max_iter, random_state
        Of LMNN in each round: see :class:`raremetric.LMNN`.
    n_selected : int, default=10
        Number of examples of each class that are selected for each query.
    overlap : float, default=0.9
        The selection is stable if the number of examples that were selected in two rounds in a
        row is at least this share of those selected in either of them.
    max_rounds : int, default=4
        Maximum number of metrics that are learned.

    Attributes
    ----------
    lmnn_ : LMNN
        The metric of the last round.
    components_ : ndarray of shape (n_features, n_features)
        Its L.
    selection_ : ndarray of shape (n_selected_examples,)
        Row indices of the examples that the metric was learned from, in ascending order.
    overlap_ : float
        Share of the selection that did not change in the last round.
    n_rounds_ : int
        Number of metrics that were learned.

    Notes
    -----
    The first selection is under the Euclidean distance. With N(q, c) the ``n_selected`` nearest
    examples of class c to query q under the current metric, the selection is the union of N(q, c)
    over all queries and classes. LMNN always starts anew and uses the features of the examples as
    they are, so that the metric depends on the selection only: once that does not change at all,
    neither does the metric.

    If ``n_selected`` is at least the number of neighbors that vote, the nearest neighbors of a
    query are the same among all examples as among the selection under the final metric. So all
    examples can vote.

    Choices where [1]_, of which only the abstract was available to us, leaves something open:

    - [1]_ selects a subset of the training examples for each query. Here, one metric is learned
      for all queries, from the union of the subsets: a metric for each query would take thousands
      of fits to classify one table. With many queries, most examples are near some query. The
      result is then close to that of LMNN; fewer examples remain if ``n_selected`` is small.
    - The same number of examples is selected from each class.
    - The overlap is measured by the Jaccard index. Its default is high because the union changes
      less than the subset of one query.

    References
    ----------
    .. [1] N. Wang, X. Zhao, Y. Jiang and Y. Gao. "Iterative Metric Learning for Imbalance Data
       Classification". IJCAI, 2018.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from paper.rivals import IterativeLMNN
    >>> X, y = load_iris(return_X_y=True)
    >>> learner = IterativeLMNN(n_selected=5).fit(X[::2], y[::2], queries=X[1::2])
    >>> len(learner.selection_) < 75
    True
    >>> learner.transform(X[1::2]).shape
    (75, 4)
    """

    def __init__(
        self,
        n_neighbors=3,
        push_weight=0.5,
        n_selected=10,
        *,
        overlap=0.9,
        max_rounds=4,
        max_samples=20_000,
        max_iter=100,
        random_state=None,
    ):
        self.n_neighbors = n_neighbors
        self.push_weight = push_weight
        self.n_selected = n_selected
        self.overlap = overlap
        self.max_rounds = max_rounds
        self.max_samples = max_samples
        self.max_iter = max_iter
        self.random_state = random_state

    @staticmethod
    def candidates(split):
        """The weight of the push term and the number of examples of each class to try."""
        return [
            {"push_weight": mu, "n_selected": n_selected}
            for mu in (0.1, 0.4, 0.7, 1.0)
            for n_selected in (10, 30)
        ]

    def fit(self, X, y, queries=None) -> IterativeLMNN:
        """Learn the metric for some queries.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training examples; standardize them first.
        y : array-like of shape (n_samples,)
            Class labels.
        queries : array-like of shape (n_queries, n_features) or None, default=None
            The rows that will be classified, standardized in the same way. None means the training
            examples themselves: the nearest others of each class are selected for each of them.

        Returns
        -------
        self : IterativeLMNN
        """
        X, y = validate_data(self, X, y, dtype=np.float64, ensure_min_samples=2)
        if queries is not None:
            queries = validate_data(self, queries, reset=False, dtype=np.float64)
        check_scalar(self.n_selected, "n_selected", int, min_val=1)
        limits = {"min_val": 0, "max_val": 1, "include_boundaries": "right"}
        check_scalar(self.overlap, "overlap", float, **limits)
        check_scalar(self.max_rounds, "max_rounds", int, min_val=1)
        selection = self._select(X, y, queries)
        for n_rounds in range(1, self.max_rounds + 1):
            lmnn = LMNN(
                self.n_neighbors,
                self.push_weight,
                max_samples=self.max_samples,
                max_iter=self.max_iter,
                random_state=self.random_state,
            ).fit(X[selection], y[selection])
            L = lmnn.components_
            again = self._select(X @ L.T, y, None if queries is None else queries @ L.T)
            overlap = jaccard_index(selection, again)
            if overlap >= self.overlap or n_rounds == self.max_rounds:
                break
            selection = again
        if overlap < self.overlap:
            warn(
                f"IterativeLMNN stopped after max_rounds={self.max_rounds} rounds, while "
                f"{overlap:.1%} of the selection were unchanged. Raise max_rounds, or lower "
                f"overlap={self.overlap:g}.",
                ConvergenceWarning,
                stacklevel=2,
            )
        self.lmnn_, self.components_ = lmnn, lmnn.components_
        self.selection_, self.overlap_, self.n_rounds_ = selection, overlap, n_rounds
        return self

    def transform(self, X):
        """Project the data, so that the plain distance becomes the learned one: XLᵀ."""
        check_is_fitted(self)
        return validate_data(self, X, reset=False, dtype=np.float64) @ self.components_.T

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def _select(self, Z: NDArray, y: NDArray, queries: NDArray | None) -> NDArray[np.int64]:
        """The examples that are among the nearest of their class to some query, ascending."""
        found = []
        for label in np.unique(y):
            rows = np.flatnonzero(y == label)
            distances = cdist(Z if queries is None else queries, Z[rows], "sqeuclidean")
            if queries is None:  # no example is its own neighbor
                distances[rows, np.arange(len(rows))] = np.inf
            nearest = np.argsort(distances, axis=1, kind="stable")[:, : self.n_selected]
            is_other = np.isfinite(np.take_along_axis(distances, nearest, axis=1))
            found.append(rows[nearest[is_other]])
        return np.unique(np.concatenate(found))


def jaccard_index(first: NDArray, second: NDArray) -> float:
    """Size of the intersection of two sets of rows, divided by that of their union."""
    n_both = len(np.intersect1d(first, second, assume_unique=True))
    return n_both / (len(first) + len(second) - n_both)
