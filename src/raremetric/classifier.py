"""Nearest neighbors on top of any learned metric."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.validation import check_is_fitted, validate_data

from raremetric.learners.iml import IML
from raremetric.neighbors import NeighborIndex
from raremetric.validation import check_integer, check_labels, check_option


class MetricKNNClassifier(ClassifierMixin, BaseEstimator):
    """Vote of the k nearest neighbors under a learned metric.

    Parameters
    ----------
    learner : metric learner or None, default=None
        Any transformer that learns a metric, such as :class:`IML`; a copy of it is fitted. None
        stands for ``IML()``.
    n_neighbors : int, default=3
        Number k of neighbors that vote.
    multiclass : {"joint", "one_vs_rest"}, default="joint"
        One metric for all classes, or one for each class against the rest, as the paper proposes
        for more than two classes. Two classes always share one metric.
    prefit : bool, default=False
        True takes ``learner`` as it is, already fitted, and only remembers the neighbors.
        Needs ``multiclass="joint"``.
    n_jobs : int or None, default=None
        Number of parallel jobs in the neighbor search.

    Attributes
    ----------
    learner_ : metric learner
        The fitted learner; with ``"one_vs_rest"`` and more than two classes, use ``learners_``.
    learners_ : list of metric learners
        One, or one for each class.
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    n_features_in_ : int
        Number of features seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, when ``X`` has string column names.

    Notes
    -----
    Joint: the class with most votes wins; among equals, the one that comes first in ``classes_``,
    as in scikit-learn.

    One versus rest: the votes for class c are counted among the k neighbors under the metric of c.
    The class with most votes wins; among equals, the one with most votes under all metrics
    together; then the one that comes first in ``classes_``. ``predict_proba`` gives the votes as
    shares, the second count breaking ties.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from raremetric import IML, MetricKNNClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), MetricKNNClassifier(IML())).fit(X[:400], y[:400])
    >>> bool(model.score(X[400:], y[400:]) > 0.9)
    True
    """

    def __init__(
        self, learner=None, n_neighbors=3, *, multiclass="joint", prefit=False, n_jobs=None
    ):
        self.learner = learner
        self.n_neighbors = n_neighbors
        self.multiclass = multiclass
        self.prefit = prefit
        self.n_jobs = n_jobs

    def fit(self, X, y) -> MetricKNNClassifier:
        """Learn the metric (unless ``prefit``) and remember the examples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)

        Returns
        -------
        self : MetricKNNClassifier
        """
        table = X
        X, y = validate_data(self, X, y, dtype=np.float64)
        check_option(self.multiclass, "multiclass", ("joint", "one_vs_rest"))
        labels = check_labels(y, type(self).__name__)
        k = check_integer(self.n_neighbors, "n_neighbors", low=1)
        if k > len(X):
            raise ValueError(
                f"n_neighbors={k} neighbors cannot be found among {len(X)} examples. "
                "Lower n_neighbors."
            )
        self.classes_, self._codes = labels.classes, labels.codes
        per_class = self.multiclass == "one_vs_rest" and len(self.classes_) > 2
        self.learners_ = self._fit_learners(table, y, per_class)
        if not per_class:
            self.learner_ = self.learners_[0]
        self._indices = [
            NeighborIndex(n_neighbors=k, n_jobs=self.n_jobs).fit(_project(learner, table))
            for learner in self.learners_
        ]
        return self

    def _fit_learners(self, X, y, per_class: bool) -> list:
        if self.prefit:
            if self.learner is None or per_class:
                raise ValueError(
                    "prefit=True needs a fitted learner and multiclass='joint'; got "
                    f"learner={self.learner!r}, multiclass={self.multiclass!r}."
                )
            check_is_fitted(self.learner)
            return [self.learner]
        learner = IML() if self.learner is None else self.learner
        targets = [y == label for label in self.classes_] if per_class else [y]
        return [clone(learner).fit(X, target) for target in targets]

    def kneighbors(self, X=None, n_neighbors=None, return_distance=True, *, label=None):
        """The nearest training examples under the learned metric.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features) or None, default=None
            None stands for the training examples, each without itself.
        n_neighbors : int or None, default=None
            None stands for the number given in the constructor.
        return_distance : bool, default=True
        label : class label or None, default=None
            With one metric for each class: whose metric to use.

        Returns
        -------
        distances : ndarray of shape (n_queries, n_neighbors)
            Learned distances; only with ``return_distance``.
        indices : ndarray of shape (n_queries, n_neighbors)
            Rows of the training data.
        """
        check_is_fitted(self)
        place = 0
        if len(self.learners_) > 1:
            known = self.classes_.tolist()
            if label not in known:
                raise ValueError(
                    f"Each class has its own metric: label must name one of {known}; got {label!r}."
                )
            place = known.index(label)
        if X is not None:
            X = self._check_queries(X)
            X = _project(self.learners_[place], X)
        return self._indices[place].kneighbors(X, n_neighbors, return_distance)

    def predict(self, X) -> NDArray:
        """The class with most votes among the neighbors.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        y : ndarray of shape (n_samples,)
        """
        shares = self.predict_proba(X)
        return self.classes_[np.argmax(shares, axis=1)]

    def predict_proba(self, X) -> NDArray:
        """Share of the votes for each class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        p : ndarray of shape (n_samples, n_classes)
        """
        check_is_fitted(self)
        X = self._check_queries(X)
        votes = np.stack([self._votes(place, X) for place in range(len(self.learners_))])
        if len(votes) == 1:
            return votes[0] / votes[0].sum(axis=1, keepdims=True)
        own = np.einsum("csc->sc", votes)  # votes for class c under the metric of c
        pooled = votes.sum(axis=0)
        shares = own + pooled / (votes[:, 0].sum() + 1)  # a fraction of one vote: breaks ties only
        return shares / shares.sum(axis=1, keepdims=True)

    def _check_queries(self, X):
        """Validate, but keep a table with names a table: the learner checks its names too."""
        checked = validate_data(self, X, reset=False, dtype=np.float64)
        return X if hasattr(X, "columns") else checked

    def _votes(self, place: int, X) -> NDArray:
        """Number of neighbors of each class, (n_queries, n_classes), under one metric."""
        rows = self._indices[place].kneighbors(
            _project(self.learners_[place], X), return_distance=False
        )
        neighbors = self._codes[rows]
        return (neighbors[:, :, np.newaxis] == np.arange(len(self.classes_))).sum(axis=1)


def _project(learner, X) -> NDArray:
    """Projected rows as a plain array, whatever output the learner was set to."""
    return np.asarray(learner.transform(X))
