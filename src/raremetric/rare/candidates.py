"""What RareClassifier tries: views of the features, maps, learners, readings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import QuantileTransformer, StandardScaler

from raremetric.features import ImportanceWeights, KernelLandmarks
from raremetric.learners.base import MetricLearner
from raremetric.learners.discriminant import BalancedDiscriminant, fit_settings
from raremetric.learners.euclidean import Euclidean
from raremetric.learners.iml import IML
from raremetric.validation import Labels
from raremetric.voting import (
    READINGS,
    Reading,
    class_scores,
    distance_floor,
)

# How much each group counts: chosen on the KEEL sets at odd places and on splits 1 to 5.
GROUP_WEIGHTS = {
    "importance, laplacian": 3.0,
    "linear": 2.0,
}
MAX_NEIGHBORS = max(reading.size for reading in READINGS)


BLOCK = 2**22  # distances held at a time: 32 MB


class ClassNeighbors(NamedTuple):
    """The nearest training rows of each class: sorted distances and row numbers.

    Each list has one array per class, of shape (n_queries, k) or less where a class has fewer.
    """

    distances: list[NDArray[np.float64]]
    indices: list[NDArray[np.int64]]


def nearest_of_each_class(
    Z: NDArray, labels: Labels, queries: NDArray, k: int, exact: bool = True
) -> ClassNeighbors:
    """The k nearest rows of Z of each class to each query, in blocks of bounded memory.

    Equally near rows come in the order of their numbers; which of them come, when not all can, is
    not said. Without ``exact``, distances are those of a matrix product, good to ten digits: a
    third of the time.
    """
    members = [np.flatnonzero(labels.codes == c) for c in range(len(labels.classes))]
    found = [_nearest(Z[rows], queries, min(k, len(rows)), exact) for rows in members]
    return ClassNeighbors(
        [distances for distances, _ in found],
        [rows[places] for rows, (_, places) in zip(members, found, strict=True)],
    )


def _nearest(Z: NDArray, queries: NDArray, k: int, exact: bool) -> tuple[NDArray, NDArray]:
    distances = np.empty((len(queries), k))
    places = np.empty((len(queries), k), dtype=np.int64)
    center = Z.mean(axis=0)  # products of small numbers lose fewer digits
    rows, others = Z - center, queries - center
    size = max(1, BLOCK // len(Z))
    for low in range(0, len(queries), size):
        part = slice(low, low + size)
        squares = euclidean_distances(others[part], rows, squared=True)
        if k < len(Z):
            near = np.sort(np.argpartition(squares, k - 1, axis=1)[:, :k], axis=1)
        else:
            near = np.tile(np.arange(k), (len(squares), 1))
        found = np.take_along_axis(squares, near, axis=1)
        # Where two rows nearly coincide their inner product cannot say how nearly.
        unsure = found < (np.inf if exact else 1e-6 * squares.max(axis=1, keepdims=True))
        i, slot = np.nonzero(unsure)
        differences = queries[part][i] - Z[near[i, slot]]
        found[i, slot] = np.einsum("ij,ij->i", differences, differences)
        order = np.argsort(found, axis=1, kind="stable")
        distances[part] = np.sqrt(np.take_along_axis(found, order, axis=1))
        places[part] = np.take_along_axis(near, order, axis=1)
    return distances, places


class Branch(NamedTuple):
    """Learners after common steps. A step that several branches begin with is one object."""

    group: str  # the best of each group are averaged, and the groups with each other
    name: str
    steps: tuple[BaseEstimator, ...]
    learners: tuple[MetricLearner, ...]


class Neighborhood(NamedTuple):
    """A fitted metric with the examples that it measures distances to."""

    pipeline: Pipeline
    Z: NDArray[np.float64]  # the examples, as the pipeline maps them
    labels: Labels
    floor: float

    def neighbors(self, X, k: int = MAX_NEIGHBORS) -> ClassNeighbors:
        """The k nearest examples of each class."""
        return self.nearest(np.asarray(self.pipeline.transform(X)), k)

    def nearest(self, Z: NDArray, k: int = MAX_NEIGHBORS, exact: bool = True) -> ClassNeighbors:
        """The k nearest examples of each class to rows that are mapped already."""
        return nearest_of_each_class(self.Z, self.labels, Z, k, exact)

    def scores(self, found: ClassNeighbors, readings: Sequence[Reading]) -> NDArray:
        """How much nearer the positive class is, (n_readings, n_rows)."""
        return class_scores(found.distances, self.floor, readings)[:, :, 1]


def branches() -> list[Branch]:
    """All views, maps and learners."""
    standard = (StandardScaler(),)
    weighted = (*standard, ImportanceWeights())
    ranks = (QuantileTransformer(output_distribution="normal"), StandardScaler())
    curved = [
        Branch(
            "importance, laplacian",
            f"importance, laplacian {width:g}",
            (*weighted, KernelLandmarks(width=width)),
            _discriminants(),
        )
        for width in (0.5, 2.0, 8.0)
    ]
    return [
        *curved,
        Branch("linear", "standard", standard, (Euclidean(), *_imls(), *_discriminants())),
        Branch("linear", "rank", ranks, _discriminants()),
    ]


def _discriminants() -> tuple[MetricLearner, ...]:
    return tuple(
        BalancedDiscriminant(shrinkage, stretch)
        for shrinkage in (0.1, 0.5, 0.9)
        for stretch in (1.0, 3.0, 10.0)
    )


def _imls() -> tuple[MetricLearner, ...]:
    return tuple(
        IML(margin=margin, similar_weight=weight, regularization=regularization)
        for margin, weight, regularization in (
            (100.0, 0.5, 0.01),
            (10.0, 0.5, 0.1),
            (1.0, 0.5, 0.01),
            (1000.0, 0.3, 0.1),
            (100.0, 0.8, 1.0),
        )
    )


def fit_neighborhoods(
    tried: Sequence[Branch], X: NDArray, labels: Labels, seed: int, queries: NDArray
) -> Iterator[tuple[Neighborhood, NDArray]]:
    """Fit every learner of every branch, and map the queries by it.

    Steps that branches have in common are fitted, and applied, once.
    """
    y = labels.classes[labels.codes]
    fitted: dict[tuple[int, ...], tuple[list[BaseEstimator], NDArray, NDArray]]
    fitted = {(): ([], X, queries)}
    for branch in tried:
        path: tuple[int, ...] = ()
        for template in branch.steps:
            before, path = path, (*path, id(template))
            if path not in fitted:
                steps, Z, mapped = fitted[before]
                step = _seeded(template, seed, len(X)).fit(Z, y)
                fitted[path] = ([*steps, step], step.transform(Z), step.transform(mapped))
        steps, Z, mapped = fitted[path]
        for learner in _fit_learners(branch.learners, Z, y):
            pipeline = Pipeline([(type(s).__name__.lower(), s) for s in (*steps, learner)])
            L = learner.components_
            projected = Z @ L.T
            floor = distance_floor(projected)
            yield Neighborhood(pipeline, projected, labels, floor), mapped @ L.T


def _fit_learners(
    templates: Sequence[MetricLearner], Z: NDArray, y: NDArray
) -> list[MetricLearner]:
    """Copies, fitted; all discriminants at once."""
    learners = [clone(template) for template in templates]
    discriminants = [each for each in learners if isinstance(each, BalancedDiscriminant)]
    if discriminants:
        fit_settings(discriminants, Z, y)
    for learner in learners:
        if learner not in discriminants:
            learner.fit(Z, y)
    return learners


def keep_learners(tried: Sequence[Branch], chosen: Sequence[int]) -> list[Branch]:
    """The branches with those learners only whose places, counted through all, are chosen."""
    kept, place = [], 0
    for branch in tried:
        learners = tuple(
            learner for own, learner in enumerate(branch.learners, place) if own in chosen
        )
        place += len(branch.learners)
        if learners:
            kept.append(branch._replace(learners=learners))
    return kept


def _seeded(template: BaseEstimator, seed: int, n_samples: int) -> BaseEstimator:
    step = clone(template)
    if "random_state" in step.get_params():
        step.set_params(random_state=seed)
    if isinstance(step, QuantileTransformer):
        step.set_params(n_quantiles=min(200, n_samples))
    return step
