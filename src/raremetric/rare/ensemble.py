"""What RareClassifier keeps: the fitted members of an average of candidates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from raremetric.neighbors import Neighbors
from raremetric.performance import one_blas_thread
from raremetric.rare.candidates import LogOddsDistance, MetricSpec, with_readings
from raremetric.rare.fitting import FittedMetric, SharedTransform, fit_metrics
from raremetric.rare.tuning_set import TuningSet
from raremetric.selection import Average, Selection, Sigmoid
from raremetric.voting import Reading


class Member(NamedTuple):
    """A kept candidate: a fitted metric with a reading of its distances."""

    name: str
    weight: float  # in the average; all weights sum to one
    metric: FittedMetric  # the same object for all members with this metric
    reading: Reading
    words: str = ""  # what it is

    @property
    def pipeline(self) -> Pipeline:
        """The fitted preprocessing steps and the fitted learner."""
        return self.metric.pipeline


class Ensemble(NamedTuple):
    """The members, the average of their scores, and its calibration."""

    members: list[Member]  # the largest weight first
    average: Average
    calibration: Sigmoid
    rows: NDArray[np.int64]  # rows of the training data that are the examples

    @property
    def metrics(self) -> list[FittedMetric]:
        """The metrics of the members, each once."""
        return list({id(member.metric): member.metric for member in self.members}.values())

    @property
    def main_member(self) -> int:
        """Position of the first member whose metric has the largest weight of all its members.

        The log-odds of trees are one number per row: rows with similar log-odds can be different in
        every other respect. So this metric is the main one only if there is no other.
        """
        numbers = [id(member.metric) for member in self.members]
        weights = dict.fromkeys(numbers, 0.0)
        for number, member in zip(numbers, self.members, strict=True):
            if not isinstance(member.pipeline[-1], LogOddsDistance):
                weights[number] += member.weight
        return numbers.index(max(numbers, key=lambda number: weights[number]))

    def log_odds(self, X: NDArray) -> NDArray:
        """Log-odds of the positive class, (n_rows,)."""
        scores, _ = self._scores(X)
        return self.calibration.log_odds(self.average(scores))

    @one_blas_thread
    def kneighbors(self, X: NDArray, k: int, member: int) -> tuple[NDArray, NDArray]:
        """Distances and rows of the k nearest examples of any class under a member's metric."""
        metric = self.members[member].metric
        found = metric.search.nearest(SharedTransform(X).project(metric.pipeline), k)
        return found.distances, self.rows[found.indices]

    def log_odds_and_kneighbors(self, X: NDArray, k: int) -> tuple[NDArray, NDArray, NDArray]:
        """Log-odds, distances and rows of the k nearest under the main metric, by one search.

        They are among the k nearest of each class, from which the score of a member is computed.
        """
        scores, neighbors = self._scores(X)
        log_odds = self.calibration.log_odds(self.average(scores))
        near = neighbors[self.main_member]
        if min(each.indices.shape[1] for each in near) < k:  # the score needs fewer
            return log_odds, *self.kneighbors(X, k, self.main_member)
        distances = np.concatenate([each.distances[:, :k] for each in near], axis=1)
        indices = np.concatenate([each.indices[:, :k] for each in near], axis=1)
        order = np.lexsort((indices, distances))[:, :k]  # equal distances by their rows
        nearest = np.take_along_axis(indices, order, axis=1)
        return log_odds, np.take_along_axis(distances, order, axis=1), self.rows[nearest]

    def explain(self, X: NDArray) -> list[list[dict[str, Any]]]:
        """For each row one entry per member; see ``RareClassifier.explain``."""
        scores, neighbors = self._scores(X)
        means, scales = (column[:, np.newaxis] for column in self.average[1:])
        scores = (scores - means) / scales

        def used(i: int, number: int, c: int) -> dict[str, NDArray]:
            """The examples of class c that the score of row i was computed from."""
            near, size = neighbors[number][c], self.members[number].reading.size
            rows = self.rows[near.indices[i, :size]]
            return {"rows": rows, "distances": near.distances[i, :size]}

        return [
            [
                {
                    "member": member.name,
                    "weight": member.weight,
                    "score": float(scores[number, i]),
                    "positive": used(i, number, 1),
                    "negative": used(i, number, 0),
                }
                for number, member in enumerate(self.members)
            ]
            for i in range(len(X))
        ]

    @one_blas_thread
    def _scores(self, X: NDArray) -> tuple[NDArray, list[list[Neighbors]]]:
        """Scores, (n_members, n_rows), and each member's neighbors of each class.

        One search per metric, for as many neighbors as its members need.
        """
        queries = SharedTransform(X)
        scores = np.empty((len(self.members), len(X)))
        neighbors: list[list[Neighbors]] = [[] for _ in self.members]
        for metric in self.metrics:
            own = [i for i, member in enumerate(self.members) if member.metric is metric]
            readings = [self.members[i].reading for i in own]
            k = max(reading.size for reading in readings)
            found = metric.search.nearest_of_each_class(queries.project(metric.pipeline), k)
            scores[own] = metric.scores(found, readings)
            for i in own:
                neighbors[i] = found
        return scores, neighbors


def fit_ensemble(
    metrics: Sequence[MetricSpec], selection: Selection, tuned: TuningSet, row_numbers: NDArray
) -> Ensemble:
    """Fit the metrics of the kept candidates on all examples.

    ``row_numbers`` are those of the rows of the tuning set in the training data.
    """
    candidates = with_readings(metrics)
    kept = [candidates[number] for number in selection.kept]
    needed = sorted({metric for metric, _ in kept}, key=list(metrics).index)
    sample, more = tuned.sample, tuned.rows_for_trees()
    found = fit_metrics(needed, tuned.features, sample.labels, tuned.seed, sample.weights, more)
    fitted = dict(zip(needed, found, strict=True))
    members = [
        Member(m.name(reading), float(weight), fitted[m], reading, m.words(reading))
        for (m, reading), weight in zip(kept, selection.average.weights, strict=True)
    ]
    return Ensemble(members, selection.average, selection.calibration, row_numbers[tuned.rows])


def results_table(metrics: Sequence[MetricSpec], selection: Selection) -> dict[str, NDArray]:
    """One entry per candidate: what it is, how it was judged, and its weight in the average."""
    candidates = with_readings(metrics)
    weights = np.zeros(len(candidates))
    weights[selection.kept] = selection.average.weights
    return {
        "group": np.array([metric.group for metric, _ in candidates]),
        "branch": np.array([metric.branch for metric, _ in candidates]),
        "learner": np.array([repr(metric.learner) for metric, _ in candidates]),
        "reading": np.array([str(reading) for _, reading in candidates]),
        **selection.evaluation._asdict(),
        "rank_in_group": selection.ranks,
        "weight": weights,
    }
