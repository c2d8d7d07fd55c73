"""RareClassifier as a contender, and the same procedure with given metrics only."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    clone,
)
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import has_fit_parameter

from raremetric.contenders.base import (
    Candidate,
    Contender,
    Tuned,
    TuningOptions,
    check_arguments,
    make_learner,
    own_candidates,
    refuse_unknown,
)
from raremetric.contenders.scored import chosen_members, describe_average
from raremetric.features.ranks import DifferingFeatures
from raremetric.learners.base import MetricLearner
from raremetric.learners.euclidean import Euclidean
from raremetric.neighbors.one_sided import as_points
from raremetric.rare import RareClassifier
from raremetric.rare.candidates import LOG_ODDS, LOGISTIC, MetricSpec
from raremetric.rare.policy import MAX_LEVELS
from raremetric.selection import Quality
from raremetric.validation import accepted_weights

N_METRICS = 10  # settings of a learner, each with all readings
MAX_SAMPLES = 10_000  # rows learned from by default: the time grows with their square
MAX_FEATURES = 300  # selected by default: the time of an iteration grows with their cube
PLAIN_SCORES = {LOGISTIC: "logistic regressions", LOG_ODDS: "boosted trees"}


class GivenMetrics(RareClassifier):
    """RareClassifier with given metrics only, each after standardization.

    Parameters
    ----------
    learners : sequence of transformers
        Metric learners; after any other transformer, distances are Euclidean.
    budget, scoring, pos_label, cv, max_samples, max_features, random_state, n_jobs
        See `RareClassifier`.
    """

    def __init__(
        self,
        learners=(),
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
        self.learners = learners

    def _metrics_to_try(self, n_features: int) -> list[MetricSpec]:
        steps: tuple = (StandardScaler(),)
        if self.max_features is not None and n_features > self.max_features:
            steps = (DifferingFeatures(self.max_features), *steps)
        metrics = []
        for learner in self.learners:
            if isinstance(learner, MetricLearner):
                metrics.append(MetricSpec("linear", "standard", steps, learner))
            else:
                own = (*steps, OwnTransformer(learner))
                metrics.append(MetricSpec("linear", "own", own, Euclidean()))
        return metrics


class OwnTransformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """A user's transformer, which gets copies of the rows: it may change them in place.

    Parameters
    ----------
    transformer : transformer
    """

    def __init__(self, transformer):
        self.transformer = transformer

    def fit(self, X, y, sample_weight=None) -> OwnTransformer:
        """Fit a copy of the transformer; one that cannot take weights is fitted without them."""
        self.transformer_ = clone(self.transformer)
        weights = accepted_weights(self.transformer_, sample_weight)
        self.transformer_.fit(X.copy(), y.copy(), **weights)
        mapped = self.transform(X)
        self._n_features_out = mapped.shape[1]
        if np.ptp(mapped, axis=0).max(initial=0.0) == 0:
            raise ValueError(
                f"{type(self.transformer).__name__} maps all training rows to the same point: all "
                "distances are zero."
            )
        return self

    def transform(self, X) -> NDArray[np.float64]:
        """The rows as the transformer maps them."""
        mapped = as_points(self.transformer_.transform(X.copy()), self.transformer_, len(X))
        if not np.isfinite(mapped).all():
            raise ValueError(
                f"{type(self.transformer).__name__}.transform returned values that are missing or "
                "infinite."
            )
        return mapped.astype(np.float64, copy=False)


@dataclass(frozen=True, kw_only=True)
class Rare(Contender):
    """RareClassifier; it chooses by itself, so there are no candidates to give it."""

    default_max_features: int | None = field(default=RareClassifier().max_features, compare=False)
    max_levels: int = field(default=MAX_LEVELS, compare=False)

    has_neighbors: ClassVar[bool] = True
    has_threshold: ClassVar[bool] = True

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
            X,
            y,
            how.weights,
            how.groups,
            how.on_progress,
            copies_together=how.copies is not None,
            copies=how.copies,
            threshold=how.threshold,
        )
        model.cv = None  # the folds, as large as the data, are not needed any more
        weights, n_tried = model.ensemble_.weights, len(model.cv_results_["weight"])
        return Tuned(
            model,
            chosen_members(weights, model.threshold_, model.n_repeats_),
            {"average": model.best_score_},
            n_tried,
            Quality(
                model.best_score_,
                model.score_std_,
                model.validation_,
                missed[0][1] if missed else None,
            ),
            describe_average(len(weights), n_tried) + describe_scores(model.cv_results_),
        )

    def _model(self, candidates: Sequence[Candidate], **options: Any) -> RareClassifier:
        return RareClassifier(**{**options, **self.settings})


def describe_scores(results: Mapping[str, NDArray]) -> str:
    """How much each kind of score counts, if there are several."""
    shares: dict[str, float] = {}
    for group, weight in zip(results["group"].tolist(), results["weight"].tolist(), strict=True):
        kind = PLAIN_SCORES.get(group, "nearest examples")
        shares[kind] = shares.get(kind, 0.0) + weight
    if shares.get("nearest examples") == sum(shares.values()):
        return ""
    ordered = sorted(shares.items(), key=lambda item: -item[1])
    return ": " + ", ".join(f"{share:.0%} {kind}" for kind, share in ordered if share > 0)


@dataclass(frozen=True, kw_only=True)
class MetricScore(Rare):
    """A metric in RareClassifier's procedure: readings of distances, average, threshold.

    Parameters
    ----------
    learner : type
        Class of the transformer.
    propose : callable (split) -> list of Candidate, or None
        The candidates where no grid is given, or None for `own_candidates`. Every ``step``-th of
        them is tried, and no more than `N_METRICS`.
    step : int
    """

    learner: type = field(compare=False)
    propose: Callable[[int], list[Candidate]] | None = field(default=None, compare=False)
    step: int = field(default=1, compare=False)
    default_max_samples: int | None = field(default=MAX_SAMPLES, compare=False)
    default_max_features: int | None = field(default=MAX_FEATURES, compare=False)
    max_levels: int = field(default=20, compare=False)

    def _check_settings(self) -> None:
        check_arguments(self.learner, self.settings, self.grid, self.name)
        if getattr(self.learner, "is_one_sided", False):
            raise ValueError(
                f"{self.name} measures distances to one class only. It can be compared in studies "
                "and used in MetricKNNClassifier, but not in commands for tables."
            )

    def _default_candidates(self, split: int) -> list[Candidate]:
        propose = self.propose or partial(own_candidates, self.learner)
        return propose(split)[:: self.step][: self.n_candidates or N_METRICS]

    @property
    def ignores_weights(self) -> str:
        """Whether the metric is learned without weights."""
        learner = self.learner(**self.settings)
        if self.learner is Euclidean or has_fit_parameter(learner, "sample_weight"):
            return ""
        return (
            f"{self.title} cannot take weights: its metric is learned without them; only its "
            "threshold and its measures are weighted."
        )

    def _model(self, candidates: Sequence[Candidate], **options: Any) -> RareClassifier:
        seed = options["random_state"]
        given = [{**self.settings, **each.params} for each in candidates]
        return GivenMetrics([make_learner(self.learner, each, seed) for each in given], **options)
