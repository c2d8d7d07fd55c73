"""The classifiers of this package as ONNX operators: from distances to decisions.

The functions have the names of their counterparts in `raremetric.voting` and `raremetric.rare`.
Tables are (n_queries, n_classes).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit

from raremetric.classifier import MetricKNNClassifier
from raremetric.export.graph import Tensor, side_by_side
from raremetric.export.maps import (
    Sorted,
    map_rows,
    nearest,
    nearest_of_each_class,
    unit_of_examples,
)
from raremetric.neighbors import NeighborSearch
from raremetric.neighbors.one_sided import is_one_sided
from raremetric.rare import RareClassifier
from raremetric.rare.ensemble import Ensemble
from raremetric.scales import unit_of
from raremetric.voting import Reading
from raremetric.voting.readings import FAR
from raremetric.voting.votes import (
    TIE,
    TINY,
    Calibration,
    Examples,
    MajorityVote,
    ScoreVote,
    Vote,
    majority_reading,
)


def classify(X: Tensor, model: MetricKNNClassifier | RareClassifier) -> tuple[Tensor, Tensor]:
    """The index of the predicted class, (n_rows,), and probabilities, (n_rows, n_classes)."""
    if isinstance(model, MetricKNNClassifier):
        if any(map(is_one_sided, model.metrics_)):
            raise ValueError(
                "A metric that is used toward one class only, such as MLFP, cannot be exported to "
                "ONNX. Choose another learner."
            )
        queries = [map_rows(X, metric) for metric in model.metrics_]
        values, p = vote_outputs(model._vote, model._examples, queries)
        return values.ArgMax(axis=1, keepdims=0), p
    models = model.estimators_ if len(model.classes_) > 2 else [model]
    odds = side_by_side([_ensemble_odds(X, each.ensemble_) for each in models])
    above, p = odds - logit([each.threshold_ for each in models]), odds.expit()
    if len(models) > 1:
        return above.ArgMax(axis=1, keepdims=0), shares(p)
    positive = int(model.pos_label_ == model.classes_[1])
    winners = (above >= 0.0).Where(positive, 1 - positive)
    return winners.Squeeze([1]), side_by_side([1.0 - p, p] if positive else [p, 1.0 - p])


def _ensemble_odds(X: Tensor, ensemble: Ensemble) -> Tensor:
    """Log-odds of the positive class, (n_rows, 1)."""
    scores = []
    for member in ensemble.members:
        metric = member.metric
        mapped = map_rows(X, metric.pipeline)
        if metric.search is None or member.reading is None:  # a plain score
            scores.append(mapped)
            continue
        shared = [each.reading for each in ensemble.members if each.metric is metric]
        k = max(reading.size for reading in shared if reading)
        distances = nearest_of_each_class(mapped, metric.search, k, exact=False, n_classes=2)
        scores.append(class_scores(distances, metric.floor, member.reading).columns(1, 2))
    weights, means, scales = ensemble.average
    slope, intercept = ensemble.calibration
    return (side_by_side(scores) - means) / scales @ (slope * weights[:, np.newaxis]) + intercept


def vote_outputs(
    vote: Vote, examples: Examples, queries: Sequence[Tensor]
) -> tuple[Tensor, Tensor]:
    """Values of which the largest belongs to the predicted class, and probabilities."""
    if isinstance(vote, MajorityVote):
        p = _vote_shares(vote.n_neighbors, examples, queries)
        return p, p
    if isinstance(vote, ScoreVote):
        distances = _class_distances(examples, queries, vote.reading.size, exact=False)
        odds = log_odds(_scores(distances, examples.floors, vote.reading), vote.calibration)
        values = _both_classes(odds - logit(vote.threshold), vote.calibration.classes)
        return values, probabilities(odds, vote.calibration)
    k, found = vote.n_neighbors, _class_distances(examples, queries, vote.n_neighbors, exact=True)
    distances = [
        [Sorted(each.table * f, each.width) for each, f in zip(parts, vote.gamma, strict=True)]
        for parts in found
    ]
    odds = log_odds(_scores(distances, examples.floors, majority_reading(k)), vote.calibration)
    return _adjusted_decision(distances, k), probabilities(odds, vote.calibration)


def _vote_shares(k: int, examples: Examples, queries: Sequence[Tensor]) -> Tensor:
    labels, weights = examples.labels, examples.weights
    ballots = np.eye(len(labels.classes))[labels.codes]  # (n_examples, n_classes)
    if weights is not None:
        ballots *= weights[:, np.newaxis]
    votes = []
    for mapped, search in zip(queries, _searches(examples), strict=True):
        _, rows = nearest(mapped, search.Z, k, unit_of_examples(search.Z))
        votes.append(mapped.graph.as_tensor(ballots).Gather(rows).sum(1))
    if len(votes) > 1:
        resolution = 1.0 if weights is None else TIE * weights.min()
        total = votes[0].Sum(*votes[1:])
        ties = total * resolution / (total.sum(1, keepdims=True) + resolution)
        votes = [_own_columns(votes) + ties]
    return shares(votes[0])


def _class_distances(
    examples: Examples, queries: Sequence[Tensor], k: int, exact: bool
) -> list[list[Sorted]]:
    """Distances to the k nearest examples of each class, under each metric."""
    return [
        nearest_of_each_class(mapped, search, k, exact=exact)
        for mapped, search in zip(queries, _searches(examples), strict=True)
    ]


def _searches(examples: Examples) -> list[NeighborSearch]:
    """One per metric; metrics that are used toward one class only were refused."""
    return cast("list[NeighborSearch]", examples.searches)


def _scores(distances: list[list[Sorted]], floors: Sequence[float], reading: Reading) -> Tensor:
    """How much nearer each class is than all others, under its own or the only metric."""
    return _own_columns(
        [class_scores(*each, reading) for each in zip(distances, floors, strict=True)]
    )


def class_scores(parts: Sequence[Sorted], floor: float, reading: Reading) -> Tensor:
    """How much nearer each class is than all others."""
    parts = [
        Sorted(table.columns(0, reading.size).Max(floor), min(width, reading.size))
        for table, width in parts
    ]
    unit = float(unit_of(floor, -40, 40))
    own = [_read(part, reading, unit) for part in parts]
    if len(parts) == 2:
        others = own[::-1]
    else:
        rest = [_merge([*parts[:c], *parts[c + 1 :]]) for c in range(len(parts))]
        others = [_read(part, reading, unit) for part in rest]
    return side_by_side([other - one for other, one in zip(others, own, strict=True)])


def _read(part: Sorted, reading: Reading, unit: float) -> Tensor:
    """A power of the distance to a class in a unit, or its logarithm: (n_queries, 1)."""
    m = min(reading.size, part.width)
    used = part.table.columns(0 if reading.averaged else m - 1, m)
    if reading.power == 0:
        values = used.Log()
    else:
        values = (used / unit).Min(float(np.exp(FAR)))
        values = values * values if reading.power == 2 else values
    return values.ReduceMean([1], keepdims=1)


def _merge(parts: Sequence[Sorted]) -> Sorted:
    """The distances of several classes, sorted."""
    width = sum(part.width for part in parts)
    return Sorted(side_by_side([part.table for part in parts]).smallest(width)[0], width)


def _adjusted_decision(distances: list[list[Sorted]], k: int) -> Tensor:
    """See ``raremetric.voting.votes.adjusted_decision``; the distances are already scaled."""
    reading = majority_reading(k)
    nearness = _scores(distances, [TINY] * len(distances), reading)
    if len(distances[0]) > 2:
        votes = _own_columns([_count_nearest(parts, k) for parts in distances])
        return votes + nearness / ((nearness.Abs() + 1.0) * 2.0)
    for c, part in enumerate(distances[0]):
        if part.width < reading.size:  # it can never have a majority
            nearness = _both_classes(nearness.columns(c, c + 1).Min(-TINY), np.array([c]))
    return nearness


def _count_nearest(parts: list[Sorted], k: int) -> Tensor:
    """Classes of the k nearest, counted; ties are broken by the order of the classes."""
    owners = np.repeat(np.eye(len(parts)), [part.width for part in parts], axis=0)
    _, columns = side_by_side([part.table for part in parts]).smallest(k)
    return columns.graph.as_tensor(owners).Gather(columns).sum(1)


def log_odds(scores: Tensor, calibration: Calibration) -> Tensor:
    """Calibrated log-odds of the classes that have a sigmoid, one column for each of them."""
    slope, intercept = calibration.sigmoid
    return scores.Gather(calibration.classes, axis=1) * slope + intercept


def probabilities(log_odds: Tensor, calibration: Calibration) -> Tensor:
    """Probabilities that sum to one."""
    return shares(_both_classes(log_odds, calibration.classes).expit())


def shares(values: Tensor) -> Tensor:
    """The values of each row divided by their sum."""
    return values / values.sum(1, keepdims=True)


def _own_columns(tables: Sequence[Tensor]) -> Tensor:
    """Column c of the table of class c, or all columns of the only table."""
    if len(tables) == 1:
        return tables[0]
    return side_by_side([table.columns(c, c + 1) for c, table in enumerate(tables)])


def _both_classes(values: Tensor, classes: NDArray) -> Tensor:
    """With one of two classes, (n_queries, 1), add the other: it has the opposite value."""
    if len(classes) > 1:
        return values
    return side_by_side([-values, values] if classes[0] == 1 else [values, -values])
