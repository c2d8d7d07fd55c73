"""What RareClassifier keeps: the fitted members of an average of candidates."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from raremetric.neighbors import Neighbors, NeighborSearch
from raremetric.performance import one_blas_thread
from raremetric.rare.candidates import LOGISTIC, TREES, Candidate, MetricSpec, with_readings
from raremetric.rare.evaluation import fit_and_score
from raremetric.rare.fitting import FittedMetric, SharedTransform, fit_metrics
from raremetric.rare.tuning_set import TuningSet
from raremetric.selection import Average, Choice, Sample, Sigmoid, Turns
from raremetric.validation import Labels
from raremetric.voting import Reading


class Member(NamedTuple):
    """A kept candidate: a fitted metric with a reading of its distances, or a plain score."""

    name: str
    weight: float  # in the average; all weights sum to one
    metric: FittedMetric  # the same object for all members with this metric
    reading: Reading | None  # None for a plain score

    @property
    def pipeline(self) -> Pipeline:
        """The fitted preprocessing steps and the fitted learner."""
        return self.metric.pipeline


class Ensemble(NamedTuple):
    """The members, the average of their scores, and its calibration."""

    members: list[Member]
    average: Average
    calibration: Sigmoid
    rows: NDArray[np.int64]  # rows of the training data that are the examples

    @property
    def metrics(self) -> list[FittedMetric]:
        """The metrics of the members, each once."""
        return list({id(member.metric): member.metric for member in self.members}.values())

    @property
    def weights(self) -> dict[str, float]:
        """The weight of each candidate, the largest first; it may have models of several folds."""
        found: dict[str, float] = {}
        for member in self.members:
            found[member.name] = found.get(member.name, 0.0) + member.weight
        return dict(sorted(found.items(), key=lambda item: -item[1]))

    @property
    def main_member(self) -> int:
        """Position of the first member whose metric has the largest weight of all its members.

        Plain scores have no metric, and so no neighbors.
        """
        numbers = [id(member.metric) for member in self.members]
        weights = dict.fromkeys(numbers, 0.0)
        for number, member in zip(numbers, self.members, strict=True):
            if member.reading is not None:
                weights[number] += member.weight
        return numbers.index(max(numbers, key=lambda number: weights[number]))

    @property
    def weight_of_neighbors(self) -> float:
        """The weight of all members together whose scores come from neighbors."""
        return sum(member.weight for member in self.members if member.reading is not None)

    def log_odds(self, X: NDArray) -> NDArray:
        """Log-odds of the positive class, (n_rows,)."""
        scores, _ = self._scores(X)
        return self.calibration.log_odds(self.average(scores))

    def log_odds_and_neighbors(self, X: NDArray, k: int) -> tuple[NDArray, NDArray, NDArray]:
        """Log-odds, and distances and rows of the k nearest examples under the main metric.

        The same as `log_odds` and `kneighbors`, with one search under that metric.
        """
        scores, neighbors = self._scores(X, n_shown=k)
        found = neighbors[self.main_member]
        distances, rows = (np.hstack(parts) for parts in zip(*found, strict=True))
        nearest = np.lexsort((rows, distances))[:, :k]
        distances, rows = (np.take_along_axis(each, nearest, axis=1) for each in (distances, rows))
        return self.calibration.log_odds(self.average(scores)), distances, self.rows[rows]

    @one_blas_thread
    def kneighbors(self, X: NDArray, k: int, member: int) -> tuple[NDArray, NDArray]:
        """Distances and rows of the k nearest examples of any class under a member's metric."""
        pipeline, search, _ = self.members[member].metric
        if search is None:
            raise ValueError(
                f"member={member} is a plain score, without neighbors. Choose another member, or "
                "None for the metric with the largest weight."
            )
        found = search.nearest(SharedTransform(X).project(pipeline), k)
        return found.distances, self.rows[found.indices]

    def explain(self, X: NDArray) -> list[list[dict[str, Any]]]:
        """For each row one entry per member; see ``RareClassifier.explain``."""
        scores, neighbors = self._scores(X)
        means, scales = (column[:, np.newaxis] for column in self.average[1:])
        scores = (scores - means) / scales

        def used(i: int, number: int, c: int) -> dict[str, NDArray]:
            """The examples of class c that the score of row i was computed from."""
            near, reading = neighbors[number][c], self.members[number].reading
            size = 0 if reading is None else reading.size
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
    def _scores(self, X: NDArray, n_shown: int = 0) -> tuple[NDArray, list[list[Neighbors]]]:
        """Scores, (n_members, n_rows), and each member's neighbors of each class.

        One search per metric, for as many neighbors as its members need, and as are to be shown.
        """
        queries = SharedTransform(X)
        scores = np.empty((len(self.members), len(X)))
        neighbors: list[list[Neighbors]] = [[] for _ in self.members]
        main = self.members[self.main_member].metric
        for metric in self.metrics:
            own = [i for i, member in enumerate(self.members) if member.metric is metric]
            readings = [reading for i in own if (reading := self.members[i].reading)]
            scores[own], found = metric.scores(
                queries.project(metric.pipeline), readings, n_shown=n_shown * (metric is main)
            )
            for i in own:
                neighbors[i] = found
        return scores, neighbors


