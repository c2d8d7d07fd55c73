"""Fit metrics on examples, and map other rows with them.

Steps that several metrics begin with are fitted and applied once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
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
from raremetric.rare.scores import LogisticScore, PlainScore
from raremetric.validation import Labels, accepted_weights, quiet_constants
from raremetric.voting import Reading, class_scores, distance_floor


class MoreRows(NamedTuple):
    """Examples, as beside those that can be neighbors: trees and logistic regressions use both."""

    X: NDArray
    y: NDArray
    weights: NDArray | None


class FittedMetric(NamedTuple):
    """A fitted metric and the search for neighbors among the examples, or a fitted plain score.

    The classes of the search are negative and positive examples, and in an ensemble those that the
    metric was not fitted on: these are neighbors that can be shown, but no score depends on them.
    """

    pipeline: Pipeline
    search: NeighborSearch | None  # None for a plain score
    floor: float  # shorter distances are not distinguished

    def scores(
        self, mapped: NDArray, readings: Sequence[Reading], *, exact: bool = True, n_shown: int = 0
    ) -> tuple[NDArray, list[Neighbors]]:
        """Scores of mapped rows, (n_readings, n_rows), and the neighbors that they come from.

        These are the nearest negatives and positives that the metric was fitted on. With
        ``n_shown``, there are at least that many of each class of the search. A plain score is what
        a row is mapped to; it has one reading, and no neighbors.
        """
        if self.search is None:
            none = np.empty((len(mapped), 0))
            return mapped.T, 2 * [Neighbors(none, none.astype(np.int64))]
        k = max(n_shown, *(reading.size for reading in readings))
        n_classes = None if n_shown else 2
        found = self.search.nearest_of_each_class(mapped, k, exact=exact, n_classes=n_classes)
        distances = [near.distances for near in found[:2]]
        return class_scores(distances, self.floor, readings)[:, :, 1], found


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
    def all_rows(before: tuple[BaseEstimator, ...]) -> MoreRows:
        """The rows that trees and logistic regressions learn from, after these steps."""
        if more is None:
            return MoreRows(mapped(before), y, weights)
        own = weights
        if more.weights is not None:
            own = np.concatenate([np.ones(len(X)) if own is None else own, more.weights])
        rows = np.concatenate([mapped(before), SharedTransform(more.X)(before)])
        return MoreRows(rows, np.concatenate([y, more.y]), own)

    @cache
    def binned(before: tuple[BaseEstimator, ...]) -> BinnedRows:
        """The same rows in the form in which trees are grown."""
        return bin_rows(*all_rows(before), BoostedLeaves.__name__)

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

        def rows_of(kind: type[MetricLearner], steps: tuple = steps, Z: NDArray = Z) -> MoreRows:
            return all_rows(steps) if kind is LogisticScore else MoreRows(Z, y, weights)

        for learner in _fit_learners([metric.learner for metric in group], rows_of):
            pipeline = Pipeline([(type(s).__name__.lower(), s) for s in (*steps, learner)])
            if isinstance(learner, PlainScore):
                yield FittedMetric(pipeline, None, 0.0)
                continue
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
    templates: Sequence[MetricLearner], rows_of: Callable[[type[MetricLearner]], MoreRows]
) -> list[MetricLearner]:
    """Fitted copies, in the same order; those of one kind can share work."""
    learners = [clone(template).set_output(transform="default") for template in templates]
    for kind in dict.fromkeys(type(each) for each in learners):
        kind.fit_settings([each for each in learners if type(each) is kind], *rows_of(kind))
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
