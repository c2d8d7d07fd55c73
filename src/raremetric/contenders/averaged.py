"""Several settings of a classifier: the best are averaged and calibrated, with a threshold."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from math import ceil
from statistics import fmean
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from raremetric.performance import OnProgress, Progress
from raremetric.rare.policy import AVERAGING, FIRST_ROUND
from raremetric.rare.tuning_set import make_tuning_set
from raremetric.scales import validate_rows
from raremetric.selection import (
    Folds,
    Groups,
    Sample,
    TrainingData,
    Turns,
    check_aim,
    choose,
    decide,
    race,
    scored_rows,
)

Settings = Sequence[Mapping[str, Any]]
N_FINALISTS = 6  # settings that a race tries on all folds


class ClassifierFamily(BaseEstimator):
    """Classifiers of one kind with several settings, fitted on the same rows.

    One object for all settings, because they can share work: distances, histograms.
    """

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
    thorough : bool, default=False
        Whether to repeat the cross-validation as often as ``RareClassifier("thorough")``, or as
        ``RareClassifier("fast")``.
    scoring : str or array of shape (2, 2), default="f1"
        What to maximize: see `RareClassifier`.
    threshold : float or None, default=None
        Probability from which class 1 is predicted; None for the best one.
    racing : bool, default=False
        Whether only the `N_FINALISTS` best settings go on after the first repeat, or after the
        first folds if there is one repeat only, as in `RareClassifier`.
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
    best_score_ : float
        Out-of-fold F1, or other ``scoring``, of the average at the threshold.
    validation_scores_ : ndarray of shape (n_settings,)
        Out-of-fold F1, or other ``scoring``, of each setting; NaN if it did not see all folds.
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
        thorough=False,
        racing=False,
        scoring="f1",
        threshold=None,
        cv=None,
        max_samples=None,
        random_state=None,
    ):
        self.family = family
        self.settings = settings
        self.thorough = thorough
        self.racing = racing
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

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            0 or 1.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Weights of the rows, for the classifiers, the threshold and all measures.
        groups, on_progress
            See `RareClassifier.fit`.
        copies_together : bool, default=True
            Whether copies of a row are in the same fold, see the notes of `RareClassifier`.
        copies : ndarray of int of shape (n_samples,) or None, default=None
            Equal numbers for copies; None to find them in X.

        Returns
        -------
        self : AveragedClassifier
        """
        aim, name = check_aim(self.scoring), type(self).__name__
        X, y = validate_rows(self, X, y)
        given = sample_weight, groups, self.cv, name, copies_together, copies
        data = TrainingData.of(X, y, *given)
        positive = data.labels.codes == 1
        tuned = make_tuning_set(data, positive, self.max_samples, self.random_state, self.thorough)
        X, sample, repeats = tuned.features, tuned.sample, tuned.repeats
        y = sample.labels.codes
        settings = list(self.settings)
        on_step = Progress(on_progress, sum(map(len, repeats)) + 1)

        def fit_some(chosen: NDArray, rows: NDArray, **options: Any) -> ClassifierFamily:
            given = [settings[int(i)] for i in chosen]
            weights = sample.take(rows).weights
            return clone(self.family).fit(X[rows], y[rows], given, tuned.seed, weights, **options)

        stops_early = has_fit_parameter(self.family, "validation")
        rounds: list[list[int]] = [[] for _ in settings]  # of each setting, on each fold

        def score(running: NDArray, train: NDArray, validation: NDArray) -> NDArray:
            held_out = (X[validation], y[validation], sample.take(validation).weights)
            options = {"validation": held_out} if stops_early else {}
            family: Any = fit_some(running, train, **options)
            for i, n_rounds in zip(running, family.rounds_ if stops_early else (), strict=False):
                rounds[i].append(n_rounds)
            on_step()
            return family.scores(X[validation])

        sizes = self._sizes(repeats, sample)
        finalists, scores = race(score, sizes, repeats, sample, aim)
        scored, whole = scored_rows(repeats[0]), Groups.one(len(finalists))
        scores, own = scores[:, :, scored], sample.take(scored)
        choice = choose(scores, whole, own, aim, AVERAGING)
        self.validation_scores_ = np.full(len(settings), np.nan)
        self.validation_scores_[finalists] = choice.evaluation.utility
        if stops_early:
            settings = [
                {**given, "rounds": ceil(fmean(found))}
                for given, found in zip(settings, rounds, strict=True)
            ]
        self.classes_, self.n_repeats_ = data.labels.classes, len(repeats)
        kept, scores, average = finalists[choice.kept], scores[choice.kept], choice.average
        if tuned.last is None:
            self.families_ = [fit_some(kept, np.arange(len(X)))]
            averaged = average(scores)
        else:
            turns = Turns.of(tuned.last, [[[number] for number in range(len(kept))]])

            def fit_fold(
                numbers: list[int], train: NDArray, validation: NDArray
            ) -> tuple[ClassifierFamily, NDArray]:
                family = fit_some(kept[numbers], train)
                return family, family.scores(X[validation])

            self.families_, turn_scores = turns.fit(fit_fold)
            averaged = turns.reduce_noise(average, scores, turn_scores, own)
            _, average = turns.average(average)
        on_step()
        self.choice_, self.average_ = choice._replace(kept=kept), average
        self.decision_ = decide(averaged, own, aim, self.threshold)
        self.threshold_, self.best_score_ = self.decision_.threshold, self.decision_.score
        return self

    def _sizes(self, repeats: Sequence[Folds], sample: Sample) -> list[int]:
        """How many settings are tried on each fold."""
        n_settings, n_folds = len(self.settings), sum(map(len, repeats))
        rounds = repeats
        if len(repeats) == 1:
            rounds = FIRST_ROUND.rounds_of(repeats[0], sample.positive)
        n_first = len(rounds[0]) if self.racing else n_folds
        left = min(N_FINALISTS, n_settings)
        return [n_settings] * n_first + [left] * (n_folds - n_first)

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
        """Log-odds above the threshold.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        s : ndarray of shape (n_samples,)
        """
        return self._log_odds(X) - logit(self.threshold_)

    def predict_proba(self, X) -> NDArray:
        """Calibrated probabilities.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        p : ndarray of shape (n_samples, 2)
        """
        p = expit(self._log_odds(X))
        return np.column_stack([1 - p, p])

    def predict(self, X) -> NDArray:
        """Class 1 where its probability reaches the threshold.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        y : ndarray of shape (n_samples,)
        """
        return self.classes_[(self.decision_function(X) >= 0).astype(np.int64)]