def fit_members(
    metrics: Sequence[MetricSpec],
    choice: Choice,
    scores: NDArray,
    tuned: TuningSet,
    sample: Sample,
    n_jobs: int | None = None,
) -> tuple[tuple[list[Member], Average], NDArray[np.float64]]:
    """Fit the metrics of the kept candidates on the folds `TuningSet.last`, where they take turns.

    If there are no such folds, all are fitted on all examples. The distance to a class is then
    computed from more neighbors, in proportion to the number of examples.

    ``scores`` are those of the kept candidates, (n_kept, n_repeats, n_samples), and ``sample`` is
    what these samples are: first the examples. Returns the members with the average of their
    scores, and the out-of-fold averages to calibrate, (n_repeats, n_samples).
    """
    candidates, average = with_readings(metrics), choice.average
    kept = [candidates[number] for number in choice.kept]
    if tuned.last is None:
        return (_members(kept, _fit_on_all(kept, tuned), average), average), average(scores)
    turns, X = Turns.of(tuned.last, _taking_turns(kept)), tuned.features

    def fit_fold(own: list[int], train: NDArray, validation: NDArray) -> tuple[list, NDArray]:
        needed = list(dict.fromkeys(kept[number][0] for number in own))
        needed.sort(key=list(metrics).index)  # those that share steps are neighbors in the list
        parts = fit_and_score(needed, tuned, X, train, validation)
        found = {}
        for spec, (metric, mapped, of_readings) in zip(needed, parts, strict=True):
            if metric.search is not None:
                search = _among_all(metric.search, train, validation, mapped)
                metric = metric._replace(search=search)
            for (_, reading), values in zip(with_readings([spec]), of_readings, strict=True):
                found[spec, reading] = (metric, reading), values
        models, values = zip(*(found[kept[number]] for number in own), strict=True)
        return list(models), np.stack(values)

    models, turn_scores = turns.fit(fit_fold, n_jobs)
    numbers, average, averaged = turns.combine(average, scores, turn_scores, sample)
    order = np.argsort(-average.weights, kind="stable")
    average = Average(*(column[order] for column in average))
    flat = [model for own in models for model in own]
    kept, fitted = [kept[numbers[i]] for i in order], [flat[i] for i in order]
    return (_members(kept, fitted, average), average), averaged


def _fit_on_all(
    kept: Sequence[Candidate], tuned: TuningSet
) -> list[tuple[FittedMetric, Reading | None]]:
    needed = list(dict.fromkeys(spec for spec, _ in kept))
    sample, more = tuned.sample, tuned.rows_for_trees()
    found = fit_metrics(needed, tuned.features, sample.labels, tuned.seed, sample.weights, more)
    fitted = dict(zip(needed, found, strict=True))
    n_learned = fmean(len(train) for folds in tuned.repeats for train, _ in folds)
    factor = tuned.n_examples / n_learned
    return [(fitted[spec], reading and reading.scaled(factor)) for spec, reading in kept]


def _among_all(
    search: NeighborSearch, train: NDArray, validation: NDArray, mapped: NDArray
) -> NeighborSearch:
    """A search among these examples and, as a third class, those that were held out."""
    Z = np.empty((len(train) + len(validation), mapped.shape[1]))
    Z[train], Z[validation] = search.Z, mapped
    codes = np.full(len(Z), 2)
    codes[train] = cast(Labels, search.labels).codes
    return NeighborSearch(Z, Labels(np.arange(3), codes, np.bincount(codes)))


def _taking_turns(kept: Sequence[Candidate]) -> list[list[list[int]]]:
    """Positions of the candidates that are fitted together, for each list of those taking turns.

    Metrics after trees are in one list, the other metrics in another: a prediction searches the
    neighbors under about one metric of each list and fold. Log-odds of trees are in a third list.
    Logistic regressions cost nothing: all are in all folds.
    """
    lists: dict[str, dict[MetricSpec | str, list[int]]] = {}
    for number, (spec, reading) in enumerate(kept):
        alone = reading is None or spec.group == TREES
        own = lists.setdefault(spec.group if alone else "other metrics", {})
        own.setdefault(LOGISTIC if spec.group == LOGISTIC else spec, []).append(number)
    return [list(own.values()) for own in lists.values()]


def _members(
    candidates: Sequence[Candidate],
    fitted: Sequence[tuple[FittedMetric, Reading | None]],
    average: Average,
) -> list[Member]:
    return [
        Member(spec.name(tried), weight, metric, reading)
        for (spec, tried), (metric, reading), weight in zip(
            candidates, fitted, average.weights.tolist(), strict=True
        )
    ]


def results_table(metrics: Sequence[MetricSpec], choice: Choice) -> dict[str, NDArray]:
    """One entry per candidate: what it is, how it was judged, and its weight in the average."""
    candidates = with_readings(metrics)
    weights = np.zeros(len(candidates))
    weights[choice.kept] = choice.average.weights
    return {
        "group": np.array([metric.group for metric, _ in candidates]),
        "branch": np.array([metric.branch for metric, _ in candidates]),
        "learner": np.array([repr(metric.learner) for metric, _ in candidates]),
        "reading": np.array([str(reading or "") for _, reading in candidates]),
        **choice.evaluation._asdict(),
        "rank_in_group": choice.ranks,
        "weight": weights,
    }
