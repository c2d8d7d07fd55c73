"""Several settings of a classifier: the best are averaged and calibrated, with a threshold."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.validation import check_is_fitted

from raremetric.contenders.vote_folds import N_FINALISTS
from raremetric.copies import find_copies
from raremetric.performance import OnProgress, Progress
from raremetric.rare.evaluation import ranks_on
from raremetric.rare.tuning_set import TuningSet, make_tuning_set
from raremetric.scales import validate_rows
from raremetric.selection.cv import resolve_cv
from raremetric.selection.race import rounds_of
from raremetric.validation import check_groups, check_labels, weighted_rows

Settings = Sequence[Mapping[str, Any]]


class ClassifierFamily(BaseEstimator):
    """Classifiers of one kind with several settings, fitted on the same rows.

    One object for all settings, because they can share work: distances, histograms.
    """

    @abstractmethod
    def fit(
        self,
        X: NDArray,
        y: NDArray,
        settings: Settings,
        seed: int,
        weights: NDArray | None = None,
    ) -> Self:
        """Fit one classifier for each setting; y holds 0 and 1, weights are above zero."""

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
    family_ : ClassifierFamily
        The chosen settings, fitted on all rows.
    selection_ : Selection
        The chosen settings, the average of their scores, and its calibration.
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
        cv=None,
        max_samples=None,
        random_state=None,
    ):
        self.family = family
        self.settings = settings
        self.thorough = thorough
        self.racing = racing
        self.scoring = scoring
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
    ) -> AveragedClassifier:
        """Validate all settings, then fit the best on all rows.

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

        Returns
        -------
        self : AveragedClassifier
        """
        X, y = validate_rows(self, X, y)
        n_given = len(X)
        kept, weights = weighted_rows(sample_weight, n_given)
        groups = check_groups(groups, len(X))
        if len(kept) < n_given:
            X, y, groups = X[kept], y[kept], None if groups is None else groups[kept]
        copies = find_copies(X).numbers if copies_together else None
        tuned = make_tuning_set(
            X,
            check_labels(y, type(self).__name__),
            scoring=self.scoring,
            max_samples=self.max_samples,
            random_state=self.random_state,
            thorough=self.thorough,
            cv=resolve_cv(self.cv, X, y, kept, n_given, groups, copies),
            groups=groups,
            copies=copies,
            weights=weights,
            owner=type(self).__name__,
        )
        settings = list(self.settings)
        on_step = Progress(on_progress, tuned.n_folds + 1)
        finalists, scores = self._race(tuned, settings, on_step)
        selection = tuned.select(scores, ["all"] * len(finalists), {"all": 1.0})
        self.validation_scores_ = np.full(len(settings), np.nan)
        self.validation_scores_[finalists] = selection.evaluation.utility
        selection = selection._replace(kept=finalists[selection.kept])
        self.classes_ = tuned.labels.classes
        rows = np.arange(len(tuned.X))
        self.family_ = self._fit_family(tuned, rows, [settings[i] for i in selection.kept])
        on_step()
        self.selection_ = selection
        self.threshold_, self.best_score_ = selection.threshold, selection.score
        self.n_repeats_ = len(tuned.repeats)
        return self

    def _race(
        self, tuned: TuningSet, settings: Settings, on_step: Progress
    ) -> tuple[NDArray[np.int64], NDArray]:
        """The settings that saw all folds, and their out-of-fold scores."""
        first, *others = tuned.repeats
        rounds = [first, *others] if others else rounds_of(first, tuned.labels.codes == 1)
        running = np.arange(len(settings))
        scores = np.full((len(settings), len(tuned.repeats), len(tuned.X)), np.nan)
        for number, folds in enumerate(rounds):
            repeat = number if others else 0
            for train, validation in folds:
                fitted = self._fit_family(tuned, train, [settings[int(i)] for i in running])
                scores[running, repeat, validation[:, np.newaxis]] = fitted.scores(
                    tuned.X[validation]
                ).T
                on_step()
            if self.racing and number == 0 and len(rounds) > 1:
                ranks = ranks_on(folds, scores[:, 0], ["all"] * len(settings), tuned)
                running = np.flatnonzero(ranks <= N_FINALISTS)
        return running, scores[running]

    def _fit_family(self, tuned: TuningSet, rows: NDArray, settings: Settings) -> ClassifierFamily:
        y = tuned.labels.classes[tuned.labels.codes[rows]]
        weights = None if tuned.weights is None else tuned.weights[rows]
        return clone(self.family).fit(tuned.X[rows], y, settings, tuned.seed, weights)

    def _log_odds(self, X) -> NDArray:
        check_is_fitted(self)
        X = validate_rows(self, X, reset=False)
        return self.selection_.log_odds(self.family_.scores(X))

    @property
    def coef_(self) -> NDArray:
        """Change of the log-odds per unit of each feature, (1, n_features), if it is linear."""
        average, members = self.selection_.average, getattr(self.family_, "models_", ())
        if not all(hasattr(member[-1], "coef_") for member in members) or not len(members):
            raise AttributeError("coef_ exists only for linear classifiers.")
        slopes = np.stack([member[-1].coef_[0] / member[0].scale_ for member in members])
        weights = self.selection_.calibration.slope * average.weights / average.scales
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
