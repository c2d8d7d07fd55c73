"""How neighbors decide on a class: majority, adjusted and score, three votes with one interface.

Queries are given as each metric maps them, and values are (n_queries, n_classes).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from raremetric.neighbors import NeighborSearch
from raremetric.neighbors.one_sided import OneSidedSearch, map_rows, prepare_search
from raremetric.selection.calibration import Sigmoid
from raremetric.validation import Labels
from raremetric.voting.readings import Reading, class_scores, distance_floor

TINY = np.finfo(np.float64).tiny
TIE = 1e-9  # of the smallest weight: what breaks ties between sums of weights


class ClassDistances(NamedTuple):
    """Distances of queries to their nearest examples of each class, under each metric.

    There is one metric for all classes, or one metric per class.
    """

    by_metric: list[list[NDArray[np.float64]]]  # metric, class: sorted, (n_queries, k or fewer)
    floors: list[float]  # one per metric, see ``distance_floor``

    def scaled(self, factors: NDArray) -> ClassDistances:
        """The distances to each class multiplied by the factor of the class."""
        scaled = [
            [factor * part for factor, part in zip(factors, parts, strict=True)]
            for parts in self.by_metric
        ]
        return self._replace(by_metric=scaled)

    def scores(self, reading: Reading) -> NDArray[np.float64]:
        """How much nearer each class is than all others, (n_queries, n_classes)."""
        return _own_columns(
            [
                class_scores(parts, floor, [reading])[0]
                for parts, floor in zip(self.by_metric, self.floors, strict=True)
            ]
        )


class Examples(NamedTuple):
    """The training examples as each metric maps them, ready for neighbor searches."""

    searches: list[NeighborSearch | OneSidedSearch]  # one per metric
    floors: list[float]
    labels: Labels
    weights: NDArray[np.float64] | None = None

    @classmethod
    def of(
        cls,
        metrics: Sequence[Any],
        X: Any,
        labels: Labels,
        weights: NDArray | None = None,
        n_jobs: int | None = None,
    ) -> Examples:
        """Map the examples by each metric, and prepare the searches among them."""
        mapped = [map_rows(metric, X) for metric in metrics]
        searches = [
            prepare_search(metric, Z, labels, n_jobs)
            for metric, Z in zip(metrics, mapped, strict=True)
        ]
        return cls(searches, [distance_floor(Z) for Z in mapped], labels, weights)

    def class_distances(self, queries: Sequence[NDArray], k: int) -> ClassDistances:
        """Distances to the k nearest examples of each class, under each metric."""
        by_metric = [
            [near.distances for near in search.nearest_of_each_class(mapped, k)]
            for search, mapped in zip(self.searches, queries, strict=True)
        ]
        return ClassDistances(by_metric, self.floors)


class MajorityVote(NamedTuple):
    """The class with most votes among the k nearest; each example votes with its weight."""

    n_neighbors: int

    def decide(self, examples: Examples, queries: Sequence[NDArray]) -> NDArray:
        """Shares of the votes."""
        return self.probabilities(examples, queries)

    def probabilities(self, examples: Examples, queries: Sequence[NDArray]) -> NDArray:
        """Shares of the votes."""
        codes, weights = examples.labels.codes, examples.weights
        classes = np.arange(len(examples.labels.classes))
        votes = []
        for search, mapped in zip(examples.searches, queries, strict=True):
            near = search.nearest(mapped, self.n_neighbors)
            of_class = codes[near.indices][:, :, np.newaxis] == classes
            if weights is not None:
                of_class = of_class * weights[near.indices][:, :, np.newaxis]
            votes.append(of_class.sum(axis=1))
        return vote_shares(votes, 1.0 if weights is None else TIE * weights.min())


class Calibration(NamedTuple):
    """From scores to log-odds and probabilities, for each class against the rest."""

    classes: NDArray[np.int64]  # those with a sigmoid: the rarer of two classes, or all
    sigmoid: Sigmoid

    def log_odds(self, scores: NDArray) -> NDArray:
        """From scores to log-odds, both (n_queries, n_classes)."""
        values = self.sigmoid.log_odds(scores[:, self.classes].T).T
        return _both_classes(values, self.classes)

    def probabilities(self, scores: NDArray) -> NDArray:
        """From scores to probabilities that sum to one, both (n_queries, n_classes)."""
        p = expit(self.log_odds(scores))
        return p / p.sum(axis=1, keepdims=True)


class AdjustedVote(NamedTuple):
    """A vote of the k nearest after each distance was multiplied by the factor of its class."""

    n_neighbors: int
    gamma: NDArray[np.float64]
    calibration: Calibration

    def decide(self, examples: Examples, queries: Sequence[NDArray]) -> NDArray:
        """See ``adjusted_decision``."""
        k = self.n_neighbors
        return adjusted_decision(examples.class_distances(queries, k), k, self.gamma)

    def probabilities(self, examples: Examples, queries: Sequence[NDArray]) -> NDArray:
        """Calibrated probabilities of the classes."""
        k = self.n_neighbors
        distances = examples.class_distances(queries, k).scaled(self.gamma)
        return self.calibration.probabilities(distances.scores(majority_reading(k)))


class ScoreVote(NamedTuple):
    """The class whose calibrated log-odds are highest above its own threshold."""

    reading: Reading
    calibration: Calibration
    threshold: float | NDArray[np.float64]  # on the probabilities of ``calibration.classes``
    n_neighbors: int  # of which the reading would be the majority

    def decide(self, examples: Examples, queries: Sequence[NDArray]) -> NDArray:
        """How far the log-odds of each class are above its threshold."""
        classes = self.calibration.classes
        values = self.calibration.log_odds(self._scores(examples, queries))[:, classes]
        return _both_classes(values - logit(self.threshold), classes)

    def probabilities(self, examples: Examples, queries: Sequence[NDArray]) -> NDArray:
        """Calibrated probabilities of the classes."""
        return self.calibration.probabilities(self._scores(examples, queries))

    def _scores(self, examples: Examples, queries: Sequence[NDArray]) -> NDArray:
        return examples.class_distances(queries, self.reading.size).scores(self.reading)


# Each decides by the largest of the values for the classes, and has probabilities that sum to one.
# Fields but the calibration are attributes of the fitted classifier.
Vote = MajorityVote | AdjustedVote | ScoreVote


def majority_reading(k: int) -> Reading:
    """The m-th nearest of a class, where m of the k nearest are a majority of two classes."""
    return Reading((k + 1) // 2)


def adjusted_decision(distances: ClassDistances, k: int, gamma: NDArray) -> NDArray:
    """Values of which the largest belongs to the class that wins, (n_queries, n_classes).

    The value of a class is the number of its votes, plus or minus at most half a vote for how
    much nearer it is than the others, which breaks ties. With two classes, the latter is enough:
    it is positive exactly for the winner.
    """
    distances, reading = distances.scaled(gamma), majority_reading(k)
    # A vote compares the smallest distances, too: no floor.
    exact = distances._replace(floors=[TINY] * len(distances.floors))
    nearness = exact.scores(reading)
    if nearness.shape[1] > 2:
        votes = _own_columns([_count_nearest(parts, k) for parts in distances.by_metric])
        return votes + nearness / (2 * (1 + np.abs(nearness)))
    for c in range(2):
        if distances.by_metric[0][c].shape[1] < reading.size:  # it can never have a majority
            nearness[:, c] = np.minimum(nearness[:, c], -TINY)
            nearness[:, 1 - c] = -nearness[:, c]
    return nearness


def vote_shares(votes: Sequence[NDArray], resolution: float) -> NDArray:
    """Shares of the votes under the only metric, or under the metric of each class.

    The latter compete for their own class; their sum breaks ties, which are differences smaller
    than ``resolution``.
    """
    if len(votes) == 1:
        return votes[0] / votes[0].sum(axis=1, keepdims=True)
    own, total = _own_columns(votes), np.sum(votes, axis=0)
    shares = own + resolution * total / (total.sum(axis=1, keepdims=True) + resolution)
    return shares / shares.sum(axis=1, keepdims=True)


def _own_columns(tables: Sequence[NDArray]) -> NDArray:
    """Column c of the table of class c, or all columns of the only table."""
    if len(tables) == 1:
        return tables[0]
    return np.column_stack([table[:, c] for c, table in enumerate(tables)])


def _both_classes(values: NDArray, classes: NDArray) -> NDArray:
    """With one of two classes, (n_queries, 1), add the other: it has the opposite value."""
    if len(classes) > 1:
        return values
    both = np.hstack([-values, values])
    return both if classes[0] == 1 else both[:, ::-1]


def _count_nearest(distances: list[NDArray], k: int) -> NDArray[np.int64]:
    """Classes of the k nearest, counted; ties are broken by the order of the classes."""
    distances = [part[:, :k] for part in distances]
    owners = np.repeat(np.arange(len(distances)), [part.shape[1] for part in distances])
    nearest = np.argsort(np.hstack(distances), axis=1, kind="stable")[:, :k]
    return (owners[nearest][:, :, np.newaxis] == np.arange(len(distances))).sum(axis=1)
