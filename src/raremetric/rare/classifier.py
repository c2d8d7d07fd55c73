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
from raremetric.rare.evaluation import out_of_fold_scores
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


class RareClassifier(PredictionMixin, ClassifierMixin, BaseEstimator):
    """Nearest-neighbor classifier for a rare class, with everything chosen by cross-validation.

    Many candidates are tried, in three groups: smooth nonlinear metrics, linear metrics, and
    metrics of the leaves of gradient-boosted trees; on very large tables also the log-odds of the
    trees. The best are averaged, their score is calibrated to a probability, and the threshold
    maximizes the expected F1, or another ``scoring``. Features need no scaling. The trees need
    XGBoost (``pip install "raremetric[trees]"``); without it, they are left out.

    Parameters
    ----------
    budget : {"fast", "thorough"} or float, default="fast"
        How often the cross-validation is repeated: "thorough" repeats it twice as often as "fast",
        so that the choice depends less on the folds. A number is a time limit in seconds, for at
        least one repeat and at most as many as "thorough" makes.
    scoring : str or array of shape (2, 2), default="f1"
        What to maximize, for the positive class: "f1"; "f2", "f0.5" or any other F-beta;
        "balanced_accuracy"; "average_precision", with the threshold of F1; "precision>=0.8", the
        highest recall with at least this expected precision; "recall>=0.9", the highest precision
        with at least this expected recall; or the costs ``[[tn, fp], [fn, tp]]``.
    pos_label : class label or None, default=None
        The positive class; None chooses the rarest. Must be None with more than two classes: one
        classifier is then fitted for each class against the rest.
    cv : int, splitter, iterable or None, default=None
        None makes 5 or 10 stratified folds, repeated as ``budget`` says; a number makes this many,
        once; copies of a row are in the same fold, see the notes. The test parts of a splitter of
        scikit-learn, such as ``TimeSeriesSplit``, or of a list of (train, test) row numbers must
        not overlap, or repeat the same rows. Rows in no test part are learned from only.
    max_samples : int or None, default=5_000
        Maximum number of training rows that can be neighbors; None for all. From a larger table,
        this many are sampled, the same number from each class, or all rows of a class with fewer.
        Probabilities and threshold are those for the whole table. The time grows with the square of
        this number. Unless ``groups`` or folds are given, trees are grown on up to 20 times as many
        rows, and candidates are judged on up to 10 times as many.
    max_features : int or None, default=500
        Maximum number of features that the metrics use; None for all. From more, those whose
        distributions differ most between the classes (Kolmogorov and Smirnov's statistic) are
        selected, in each fold again.
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
        The fitted model. Its ``members`` are what is averaged, largest weight first: each has a
        ``name``, a ``weight``, a fitted ``pipeline`` and a ``reading`` of its distances. Its
        ``calibration`` maps the average to a probability; its ``rows`` can be neighbors.
    metric_ : transformer
        The fitted pipeline of the metric whose members have the largest weight together: it maps
        rows to the space in which distances are measured. It is one by log-odds only if there is
        no other: rows with similar log-odds can be very different.
    cv_results_ : dict of arrays
        One entry per candidate that was tried on all folds: what it is, its out-of-fold utility,
        log-loss and average precision, the rank within its group and the weight in the average.
    best_score_ : float
        Out-of-fold value of ``scoring`` for the average at its threshold and the whole table: F1
        for "average_precision", recall for a minimum precision and the other way around, negative
        mean cost per row for costs. Slightly optimistic: the members were chosen on these folds.
    score_std_ : float
        Standard error of ``best_score_`` (jackknife), for the same candidates.
    validation_ : dict of str to float
        Out-of-fold "precision", "recall", "f1" and "average_precision" at ``threshold_``, for the
        whole table, and "alerts_per_1000", the number of rows in 1000 that are predicted positive.
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
    BalancedDiscriminant, KernelLandmarks, ImportanceWeights, BoostedLeaves : Parts of the metrics.

    Notes
    -----
    The score of a row is log d₋ − log d₊, where the distance d to a class is that of its m-th
    nearest example or the geometric mean over its m nearest; or it is d₋² − d₊², where d² is the
    mean square over the m nearest. A logistic regression turns out-of-fold scores into
    probabilities. Candidates are ranked by the sum of their ranks in utility, log-loss and average
    precision; for scoring="average_precision" only by the last, for a minimum precision or recall
    by the last two. Metrics that are hopeless after a first round are not tried further.

    **Groups.** The best five candidates of each group are averaged; with 1,000 rows or more, those
    of its two best metrics, so that predictions are fast. The weights of the groups are 3 (smooth),
    2 (linear) and 1.5 p / (p + 40) (trees, and their log-odds, with p positives; none with fewer
    than 20), unless the out-of-fold scores speak against it: they are the weights w that minimize
    the log-loss plus 3 Σ (log w − log w₀)², where w₀ are the weights above. A group that only adds
    noise is left out, if there are enough positives to be sure. The log-odds are a group if trees
    learn from at least five times as many rows as can be neighbors, and these are at least 1,000.

    **Copies.** Rows with equal features, up to rounding errors, are in the same fold, whatever
    their labels, but not in a table of few categories: rows are copies only if the columns with
    more than ten different values have more than half as many combinations of values as there are
    different rows, or if all columns have so many that less than 0.5 % of the different rows would
    equal another one by chance. Folds from a splitter or a list are used as they are.

    **Constraints** are about the precision and recall that calibrated out-of-fold probabilities let
    expect. If no threshold has the minimum precision, the one with the highest precision is used,
    with a warning. With more than two classes, they hold for each class against the rest.

    **Weights.** An example of weight 0 is left out before the folds are made. Otherwise the weight
    multiplies the example in all measures, in the calibration and in the choice of the threshold,
    and it is passed to the steps and learners whose ``fit`` accepts it. Neighbors count equally,
    and neither the rarest class nor the sampled rows depend on weights.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.metrics import f1_score
    >>> from raremetric import RareClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = RareClassifier(random_state=0).fit(X[:100], y[:100])
    >>> bool(f1_score(y[100:], model.predict(X[100:])) > 0.9)
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
            The group of each example, such as a customer, for ``cv``. If it is None or a number,
            examples of one group are in the same fold. Groups with copies of one row are one.
        on_progress : callable (n_done, n_steps) or None, default=None
            Called after each metric of each fold. A budget in seconds can end the work before all
            steps are done.

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

        A given ``threshold`` replaces the best one. Copies are in any fold if not together.
        """
        start, name = time.perf_counter(), type(self).__name__
        forget_attributes(self, *(each for each in vars(self) if each.endswith("_")))
        X, y = validate_rows(self, X, y, ensure_min_samples=4)
        data = TrainingData.of(X, y, sample_weight, groups, self.cv, name, copies_together)
        check_class_sizes(data.labels, 2, name)
        if self.max_features is not None:
            check_integer(self.max_features, "max_features", low=1)
        self.classes_, codes, counts = data.labels
        positive = check_pos_label(self.pos_label, self.classes_, counts)
        if len(self.classes_) == 2:
            self.pos_label_ = positive
            given = data, (self.classes_ == positive)[codes], start, on_progress
            missed = self._fit_one_class(*given, threshold=threshold)
            return [] if missed is None else [(positive, missed)]
        self.estimators_, found = [], {}
        for c, label in enumerate(self.classes_.tolist()):
            each, start = clone(self).set_params(pos_label=True), time.perf_counter()
            if isinstance(self.budget, Real):
                each.set_params(budget=self.budget / len(counts))
            each.classes_, each.pos_label_ = np.array([False, True]), True
            each.n_features_in_ = self.n_features_in_
            given = data, codes == c, start, on_progress
            found[label] = each._fit_one_class(*given, part=(c, len(counts)))
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
        """What is tried, how it is judged, and what is kept; return `Selection.missed`."""
        aim, thorough = check_aim(self.scoring), self.budget != "fast"
        tuned = make_tuning_set(data, positive, self.max_samples, self.random_state, thorough)
        labels, n_for_trees = tuned.sample.labels, len(tuned.rows) + len(tuned.others)
        metrics = self._metrics_to_try(labels, data.X.shape[1], n_for_trees)
        on_step = Progress(on_progress, len(metrics) * tuned.n_folds, part)
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
        self.cv_results_, self.n_repeats_ = results_table(metrics, selection), scores.shape[1]
        self.threshold_, self.best_score_ = selection.threshold, selection.score
        self.score_std_, self.validation_ = selection.score_std, selection.validation
        return selection.missed

    def _metrics_to_try(
        self, labels: Labels, n_features: int, n_for_trees: int
    ) -> list[MetricSpec]:
        return default_metrics(labels, n_features, n_for_trees, self.max_features)
