"""Nearest neighbors under any learned metric."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from raremetric.copies import find_copies
from raremetric.learners.iml import IML
from raremetric.partitions import is_collection
from raremetric.performance import one_blas_thread
from raremetric.scales import validate_rows
from raremetric.validation import check_option, check_weights, forget_attributes
from raremetric.voting import fitting, training
from raremetric.voting.collections import fit_collection
from raremetric.voting.inspection import NeighborsMixin
from raremetric.voting.votes import Examples, Vote

MULTICLASS = ("joint", "one_vs_rest")
VOTES = ("majority", "adjusted", "score")


def _has_decision(classifier) -> bool:
    if classifier.vote == "majority":
        raise AttributeError(
            "A majority vote has no decision function; use vote='adjusted' or vote='score'."
        )
    return True


class MetricKNNClassifier(NeighborsMixin, ClassifierMixin, BaseEstimator):
    """Vote of the k nearest neighbors under a learned metric.

    A majority vote seldom predicts a rare class. ``vote="adjusted"`` multiplies the distances to
    each class by a factor before the vote; ``vote="score"`` compares how much nearer a class is
    than the others with a threshold. Both are tuned on held-out examples.

    .. versionadded:: 0.1

    Parameters
    ----------
    learner : metric learner or None, default=None
        Any transformer that learns a metric, such as :class:`IML`; a copy of it is fitted. None
        is ``IML()``. To use a learner that is already fitted, pass
        ``sklearn.frozen.FrozenEstimator(learner)``, with ``multiclass="joint"``. Votes are then
        tuned on the distances of each example to all others (if there are copies, in other folds).
        The learner has seen all of them: this is optimistic, with probabilities near 0 and 1.
    n_neighbors : int or "auto", default=3
        Number k of neighbors that vote. "auto" chooses it on the folds of ``cv``: by F1 among 3,
        7, 15 and 31, or for the score among twelve readings of the distances, see the notes.
    vote : {"majority", "adjusted", "score"}, default="majority"
        Which class wins: the class of most of the k nearest examples; the same after the
        distances to each class have been multiplied by its ``gamma``; or the class whose score is
        highest above its own threshold, see the notes.
    gamma : "auto", float or dict, default="auto"
        Factors of the adjusted vote; a factor below 1 makes a class more frequent. A number is
        for the rarest class, a dict maps labels to factors; other classes have 1. "auto" finds
        the best on the folds of ``cv``, by the F1 of the rarer of two or the mean F1 of more.
    multiclass : {"joint", "one_vs_rest"}, default="joint"
        One metric for all classes, or one for each class against the rest, as the paper proposes
        for more than two classes. Two classes always share one metric.
    cv : int, splitter or iterable, default=5
        Folds on which votes are tuned: the metric is learned again without each of them. A number
        gives stratified folds, at most as many as the rarest class has examples; copies of a row
        stay together, see :class:`RareClassifier`.
    random_state : int, RandomState instance or None, default=None
        Shuffles the folds.
    n_jobs : int or None, default=None
        Number of threads, over queries and folds. The result does not depend on it.

    Attributes
    ----------
    metric_ : transformer
        The fitted learner: it maps rows as ``fit`` takes them to the space in which distances are
        measured. With one metric per class, use ``metrics_``.
    metrics_ : list of transformers
        The fitted learner, or one for each class.
    n_neighbors_ : int
        Number of neighbors that vote, given or chosen. For a chosen reading, 2m − 1.
    gamma_ : ndarray of shape (n_classes,)
        Factor of each class. Only with ``vote="adjusted"``.
    reading_ : Reading
        How the score is computed from the distances to a class. Only with ``vote="score"``.
    threshold_ : float or ndarray of shape (n_classes,)
        Lowest probability of the rarer class at which it is predicted; with more than two classes
        one threshold for each. Only with ``vote="score"``.
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    n_features_in_ : int
        Number of features seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, when ``X`` has string column names.

    See Also
    --------
    RareClassifier : Several metrics with a calibrated score, chosen by cross-validation.
    IMLCV : The learner IML with its parameters tuned by cross-validation.
    sklearn.neighbors.KNeighborsClassifier : The majority vote under a given metric.

    Notes
    -----
    Let d(m) be the distance to the m-th nearest example of a class, with m = ⌊(k + 1) / 2⌋.

    **Majority.** Ties are broken by the order of ``classes_``, as in scikit-learn. With one metric
    per class, the votes for a class are counted under its own metric, and ties are first broken by
    the votes under all metrics together. Shares of votes are not calibrated probabilities.

    **Adjusted** (Viola et al., 2019). Ties are broken by how much smaller γ·d(m) is than for the
    other classes. So of two classes, the one with the smaller γ·d(m) wins.

    **Score.** s = log d(m) of the rest − log d(m) of the class. A logistic regression with a small
    ridge turns it into a probability, and the threshold maximizes the F1 that is expected from
    these probabilities. ``n_neighbors="auto"`` also tries, in place of log d(m), the means of
    log d(1), ..., log d(m) and of d(1)², ..., d(m)², for twelve readings in all. The best one has
    the lowest sum of ranks in F1, log-loss and average precision.

    With the last two, ``predict_proba`` is calibrated on held-out examples, and ``predict`` follows
    ``decision_function``, not the largest probability. With one metric per class, the distances
    to a class and to the rest are measured under the metric of the class.

    **Weights.** An example of weight 0 is left out altogether. In the majority vote, the weight of
    an example multiplies its vote. When votes are tuned, it multiplies the held-out example in F1,
    calibration and thresholds, while neighbors count equally. The learner receives the weights if
    its ``fit`` has a parameter ``sample_weight``; with metadata routing enabled, if it requests
    them: ``IML().set_fit_request(sample_weight=True)``.

    **Dask.** From a collection of Dask, at most 10,000 rows are drawn, the same number of each
    class, with the number of rows that each stands for as its weight. The adjusted vote and the
    score are then calibrated on held-out rows of the whole collection.

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
        cv=5,
        random_state=None,
        n_jobs=None,
    ):
        self.learner = learner
        self.n_neighbors = n_neighbors
        self.vote = vote
        self.gamma = gamma
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
            Also an array or a data frame of Dask, see the notes of the class.
        y : array-like of shape (n_samples,)
            If X is a collection of Dask, one with the same partitions.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Weights of the examples, see the notes of the class.
        **fit_params : dict
            Parameters for the ``fit`` of the learner. Only with metadata routing enabled.

        Returns
        -------
        self : MetricKNNClassifier
        """
        if is_collection(X):
            return fit_collection(self, X, y, sample_weight, fit_params)
        return self._fit(X, y, sample_weight, fit_params)

    def _fit(self, X, y, sample_weight, fit_params, class_counts=None) -> MetricKNNClassifier:
        """Fit; ``class_counts`` are those of all rows if these are a sample of them."""
        forget_attributes(self, "gamma_", "reading_", "threshold_")
        check_option(self.multiclass, "multiclass", MULTICLASS)
        check_option(self.vote, "vote", VOTES)
        table = X
        X, y = validate_rows(self, X, y)
        table = table if hasattr(table, "columns") else X  # the learner checks column names
        if sample_weight is not None:
            sample_weight = check_weights(sample_weight, len(X))
        learner = self._template()
        params = training.learner_params(self, learner, sample_weight, fit_params)
        has_folds = self.vote != "majority" or self.n_neighbors == "auto"
        own = find_copies(X).numbers if has_folds else None
        data = training.TrainingSet.of(table, y, sample_weight, params, type(self).__name__, own)
        k = fitting.check_neighbors(self.n_neighbors, len(data.y))
        labels = data.labels  # the counts of all rows say which class is the rarest
        labels = labels if class_counts is None else labels._replace(counts=class_counts)
        gamma = fitting.check_gamma(self.gamma, self.vote, labels)
        self.classes_, self._row_numbers = data.labels.classes, data.row_numbers
        self.metrics_ = training.fit_learners(learner, data, self.multiclass)
        mapped = training.map_rows(self.metrics_, data.X)
        self._examples = Examples.of(mapped, data.labels, data.weights, self.n_jobs)
        hold_out = partial(
            training.hold_out, learner, data, self.multiclass, self._examples,
            cv=self.cv, random_state=self.random_state, n_jobs=self.n_jobs,
        )  # fmt: skip
        tuning = fitting.Tuning(labels, data.weights, hold_out)
        self._set_vote(fitting.fit_vote(self.vote, tuning, k, gamma))
        return self

    def _set_vote(self, vote: Vote) -> None:
        self._vote = vote
        for name, value in vote.attributes().items():
            setattr(self, name, value)

    def _template(self) -> Any:
        """The learner of which copies are fitted."""
        if self.learner is None:
            return IML()
        if not hasattr(self.learner, "fit") or not hasattr(self.learner, "transform"):
            raise TypeError(
                "learner must be a transformer that learns a metric, such as IML(), or None; got "
                f"{self.learner!r}."
            )
        return self.learner

    def get_metadata_routing(self) -> MetadataRouter:
        """Metadata of ``fit``: weights for this classifier, anything that the learner requests."""
        router = MetadataRouter(owner=type(self).__name__).add_self_request(self)
        to_fit = MethodMapping().add(caller="fit", callee="fit")
        return router.add(learner=self._template(), method_mapping=to_fit)

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

    def _decide(self, X) -> NDArray:
        check_is_fitted(self)
        return self._vote.decide(self._examples, self._map_queries(X))
