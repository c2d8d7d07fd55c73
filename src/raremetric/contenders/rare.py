"""RareClassifier as a contender, and the paper's metric with its readings and threshold."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from numpy.typing import NDArray
from sklearn.preprocessing import StandardScaler

from raremetric.contenders.base import (
    Candidate,
    Contender,
    Quality,
    Tuned,
    TuningOptions,
    refuse_unknown,
)
from raremetric.contenders.neighbor_vote import MAX_FEATURES, iml_candidates
from raremetric.contenders.scored import chosen_members, describe_average
from raremetric.features.ranks import DifferingFeatures
from raremetric.learners.iml import IML
from raremetric.rare import RareClassifier
from raremetric.rare.candidates import MetricSpec
from raremetric.validation import Labels

N_METRICS = 10  # settings of IML, each with all readings
MAX_SAMPLES = 10_000  # rows that methods learn from whose time grows with their square


class ScoredIML(RareClassifier):
    """RareClassifier with IML, in several settings, as its only metric.

    Parameters
    ----------
    metrics : sequence of dict
        Settings of IML.
    budget, scoring, pos_label, cv, max_samples, max_features, random_state, n_jobs
        See `RareClassifier`.
    """

    def __init__(
        self,
        metrics=({},),
        budget="fast",
        *,
        scoring="f1",
        pos_label=None,
        cv=None,
        max_samples=MAX_SAMPLES,
        max_features=None,
        random_state=None,
        n_jobs=None,
    ):
        super().__init__(
            budget,
            scoring=scoring,
            pos_label=pos_label,
            cv=cv,
            max_samples=max_samples,
            max_features=max_features,
            random_state=random_state,
            n_jobs=n_jobs,
        )
        self.metrics = metrics

    def _metrics_to_try(
        self, labels: Labels, n_features: int, n_for_trees: int
    ) -> list[MetricSpec]:
        steps: tuple = (StandardScaler(),)
        if self.max_features is not None and n_features > self.max_features:
            steps = (DifferingFeatures(self.max_features), *steps)
        return [MetricSpec("linear", "standard", steps, IML(**each)) for each in self.metrics]


@dataclass(frozen=True, kw_only=True)
class Rare(Contender):
    """RareClassifier; it chooses by itself, so there are no candidates to give it."""

    default_max_features: int | None = field(default=RareClassifier().max_features, compare=False)

    has_neighbors: ClassVar[bool] = True
    has_threshold: ClassVar[bool] = True
    decides_by: ClassVar[str] = "probability"

    def _check_settings(self) -> None:
        known = set(inspect.signature(RareClassifier).parameters) - {
            "pos_label",
            "cv",
            "random_state",
        }
        refuse_unknown(self.settings, known, "settings", self.name, "RareClassifier")
        refuse_unknown(self.grid or (), (), "grid parameters", self.name, "RareClassifier")

    def _default_candidates(self, split: int) -> list[Candidate]:
        return []

    def _fit(
        self, candidates: Sequence[Candidate], X: NDArray, y: NDArray, how: TuningOptions
    ) -> Tuned:
        options = {
            "scoring": how.scoring,
            "pos_label": 1,
            "random_state": how.seed,
            "cv": how.folds or None,
        }
        if how.max_samples is not None:
            options["max_samples"] = how.max_samples
        if how.max_features is not None:
            options["max_features"] = how.max_features
        model = self._model(candidates, **options)
        missed = model._fit(
            X, y, how.weights, None, how.on_progress, copies_together=False, threshold=how.threshold
        )
        model.cv = None  # the folds, as large as the data, are not needed any more
        weights = {member.name: member.weight for member in model.ensemble_.members}
        return Tuned(
            model,
            chosen_members(weights, model.threshold_, model.n_repeats_),
            {"average": model.best_score_},
            len(model.cv_results_["weight"]),
            Quality(
                model.best_score_,
                model.score_std_,
                model.validation_,
                missed[0][1] if missed else None,
            ),
            describe_average(weights, model.ensemble_.members[0].words),
        )

    def _model(self, candidates: Sequence[Candidate], **options: Any) -> RareClassifier:
        return RareClassifier(**{**options, **self.settings})


@dataclass(frozen=True, kw_only=True)
class IMLScore(Rare):
    """The paper's metric in RareClassifier's procedure: readings, average, threshold."""

    default_max_features: int | None = field(default=MAX_FEATURES, compare=False)

    def _check_settings(self) -> None:
        known = inspect.signature(IML).parameters
        refuse_unknown(self.settings, known, "settings", self.name, "IML")
        refuse_unknown(self.grid or (), known, "grid parameters", self.name, "IML")

    def _default_candidates(self, split: int) -> list[Candidate]:
        return iml_candidates(split)[: self.n_candidates or N_METRICS]

    def _model(self, candidates: Sequence[Candidate], **options: Any) -> RareClassifier:
        metrics = [{**self.settings, **candidate.params} for candidate in candidates]
        return ScoredIML(metrics, **options)
