"""DaskClassifier: any classifier, learned from a sample of data that do not fit in memory."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils import check_random_state, get_tags
from sklearn.utils.multiclass import check_classification_targets

from raremetric.copies import find_copies, keys_to_leave_out, rows_without
from raremetric.dask.calibration import PredictionMixin, calibrate, scores_of
from raremetric.dask.partitions import (
    MIN_HELD_OUT,
    Partitions,
    Ranks,
    Scores,
    comparable_rows,
    divide,
    plan_sample,
    represent,
    stacked,
)
from raremetric.selection import check_aim, stratified_folds
from raremetric.selection.thresholds import warn_missed
from raremetric.validation import (
    Labels,
    check_class_count,
    check_class_sizes,
    check_integer,
    forget_attributes,
    rarest_or_given,
    take_rows,
)

OF_FITTED = ("n_features_in_", "feature_names_in_")  # attributes of the fitted classifier


class DaskClassifier(PredictionMixin, ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """Fit any classifier on data that do not fit in memory.

    The classifier is fitted on a sample with the same number of rows of each class, or all rows of
    a rare class. Its scores are then calibrated, and the threshold is chosen, on other rows, for
    the class frequencies of all data.

    Parameters
    ----------
    estimator : classifier
        A copy of it is fitted. It needs ``decision_function`` or ``predict_proba``, and sees
        the two classes as numbers 0 and 1, in the order of ``classes_``.
    scoring : str or array of shape (2, 2), default="f1"
        What the threshold maximizes, see :class:`raremetric.RareClassifier`.
    pos_label : class label or None, default=None
        The positive class; None chooses the rarest.
    max_samples : int or None, default=5_000
        Maximum number of rows to learn from: the same number of each class, or all rows of a class
        with fewer. Of a class with at least 500 rows, at least a fifth is left for the calibration.
        None for all rows.
    cv : int, default=5
        Number of folds. If fewer than 100 rows of a class are left for the calibration, the rows
        that the classifier is fitted on are scored, too, in a cross-validation.
    random_state : int, RandomState instance or None, default=None
        Determines which rows are drawn, and the folds. It is not passed on to the classifier.

    Attributes
    ----------
    estimator_ : classifier
        The fitted classifier.
    classes_ : ndarray of shape (2,)
        Class labels.
    class_counts_ : ndarray of shape (2,)
        Number of rows of each class.
    rows_ : ndarray of shape (n_learned,)
        Numbers of the rows in the data that the classifier was fitted on.
    held_out_counts_ : ndarray of shape (2,)
        Number of rows of each class that were scored and not learned from.
    calibration_ : Calibration
        Its method ``log_odds`` maps scores of the classifier to log-odds of the positive class.
    threshold_ : float
        The positive class is predicted where its probability is at least this.
    pos_label_ : class label
        The positive class.
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
    rows, at most 100,000 of each class. A worker needs memory for a partition, the sample and the
    fitted classifier. The sample and the scores are collected in this process, where the
    classifier is fitted. Work of workers that are lost is repeated by others.

    Copies of rows that the classifier was fitted on are not scored, and copies are in the same
    fold. Which rows are copies is described for :class:`raremetric.RareClassifier`; texts and
    other objects count as numbers here. Which rows are drawn depends on their order, their classes
    and ``random_state``, not on partitions.

    The score of a class is the decision function, or log-odds if the classifier has none. For a
    probability of 0 or 1, they are just beyond those of all other rows that were scored. A
    logistic regression on this score alone gives the probability, in which a row counts as many
    times as there are rows of its class that it represents. The threshold maximizes the expected
    ``scoring``.

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
        cv=5,
        random_state=None,
    ):
        self.estimator = estimator
        self.scoring = scoring
        self.pos_label = pos_label
        self.max_samples = max_samples
        self.cv = cv
        self.random_state = random_state

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self.estimator).input_tags
        tags.classifier_tags.multi_class = False
        return tags

    def fit(self, X, y=None) -> DaskClassifier:
        """Draw a sample, fit the classifier on it, calibrate it and choose the threshold.

        Parameters
        ----------
        X : array or data frame of Dask, or array-like of shape (n_samples, n_features)
            The chunks of an array can be of unknown sizes, and partitions can be empty.
        y : array or series of Dask, or array-like of shape (n_samples,)
            With the same partitions as X, or in memory if the sizes of the chunks of X are known.

        Returns
        -------
        self : DaskClassifier
        """
        forget_attributes(self, *OF_FITTED)
        aim, name = check_aim(self.scoring), type(self).__name__
        if self.max_samples is not None:
            check_integer(self.max_samples, "max_samples", low=4)
        check_integer(self.cv, "cv", low=2)
        if y is None:
            raise ValueError(f"{name} requires y to be passed, but the target y is None.")
        data, self.classes_ = divide(X, y)
        check_classification_targets(self.classes_)
        if not len(self.classes_):
            raise ValueError("There are no rows to fit on: 0 sample(s).")
        check_class_count(self.classes_, name, "y")
        if (n_classes := len(self.classes_)) > 2:
            raise ValueError(
                f"Only binary classification is supported. {name} needs two classes; y has "
                f"{n_classes}: make y two classes, such as one class and all others."
            )
        self.class_counts_ = data.counts.sum(axis=0)
        self.pos_label_ = rarest_or_given(self.classes_, self.class_counts_, self.pos_label)
        rng = check_random_state(self.random_state)
        learned, held_out = plan_sample(data.counts, self.max_samples, rng)
        tables, codes, self.rows_ = data.draw(learned)
        X = stacked(tables)
        self.estimator_ = clone(self.estimator).fit(X, codes)
        for attribute in filter(partial(hasattr, self.estimator_), OF_FITTED):
            setattr(self, attribute, getattr(self.estimator_, attribute))
        values, codes = self._score_rows(data, held_out, X, codes, rng)
        weights = represent(codes, self.class_counts_)
        found = calibrate(values, codes == self._column, weights, aim)
        self.calibration_, decision, quality = found
        warn_missed(self.scoring, decision.missed, f"class {self.pos_label_!r}")
        self.threshold_ = decision.threshold
        self.best_score_, self.score_std_, self.validation_, _ = quality
        return self

    def _score_rows(
        self,
        data: Partitions,
        held_out: list[Ranks],
        X: Any,
        codes: NDArray,
        rng: np.random.RandomState,
    ) -> Scores:
        """Scores of rows that were held out and, if these are few, of the folds of the sample."""
        parts, self.held_out_counts_ = [], np.zeros(2, dtype=np.int64)
        if len(codes) < data.counts.sum():
            keys = keys_to_leave_out(comparable_rows(X))
            score = partial(_score_new, self.estimator_, self._column, keys)
            parts.append(data.score(held_out, score))
            self.held_out_counts_ = np.bincount(parts[0].codes, minlength=2)
        if self.held_out_counts_.min() < MIN_HELD_OUT:
            parts.append(Scores(self._score_folds(X, codes, rng), codes))
        return Scores.joined(parts)

    def _score_folds(
        self, X: Any, codes: NDArray, rng: np.random.RandomState
    ) -> NDArray[np.float64]:
        """Scores of each fold of the sample by a classifier that is fitted on the others."""
        labels = Labels(self.classes_, codes, np.bincount(codes))
        check_class_sizes(labels, type(self).__name__)
        folds = stratified_folds(
            labels, self.cv, rng, copies=find_copies(comparable_rows(X)).numbers
        )
        values = np.empty(len(codes))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # they would repeat those of the fit on all folds
            for train, test in folds:
                fitted = clone(self.estimator).fit(take_rows(X, train), codes[train])
                values[test] = scores_of(fitted, take_rows(X, test), self._column)
        return values


def _score_new(
    estimator: Any, column: int, keys: set[bytes], X: Any, *part: Any
) -> tuple[NDArray, NDArray]:
    """Scores of the rows that are no copies of rows with these keys, and which rows these are."""
    rows = rows_without(keys, comparable_rows(X))
    return scores_of(estimator, take_rows(X, rows), column), rows
