"""Fit metrics on examples, and map other rows with them.

Steps that several metrics begin with are fitted and applied once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import groupby
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import Pipeline

from raremetric.features import BoostedLeaves, KernelLandmarks
from raremetric.features.trees import BinnedRows, bin_rows
from raremetric.learners.base import MetricLearner
from raremetric.neighbors import Neighbors, NeighborSearch
from raremetric.rare.candidates import MetricSpec
from raremetric.validation import Labels, accepted_weights, quiet_constants
from raremetric.voting import Reading, class_scores, distance_floor


class MoreRows(NamedTuple):
    """Examples beside those that can be neighbors; only trees learn from them, too."""

    X: NDArray
    y: NDArray
    weights: NDArray | None


class FittedMetric(NamedTuple):
    """A fitted metric, and the search for neighbors among the examples.

    The classes of the search are negative and positive examples, and in an ensemble those that the
    metric was not fitted on: these are neighbors that can be shown, but no score depends on them.
    """

    pipeline: Pipeline
    search: NeighborSearch
    floor: float  # shorter distances are not distinguished

    def nearest_of_each_class(
        self, mapped: NDArray, k: int, *, exact: bool = True
    ) -> list[Neighbors]:
        """The k nearest negatives and positives that the metric was fitted on."""
        return self.search.nearest_of_each_class(mapped, k, exact=exact, n_classes=2)

    def scores(self, found: Sequence[Neighbors], readings: Sequence[Reading]) -> NDArray:
        """How much nearer the positive class is, (n_readings, n_rows), from each one's nearest."""
        distances = [near.distances for near in found]
        return class_scores(distances, self.floor, readings)[:, :, 1]


def fit_metrics(
    metrics: Sequence[MetricSpec],
    X: NDArray,
    labels: Labels,
    seed: int,
    weights: NDArray | None = None,
    more: MoreRows | None = None,
) -> Iterator[FittedMetric]:
    """Fit metrics one after the other; steps that they share are fitted and applied once.

    ``weights`` are given to the steps and learners whose ``fit`` has a ``sample_weight``.
    """
    y = labels.classes[labels.codes]
    mapped = SharedTransform(X)

    @cache
    def binned(before: tuple[BaseEstimator, ...]) -> BinnedRows:
        """All rows that trees learn from, after the steps before the trees."""
        rows, classes, own = mapped(before), y, weights
        if more is not None:
            rows = np.concatenate([rows, SharedTransform(more.X)(before)])
            classes = np.concatenate([y, more.y])
            if more.weights is not None:
                own = np.concatenate([np.ones(len(X)) if own is None else own, more.weights])
        return bin_rows(rows, classes, own, BoostedLeaves.__name__)

    fitted: dict[tuple, tuple] = {(): ()}  # from unfitted steps to fitted steps
    for templates, group in groupby(metrics, key=lambda metric: metric.steps):
        for end in range(1, len(templates) + 1):
            path = templates[:end]
            if path not in fitted:
                before = fitted[path[:-1]]
                step = _prepare(path[-1], seed, len(X))
                if hasattr(step, "fit_binned"):
                    step.fit_binned(binned(before))
                else:
                    with quiet_constants():
                        step.fit(mapped(before), y, **accepted_weights(step, weights))
                fitted[path] = (*before, step)
        steps = fitted[templates]
        Z = mapped(steps)
        for learner in _fit_learners([metric.learner for metric in group], Z, y, weights):
            pipeline = Pipeline([(type(s).__name__.lower(), s) for s in (*steps, learner)])
            projected = Z @ learner.components_.T
            search = NeighborSearch(projected, labels)
            yield FittedMetric(pipeline, search, distance_floor(projected))


def _prepare(template: BaseEstimator, seed: int, n_samples: int) -> BaseEstimator:
    """An unfitted copy with the seed, whose output is an array whatever ``set_config`` says."""
    step = clone(template).set_output(transform="default")
    if "random_state" in step.get_params():
        step.set_params(random_state=seed)
    if "n_quantiles" in step.get_params():
        step.set_params(n_quantiles=min(step.n_quantiles, n_samples))
    return step


def _fit_learners(
    templates: Sequence[MetricLearner], Z: NDArray, y: NDArray, weights: NDArray | None
) -> list[MetricLearner]:
    """Fitted copies, in the same order; those of one kind can share work."""
    learners = [clone(template).set_output(transform="default") for template in templates]
    for kind in dict.fromkeys(type(each) for each in learners):
        kind.fit_settings([each for each in learners if type(each) is kind], Z, y, weights)
    return learners


class SharedTransform:
    """The same rows, mapped by several pipelines; first steps that they share are applied once."""

    def __init__(self, X: NDArray):
        self._mapped: dict[tuple, NDArray] = {(): X}
        self._distances: dict[tuple, tuple[NDArray, NDArray]] = {}  # landmarks, distances to them

    def __call__(self, steps: tuple[BaseEstimator, ...]) -> NDArray:
        """The rows after these fitted steps."""
        if steps not in self._mapped:
            *_, last = steps
            if hasattr(last, "map_distances"):
                self._mapped[steps] = last.map_distances(self._to_landmarks(steps[:-1], last))
            else:
                self._mapped[steps] = np.asarray(last.transform(self(steps[:-1])))
        return self._mapped[steps]

    def _to_landmarks(self, before: tuple[BaseEstimator, ...], step: KernelLandmarks) -> NDArray:
        """A copy of the distances to the landmarks; kernels of all widths share them."""
        known = self._distances.get(before)
        if known is None or not np.array_equal(known[0], step.landmarks_):
            known = step.landmarks_, step.distances(self(before))
            self._distances[before] = known
        return known[1].copy()

    def project(self, pipeline: Pipeline) -> NDArray:
        """The rows after a whole pipeline, which ends in a metric learner."""
        *steps, learner = (step for _, step in pipeline.steps)
        return self(tuple(steps)) @ learner.components_.T
