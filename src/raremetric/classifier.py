"""Nearest neighbors on top of any learned metric."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from raremetric.learners.iml import IML
from raremetric.neighbors import NeighborIndex
from raremetric.performance import one_blas_thread
from raremetric.validation import check_class_sizes, check_labels, check_option
from raremetric.voting.fitting import (
    check_gamma,
    check_neighbors,
    fit_adjusted,
    fit_score,
    leave_folds_out,
    leave_one_out,
    map_rows,
    split_rows,
)
from raremetric.voting.votes import Distances, Examples, HeldOut, vote_shares

VOTES = ("majority", "adjusted", "score")


def _has_decision(classifier) -> bool:
    if classifier.vote == "majority":
        raise AttributeError(
            "A majority of votes has no decision function; use vote='adjusted' or vote='score'."
        )
    return True


class MetricKNNClassifier(ClassifierMixin, BaseEstimator):
    """Vote of the k nearest neighbors under a learned metric.

    The plain vote calls a rare class too seldom. ``vote="adjusted"`` brings each class nearer or
    farther before the vote, ``vote="score"`` puts a threshold on how much nearer a class is than
    the others; both are tuned on examples that were left out.

    Parameters
    ----------
    learner : metric learner or None, default=None
        Any transformer that learns a metric, such as :class:`IML`; a copy of it is fitted. None
        stands for ``IML()``.
    n_neighbors : int or "auto", default=3
        Number k of neighbors that vote. "auto" chooses it on the folds of ``cv``: by F1 among
        3, 7, 15 and 31, or for the score among eight ways to read distances.
    vote : {"majority", "adjusted", "score"}, default="majority"
        Who wins: the class of most of the k nearest; the same after each distance to an example
        of class c has been multiplied by ``gamma`` of c; or the class whose score is highest
        above its own threshold, see the notes.
    gamma : "auto", float or dict, default="auto"
        Factors on distances, for the adjusted vote only: below 1 a class is called more often.
        A number is for the rarest class, a dict maps labels to factors; other classes have 1.
        "auto" finds the best on the folds of ``cv``, by the F1 of the rarest of two classes or
        by the mean F1 of more.
    multiclass : {"joint", "one_vs_rest"}, default="joint"
        One metric for all classes, or one for each class against the rest, as the paper proposes
        for more than two classes. Two classes always share one metric.
    prefit : bool, default=False
        True takes ``learner`` as it is, already fitted, and only remembers the neighbors.
        Needs ``multiclass="joint"``. Votes are then tuned on each example's distances to all
        others. The learner has seen them all, so this is optimistic: the probabilities come out
        too sure.
    cv : int or splitter, default=5
        Folds on which the adjusted vote and the score are tuned: the metric is learned again
        without each. A number gives stratified, shuffled folds, no more of them than the rarest
        class has examples.
    random_state : int, RandomState instance or None, default=None
        Shuffles the folds.
    n_jobs : int or None, default=None
        Number of parallel jobs in the neighbor search and over the folds. The result does not
        depend on it.

    Attributes
    ----------
    learner_ : metric learner
        The fitted learner; with ``"one_vs_rest"`` and more than two classes, use ``learners_``.
    learners_ : list of metric learners
        One, or one for each class.
    n_neighbors_ : int
        How many neighbors vote, given or chosen; for a score that was chosen, how many would.
    gamma_ : ndarray of shape (n_classes,)
        Factor of each class. Only with the adjusted vote.
    reading_ : Reading
        How the score is read off the distances to a class. Only with the score vote.
    threshold_ : float or ndarray of shape (n_classes,)
        Probability of the rarer class from which on it is predicted; with more than two classes
        one for each. Only with the score vote.
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    n_features_in_ : int
        Number of features seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, when ``X`` has string column names.

    Notes
    -----
    **Majority.** Joint: the class with most votes wins; among equals, the one that comes first in
    ``classes_``, as in scikit-learn. One versus rest: the votes for class c are counted among the
    k neighbors under the metric of c. The class with most votes wins; among equals, the one with
    most votes under all metrics together; then the one that comes first in ``classes_``.
    ``predict_proba`` gives the votes as shares, the second count breaking ties. Shares of votes
    are no calibrated probabilities.

    **Adjusted** (Viola et al., 2019). Among classes with equally many votes the one that is nearer
    than the others, by the distance d(m) to its m-th example, m = ⌊(k + 1) / 2⌋, wins. So of two
    classes one wins exactly when its γ·d(m) is the smaller one.

    **Score.** s = log d(m) of the rest − log d(m) of the class. A logistic regression with a small
    ridge makes it a probability; the threshold maximises the F1 that these probabilities lead one
    to expect. "auto" chooses the reading, the m-th or the mean of the logs of the first m, with
    the best sum of ranks in F1, log-loss and average precision.

    With both, ``predict_proba`` is calibrated on examples left out, and ``predict`` follows
    ``decision_function``, not the largest probability. With one metric for each class, a class is
    read off the distances under its own.

    References
    ----------
    R. Viola, R. Emonet, A. Habrard, G. Metzler, S. Riou, M. Sebban. An adjusted nearest neighbor
    algorithm maximizing the F-measure from imbalanced data. ICTAI 2019.

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
        self,
        learner=None,
        n_neighbors=3,
        *,
        vote="majority",
        gamma="auto",
        multiclass="joint",
        prefit=False,
        cv=5,
        random_state=None,
        n_jobs=None,
    ):
        self.learner = learner
        self.n_neighbors = n_neighbors
        self.vote = vote
        self.gamma = gamma
        self.multiclass = multiclass
        self.prefit = prefit
        self.cv = cv
        self.random_state = random_state
        self.n_jobs = n_jobs

    @one_blas_thread
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
        table = table if hasattr(table, "columns") else X  # names, for the learner to check
        check_option(self.multiclass, "multiclass", ("joint", "one_vs_rest"))
        check_option(self.vote, "vote", VOTES)
        labels = check_labels(y, type(self).__name__)
        k = check_neighbors(self.n_neighbors, len(X))
        gamma = check_gamma(self.gamma, self.vote, labels)
        self.classes_, self._codes = labels.classes, labels.codes
        per_class = self.multiclass == "one_vs_rest" and len(self.classes_) > 2
        self.learners_ = self._fit_learners(table, y, per_class)
        if not per_class:
            self.learner_ = self.learners_[0]
        mapped = [map_rows(learner, table) for learner in self.learners_]
        self.n_neighbors_ = k
        self._vote: Any = None  # the majority needs but the neighbors
        if k is None or self.vote != "majority":
            self._examples = Examples.of(mapped, labels)
            self._fit_vote(k, gamma, table, y, per_class)
        self._indices = [
            NeighborIndex(n_neighbors=self.n_neighbors_, n_jobs=self.n_jobs).fit(Z) for Z in mapped
        ]
        return self

    def _fit_vote(self, k: int | None, gamma: NDArray | None, X, y, per_class: bool) -> None:
        labels = self._examples.labels

        def hold_out(reach: int) -> list[HeldOut]:
            if self.prefit:
                return leave_one_out(self._examples, reach)
            folds = list(split_rows(self.cv, X, y, labels, self.random_state))
            fit = partial(self._fit_learners, per_class=per_class)
            return leave_folds_out(fit, X, y, labels, folds, reach, self.n_jobs)

        check_class_sizes(
            labels,
            2,
            f"MetricKNNClassifier(vote={self.vote!r}, n_neighbors={self.n_neighbors!r})",
            "Add examples, or use vote='majority' with a fixed n_neighbors.",
        )
        if self.vote == "score":
            self._vote = fit_score(hold_out, labels, k)
            self.reading_, thresholds = self._vote.reading, self._vote.thresholds
            self.threshold_ = thresholds if len(thresholds) > 1 else thresholds.item()
            self.n_neighbors_ = k or min(2 * self.reading_.size - 1, len(y))
            return
        vote = fit_adjusted(hold_out, labels, k, gamma)
        self.n_neighbors_ = vote.k
        if self.vote == "adjusted":
            self._vote, self.gamma_ = vote, vote.gamma

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
            None stands for ``n_neighbors_``.
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
            X = map_rows(self.learners_[place], X)
        return self._indices[place].kneighbors(X, n_neighbors, return_distance)

    @available_if(_has_decision)
    def decision_function(self, X) -> NDArray:
        """How clearly each class wins; not for the majority vote.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        s : ndarray of shape (n_samples,) or (n_samples, n_classes)
            With two classes, above zero means ``classes_[1]``; with more, the largest wins.
            Score: log-odds above the threshold. Adjusted: the logarithm of the ratio of
            distances; with more than two classes votes, and less than half a vote for nearness.
        """
        distances = self._measure(X)
        values = self._vote.decide(distances)
        return values if len(self.classes_) > 2 else values[:, 1]

    def predict(self, X) -> NDArray:
        """The class that wins the vote.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        y : ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        values = self.predict_proba(X) if self._vote is None else self.decision_function(X)
        winners = values > 0 if values.ndim == 1 else np.argmax(values, axis=1)
        return self.classes_[winners.astype(np.int64)]

    def predict_proba(self, X) -> NDArray:
        """Calibrated probabilities; with the majority vote only the share of votes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        p : ndarray of shape (n_samples, n_classes)
        """
        check_is_fitted(self)
        if self._vote is not None:
            return self._vote.probabilities(self._measure(X))
        X = self._check_queries(X)
        return vote_shares([self._votes(place, X) for place in range(len(self.learners_))])

    def _measure(self, X) -> Distances:
        check_is_fitted(self)
        X = self._check_queries(X)
        queries = [map_rows(learner, X) for learner in self.learners_]
        return self._examples.measure(queries, self._vote.reach)

    def _check_queries(self, X):
        """Validate, but keep a table with names a table: the learner checks its names too."""
        checked = validate_data(self, X, reset=False, dtype=np.float64)
        return X if hasattr(X, "columns") else checked

    def _votes(self, place: int, X) -> NDArray:
        """Number of neighbors of each class, (n_queries, n_classes), under one metric."""
        rows = self._indices[place].kneighbors(
            map_rows(self.learners_[place], X), return_distance=False
        )
        neighbors = self._codes[rows]
        return (neighbors[:, :, np.newaxis] == np.arange(len(self.classes_))).sum(axis=1)
