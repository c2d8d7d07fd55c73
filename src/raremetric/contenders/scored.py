"""Classifiers tuned as RareClassifier is: same folds, same ranking, averaged, one threshold."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import isnan
from typing import Any, ClassVar

from numpy.typing import NDArray
from sklearn.utils.validation import has_fit_parameter

from raremetric.contenders.averaged import AveragedClassifier, ClassifierFamily, Settings
from raremetric.contenders.base import (
    Candidate,
    Contender,
    Quality,
    Tuned,
    TuningOptions,
    check_arguments,
    describe_params,
    grid_candidates,
    refuse_unknown,
)
from raremetric.contenders.families import Classifiers
from raremetric.selection import Decision

N_CANDIDATES = 20
N_QUICK_CANDIDATES = 10


@dataclass(frozen=True, kw_only=True)
class Averaged(Contender):
    """Tuned by out-of-fold scores on the folds of RareClassifier; the best are averaged.

    With a quick budget, at most `N_QUICK_CANDIDATES` candidates are tried, and only the best of
    them on all folds.
    """

    has_neighbors: ClassVar[bool] = False
    has_threshold: ClassVar[bool] = True

    def _shorten(self, tried: list[Candidate]) -> list[Candidate]:
        return tried[:N_QUICK_CANDIDATES]

    def _fit(
        self, candidates: Sequence[Candidate], X: NDArray, y: NDArray, how: TuningOptions
    ) -> Tuned:
        model = self._model(
            [candidate.params for candidate in candidates],
            scoring=how.scoring,
            threshold=how.threshold,
            cv=how.folds or None,
            max_samples=how.max_samples,
            random_state=how.seed,
            racing=self.budget == "quick",
        ).fit(
            X,
            y,
            how.weights,
            groups=how.groups,
            on_progress=how.on_progress,
            copies_together=how.copies is not None,
            copies=how.copies,
        )
        model.cv = None  # the folds, as large as the data, are not needed any more
        names = [candidate.name for candidate in candidates]
        kept, average = model.choice_.kept, model.choice_.average
        weights = {names[i]: w for i, w in zip(kept, average.weights.tolist(), strict=True)}
        scores = zip(names, model.validation_scores_.tolist(), strict=True)
        validated = {name: score for name, score in scores if not isnan(score)}
        return Tuned(
            model,
            chosen_members(weights, model.threshold_, model.n_repeats_),
            {"average": model.best_score_, **validated},
            len(candidates),
            quality_of(model.decision_),
            describe_average(weights, describe_params(candidates[kept[0]].params)),
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
    quick_family : ClassifierFamily or None
        Used with a quick budget; None for ``family``.
    """

    family: ClassifierFamily = field(compare=False)
    default_grid: Mapping[str, Sequence] = field(default_factory=dict, compare=False)
    quick_family: ClassifierFamily | None = field(default=None, compare=False)

    def _check_settings(self) -> None:
        refuse_unknown(self.settings, ["thorough"], "settings", self.name, self.kind)

    def _default_candidates(self, split: int) -> list[Candidate]:
        return grid_candidates(self.default_grid, self.n_candidates or N_CANDIDATES, split)

    def _model(self, settings: Settings, **options: Any) -> AveragedClassifier:
        quick = self.quick_family if self.budget == "quick" else None
        return AveragedClassifier(quick or self.family, settings, **self.settings, **options)


@dataclass(frozen=True, kw_only=True)
class ScoredEstimator(Averaged):
    """Any classifier with scikit-learn's interface, tuned like the alternatives.

    Parameters
    ----------
    estimator : type
        Class of the classifier; ``settings`` are its arguments.
    """

    estimator: type = field(compare=False)

    def _check_settings(self) -> None:
        check_arguments(self.estimator, self.settings, self.grid, self.name)

    def _default_candidates(self, split: int) -> list[Candidate]:
        return own_candidates(self.estimator, split)[: self.n_candidates]

    @property
    def ignores_weights(self) -> str:
        """Whether the classifier is fitted without weights."""
        if has_fit_parameter(self.estimator(**self.settings), "sample_weight"):
            return ""
        return (
            f"{self.title} cannot take weights: it is fitted without them; only its threshold and "
            "its measures are weighted."
        )

    def _model(self, settings: Settings, **options: Any) -> AveragedClassifier:
        family = Classifiers(self.estimator(**self.settings))
        return AveragedClassifier(family, settings, **options)


def own_candidates(estimator: type, split: int) -> list[Candidate]:
    """What a class offers by its static method ``candidates(split)``; else its defaults alone."""
    offered = getattr(estimator, "candidates", None)
    tried = [{}] if offered is None else offered(split)
    return [Candidate(str(params), params) for params in tried]


def chosen_members(
    weights: Mapping[str, float], threshold: float, n_repeats: int
) -> dict[str, Any]:
    """What an average was made of, as results record it."""
    return {
        "members": {name: round(weight, 6) for name, weight in weights.items()},
        "threshold": round(threshold, 6),
        "repeats": n_repeats,
    }


def describe_average(weights: Mapping[str, float], first: str) -> str:
    """An average in words, of which the member with the largest weight is described."""
    if len(weights) == 1:
        return first
    return (
        f"an average of {len(weights)} candidates, of which the largest weight "
        f"({max(weights.values()):.2f}) has {first}"
    )


def quality_of(decision: Decision) -> Quality:
    """The expected quality of an average."""
    return Quality(decision.score, decision.score_std, decision.validation, decision.missed)
