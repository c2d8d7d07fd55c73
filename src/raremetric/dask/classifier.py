"""DaskClassifier: any classifier, learned from a sample of data that do not fit in memory."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils import check_random_state, get_tags
from sklearn.utils.multiclass import check_classification_targets

from raremetric.dask.calibration import Calibration, Scores, scores_of
from raremetric.dask.partitions import Partitions, Rows, Sample
from raremetric.dask.prediction import PredictionMixin
from raremetric.dask.sampling import plan_sample
from raremetric.validation import (
    Labels,
    accepted_weights,
    check_class_count,
    check_class_sizes,
    check_integer,
    forget_attributes,
    take_rows,
    warn_user,
)
from raremetric.voting import (
    Aim,
    check_aim,
    observed_utility,
    standard_error,
    stratified_folds,
    validate,
)

TWO_CLASSES_ONLY = ("pos_label_", "best_score_", "score_std_", "validation_")


class DaskClassifier(PredictionMixin, ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """Fit any classifier on data that do not fit in memory.

    The classifier is fitted on a sample with the same number of rows of each class, or all rows of
    a rare class. Its scores are then calibrated, and the threshold is chosen, on other rows, for
    the class frequencies of all data.

    .. versionadded:: 0.1

    Parameters
    ----------
    estimator : classifier
        A copy of it is fitted. It needs ``decision_function`` or ``predict_proba``, and sees
        the classes as numbers 0, 1, ..., in the order of ``classes_``.
    scoring : str or array of shape (2, 2), default="f1"
        What the threshold maximizes, see :class:`raremetric.RareClassifier`.
    pos_label : class label or None, default=None
        The positive class; None chooses the rarest. Must be None with more than two classes:
        each class is then calibrated against the rest.
    max_samples : int or None, default=5_000
        Maximum number of rows to learn from: the same number of each class, or all rows of a class
        with fewer. Of a class with at least 500 rows, at least a fifth is left for the calibration.
        None for all rows.
    max_held_out : int, default=100_000
        Maximum number of rows of each class to calibrate on.
    cv : int, default=5
        Number of folds. If fewer than 100 rows of a class are left, the sample is also scored by
        copies of the classifier that were fitted on the other folds.
    random_state : int, RandomState instance or None, default=None
        Determines which rows are drawn, and the folds. It is not passed on to the classifier.

    Attributes
    ----------
    estimator_ : classifier
        The fitted classifier.
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    class_counts_ : ndarray of shape (n_classes,)
        Number of rows of each class.
    rows_ : ndarray of shape (n_learned,)
        Numbers of the rows in the data that the classifier was fitted on.
    n_held_out_ : int
        Number of rows that were scored and not learned from.
    calibration_ : Calibration
        Its method ``log_odds`` maps scores of the classifier to log-odds, of the positive class or
        of each of several classes.
    threshold_ : float or ndarray of shape (n_classes,)
        The positive class is predicted where its probability is at least this; with more than two
        classes one threshold for each.
    pos_label_ : class label
        The positive class. Only with two classes, like the attributes that follow.
    best_score_, score_std_ : float
        Value of ``scoring`` at the threshold on the rows that it was chosen on, and its standard
        error; see :class:`raremetric.RareClassifier`.
    validation_ : dict of str to float
        Other measures on these rows, see :class:`raremetric.RareClassifier`.
    n_features_in_, feature_names_in_
        Those of the fitted classifier, if it has them.

    Notes
    -----
    The data are read three times: to count the classes, to draw the sample and to score held-out
    rows. A worker needs memory for a partition, the sample and the fitted classifier. The sample
    and the scores are collected in this process, where the classifier is fitted. Work of workers
    that are lost is repeated by others.

    Which rows are drawn depends on their order, their classes and ``random_state``, but not on
    how they are divided into partitions. Within a class, all rows are drawn with the same
    probability, whatever their weights.

    The score of a class is the decision function, or log-odds if the classifier has none. For a
    probability of 0 or 1, they are just beyond those of all other rows that were scored. A
    logistic regression on this score alone gives the probability, in which a row counts as many
    times as there are rows of its class that it represents. The thresholds maximize the expected
    ``scoring``, of each class against the rest if there are several.

    Examples
    --------
    >>> import dask.array as da
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from raremetric.dask import DaskClassifier
    >>> X, y = make_classification(20_000, weights=[0.97], random_state=0)
    >>> X, y = da.from_array(X, chunks=(5000, 20)), da.from_array(y, chunks=5000)
    >>> model = DaskClassifier(LogisticRegression(), max_samples=500, random_state=0).fit(X, y)
    >>> p = model.predict_proba(X)[:, 1]  # not computed yet
    >>> bool(abs(p.mean().compute() / y.mean().compute() - 1) < 0.05)
    True
    """

    def __init__(
        self,
        estimator,
        *,
        scoring="f1",
        pos_label=None,
        max_samples=5_000,
        max_held_out=100_000,
        cv=5,
        random_state=None,
    ):
        self.estimator = estimator
        self.scoring = scoring
        self.pos_label = pos_label
        self.max_samples = max_samples
        self.max_held_out = max_held_out
        self.cv = cv
        self.random_state = random_state

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self.estimator).input_tags
        return tags

    def fit(self, X, y=None, sample_weight=None) -> DaskClassifier:
        """Draw a sample, fit the classifier on it, calibrate it and choose the threshold.

        Parameters
        ----------
        X : array or data frame of Dask, or array-like of shape (n_samples, n_features)
            The chunks of an array can be of unknown sizes, and partitions can be empty. Also
            ``Partitions``, which know their classes; there are no y and weights then.
        y : array or series of Dask, or array-like of shape (n_samples,)
            With the same partitions as X, or in memory if the sizes of the chunks of X are known.
        sample_weight : like y, or None, default=None
            Weights of the rows in the fit of the classifier, which must accept them, in the
            calibration and the choice of the threshold. Rows of weight 0 are left out.

        Returns
        -------
        self : DaskClassifier
        """
        forget_attributes(self, *TWO_CLASSES_ONLY)
        aim, name = check_aim(self.scoring), type(self).__name__
        if self.max_samples is not None:
            check_integer(self.max_samples, "max_samples", low=4)
        check_integer(self.max_held_out, "max_held_out", low=0)
        check_integer(self.cv, "cv", low=2)
        if not isinstance(X, Partitions):
            if y is None:
                raise ValueError(f"{name} requires y to be passed, but the target y is None.")
            X = Rows(X, y, sample_weight)
        check_classification_targets(X.classes)
        if not len(X.classes):
            raise ValueError("There are no rows with a weight above zero: 0 sample(s) to fit on.")
        check_class_count(X.classes, name, "y")
        self.classes_, self.class_counts_ = X.classes, X.counts.sum(axis=0)
        self._choose_positive()
        columns = self._columns
        rng = check_random_state(self.random_state)
        plan = plan_sample(X.counts, self.max_samples, self.max_held_out, rng)
        sample = X.draw(plan.learned)
        self.rows_, self.n_held_out_ = sample.rows, int(plan.n_held_out.sum())
        self.estimator_ = self._fit_copy(sample, slice(None))
        parts = [] if plan.has_enough else [self._score_folds(sample, columns, rng)]
        if self.n_held_out_:
            parts.append(X.score(plan.held_out, self.estimator_, columns))
        scores = Scores.joined(parts)
        represented = X.totals / np.bincount(scores.codes, scores.weights)
        weights = scores.weights * represented[scores.codes]
        self._calibrate(scores._replace(weights=weights), columns, aim)
        return self

    def _choose_positive(self) -> None:
        known = self.classes_.tolist()
        if len(known) > 2:
            if self.pos_label is not None:
                raise ValueError(
                    f"pos_label={self.pos_label!r} can be used with two classes only; there are "
                    f"{len(known)}. Leave it None, or make y two classes."
                )
            return
        if self.pos_label is not None and self.pos_label not in known:
            raise ValueError(
                f"pos_label must be one of the classes {known}; got {self.pos_label!r}."
            )
        rarest = known[int(np.argmin(self.class_counts_))]
        self.pos_label_ = rarest if self.pos_label is None else self.pos_label

    def _fit_copy(self, sample: Sample, rows: Any) -> Any:
        """A copy of the classifier, fitted on some rows of the sample."""
        estimator, weights = clone(self.estimator), sample.weights
        if weights is not None and not accepted_weights(estimator, weights):
            raise ValueError(
                f"sample_weight cannot be used with {type(estimator).__name__}: its fit does not "
                "have this parameter."
            )
        X, weights = sample.X, None if weights is None else weights[rows]
        X = X if isinstance(rows, slice) else take_rows(X, rows)
        return estimator.fit(X, sample.codes[rows], **accepted_weights(estimator, weights))

    def _score_folds(
        self, sample: Sample, columns: list[int], rng: np.random.RandomState
    ) -> Scores:
        """Scores of the sample by copies of the classifier that were fitted on the other folds."""
        labels = Labels(self.classes_, sample.codes, np.bincount(sample.codes))
        check_class_sizes(labels, 2, type(self).__name__)
        values = np.empty((len(sample.codes), len(columns)))
        for train, test in stratified_folds(labels, self.cv, rng):
            fitted = self._fit_copy(sample, train)
            values[test] = scores_of(fitted, take_rows(sample.X, test), columns)
        weights = np.ones(len(values)) if sample.weights is None else sample.weights
        return Scores(values, sample.codes, weights)

    def _calibrate(self, scores: Scores, columns: list[int], aim: Aim) -> None:
        """Calibrate each of the columns against the rest, and choose its threshold."""
        values, codes, weights = scores
        positive = codes[:, np.newaxis] == columns
        self.calibration_ = Calibration.fit(values, positive, weights)
        p = expit(self.calibration_.log_odds(values)).T
        thresholds = np.array([aim.threshold(row, weights) for row in p])
        for column, row, threshold in zip(columns, p, thresholds, strict=True):
            if (missed := aim.missed(row, threshold, weights)) is not None:
                warn_user(
                    f"No threshold for class {self.classes_[column].tolist()!r} meets scoring="
                    f"{self.scoring!r}. The threshold with the highest expected value is used; "
                    f"this value is {missed:.3g}."
                )
        self.threshold_ = thresholds if len(columns) > 1 else float(thresholds[0])
        if len(columns) > 1:
            return
        predicted, truth = p >= self.threshold_, positive[:, 0]
        self.best_score_ = float(observed_utility(predicted[0], truth, aim.utility, weights))
        self.score_std_ = standard_error(predicted, truth, aim.utility, weights)
        self.validation_ = validate(p, truth, predicted, weights)
