"""What is kept: the best candidates of each group, averaged into one calibrated score."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit
from sklearn.pipeline import Pipeline

from raremetric.neighbors import Neighbors
from raremetric.performance import one_blas_thread
from raremetric.rare.candidates import MetricSpec, with_readings
from raremetric.rare.fitting import FittedMetric, MoreRows, SharedTransform, fit_metrics
from raremetric.rare.log_odds import LogOddsDistance
from raremetric.selection import (
    Aim,
    Evaluation,
    Sigmoid,
    evaluate,
    fit_sigmoid,
    observed_utility,
    pool,
    rank,
    standard_error,
    validate,
)
from raremetric.selection.averaging import Average, average_best
from raremetric.validation import Labels
from raremetric.voting import Reading


class Selection(NamedTuple):
    """The candidates that are kept, with the calibration and the threshold of their average."""

    evaluation: Evaluation  # of all candidates
    ranks: NDArray[np.int64]  # of all candidates, each within its group, from 1
    kept: NDArray[np.int64]  # numbers of the kept candidates, the largest weight first
    average: Average  # of the scores of the kept candidates, in the same order
    calibration: Sigmoid
    threshold: float
    score: float  # out-of-fold utility of the average at that threshold
    score_std: float  # its standard error
    validation: dict[str, float]  # other out-of-fold measures at that threshold
    missed: float | None  # the expected value of a constrained measure, if it is too low

    def log_odds(self, scores: NDArray) -> NDArray[np.float64]:
        """Log-odds of the positive class, from scores of shape (n_kept, n_rows)."""
        return self.calibration.log_odds(self.average(scores))

    def with_odds(self, factor: float) -> Selection:
        """The same decisions for data with ``factor`` times the odds of a positive."""
        shift = np.log(factor)
        slope, intercept = self.calibration
        return self._replace(
            calibration=Sigmoid(slope, intercept + shift),
            threshold=float(expit(logit(self.threshold) + shift)),
        )


def select(
    scores: NDArray,
    groups: Sequence[str],
    positive: NDArray,
    aim: Aim,
    group_weights: Mapping[str, float],
    weights: NDArray | None = None,
    metrics: NDArray[np.int64] | None = None,
) -> Selection:
    """Judge candidates of any kind by their out-of-fold scores, and average the best.

    Parameters
    ----------
    scores : ndarray of shape (n_candidates, n_repeats, n_samples)
        Higher scores mean that an example is more likely positive.
    groups : sequence of str
        The group of each candidate.
    positive : ndarray of bool of shape (n_samples,)
    aim : Aim
        What to maximize.
    group_weights : mapping of str to float
        The prior weight of each group in the average, see `weigh_groups`.
    weights : ndarray of shape (n_samples,) or None, default=None
        How much each example counts; None for all the same.
    metrics : ndarray of int or None, default=None
        See `average_best`.
    """
    n_repeats = scores.shape[1]
    evaluation = evaluate(scores, positive, aim, weights)
    ranks = rank(evaluation, groups, aim.measures)
    kept, average = average_best(scores, groups, ranks, positive, group_weights, weights, metrics)
    averaged = average(scores[kept].reshape(len(kept), -1))
    truth, pooled = pool(positive, weights, n_repeats)
    calibration = fit_sigmoid(averaged, truth, pooled)
    p = calibration(averaged)
    threshold = aim.threshold(p, pooled)
    predicted = (p >= threshold).reshape(n_repeats, -1)
    return Selection(
        evaluation,
        ranks,
        kept,
        average,
        calibration,
        threshold,
        score=float(observed_utility(predicted.ravel(), truth, aim.utility, pooled)),
        score_std=standard_error(predicted, positive, aim.utility, weights),
        validation=validate(
            averaged.reshape(n_repeats, -1), positive, predicted, aim.row_weights(positive, weights)
        ),
        missed=aim.missed(p, threshold, pooled),
    )


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
        Member(f"{m.branch}, {m.learner!r}, {reading}", float(weight), fitted[m], reading)
        for (m, reading), weight in zip(kept, selection.average.weights, strict=True)
    ]
    rows = np.arange(len(X)) if rows is None else rows
    return Ensemble(members, selection.average, selection.calibration, rows)
