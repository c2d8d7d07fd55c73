"""RareClassifier: an average of several learned metrics, with a threshold chosen for F1."""

from __future__ import annotations

import time
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone

from raremetric.extras import install_hint, is_installed
from raremetric.performance import OnProgress, Progress, log_progress, one_blas_thread
from raremetric.rare.candidates import MetricSpec, default_metrics, groups_of
from raremetric.rare.ensemble import Ensemble, fit_members, results_table
from raremetric.rare.evaluation import out_of_fold_scores
from raremetric.rare.policy import AVERAGING
from raremetric.rare.prediction import PredictionMixin
from raremetric.rare.tuning_set import make_tuning_set
from raremetric.selection import TrainingData, assess, check_aim, choose, decide, scored_rows
from raremetric.selection.thresholds import warn_missed
from raremetric.validation import (
    check_class_sizes,
    check_integer,
    check_pos_label,
    forget_attributes,
    quiet_repeats,
    warn_user,
)


class RareClassifier(PredictionMixin, ClassifierMixin, BaseEstimator):
    """Nearest-neighbor classifier for a rare class, with everything chosen by cross-validation.

    Many candidates are tried, in five groups: smooth nonlinear metrics, linear metrics, metrics of
    the leaves of gradient-boosted trees, and, as plain scores without neighbors, logistic
    regressions and the log-odds of the trees. The best are averaged and calibrated to a
    probability, and the threshold maximizes the expected F1, or another ``scoring``. Columns can
    have any type and missing values. Trees need XGBoost (``pip install ".[trees]"``).

    Parameters
    ----------
    budget : {"fast", "thorough"} or float, default="fast"
        How often the cross-validation is repeated: "thorough" twice as often as "fast". A number is
        a time limit in seconds, for at least one repeat and at most those of "thorough".
    scoring : str or array of shape (2, 2), default="f1"
        What to maximize, for the positive class: "f1"; "f2", "f0.5" or any other F-beta;
        "balanced_accuracy"; "average_precision", with the threshold of F1; "precision>=0.8", the
        highest recall with this expected precision; "recall>=0.9", the highest precision with this
        expected recall; or the costs ``[[tn, fp], [fn, tp]]``.
    pos_label : class label or None, default=None
        The positive class; None chooses the rarest. Must be None with more than two classes: one
        classifier is then fitted for each class against the rest.
    cv : int, splitter, iterable or None, default=None
        None makes 5 or 10 stratified folds, repeated as ``budget`` says; a number makes this many,
        once. The test parts of a splitter of scikit-learn, such as ``TimeSeriesSplit``, or of a
        list of (train, test) row numbers must not overlap, or repeat the same rows; the last of
        several repeats is for the models that predict. Other rows are learned from only.
    max_samples : int or None, default=5_000
        Maximum number of training rows that can be neighbors; None for all. From a larger table,
        this many are sampled, the same number from each class, or all of a class with fewer;
        probabilities and threshold are for the whole table. The time grows with its square. Unless
        ``groups`` or folds are given, trees and logistic regressions learn from 20 times as many.
    max_features : int or None, default=500
        Maximum number of features that the metrics use; None for all. From more, those are
        selected, in each fold again, whose distributions differ most between the classes.
    encoder : "auto", transformer or None, default="auto"
        How a table of pandas, polars or Arrow, or an array with text or holes, becomes numbers:
        "auto" is `TableEncoder()`; of another transformer, a copy is fitted to the columns, without
        the labels. None takes arrays of numbers only.
    categorical_features : array-like of str, int or bool, or None, default=None
        Columns of numbers that are codes of categories, see `TableEncoder`.
    random_state : int, RandomState instance or None, default=None
        Determines the folds, forests, trees, landmarks and sampled rows.
    n_jobs : int or None, default=None
        Number of threads, over the folds. The result does not depend on it.
    verbose : int, default=0
        1 logs the progress to the logger "raremetric" (by default, standard error).

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    pos_label_ : class label
        The positive class. Only with two classes, like the attributes up to ``n_repeats_``.
    threshold_ : float
        The positive class is predicted where its probability is at least this.
    ensemble_ : Ensemble
        What is averaged: its ``members``, largest weight first, each with the ``name`` of a
        candidate, a ``weight``, a ``pipeline`` fitted in one of the folds and a ``reading`` of its
        distances, None for a plain score. ``weight_of_neighbors`` is that of all others,
        ``calibration`` gives probabilities, and ``rows`` can be neighbors.
    metric_ : transformer
        The fitted pipeline of the metric whose members have the largest weight together: it maps
        rows to the space in which distances are measured.
    cv_results_ : dict of arrays
        For each candidate that was tried on all folds: its out-of-fold utility, log-loss, average
        precision, rank within its group, and weight in the average.
    best_score_ : float
        What to expect of ``scoring`` at the threshold for the whole table: F1 for
        "average_precision", recall for a minimum precision and the reverse, negative mean cost per
        row. It is about rows that nothing was chosen on: for each fifth of the rows, everything was
        chosen again from the out-of-fold scores of the others.
    score_std_ : float
        Standard error of ``best_score_`` (jackknife, which leaves out whole groups and copies).
    validation_ : dict of str to float
        "precision", "recall", "f1" and "average_precision" of the same predictions, and
        "alerts_per_1000", the rows in 1000 that reach ``threshold_``, with "alerts_per_1000_std".
    out_of_fold_ : tuple of two ndarrays of shape (n_validated,)
        Log-odds of the validated examples in the first repeat; and 1 for positives, 0 otherwise.
    n_repeats_ : int
        How many times the cross-validation was made.
    feature_importances_ : ndarray of shape (n_features,)
        How much each column changes the log-odds, computed when asked for; they sum to one.
    estimators_ : list of RareClassifier
        With more than two classes: one classifier per class.
    encoder_ : transformer or None
        None if ``fit`` was given an array of numbers. Otherwise, the members, ``metric_`` and
        ``estimators_`` take rows that were transformed by it.
    n_features_in_, feature_names_in_ : int, ndarray of shape (n_features,)
        Number of features, or columns, and their names if ``X`` has names that are strings.

    See Also
    --------
    MetricKNNClassifier : A vote of neighbors under one metric.
    BalancedDiscriminant, KernelLandmarks, ImportanceWeights, BoostedLeaves : Parts of the metrics.

    Notes
    -----
    The score of a row is log d₋ − log d₊, where the distance d to a class is that of its m-th
    nearest example or the geometric mean over its m nearest; or it is d₋² − d₊², where d² is the
    mean square over the m nearest. A logistic regression turns out-of-fold scores into
    probabilities. Candidates are ranked by utility, log-loss and average precision, or only those
    of them that ``scoring`` is about. The user guide has all steps and constants.

    **Copies.** Rows with equal features, up to rounding errors, are in one fold, unless folds are
    given or there are few categories: they are copies only if the columns with more than ten values
    have more than half as many combinations as there are different rows, or if less than 0.5 % of
    these would equal another one by chance. Identifiers are not compared.

    **What predicts.** The kept candidates are fitted on the folds of one more repeat, where the
    metrics take turns. All models are standardized and averaged, and the calibration allows for the
    lower noise of the average. If given folds are not repeated, all rows are learned from instead.

    **Constraints** are about what calibrated out-of-fold probabilities let expect, for each class
    against the rest. If no threshold has the minimum precision, the highest one is used.

    **Weights.** An example of weight 0 is left out before the folds are made. Otherwise the weight
    multiplies the example in all measures, the calibration and the threshold, and is passed to the
    steps and learners that accept it. Neighbors count equally, and neither the rarest class nor the
    sampled rows depend on weights. In place of a ``class_weight``, give costs as ``scoring``.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from raremetric import RareClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = RareClassifier(random_state=0).fit(X[:100], y[:100])
    >>> bool(model.score(X[100:], y[100:]) > 0.9)
    True
    """

    def __init__(
        self,
        budget="fast",
        *,
        scoring="f1",
        pos_label=None,
        cv=None,
        max_samples=5_000,
        max_features=500,
        encoder="auto",
        categorical_features=None,
        random_state=None,
        n_jobs=None,
        verbose=0,
    ):
        self.budget = budget
        self.scoring = scoring
        self.pos_label = pos_label
        self.cv = cv
        self.max_samples = max_samples
        self.max_features = max_features
        self.encoder = encoder
        self.categorical_features = categorical_features
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X, y, sample_weight=None, *, groups=None, on_progress=None) -> RareClassifier:
        """Evaluate all candidates, fit the best, and choose the threshold.

        Parameters
        ----------
        X : table, array-like or sparse (up to 1 GB as an array) of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,) or None, default=None
            See the notes of the class.
        groups : array-like of shape (n_samples,) or None, default=None
            The group of each example, which are in one fold unless ``cv`` is a splitter or a list.
        on_progress : callable (n_done, n_steps) or None, default=None
            Called after each metric of each fold. A budget in seconds can end before all steps.

        Returns
        -------
        self : RareClassifier
        """
        if not is_installed("xgboost"):
            warn_user(
                "RareClassifier is fitted without gradient-boosted trees, which help on large and "
                f"categorical tables: xgboost is not installed. {install_hint('xgboost')}"
            )
        for label, expected in self._fit(X, y, sample_weight, groups, on_progress):
            warn_missed(self.scoring, expected, f"class {label!r}")
        return self

    @one_blas_thread
    def _fit(
        self,
        X,
        y,
        sample_weight,
        groups,
        on_progress: OnProgress | None,
        copies_together: bool = True,
        copies: NDArray[np.int64] | None = None,  # see `TrainingData`
        threshold: float | None = None,  # in place of the best one
    ) -> list[tuple[Any, float]]:
        """Fit; return the classes whose threshold has too low a precision, with this precision."""
        start, name = time.perf_counter(), type(self).__name__
        on_progress = on_progress or log_progress(name, self.verbose)
        forget_attributes(self, *(each for each in vars(self) if each.endswith("_")))
        X, y, copies = self._check_training_rows(X, y, copies)
        given = sample_weight, groups, self.cv, name, copies_together, copies
        data = TrainingData.of(X, y, *given)
        check_class_sizes(data.labels, name)
        if self.max_features is not None:
            check_integer(self.max_features, "max_features", low=1)
        self.classes_, codes, counts = data.labels
        positive = check_pos_label(self.pos_label, self.classes_, counts)
        if len(self.classes_) == 2:
            self.pos_label_, is_positive = positive, (self.classes_ == positive)[codes]
            missed = self._fit_one_class(data, is_positive, start, on_progress, threshold)
            return [] if missed is None else [(positive, missed)]
        self.estimators_, found = [], {}
        for c, label in enumerate(self.classes_.tolist()):
            each, start = clone(self).set_params(pos_label=True), time.perf_counter()
            if isinstance(self.budget, Real):
                each.set_params(budget=self.budget / len(counts))
            each.classes_, each.pos_label_ = np.array([False, True]), True
            each.n_features_in_, each.encoder_ = X.shape[1], None
            part = (c, len(counts))
            found[label] = each._fit_one_class(data, codes == c, start, on_progress, part=part)
            self.estimators_.append(each)
        results = [each.cv_results_ for each in self.estimators_]
        of_class = np.repeat(self.classes_, [len(each["branch"]) for each in results])
        joined = {key: np.concatenate([each[key] for each in results]) for key in results[0]}
        self.cv_results_ = {"class": of_class, **joined}
        return [(label, missed) for label, missed in found.items() if missed is not None]

    def _fit_one_class(
        self,
        data: TrainingData,
        positive: NDArray[np.bool_],
        start: float,
        on_progress: OnProgress | None,
        threshold: float | None = None,
        part: tuple[int, int] = (0, 1),  # number of the class, of all that are fitted
    ) -> float | None:
        """What is tried, how it is judged, and what is kept; return `Quality.missed`."""
        aim, thorough = check_aim(self.scoring), self.budget != "fast"
        tuned = make_tuning_set(data, positive, self.max_samples, self.random_state, thorough)
        metrics = self._metrics_to_try(data.X.shape[1])
        on_step = Progress(on_progress, len(metrics) * tuned.n_folds, part)
        judged = tuned.with_more_validated()
        with quiet_repeats():
            options = aim, self.budget, start, self.n_jobs, on_step
            metrics, scores = out_of_fold_scores(metrics, judged, *options)
            scored = scored_rows(judged.repeats[0])
            sample = judged.sample.take(scored)
            groups = groups_of(metrics, int(judged.sample.counts.min()))
            scores = scores[:, :, scored]
            how = groups, sample, aim, AVERAGING
            choice = choose(scores, *how)
            kept_scores = scores[choice.kept]
            fitted, averaged = fit_members(metrics, choice, kept_scores, tuned, sample, self.n_jobs)
            found = decide(averaged, sample, aim, threshold)
            quality = assess(found, scores, *how, judged.together(scored), threshold)
        self.ensemble_ = Ensemble(*fitted, found.calibration, data.row_numbers[tuned.rows])
        self.out_of_fold_ = found.calibration.log_odds(averaged[0]), sample.positive.astype(int)
        self.cv_results_, self.n_repeats_ = results_table(metrics, choice), scores.shape[1]
        self.threshold_ = found.threshold
        self.best_score_, self.score_std_, self.validation_, missed = quality
        return missed

    def _metrics_to_try(self, n_features: int) -> list[MetricSpec]:
        return default_metrics(n_features, self.max_features)
