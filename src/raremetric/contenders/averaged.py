"""Several settings of a classifier: the best are averaged and calibrated, with a threshold."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from math import ceil
from statistics import fmean
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from raremetric.performance import OnProgress, Progress
from raremetric.rare.policy import AVERAGING
from raremetric.rare.tuning_set import make_tuning_set
from raremetric.scales import validate_rows
from raremetric.selection import (
    Groups,
    TrainingData,
    Turns,
    assess,
    check_aim,
    choose,
    decide,
    scored_rows,
)

Settings = Sequence[Mapping[str, Any]]


class ClassifierFamily(BaseEstimator):
    """Classifiers of one kind with several settings, fitted on the same rows.

    One object for all settings, because they can share work: distances, histograms.
    """

    package: ClassVar[str] = ""  # the optional package that it needs, if any

    @abstractmethod
    def fit(self, X, y, settings, seed, weights=None) -> Self:
        """Fit one classifier for each setting; y holds 0 and 1, weights are above zero.

        If it has a parameter ``validation``, it gets the validation rows of a fold (their features,
        labels and weights) and sets ``rounds_``, the number of rounds after which each setting
        stopped. The fit on all rows gets the mean as ``rounds``, as a part of the setting.
        """

    @abstractmethod
    def scores(self, X: NDArray) -> NDArray:
        """Scores, larger for more likely positives: (n_settings, n_rows)."""


class AveragedClassifier(ClassifierMixin, BaseEstimator):
    """The five best settings of a classifier, averaged and calibrated, with a tuned threshold.

    Parameters
    ----------
    family : ClassifierFamily
    settings : sequence of dict
        The settings to choose from.
    scoring : str or array of shape (2, 2), default="f1"
        What to maximize: see `RareClassifier`.
    threshold : float or None, default=None
        Probability from which class 1 is predicted; None for the best one.
    cv : int, splitter, iterable or None, default=None
        Folds: see `RareClassifier`.
    max_samples : int or None, default=None
        Maximum number of training rows to use: see `RareClassifier`. With equal seeds, the same
        rows are sampled.
    random_state : int, RandomState instance or None, default=None
        For folds and classifiers. Equal seeds give the folds of `RareClassifier`.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        0 and 1.
    choice_ : Choice
        The chosen settings, and the average of their out-of-fold scores.
    families_ : list of ClassifierFamily
        The chosen settings, fitted: one after the other on the folds of one more repeat, as
        `RareClassifier` fits its metrics; all on all rows if there is no such repeat.
    average_ : Average
        The average of the scores of all that was fitted.
    decision_ : Decision
        Calibration and threshold of the average.
    threshold_ : float
        Probability from which class 1 is predicted.
    quality_ : Quality
        What to expect of the average at the threshold.
    best_score_ : float
        The F1, or other ``scoring``, among it.
    validation_scores_ : ndarray of shape (n_settings,)
        Out-of-fold F1, or other ``scoring``, of each setting.
    n_repeats_ : int
        How many times the cross-validation was repeated.
    n_features_in_ : int
        Number of features seen in ``fit``.
    """

    def __init__(
        self,
        family,
        settings,
        *,
        scoring="f1",
        threshold=None,
        cv=None,
        max_samples=None,
        random_state=None,
    ):
        self.family = family
        self.settings = settings
        self.scoring = scoring
        self.threshold = threshold
        self.cv = cv
        self.max_samples = max_samples
        self.random_state = random_state

    def fit(
        self,
        X,
        y,
        sample_weight=None,
        *,
        groups=None,
        on_progress: OnProgress | None = None,
        copies_together: bool = True,
        copies: NDArray | None = None,
    ) -> AveragedClassifier:
        """Validate all settings, then fit the best.

        ``y`` holds 0 and 1; weights are for the classifiers, the threshold and all measures. For
        ``groups`` and ``on_progress``, see `RareClassifier.fit`; for copies, `TrainingData.of`.
        """
        aim, name = check_aim(self.scoring), type(self).__name__
        X, y = validate_rows(self, X, y)
        given = sample_weight, groups, self.cv, name, copies_together, copies
        data = TrainingData.of(X, y, *given)
        positive = data.labels.codes == 1
        tuned = make_tuning_set(data, positive, self.max_samples, self.random_state)
        X, sample, repeats = tuned.features, tuned.sample, tuned.repeats
        y = sample.labels.codes
        settings = list(self.settings)
        on_step = Progress(on_progress, sum(map(len, repeats)) + 1)

        def fit_some(chosen: NDArray, rows: NDArray, **options: Any) -> ClassifierFamily:
            given = [settings[int(i)] for i in chosen]
            weights = sample.take(rows).weights
            return clone(self.family).fit(X[rows], y[rows], given, tuned.seed, weights, **options)

        stops_early = has_fit_parameter(self.family, "validation")
        rounds: list[list[int]] = []  # of each fold, for each setting
        everything, scored = np.arange(len(settings)), scored_rows(repeats[0])
        scores = np.full((len(settings), len(repeats), len(X)), np.nan)
        for repeat, folds in enumerate(repeats):
            for train, validation in folds:
                held_out = (X[validation], y[validation], sample.take(validation).weights)
                options = {"validation": held_out} if stops_early else {}
                family: Any = fit_some(everything, train, **options)
                scores[:, repeat, validation] = family.scores(X[validation])
                rounds += [family.rounds_] if stops_early else []
                on_step()
        scores, own = scores[:, :, scored], sample.take(scored)
        how = Groups.one(len(settings)), own, aim, AVERAGING
        choice = choose(scores, *how)
        self.validation_scores_ = choice.evaluation.utility
        if stops_early:
            settings = [
                {**given, "rounds": ceil(fmean(found))}
                for given, *found in zip(settings, *rounds, strict=True)
            ]
        self.classes_, self.n_repeats_ = data.labels.classes, len(repeats)
        kept, average = choice.kept, choice.average
        if tuned.last is None:
            self.families_ = [fit_some(kept, np.arange(len(X)))]
            averaged = average(scores[kept])
        else:
            turns = Turns.of(tuned.last, [[[number] for number in range(len(kept))]])

            def fit_fold(
                numbers: list[int], train: NDArray, validation: NDArray
            ) -> tuple[ClassifierFamily, NDArray]:
                family = fit_some(kept[numbers], train)
                return family, family.scores(X[validation])

            self.families_, turn_scores = turns.fit(fit_fold)
            _, average, averaged = turns.combine(average, scores[kept], turn_scores, own)
        on_step()
        self.choice_, self.average_ = choice, average
        self.decision_ = decide(averaged, own, aim, self.threshold)
        together = tuned.together(scored)
        self.quality_ = assess(self.decision_, scores, *how, together, self.threshold)
        self.threshold_, self.best_score_ = self.decision_.threshold, self.quality_.score
        return self

    def _log_odds(self, X) -> NDArray:
        check_is_fitted(self)
        X = validate_rows(self, X, reset=False)
        scores = np.concatenate([family.scores(X) for family in self.families_])
        return self.decision_.calibration.log_odds(self.average_(scores))

    @property
    def coef_(self) -> NDArray:
        """Change of the log-odds per unit of each feature, (1, n_features), if it is linear."""
        members = [each for one in self.families_ for each in getattr(one, "models_", ())]
        if not all(hasattr(member[-1], "coef_") for member in members) or not len(members):
            raise AttributeError("coef_ exists only for linear classifiers.")
        slopes = np.stack([member[-1].coef_[0] / member[0].scale_ for member in members])
        slope, average = self.decision_.calibration.slope, self.average_
        weights = slope * average.weights / average.scales
        return (weights @ slopes)[np.newaxis]

    def decision_function(self, X) -> NDArray:
        """Log-odds above the threshold, (n_samples,)."""
        return self._log_odds(X) - logit(self.threshold_)

    def predict_proba(self, X) -> NDArray:
        """Calibrated probabilities, (n_samples, 2)."""
        p = expit(self._log_odds(X))
        return np.column_stack([1 - p, p])

    def predict(self, X) -> NDArray:
        """Class 1 where its probability reaches the threshold, (n_samples,)."""
        return self.classes_[(self.decision_function(X) >= 0).astype(np.int64)]
