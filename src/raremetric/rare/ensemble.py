"""The fitted members of an average of candidates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from raremetric.neighbors import Neighbors
from raremetric.performance import one_blas_thread
from raremetric.rare.candidates import MetricSpec, with_readings
from raremetric.rare.fitting import FittedMetric, MoreRows, SharedTransform, fit_metrics
from raremetric.rare.log_odds import LogOddsDistance
from raremetric.selection import Average, Selection, Sigmoid
from raremetric.validation import Labels
from raremetric.voting import Reading


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
        weights: dict[int, float] = {}
        for member in self.members:
            if not isinstance(member.pipeline[-1], LogOddsDistance):
                weights[id(member.metric)] = weights.get(id(member.metric), 0.0) + member.weight
        if not weights:
            return 0
        main = max(weights, key=lambda each: weights[each])
        return [id(member.metric) for member in self.members].index(main)

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

    def explain(self, X: NDArray) -> list[list[dict[str, Any]]]:
        """For each row one entry per member; see ``RareClassifier.explain``."""
        scores, neighbors = self._scores(X)
        reasons: list[list[dict[str, Any]]] = [[] for _ in X]
        for member, own, near, mean, scale in zip(
            self.members, scores, neighbors, self.average.means, self.average.scales, strict=True
        ):
            for i, score in enumerate((own - mean) / scale):
                negative, positive = (self._used(c, i, member.reading) for c in near)
                reasons[i].append(
                    {
                        "member": member.name,
                        "weight": member.weight,
                        "score": float(score),
                        "positive": positive,
                        "negative": negative,
                    }
                )
        return reasons

    def _used(self, near: Neighbors, i: int, reading: Reading) -> dict[str, NDArray]:
        """The examples of one class that the score of row i was computed from."""
        return {
            "rows": self.rows[near.indices[i, : reading.size]],
            "distances": near.distances[i, : reading.size],
        }

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
            scores[own] = metric.scores([near.distances for near in found], readings)
            for i in own:
                neighbors[i] = found
        return scores, neighbors


def fit_ensemble(
    metrics: Sequence[MetricSpec],
    selection: Selection,
    X: NDArray,
    labels: Labels,
    seed: int,
    rows: NDArray | None = None,
    weights: NDArray | None = None,
    more: MoreRows | None = None,
) -> Ensemble:
    """Fit the metrics of the kept candidates on all examples.

    ``rows`` are the row numbers of the examples in the training data, by default 0, 1, 2, ...
    ``weights`` are those of the examples; None for all the same.
    """
    candidates = with_readings(metrics)
    kept = [candidates[number] for number in selection.kept]
    needed = sorted({metric for metric, _ in kept}, key=list(metrics).index)
    fitted = dict(zip(needed, fit_metrics(needed, X, labels, seed, weights, more), strict=True))
    members = [
        Member(m.name(reading), float(weight), fitted[m], reading, m.words(reading))
        for (m, reading), weight in zip(kept, selection.average.weights, strict=True)
    ]
    rows = np.arange(len(X)) if rows is None else rows
    return Ensemble(members, selection.average, selection.calibration, rows)
