"""Classifiers tuned as RareClassifier is: same folds, same ranking, averaged, one threshold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from numpy.typing import NDArray
from sklearn.utils.validation import has_fit_parameter

from raremetric.contenders.averaged import AveragedClassifier, ClassifierFamily
from raremetric.contenders.base import (
    Candidate,
    Contender,
    Tuned,
    TuningOptions,
    check_arguments,
    describe_params,
    grid_candidates,
    own_candidates,
    refuse_unknown,
)
from raremetric.contenders.families import Classifiers

N_CANDIDATES = 20


@dataclass(frozen=True, kw_only=True)
class Scored(Contender):
    """A family of classifiers, tuned by out-of-fold scores; the best candidates are averaged.

    Parameters
    ----------
    family : ClassifierFamily
    default_grid : dict of lists
        The candidates are drawn from it where no grid is given.
    """

    family: ClassifierFamily = field(compare=False)
    default_grid: Mapping[str, Sequence] = field(default_factory=dict, compare=False)

    n_for_table: ClassVar[int | None] = 8
    has_neighbors: ClassVar[bool] = False
    has_threshold: ClassVar[bool] = True

    def _check_settings(self) -> None:
        refuse_unknown(self.settings, (), "settings", self.name, self.kind)

    @property
    def package(self) -> str:
        """The optional package of the family."""
        return self.family.package

    def _default_candidates(self, split: int) -> list[Candidate]:
        return grid_candidates(self.default_grid, self.n_candidates or N_CANDIDATES, split)

    def _fit(
        self, candidates: Sequence[Candidate], X: NDArray, y: NDArray, how: TuningOptions
    ) -> Tuned:
        model = AveragedClassifier(
            self.family,
            [candidate.params for candidate in candidates],
            scoring=how.scoring,
            threshold=how.threshold,
            cv=how.folds or None,
            max_samples=how.max_samples,
            random_state=how.seed,
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
        validated = dict(zip(names, model.validation_scores_.tolist(), strict=True))
        return Tuned(
            model,
            chosen_members(weights, model.threshold_, model.n_repeats_),
            {"average": model.best_score_, **validated},
            len(candidates),
            model.quality_,
            describe_average(len(kept), len(names), candidates[kept[0]].params),
        )


@dataclass(frozen=True, kw_only=True)
class ScoredEstimator(Scored):
    """Any classifier with scikit-learn's interface, tuned like the alternatives.

    Parameters
    ----------
    estimator : type
        Class of the classifier; ``settings`` are its arguments.
    """

    estimator: type = field(compare=False)
    family: ClassifierFamily = field(init=False, compare=False)

    def _check_settings(self) -> None:
        check_arguments(self.estimator, self.settings, self.grid, self.name)
        object.__setattr__(self, "family", Classifiers(self.estimator(**self.settings)))

    def _default_candidates(self, split: int) -> list[Candidate]:
        return own_candidates(self.estimator, split)[: self.n_candidates]

    @property
    def ignores_weights(self) -> str:
        """Whether the classifier is fitted without weights."""
        if has_fit_parameter(self.family.estimator, "sample_weight"):
            return ""
        return (
            f"{self.title} cannot take weights: it is fitted without them; only its threshold and "
            "its measures are weighted."
        )


def chosen_members(
    weights: Mapping[str, float], threshold: float, n_repeats: int
) -> dict[str, Any]:
    """What an average was made of, as results record it."""
    return {
        "members": {name: round(weight, 6) for name, weight in weights.items()},
        "threshold": round(threshold, 6),
        "repeats": n_repeats,
    }


def describe_average(n_kept: int, n_tried: int, best: Mapping[str, Any] | None = None) -> str:
    """How many of the settings that were tried are averaged, and the best if it is given."""
    what = f"an average of {n_kept} of the" if n_kept > 1 else "the best of"
    shown = "" if best is None else f"; the best has {describe_params(best)}"
    return f"{what} {n_tried} settings that were tried{shown}"
