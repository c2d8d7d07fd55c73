"""RareClassifier: many metrics judged out of fold, the best averaged, a threshold for the aim."""

from __future__ import annotations

import time
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from raremetric.features.landmarks import draw_evenly
from raremetric.performance import one_blas_thread
from raremetric.rare.candidates import Branch, branches
from raremetric.rare.plots import plot_candidates
from raremetric.rare.search import BUDGETS, assemble, collect, decide
from raremetric.validation import (
    Labels,
    check_integer,
    check_labels,
    check_option,
    check_real,
    quiet_repeats,
)
from raremetric.voting.aims import check_aim


class RareClassifier(ClassifierMixin, BaseEstimator):
    """The best rare-class F1 we know how to get, decided by nearest neighbors, in one call.

    Several views of the features, maps and metrics are judged by cross-validation. The best of
    each kind are averaged, their score is calibrated, and the threshold is put where the expected
    F1, or whatever else is asked for, is highest. Features need no scaling.

    Parameters
    ----------
    budget : {"fast", "thorough"} or float, default="fast"
        How often candidates are judged. "thorough" repeats the cross-validation twice as often
        as "fast", at twice the time: less of the choice is left to chance. A number is a time in
        seconds: at least one repeat, and as many more, up to those of "thorough", as fit in; the
        result then depends on the machine.
    scoring : str or array of shape (2, 2), default="f1"
        What to maximise: "f1"; "f2", "f0.5" or any other F-beta; "balanced_accuracy";
        "average_precision", which needs no threshold: the one of F1 is used; or the costs of
        ``[[true negative, false positive], [false negative, true positive]]``.
    pos_label : class label or None, default=None
        The class that matters; None is the rarest. With more than two classes every class is
        told from the rest in its turn, and this must be None.
    max_samples : int or None, default=10_000
        From more rows than these, so many are drawn to learn from and to be neighbors, each class
        giving the same number as far as it has so many; probabilities and threshold are then
        those for all rows. None takes all: time grows with the square of their number.
    random_state : int, RandomState instance or None, default=None
        For folds, forests, landmarks and drawn rows.
    n_jobs : int or None, default=None
        Threads over the folds. The result does not depend on it.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    pos_label_ : class label
        The class that matters. Only with two classes, as are those below.
    threshold_ : float
        Probability of that class from which on it is predicted.
    ensemble_ : Ensemble
        What decides: ``.members``, the heaviest first, each a metric with a reading; their fitted
        pipelines with the examples, ``.neighborhoods``; the ``.calibration`` of their average.
    cv_results_ : dict of arrays
        All that was tried: group, branch, learner, reading, the out-of-fold utility, log-loss and
        average precision, the rank within its group and its weight in the result.
    best_score_ : float
        Out-of-fold utility of the average, at its threshold: a little optimistic, because the
        same folds chose its members.
    n_repeats_ : int
        How many times the cross-validation was repeated.
    estimators_ : list of RareClassifier
        With more than two classes: one for each.
    n_features_in_ : int
        Number of features seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, when ``X`` has string column names.

    Notes
    -----
    The score of a row is log d₋ − log d₊, each read off the distances to the nearest examples of
    a class: the m-th, or the mean of the logs of the first m; or d₋² − d₊², each the mean of the
    squares of the first m. Out-of-fold scores are turned into
    probabilities by a logistic regression with a small ridge. Candidates are ranked by the sum of
    their ranks in utility, log-loss and average precision; F1 alone is too coarse a judge when
    positives are few.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.metrics import f1_score
    >>> from raremetric import RareClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = RareClassifier(random_state=0).fit(X[:100], y[:100])
    >>> bool(f1_score(y[100:], model.predict(X[100:])) > 0.9)
    True
    >>> distances, rows = model.kneighbors(X[100:101])
    """

    def __init__(
        self,
        budget="fast",
        *,
        scoring="f1",
        pos_label=None,
        max_samples=10_000,
        random_state=None,
        n_jobs=None,
    ):
        self.budget = budget
        self.scoring = scoring
        self.pos_label = pos_label
        self.max_samples = max_samples
        self.random_state = random_state
        self.n_jobs = n_jobs

    @one_blas_thread
    def fit(self, X, y) -> RareClassifier:
        """Judge all candidates, keep the best, put the threshold.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)

        Returns
        -------
        self : RareClassifier
        """
        start = time.perf_counter()
        X, y = validate_data(self, X, y, dtype=np.float64, ensure_min_samples=4)
        labels = check_labels(y, type(self).__name__)
        self._check_budget()
        if labels.counts.min() < 2:
            rarest = labels.classes.tolist()[int(np.argmin(labels.counts))]
            raise ValueError(
                f"RareClassifier needs at least 2 examples of each class to validate on; class "
                f"{rarest!r} has 1. Add examples, or leave that class out."
            )
        self.classes_ = labels.classes
        if len(labels.classes) > 2:
            return self._fit_each_class(X, labels)
        aim = check_aim(self.scoring)
        self.pos_label_ = self._positive(labels)
        binary = check_labels(y == self.pos_label_, type(self).__name__)
        rng = check_random_state(self.random_state)
        seed = rng.randint(2**31 - 1)
        rows = self._draw(binary, rng)
        X, drawn = X[rows], check_labels(binary.codes[rows] == 1, type(self).__name__)
        worth = binary.counts / drawn.counts  # how many examples each drawn one stands for
        with quiet_repeats():
            tried = self._branches()
            scores = collect(tried, X, drawn, seed, self.budget, start, self.n_jobs)
            aim = aim.counting(worth)
            choice, self.cv_results_ = decide(scores, tried, drawn.codes == 1, aim)
            choice = choice.with_odds(worth[1] / worth[0])
            self.ensemble_ = assemble(tried, choice, X, drawn, seed, rows)
        self.n_repeats_ = scores.shape[1]
        self.threshold_, self.best_score_ = choice.threshold, choice.score
        return self

    def _branches(self) -> list[Branch]:
        """What is tried; a subclass may try something else."""
        return branches()

    def _check_budget(self) -> None:
        if isinstance(self.budget, str):
            check_option(self.budget, "budget", BUDGETS)
        elif isinstance(self.budget, Real) and not isinstance(self.budget, bool):
            check_real(float(self.budget), "budget", low=0, closed="neither")
        else:
            raise TypeError(
                f"budget must be 'fast', 'thorough' or a number of seconds; got {self.budget!r}."
            )

    def _draw(self, labels: Labels, rng: np.random.RandomState) -> NDArray[np.int64]:
        most = n_samples = len(labels.codes)
        if self.max_samples is not None:
            most = check_integer(self.max_samples, "max_samples", low=4)
        return draw_evenly(n_samples, labels.codes, most, rng)

    def _positive(self, labels: Labels) -> Any:
        known = labels.classes.tolist()
        if self.pos_label is None:
            return known[int(np.argmin(labels.counts))]
        if self.pos_label not in known:
            raise ValueError(
                f"pos_label must be one of the classes {known}; got {self.pos_label!r}."
            )
        return self.pos_label

    def _fit_each_class(self, X: NDArray, labels: Labels) -> RareClassifier:
        if self.pos_label is not None:
            raise ValueError(
                f"pos_label={self.pos_label!r} means something with two classes only; there are "
                f"{len(labels.classes)}. Leave it None, or make y two classes."
            )
        template = clone(self).set_params(pos_label=True)
        if isinstance(self.budget, Real):
            template.set_params(budget=self.budget / len(labels.classes))
        self.estimators_ = [
            clone(template).fit(X, labels.codes == c) for c in range(len(labels.classes))
        ]
        results = [each.cv_results_ for each in self.estimators_]
        self.cv_results_ = {
            "class": np.repeat(labels.classes, [len(each["branch"]) for each in results]),
            **{key: np.concatenate([each[key] for each in results]) for key in results[0]},
        }
        return self

    def predict_proba(self, X) -> NDArray:
        """Calibrated probabilities.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        p : ndarray of shape (n_samples, n_classes)
        """
        X = self._check_queries(X)
        if len(self.classes_) > 2:
            p = np.column_stack([each.predict_proba(X)[:, 1] for each in self.estimators_])
            return p / p.sum(axis=1, keepdims=True)
        p = expit(self.ensemble_.log_odds(X))
        columns = [1 - p, p] if self.pos_label_ == self.classes_[1] else [p, 1 - p]
        return np.column_stack(columns)

    def decision_function(self, X) -> NDArray:
        """How far the log-odds are above the threshold.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        s : ndarray of shape (n_samples,) or (n_samples, n_classes)
            With two classes, above zero means ``classes_[1]``, as in scikit-learn.
        """
        X = self._check_queries(X)
        if len(self.classes_) > 2:
            return np.column_stack([each.decision_function(X) for each in self.estimators_])
        above = self.ensemble_.log_odds(X) - logit(self.threshold_)
        return above if self.pos_label_ == self.classes_[1] else -above

    def predict(self, X) -> NDArray:
        """The class that matters where its probability reaches the threshold.

        With more than two classes: the one that is farthest above its own threshold.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        y : ndarray of shape (n_samples,)
        """
        values = self.decision_function(X)
        if values.ndim == 2:
            return self.classes_[np.argmax(values, axis=1)]
        first = values < 0 if self.pos_label_ == self.classes_[1] else values <= 0
        return self.classes_[np.where(first, 0, 1)]

    def kneighbors(self, X, n_neighbors=3, return_distance=True, *, member=0, label=None):
        """The nearest training examples under one of the metrics that decide.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features)
        n_neighbors : int, default=3
        return_distance : bool, default=True
        member : int, default=0
            Whose metric: a place in ``ensemble_.members``, of which the first counts most.
        label : class label or None, default=None
            With more than two classes: whose members to use.

        Returns
        -------
        distances : ndarray of shape (n_queries, n_neighbors)
            Only with ``return_distance``.
        indices : ndarray of shape (n_queries, n_neighbors)
            Rows of the training data.
        """
        X = self._check_queries(X)
        owner = self._binary(label)
        check_integer(member, "member", low=0, high=len(owner.ensemble_.members) - 1)
        k = check_integer(n_neighbors, "n_neighbors", low=1, high=owner.ensemble_.n_examples)
        distances, indices = owner.ensemble_.kneighbors(X, k, member)
        return (distances, indices) if return_distance else indices

    def explain(self, X, *, label=None) -> list[list[dict[str, Any]]]:
        """Why each row was decided as it was: the neighbors behind every member's score.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
        label : class label or None, default=None
            With more than two classes: which class against the rest.

        Returns
        -------
        reasons : list of lists of dict
            For each row one entry a member, the heaviest first: its ``member`` name, ``weight``,
            standardised ``score`` (positive speaks for the class that matters), and the rows and
            distances of the ``positive`` and ``negative`` examples that it was read from. The sum
            of weight · score is what the probability is computed from.
        """
        X = self._check_queries(X)
        return self._binary(label).ensemble_.reasons(X)

    def _binary(self, label) -> RareClassifier:
        """The classifier that tells one class from the rest: this one, if there are but two."""
        if len(self.classes_) == 2:
            return self
        known = self.classes_.tolist()
        if label not in known:
            raise ValueError(
                f"Each class has its own metrics: label must name one of {known}; got {label!r}."
            )
        return self.estimators_[known.index(label)]

    def plot_candidates(self, ax=None):
        """Draw what each candidate was worth, branch by branch, and which ones count.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        ax : matplotlib Axes
        """
        check_is_fitted(self)
        return plot_candidates(self.cv_results_, ax)

    def _check_queries(self, X) -> NDArray:
        check_is_fitted(self)
        return validate_data(self, X, reset=False, dtype=np.float64)
