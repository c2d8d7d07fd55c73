"""IterativeLMNN: LMNN on the examples near the queries, selected again until they are stable."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from raremetric.learners.lmnn import LMNN, check_parameters, make_problem, start_of
from raremetric.neighbors import NeighborSearch
from raremetric.performance import one_blas_thread
from raremetric.scales import validate_rows
from raremetric.solvers.reference import Solution
from raremetric.validation import (
    Labels,
    check_integer,
    check_real,
    warn_small_classes,
    warn_stopped,
    warn_user,
)


class IterativeLMNN(LMNN):
    r"""Iterative metric learning: LMNN on a selection of examples near the rows to be classified.

    For each query, the nearest training examples of each class are selected under the current
    metric, the same number from each class. LMNN learns a metric from all selected examples, under
    which they are selected again, until the selection is stable. Examples that are far from all
    queries have no influence.

    The method is transductive: give ``fit`` the features of the rows that will be classified.
    Their labels are not needed. For other rows, fit it again.

    .. versionadded:: 0.1

    Parameters
    ----------
    n_neighbors : int, default=3
        Number k of target neighbors per example: see :class:`LMNN`.
    push_weight : float, default=0.5
        μ between 0 and 1: see :class:`LMNN`.
    n_selected : int, default=10
        Number of examples of each class that are selected for each query.
    overlap : float, default=0.9
        The selection is stable if the number of examples that were selected in two rounds in a
        row is at least this share of those selected in either of them.
    max_rounds : int, default=10
        Maximum number of metrics that are learned.
    loss : {"squared_hinge", "hinge"}, default="squared_hinge"
        The cost of an impostor: see :class:`LMNN`.
    n_components : int or None, default=None
        Rank of the metric: the number of rows of L. None keeps all n_features.
    init : {"pca", "identity"} or array of shape (n_components, n_features), default="pca"
        Where LMNN starts in each round: see :class:`LMNN`.
    max_iter : int, default=200
        Maximum number of iterations of LMNN in each round.
    tol : float, default=1e-4
        Relative accuracy of the objective of LMNN.
    n_jobs : int or None, default=None
        Threads in the search for neighbors. The result does not depend on it.
    verbose : int, default=0
        1 logs every iteration to the logger "raremetric" (standard error by default).

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        L.
    selection_ : ndarray of shape (n_selected_examples,)
        Row indices of the examples that the metric was learned from, in ascending order.
    overlap_ : float
        Share of the selection that did not change in the last round.
    n_rounds_ : int
        Number of metrics that were learned.
    objective_ : float
        Value of the loss of LMNN at ``components_``, over the selection.
    n_iter_ : int
        Number of iterations of LMNN in the last round.
    classes_ : ndarray of shape (n_classes,)
        Class labels seen in ``fit``.
    n_features_in_ : int
        Number of features seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, when ``X`` has string column names.

    Notes
    -----
    The first selection is under the Euclidean distance. With N(q, c) the ``n_selected`` nearest
    examples of class c to query q under the current metric, the selection is the union of N(q, c)
    over all queries and classes. LMNN always starts from ``init`` and uses the features of the
    examples as they are, so that the metric depends on the selection only: once that does not
    change at all, neither does the metric.

    If ``n_selected`` is at least the number of neighbors that vote, the nearest neighbors of a
    query are the same among all examples as among the selection under the final metric. So all
    examples can vote.

    Choices where [1]_, of which only the abstract was available to us, leaves something open:

    - [1]_ selects a subset of the training examples for each query. Here, one metric is learned
      for all queries, from the union of the subsets: a metric for each query would take thousands
      of fits to classify one table. With many queries, most examples are near some query. The
      result is then close to that of :class:`LMNN`; fewer examples remain if ``n_selected`` is
      small.
    - The same number of examples is selected from each class.
    - The overlap is measured by the Jaccard index. Its default is high because the union changes
      less than the subset of one query.

    See Also
    --------
    LMNN : Learns from all examples.
    IML : A metric learner for imbalanced classes.

    References
    ----------
    .. [1] N. Wang, X. Zhao, Y. Jiang and Y. Gao. "Iterative Metric Learning for Imbalance Data
       Classification". IJCAI, 2018.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from raremetric import IterativeLMNN
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
        max_rounds=10,
        loss="squared_hinge",
        n_components=None,
        init="pca",
        max_iter=200,
        tol=1e-4,
        n_jobs=None,
        verbose=0,
    ):
        super().__init__(
            n_neighbors,
            push_weight,
            loss=loss,
            n_components=n_components,
            init=init,
            max_iter=max_iter,
            tol=tol,
            n_jobs=n_jobs,
            verbose=verbose,
        )
        self.n_selected = n_selected
        self.overlap = overlap
        self.max_rounds = max_rounds

    @one_blas_thread
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
        X, labels = self._check_training_data(X, y)
        check_parameters(self)
        check_integer(self.n_selected, "n_selected", low=1)
        check_real(self.overlap, "overlap", low=0, high=1, closed="right")
        check_integer(self.max_rounds, "max_rounds", low=1)
        if queries is not None:
            queries = validate_rows(self, queries, reset=False)
        warn_small_classes(labels, self.n_neighbors, type(self).__name__)
        selection = self._select(X, labels, queries, np.eye(X.shape[1]))
        for n_rounds in range(1, self.max_rounds + 1):
            solution = self._learn(X[selection], _subset(labels, selection))
            again = self._select(X, labels, queries, solution.L)
            overlap = jaccard_index(selection, again)
            if overlap >= self.overlap or n_rounds == self.max_rounds:
                break
            selection = again
        self._warn_unfinished(overlap, solution)
        self.classes_ = labels.classes
        self.components_, self.objective_ = solution.L, solution.value
        self.selection_, self.overlap_ = selection, overlap
        self.n_rounds_, self.n_iter_ = n_rounds, solution.n_iter
        return self

    def _select(
        self, X: NDArray, labels: Labels, queries: NDArray | None, L: NDArray
    ) -> NDArray[np.int64]:
        """The examples that are near some query under the metric, in ascending order."""
        search = NeighborSearch(X @ L.T, labels, self.n_jobs)
        mapped = None if queries is None else queries @ L.T
        found = search.nearest_of_each_class(mapped, self.n_selected)
        rows = np.unique(np.concatenate([each.indices.ravel() for each in found]))
        return rows[rows >= 0]

    def _learn(self, X: NDArray, labels: Labels) -> Solution:
        """LMNN on the selected examples."""
        return make_problem(self, X, labels).solve(self.push_weight, *start_of(self, X))

    def _warn_unfinished(self, overlap: float, solution: Solution) -> None:
        if overlap < self.overlap:
            warn_user(
                f"IterativeLMNN stopped after max_rounds={self.max_rounds} rounds, while "
                f"{overlap:.1%} of the selection were unchanged. Raise max_rounds, or lower "
                f"overlap={self.overlap:g}.",
                ConvergenceWarning,
            )
        elif not solution.converged:
            goal = f"the objective was estimated to be within tol={self.tol:g} of its minimum"
            warn_stopped("In the last round, LMNN", solution.n_iter, self.max_iter, goal)


def _subset(labels: Labels, rows: NDArray) -> Labels:
    """The labels of some rows, among which each class has at least one."""
    codes = labels.codes[rows]
    return Labels(labels.classes, codes, np.bincount(codes, minlength=len(labels.classes)))


def jaccard_index(first: NDArray, second: NDArray) -> float:
    """Size of the intersection of two sets of rows, divided by that of their union."""
    n_both = len(np.intersect1d(first, second, assume_unique=True))
    return n_both / (len(first) + len(second) - n_both)
