"""RareClassifier: an average of several learned metrics, with a threshold chosen for F1."""

from __future__ import annotations

import time
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone

from raremetric.extras import install_hint, is_installed
from raremetric.performance import OnProgress, Progress, one_blas_thread
from raremetric.rare.candidates import MetricSpec, default_metrics, groups_of
from raremetric.rare.ensemble import fit_ensemble, results_table
from raremetric.rare.evaluation import check_budget, out_of_fold_scores
from raremetric.rare.policy import AVERAGING
from raremetric.rare.prediction import PredictionMixin
from raremetric.rare.tuning_set import make_tuning_set
from raremetric.scales import validate_rows
from raremetric.selection import TrainingData, check_aim, scored_rows, select
from raremetric.validation import (
    Labels,
    check_class_sizes,
    check_integer,
    check_pos_label,
    forget_attributes,
    quiet_repeats,
    warn_user,
)

OF_ONE_FIT = (
    *("pos_label_", "ensemble_", "threshold_", "best_score_", "score_std_", "validation_"),
    *("out_of_fold_", "n_repeats_", "estimators_"),
)


class RareClassifier(PredictionMixin, ClassifierMixin, BaseEstimator):
    """Nearest-neighbor classifier for a rare class, with everything chosen by cross-validation.

    Several preprocessing steps, metric learners and ways to read distances are tried, in three
    groups: smooth nonlinear metrics, linear metrics, and metrics of the leaves of gradient-boosted
    trees. Very large tables have a fourth group, the log-odds of the trees. The best candidates are
    averaged, their score is calibrated to a probability, and the threshold maximizes the expected
    F1, or another ``scoring``. Features need no scaling. The trees need XGBoost (``pip install
    "raremetric[trees]"``); without it, they are left out.

    .. versionadded:: 0.1

    Parameters
    ----------
    budget : {"fast", "thorough"} or float, default="fast"
        How often the cross-validation is repeated. "thorough" repeats it twice as often as
        "fast" and takes at least twice the time; the choice then depends less on the folds. A
        number is a time limit in seconds, for at least one repeat and at most as many as
        "thorough" makes; the result then depends on the speed of the machine.
    scoring : str or array of shape (2, 2), default="f1"
        What to maximize, for the positive class: "f1"; "f2", "f0.5" or any other F-beta;
        "balanced_accuracy"; "average_precision", which does not depend on a threshold: that of F1
        is used; "precision>=0.8", the highest recall with at least this expected precision;
        "recall>=0.9", the highest precision with at least this expected recall; or the costs
        ``[[true negative, false positive], [false negative, true positive]]``.
    pos_label : class label or None, default=None
        The positive class, which "f1" and the other measures are about; None chooses the rarest.
        Must be None with more than two classes: one classifier is then fitted for each class
        against the rest.
    cv : int, splitter, iterable or None, default=None
        Folds on which candidates, calibration and threshold are chosen. None makes 5 or 10
        stratified folds, repeated as ``budget`` says; a number makes this many, once; copies of a
        row are in the same fold, see the notes. The test parts of a splitter of scikit-learn, such
        as ``TimeSeriesSplit``, or of a list of (train, test) row numbers must not overlap, or
        repeat the same rows. Rows that are in no test part are learned from only.
    max_samples : int or None, default=5_000
        Maximum number of training rows that can be neighbors. From a larger table, this many rows
        are sampled, the same number from each class; a class with fewer rows keeps all of them.
        Probabilities and threshold are corrected to the class frequencies of the whole table. None
        uses all rows; the time grows with the square of their number. Unless ``groups`` or the
        folds themselves are given, trees are grown on up to 20 times as many rows, and candidates
        are judged on up to 10 times as many.
    max_features : int or None, default=500
        Maximum number of features that the metrics use. From more, those whose distributions differ
        most between the classes (Kolmogorov and Smirnov's statistic) are selected, in each fold
        again. None uses all features, which can take minutes with thousands of them.
    random_state : int, RandomState instance or None, default=None
        Determines the folds, forests, trees, landmarks and sampled rows.
    n_jobs : int or None, default=None
        Number of threads, which work on different folds. The result does not depend on it.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    pos_label_ : class label
        The positive class. Only with two classes, like the attributes up to ``n_repeats_``.
    threshold_ : float
        The positive class is predicted where its probability is at least this.
    ensemble_ : Ensemble
        The fitted model. ``ensemble_.members`` lists what is averaged, largest weight first: each
        member has a ``name``, a ``weight``, a fitted ``pipeline`` and a ``reading`` of its
        distances. ``ensemble_.calibration`` maps the average to a probability, and
        ``ensemble_.rows`` are the training rows that can be neighbors.
    metric_ : transformer
        The fitted pipeline of the metric with the largest weight, that of all its members together:
        it maps rows to the space in which distances are measured. It is a metric by log-odds only
        if there is no other: rows with similar log-odds can be very different.
    cv_results_ : dict of arrays
        One entry per candidate that was tried on all folds: group, branch, learner, reading; the
        out-of-fold utility, log-loss and average precision; the rank within its group and the
        weight in the average.
    best_score_ : float
        Out-of-fold utility of the average at its threshold, for the whole table. Slightly
        optimistic, because the members were chosen on the same folds. The utility is the value of
        ``scoring``; the F1 for "average_precision"; the recall for a minimum precision, and the
        other way around; the negative mean cost per row for costs.
    score_std_ : float
        Standard error of ``best_score_`` (jackknife), for the same candidates.
    validation_ : dict of str to float
        Out-of-fold measures of the positive class at ``threshold_``, for the whole table:
        "precision", "recall", "f1", "average_precision", and "alerts_per_1000", the number of
        rows in 1000 that are predicted positive.
    out_of_fold_ : tuple of two ndarrays of shape (n_validated,)
        Log-odds of the examples that were validated, by metrics that have not learned from them, in
        the first repeat; and 1 for the positive class, 0 otherwise.
    n_repeats_ : int
        How many times the cross-validation was repeated.
    estimators_ : list of RareClassifier
        With more than two classes: one classifier per class.
    n_features_in_ : int
        Number of features seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, when ``X`` has string column names.

    See Also
    --------
    MetricKNNClassifier : A vote of neighbors under one metric.
    BalancedDiscriminant : The metric learner of most candidates.
    KernelLandmarks, ImportanceWeights, BoostedLeaves : The maps before some of the metrics.

    Notes
    -----
    The score of a row is log d₋ − log d₊, where the distance d to a class is that of its m-th
    nearest example or the geometric mean over its m nearest; or it is d₋² − d₊², where d² is the
    mean square over the m nearest. A logistic regression with a small ridge turns out-of-fold
    scores into probabilities. Candidates are ranked by the sum of their ranks in utility, log-loss
    and average precision, because F1 alone is too coarse a criterion with few positives. For
    scoring="average_precision" only the last is used; for a minimum precision or recall the last
    two. Metrics that are hopeless after a first round are not tried further.

    **Groups.** The best five candidates of each group are averaged; with 1,000 rows or more, those
    of its two best metrics, so that predictions are fast. The weights of the groups are 3 (smooth),
    2 (linear) and 1.5 p / (p + 40) (trees, and their log-odds, with p positives; none with fewer
    than 20), unless the out-of-fold scores speak against it: they are the weights w that minimize
    the log-loss plus 3 Σ (log w − log w₀)², where w₀ are the weights above. A group that only adds
    noise is left out, if there are enough positives to be sure. The log-odds are a group if trees
    learn from at least five times as many rows as can be neighbors, and these are at least 1,000.

    **Copies.** Rows with equal features, up to rounding errors, are in the same fold, whatever
    their labels; otherwise, a model would be tested on rows that it has learned. In a table of few
    categories, equal rows are different examples: rows are copies only if the columns with more
    than ten different values have more than half as many combinations of values as there are
    different rows, or if all columns have so many that less than 0.5 % of the different rows would
    equal another one by chance. Folds from a splitter or a list are used as they are.

    **Scores of other tools.** ``score`` is the accuracy, and scikit-learn's scorer "f1" is about
    the class 1. To tune this classifier by the F1 of the rare class, give ``GridSearchCV`` the
    scorer ``make_scorer(f1_score, pos_label=...)``.

    **Constraints.** The expected precision and recall at a threshold are those of the calibrated
    out-of-fold probabilities. If no threshold has the minimum precision, the one with the highest
    precision is used, with a warning. With more than two classes, the constraint holds for the
    threshold of each class against the rest; ``predict`` then chooses by ``decision_function``.

    **Weights.** An example of weight 0 is left out before the folds are made. Otherwise the weight
    multiplies the example in all measures, in the calibration and in the choice of the threshold,
    and it is passed to the steps and learners whose ``fit`` accepts it. Neighbors count equally.
    Only ratios of weights matter. Which class is the rarest, and which rows are sampled, does not
    depend on them.

    TrainingData
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

    _uses_trees = True

    def __init__(
        self,
        budget="fast",
        *,
        scoring="f1",
        pos_label=None,
        cv=None,
        max_samples=5_000,
        max_features=500,
        random_state=None,
        n_jobs=None,
    ):
        self.budget = budget
        self.scoring = scoring
        self.pos_label = pos_label
        self.cv = cv
        self.max_samples = max_samples
        self.max_features = max_features
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X, y, sample_weight=None, *, groups=None, on_progress=None) -> RareClassifier:
        """Evaluate all candidates, fit the best on all examples, and choose the threshold.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Weights of the examples, see the notes of the class.
        groups : array-like of shape (n_samples,) or None, default=None
            The group of each example, such as a customer, for ``cv``. If ``cv`` is None or a
            number, examples of one group are in the same fold. Groups with copies of the same row
            are one.
        on_progress : callable (n_done, n_steps) or None, default=None
            Called after each metric of each fold, with the number of finished steps and of all
            steps. A budget in seconds can end the work before all steps are done.

        Returns
        -------
        self : RareClassifier
        """
        if self._uses_trees and not is_installed("xgboost"):
            warn_user(
                "RareClassifier is fitted without gradient-boosted trees, which help on large and "
                f"categorical tables: xgboost is not installed. {install_hint('xgboost')}"
            )
        for label, expected in self._fit(X, y, sample_weight, groups, on_progress):
            warn_user(
                f"No threshold for class {label!r} meets scoring={self.scoring!r}. The threshold "
                f"with the highest expected precision is used; this precision is {expected:.3g}."
            )
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
        threshold: float | None = None,
    ) -> list[tuple[Any, float]]:
        """Fit; return the classes whose threshold has too low a precision, with this precision.

        A given ``threshold`` is used instead of the best one. If not ``copies_together``, copies
        may be in different folds.
        """
        start, name = time.perf_counter(), type(self).__name__
        forget_attributes(self, *OF_ONE_FIT)
        X, y = validate_rows(self, X, y, ensure_min_samples=4)
        data = TrainingData.of(X, y, sample_weight, groups, self.cv, name, copies_together)
        check_class_sizes(data.labels, 2, name)
        check_budget(self.budget)
        if self.max_features is not None:
            check_integer(self.max_features, "max_features", low=1)
        self.classes_, codes, counts = data.labels
        positive = check_pos_label(self.pos_label, self.classes_, counts)
        if len(self.classes_) == 2:
            self.pos_label_ = positive
            of_class = (self.classes_ == positive)[codes]
            missed = self._fit_one_class(data, of_class, start, on_progress, threshold)
            return [] if missed is None else [(positive, missed)]
        self.estimators_, found = [], {}
        for c, label in enumerate(self.classes_.tolist()):
            each, start = clone(self).set_params(pos_label=True), time.perf_counter()
            if isinstance(self.budget, Real):
                each.set_params(budget=self.budget / len(counts))
            each.classes_, each.pos_label_ = np.array([False, True]), True
            each.n_features_in_ = self.n_features_in_
            report = _of_class(on_progress, c, len(counts))
            found[label] = each._fit_one_class(data, codes == c, start, report)
            self.estimators_.append(each)
        results = [each.cv_results_ for each in self.estimators_]
        self.cv_results_ = {
            "class": np.repeat(self.classes_, [len(each["branch"]) for each in results]),
            **{key: np.concatenate([each[key] for each in results]) for key in results[0]},
        }
        return [(label, missed) for label, missed in found.items() if missed is not None]

    def _fit_one_class(
        self,
        data: TrainingData,
        positive: NDArray[np.bool_],
        start: float,
        on_progress: OnProgress | None,
        threshold: float | None = None,
    ) -> float | None:
        """What is tried, how it is judged, and what is kept; return `Selection.missed`."""
        aim, thorough = check_aim(self.scoring), self.budget != "fast"
        tuned = make_tuning_set(data, positive, self.max_samples, self.random_state, thorough)
        labels, n_for_trees = tuned.sample.labels, len(tuned.rows) + len(tuned.others)
        metrics = self._metrics_to_try(labels, data.X.shape[1], n_for_trees)
        on_step = Progress(on_progress, len(metrics) * tuned.n_folds)
        judged = tuned.with_more_validated()
        with quiet_repeats():
            metrics, scores = out_of_fold_scores(
                metrics, judged, aim, self.budget, start, self.n_jobs, on_step
            )
            scored = scored_rows(judged.repeats[0])
            sample = judged.sample.take(scored)
            groups = groups_of(metrics, tuned.n_examples, int(judged.sample.counts.min()))
            selection = select(scores[:, :, scored], groups, sample, aim, AVERAGING, threshold)
            self.ensemble_ = fit_ensemble(metrics, selection, tuned, data.row_numbers)
        found = selection.log_odds(scores[selection.kept, 0][:, scored])
        self.out_of_fold_ = found, sample.positive.astype(int)
        self.cv_results_ = results_table(metrics, selection)
        self.n_repeats_ = scores.shape[1]
        self.threshold_, self.best_score_ = selection.threshold, selection.score
        self.score_std_, self.validation_ = selection.score_std, selection.validation
        return selection.missed

    def _metrics_to_try(
        self, labels: Labels, n_features: int, n_for_trees: int
    ) -> list[MetricSpec]:
        return default_metrics(labels, n_features, n_for_trees, self.max_features)


def _of_class(on_progress: OnProgress | None, c: int, n_classes: int) -> OnProgress | None:
    """Report the progress of the c-th of several classifiers as that of all of them."""
    if on_progress is None:
        return None
    return lambda n_done, n_steps: on_progress(c * n_steps + n_done, n_classes * n_steps)
