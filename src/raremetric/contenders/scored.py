"""Classifiers tuned as RareClassifier is: same folds, same ranking, averaged, one threshold."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from raremetric.contenders.base import (
    Candidate,
    Contender,
    Folds,
    Tuned,
    grid_candidates,
    refuse_unknown,
    resample,
)
from raremetric.features.landmarks import draw_evenly
from raremetric.rare.ensemble import select
from raremetric.rare.evaluation import make_folds
from raremetric.validation import check_labels
from raremetric.voting import check_aim

N_CANDIDATES = 20
N_QUICK_CANDIDATES = 10

Settings = Sequence[Mapping[str, Any]]


class ClassifierFamily(BaseEstimator):
    """Classifiers of one kind with several settings, fitted on the same rows.

    One object for all settings, because they can share work: distances, histograms.
    """

    @abstractmethod
    def fit(self, X: NDArray, y: NDArray, settings: Settings, seed: int) -> Self:
        """Fit one classifier for each setting; y holds 0 and 1."""

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
    resampling : {"none", "smote", "rus"}, default="none"
        Of the rows that are learned from, within each fold.
    scoring : str or array of shape (2, 2), default="f1"
        What to maximize: see `RareClassifier`.
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
        thorough=False,
        resampling="none",
        scoring="f1",
        max_samples=None,
        random_state=None,
    ):
        self.family = family
        self.settings = settings
        self.thorough = thorough
        self.resampling = resampling
        self.scoring = scoring
        self.max_samples = max_samples
        self.random_state = random_state

    def fit(self, X, y) -> AveragedClassifier:
        """Validate all settings, then fit the best on all rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            0 or 1.

        Returns
        -------
        self : AveragedClassifier
        """
        X, y = validate_data(self, X, y, dtype=np.float64)
        whole = check_labels(y, type(self).__name__)
        rng = check_random_state(self.random_state)
        seed = rng.randint(2**31 - 1)
        limit = len(X) if self.max_samples is None else self.max_samples
        rows = draw_evenly(len(X), whole.codes, limit, rng)
        X, y = X[rows], y[rows]
        labels = check_labels(y, type(self).__name__)
        class_weights = whole.counts / labels.counts  # all rows of a class per sampled row
        aim = check_aim(self.scoring).with_class_weights(class_weights)
        settings = list(self.settings)
        repeats = make_folds(labels, seed, self.thorough)
        scores = np.empty((len(settings), len(repeats), len(X)))
        for repeat, folds in enumerate(repeats):
            for train, validation in folds:
                fitted = self._fit_family(X[train], y[train], settings, seed)
                scores[:, repeat, validation] = fitted.scores(X[validation])
        selection = select(scores, ["all"] * len(settings), y == 1, aim, {"all": 1.0})
        selection = selection.with_odds(class_weights[1] / class_weights[0])
        chosen = [settings[number] for number in selection.kept]
        self.classes_ = labels.classes
        self.family_ = self._fit_family(X, y, chosen, seed)
        self.selection_ = selection
        self.threshold_, self.best_score_ = selection.threshold, selection.score
        self.validation_scores_ = selection.evaluation.utility
        self.n_repeats_ = len(repeats)
        return self

    def _fit_family(
        self, X: NDArray, y: NDArray, settings: Settings, seed: int
    ) -> ClassifierFamily:
        return clone(self.family).fit(*resample(X, y, self.resampling), settings, seed)

    def _log_odds(self, X) -> NDArray:
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=np.float64)
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


@dataclass(frozen=True, kw_only=True)
class Averaged(Contender):
    """Tuned by out-of-fold scores on the folds of RareClassifier; the best are averaged.

    With a quick budget, at most `N_QUICK_CANDIDATES` candidates are tried.
    """

    has_neighbors: ClassVar[bool] = False
    has_threshold: ClassVar[bool] = True

    def _shorten(self, tried: list[Candidate]) -> list[Candidate]:
        return tried[:N_QUICK_CANDIDATES]

    def fit(
        self,
        candidates: Sequence[Candidate],
        X: NDArray,
        y: NDArray,
        *,
        folds: Folds,
        seed: int,
        resampling: str = "none",
        scoring: str = "f1",
        max_rows: int | None = None,
    ) -> Tuned:
        """Average the best candidates; ``folds`` is ignored."""
        model = self._model(
            [candidate.params for candidate in candidates],
            resampling=resampling,
            scoring=scoring,
            max_samples=max_rows,
            random_state=seed,
        ).fit(X, y)
        names = [candidate.name for candidate in candidates]
        kept, average = model.selection_.kept, model.selection_.average
        weights = {names[i]: w for i, w in zip(kept, average.weights.tolist(), strict=True)}
        validated = dict(zip(names, model.validation_scores_.tolist(), strict=True))
        return Tuned(
            model,
            chosen_members(weights, model.threshold_, model.n_repeats_),
            {"average": model.best_score_, **validated},
            len(candidates),
        )

    @abstractmethod
    def _model(self, settings: Settings, **options: Any) -> AveragedClassifier:
        """The classifier that chooses among the settings."""


@dataclass(frozen=True, kw_only=True)
class Scored(Averaged):
    """A family of classifiers. ``settings`` may hold ``thorough``: see `AveragedClassifier`.

    Parameters
    ----------
    family : ClassifierFamily
    default_grid : dict of lists
        The candidates are drawn from it where no grid is given.
    """

    family: ClassifierFamily = field(compare=False)
    default_grid: Mapping[str, Sequence] = field(default_factory=dict, compare=False)

    def _check_settings(self) -> None:
        refuse_unknown(self.settings, ["thorough"], "settings", self.name, self.kind)

    def _default_candidates(self, split: int) -> list[Candidate]:
        return grid_candidates(self.default_grid, self.n_candidates or N_CANDIDATES, split)

    def _model(self, settings: Settings, **options: Any) -> AveragedClassifier:
        return AveragedClassifier(self.family, settings, **self.settings, **options)


def chosen_members(
    weights: Mapping[str, float], threshold: float, n_repeats: int
) -> dict[str, Any]:
    """What an average was made of, as results record it."""
    return {
        "members": {name: round(weight, 6) for name, weight in weights.items()},
        "threshold": round(threshold, 6),
        "repeats": n_repeats,
    }
