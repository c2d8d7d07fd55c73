"""Nearest neighbors under any learned metric."""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from raremetric.neighbors.one_sided import map_rows
from raremetric.performance import one_blas_thread
from raremetric.scales import LabeledRows, validate_rows
from raremetric.selection import TrainingData
from raremetric.validation import check_integer, check_option, forget_attributes
from raremetric.voting import fitting, training
from raremetric.voting.votes import Examples

MULTICLASS = ("joint", "one_vs_rest")
VOTES = ("majority", "adjusted", "score")


def _has_decision(classifier) -> bool:
    if classifier.vote != "majority":
        return True
    raise AttributeError(
        "A majority vote has no decision function; use vote='adjusted' or vote='score'."
    )


class MetricKNNClassifier(LabeledRows, ClassifierMixin, BaseEstimator):
    """Vote of the k nearest neighbors under a learned metric.

    A majority vote seldom predicts a rare class. Two other votes are tuned on held-out examples.

    Parameters
    ----------
    learner : metric learner or None, default=None
        A transformer that learns a metric, of which a copy is fitted; None is ``IML()``. A fitted
        one can be frozen by ``FrozenEstimator``, for ``multiclass="joint"``; votes are then tuned
        on examples that it has seen, which is optimistic.
    n_neighbors : int or "auto", default=3
        Number k of neighbors that vote. "auto" chooses it on the folds of ``cv``: by F1 among 3,
        7, 15 and 31, or for the score among twelve readings of the distances, see the notes.
    vote : {"majority", "adjusted", "score"}, default="majority"
        Which class wins: that of most of the k nearest examples; the same after the distances to
        each class are multiplied by a factor; or the class whose score, how much nearer it is
        than the others, is highest above its own threshold, see the notes.
    multiclass : {"joint", "one_vs_rest"}, default="joint"
        One metric for all classes, or as the paper proposes for more than two, one for each class
        against the rest.
    cv : int, splitter or iterable, default=5
        Folds on which votes are tuned, by metrics learned without them. A number gives stratified
        folds, at most one per example of the rarest class, see :class:`RareClassifier` for copies.
    random_state : int, RandomState instance or None, default=None
        Shuffles the folds.
    n_jobs : int or None, default=None
        Number of threads, over queries and folds. The result does not depend on it.

    Attributes
    ----------
    metric_ : transformer
        The fitted learner, which maps rows to the space in which distances are measured.
    metrics_ : list of transformers
        The fitted learner, or one for each class.
    n_neighbors_ : int
        Number of neighbors that vote, given or chosen. For a chosen reading, 2m − 1.
    gamma_ : ndarray of shape (n_classes,)
        Factor of each class: below 1, it is predicted more often. Only with ``vote="adjusted"``.
    reading_ : Reading
        How the score is computed from distances. Only with ``vote="score"``.
    threshold_ : float or ndarray of shape (n_classes,)
        Lowest probability of the rarer class at which it is predicted; with more than two classes
        one threshold for each. Only with ``vote="score"``.
    classes_, n_features_in_, feature_names_in_ : ndarray, int, ndarray
        Class labels, number of features and, if ``X`` has string column names, their names.

    See Also
    --------
    RareClassifier : Several metrics with a calibrated score, chosen by cross-validation.
    IMLCV : The learner IML with its parameters tuned by cross-validation.

    Notes
    -----
    Let d(m) be the distance to the m-th nearest example of a class, with m = ⌊(k + 1) / 2⌋.

    **Majority.** Ties are broken by the order of ``classes_``. With one metric per class, the votes
    for a class are counted under its own metric, and ties are first broken by the votes under all
    metrics together. Shares of votes are not calibrated probabilities.

    **Adjusted** (Viola et al. An adjusted nearest neighbor algorithm maximizing the F-measure from
    imbalanced data. ICTAI 2019). The factors γ maximize the F1 of the rarer of two classes, or the
    mean F1 of more. Ties are broken by γ·d(m): of two classes, the smaller one wins.

    **Score.** s = log d(m) of the rest − log d(m) of the class, under the metric of the class if
    each has one. A logistic regression with a small ridge turns it into a probability, and the
    threshold maximizes the F1 that is expected from these. ``n_neighbors="auto"`` also tries means
    of log d(1), ..., log d(m) and of d(1)², ..., d(m)²: twelve readings in all. The best one has
    the lowest sum of ranks in F1, log-loss and average precision.

    With these two, probabilities are calibrated, and ``predict`` follows ``decision_function``.

    **Weights.** An example of weight 0 is left out altogether. Otherwise, weights multiply votes,
    held-out examples in the tuning, and are for learners whose ``fit`` takes or requests them.

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
        multiclass="joint",
        cv=5,
        random_state=None,
        n_jobs=None,
    ):
        self.learner = learner
        self.n_neighbors = n_neighbors
        self.vote = vote
        self.multiclass = multiclass
        self.cv = cv
        self.random_state = random_state
        self.n_jobs = n_jobs

    @one_blas_thread
    def fit(self, X, y, sample_weight=None, **fit_params) -> MetricKNNClassifier:
        """Learn the metric, tune the vote and keep the examples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,) or None, default=None
            See the notes of the class.
        **fit_params : dict
            Parameters for the ``fit`` of the learner. Only with metadata routing enabled.

        Returns
        -------
        self : MetricKNNClassifier
        """
        forget_attributes(self, "gamma_", "reading_", "threshold_")
        check_option(self.multiclass, "multiclass", MULTICLASS)
        check_option(self.vote, "vote", VOTES)
        learner = training.check_learner(self.learner, self.vote)
        params = training.learner_params(self, learner, sample_weight, fit_params)
        table, (X, y) = X, validate_rows(self, X, y)
        table = table if hasattr(table, "columns") else X  # the learner checks column names
        has_folds = self.vote != "majority" or self.n_neighbors == "auto"
        cv = (5 if self.cv is None else self.cv) if has_folds else None  # scikit-learn's default
        data = TrainingData.of(X, y, sample_weight, None, cv, type(self).__name__, has_folds)
        k = fitting.check_neighbors(self.n_neighbors, len(data.X))
        fits = training.LearnerFits.of(learner, table, data, params, self.multiclass)
        self.classes_, self._row_numbers = data.labels.classes, data.row_numbers
        self.metrics_ = fits.fit()
        self._examples = Examples.of(self.metrics_, fits.X, data.labels, data.weights, self.n_jobs)
        hold_out = partial(training.hold_out, fits, data, self.random_state, self.n_jobs)
        self._vote = fitting.fit_vote(self.vote, data.labels, hold_out, k)
        for name, value in self._vote._asdict().items():
            if name != "calibration":
                setattr(self, f"{name}_", value)
        return self

    def get_metadata_routing(self) -> MetadataRouter:
        """Metadata of ``fit``: weights for this classifier, anything that the learner requests."""
        router = MetadataRouter(owner=type(self).__name__).add_self_request(self)
        to_fit = MethodMapping().add(caller="fit", callee="fit")
        return router.add(learner=training.check_learner(self.learner), method_mapping=to_fit)

    @available_if(_has_decision)
    def decision_function(self, X) -> NDArray:
        """How clearly each class wins; not for the majority vote.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        s : ndarray of shape (n_samples,) or (n_samples, n_classes)
            With two classes, positive values mean ``classes_[1]``; with more, the largest wins.
            Score: log-odds minus those of the threshold. Adjusted: the logarithm of the ratio of
            distances; with more than two classes votes, and less than half a vote for distances.
        """
        values = self._decide(X)
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
        winners = np.argmax(self._decide(X), axis=1)
        return self.classes_[winners]

    def predict_proba(self, X) -> NDArray:
        """Calibrated probabilities; with the majority vote only the shares of the votes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        p : ndarray of shape (n_samples, n_classes)
        """
        check_is_fitted(self)
        return self._vote.probabilities(self._examples, self._map_queries(X))

    @property
    def metric_(self):
        """The fitted learner, under which distances are measured; not with one per class."""
        check_is_fitted(self)
        if len(self.metrics_) > 1:
            raise AttributeError("There is one metric for each class; use one of metrics_.")
        return self.metrics_[0]

    def kneighbors(self, X=None, n_neighbors=None, return_distance=True, *, label=None):
        """The nearest training examples under the learned metric.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features) or None, default=None
            None for the training examples, of which none is its own neighbor.
        n_neighbors : int or None, default=None
            None for ``n_neighbors_``.
        return_distance : bool, default=True
        label : class label or None, default=None
            With one metric per class: the class whose metric to use.

        Returns
        -------
        distances : ndarray of shape (n_queries, n_neighbors)
            Learned distances; only with ``return_distance``.
        indices : ndarray of shape (n_queries, n_neighbors)
            Rows of the training data; at equal distances the lower number comes first.
        """
        check_is_fitted(self)
        metric, known = 0, self.classes_.tolist()
        if len(self.metrics_) > 1:
            if label not in known:
                raise ValueError(
                    f"Each class has its own metric: label must be one of {known}; got {label!r}."
                )
            metric = known.index(label)
        k = self.n_neighbors_ if n_neighbors is None else n_neighbors
        k = check_integer(k, "n_neighbors", low=1, high=len(self._row_numbers) - (X is None))
        queries = None if X is None else self._map_queries(X)[metric]
        distances, indices = self._examples.searches[metric].nearest(queries, k)
        indices = self._row_numbers[indices]
        return (distances, indices) if return_distance else indices

    def _decide(self, X) -> NDArray:
        check_is_fitted(self)
        return self._vote.decide(self._examples, self._map_queries(X))

    @one_blas_thread
    def _map_queries(self, X) -> list[NDArray]:
        """Validated rows as each metric maps them; learners check column names themselves."""
        checked = validate_rows(self, X, reset=False)
        rows = X if hasattr(X, "columns") else checked
        return [map_rows(metric, rows) for metric in self.metrics_]
