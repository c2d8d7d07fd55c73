"""From distances to probabilities and decisions, as ONNX operators.

The functions have the names and arguments of their counterparts in `raremetric.voting`. Each
returns the names of tensors; tables are (n_queries, n_classes).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit

from raremetric.export.graph import Graph
from raremetric.export.neighbors import Sorted, nearest, nearest_of_each_class, unit_of_examples
from raremetric.scales import unit_of
from raremetric.voting import Reading
from raremetric.voting.readings import FAR
from raremetric.voting.votes import (
    TIE,
    TINY,
    AdjustedVote,
    Calibration,
    Examples,
    MajorityVote,
    ScoreVote,
    majority_reading,
)


def class_scores(graph: Graph, parts: Sequence[Sorted], floor: float, reading: Reading) -> str:
    """How much nearer each class is than all others."""
    parts = [
        Sorted(graph.Max(graph.columns(name, 0, reading.size), floor), min(width, reading.size))
        for name, width in parts
    ]
    unit = float(unit_of(floor, -40, 40))
    own = [_read(graph, part, reading, unit) for part in parts]
    if len(parts) == 2:
        others = own[::-1]
    else:
        rest = [_merge(graph, [*parts[:c], *parts[c + 1 :]]) for c in range(len(parts))]
        others = [_read(graph, part, reading, unit) for part in rest]
    return graph.Concat(*(graph.Sub(*pair) for pair in zip(others, own, strict=True)), axis=1)


def _read(graph: Graph, part: Sorted, reading: Reading, unit: float) -> str:
    """A power of the distance to a class in a unit, or its logarithm: (n_queries, 1)."""
    m = min(reading.size, part.width)
    used = graph.columns(part.name, 0 if reading.averaged else m - 1, m)
    if reading.power == 0:
        values = graph.Log(used)
    else:
        values = graph.Min(graph.Div(used, unit), float(np.exp(FAR)))
        if reading.power == 2:
            values = graph.Mul(values, values)
    return graph.ReduceMean(values, [1], keepdims=1)


def _merge(graph: Graph, parts: Sequence[Sorted]) -> Sorted:
    """The distances of several classes, sorted."""
    width = sum(part.width for part in parts)
    together = graph.Concat(*(part.name for part in parts), axis=1)
    return Sorted(graph.smallest(together, width)[0], width)


def log_odds(graph: Graph, scores: str, calibration: Calibration) -> str:
    """Calibrated log-odds of the classes that have a sigmoid, one column for each of them."""
    slope, intercept = calibration.sigmoid
    return graph.Add(graph.Mul(graph.Gather(scores, calibration.classes, axis=1), slope), intercept)


def probabilities(graph: Graph, scores: str, calibration: Calibration) -> str:
    """Calibrated probabilities that sum to one."""
    values = log_odds(graph, scores, calibration)
    return shares(graph, graph.expit(_both_classes(graph, values, calibration.classes)))


def shares(graph: Graph, values: str) -> str:
    """The values of each row divided by their sum."""
    return graph.Div(values, graph.ReduceSum(values, [1], keepdims=1))


@singledispatch
def vote_outputs(
    vote: Any, graph: Graph, examples: Examples, queries: Sequence[str]
) -> tuple[str, str]:
    """Values of which the largest belongs to the predicted class, and probabilities."""
    raise ValueError(f"{type(vote).__name__} cannot be exported to ONNX. Choose another vote.")


@vote_outputs.register
def _(
    vote: MajorityVote, graph: Graph, examples: Examples, queries: Sequence[str]
) -> tuple[str, str]:
    found = _majority_shares(graph, vote.k, examples, queries)
    return found, found


@vote_outputs.register
def _(vote: ScoreVote, graph: Graph, examples: Examples, queries: Sequence[str]) -> tuple[str, str]:
    distances = _class_distances(graph, examples, queries, vote.reading.size, exact=False)
    scores = _scores(graph, distances, examples.floors, vote.reading)
    above = graph.Sub(log_odds(graph, scores, vote.calibration), logit(vote.thresholds))
    values = _both_classes(graph, above, vote.calibration.classes)
    return values, probabilities(graph, scores, vote.calibration)


@vote_outputs.register
def _(
    vote: AdjustedVote, graph: Graph, examples: Examples, queries: Sequence[str]
) -> tuple[str, str]:
    distances = _class_distances(graph, examples, queries, vote.k, exact=True)
    distances = [_scaled(graph, parts, vote.gamma) for parts in distances]
    scores = _scores(graph, distances, examples.floors, majority_reading(vote.k))
    values = _adjusted_decision(graph, distances, vote.k)
    return values, probabilities(graph, scores, vote.calibration)


def _class_distances(
    graph: Graph, examples: Examples, queries: Sequence[str], k: int, exact: bool
) -> list[list[Sorted]]:
    """Distances to the k nearest examples of each class, under each metric."""
    return [
        nearest_of_each_class(graph, mapped, search, k, exact=exact)
        for mapped, search in zip(queries, examples.searches, strict=True)
    ]


def _majority_shares(graph: Graph, k: int, examples: Examples, queries: Sequence[str]) -> str:
    labels, weights = examples.labels, examples.weights
    ballots = np.eye(len(labels.classes))[labels.codes]  # (n_examples, n_classes)
    if weights is not None:
        ballots *= weights[:, np.newaxis]
    votes = []
    for mapped, search in zip(queries, examples.searches, strict=True):
        _, rows = nearest(graph, mapped, search.Z, k, unit_of_examples(search.Z))
        votes.append(graph.ReduceSum(graph.Gather(ballots, rows), [1], keepdims=0))
    if len(votes) == 1:
        return shares(graph, votes[0])
    resolution = 1.0 if weights is None else TIE * weights.min()
    total = graph.Sum(*votes)
    of_total = graph.Add(graph.ReduceSum(total, [1], keepdims=1), resolution)
    ties = graph.Div(graph.Mul(total, resolution), of_total)
    return shares(graph, graph.Add(_own_columns(graph, votes), ties))


def _adjusted_decision(graph: Graph, distances: list[list[Sorted]], k: int) -> str:
    """See ``raremetric.voting.votes.adjusted_decision``; the distances are already scaled."""
    reading = majority_reading(k)
    nearness = _scores(graph, distances, [TINY] * len(distances), reading)
    if len(distances[0]) > 2:
        votes = _own_columns(graph, [_count_nearest(graph, parts, k) for parts in distances])
        share = graph.Mul(graph.Add(graph.Abs(nearness), 1.0), 2.0)
        return graph.Add(votes, graph.Div(nearness, share))
    for c, part in enumerate(distances[0]):
        if part.width < reading.size:  # it can never have a majority
            own = graph.Min(graph.columns(nearness, c, c + 1), -TINY)
            nearness = _both_classes(graph, own, np.array([c]))
    return nearness


def _count_nearest(graph: Graph, parts: list[Sorted], k: int) -> str:
    """Classes of the k nearest, counted; ties are broken by the order of the classes."""
    owners = np.repeat(np.eye(len(parts)), [part.width for part in parts], axis=0)
    together = graph.Concat(*(part.name for part in parts), axis=1)
    _, columns = graph.smallest(together, k)
    return graph.ReduceSum(graph.Gather(owners, columns), [1], keepdims=0)


def _scores(
    graph: Graph, distances: list[list[Sorted]], floors: Sequence[float], reading: Reading
) -> str:
    tables = [
        class_scores(graph, parts, floor, reading)
        for parts, floor in zip(distances, floors, strict=True)
    ]
    return _own_columns(graph, tables)


def _scaled(graph: Graph, parts: list[Sorted], factors: NDArray) -> list[Sorted]:
    return [
        Sorted(graph.Mul(part.name, factor), part.width)
        for part, factor in zip(parts, factors, strict=True)
    ]


def _own_columns(graph: Graph, tables: Sequence[str]) -> str:
    """Column c of the table of class c, or all columns of the only table."""
    if len(tables) == 1:
        return tables[0]
    own = [graph.columns(table, c, c + 1) for c, table in enumerate(tables)]
    return graph.Concat(*own, axis=1)


def _both_classes(graph: Graph, values: str, classes: NDArray) -> str:
    """With one of two classes, (n_queries, 1), add the other: it has the opposite value."""
    if len(classes) > 1:
        return values
    both = [graph.Neg(values), values]
    return graph.Concat(*(both if classes[0] == 1 else both[::-1]), axis=1)
