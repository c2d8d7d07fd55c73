"""The classifiers of this package as ONNX operators: from distances to decisions.

The functions have the names of their counterparts in `raremetric.voting` and `raremetric.rare`.
Tables are (n_queries, n_classes).
"""

from __future__ import annotations

from collections.abc import Sequence

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
)
from raremetric.neighbors.one_sided import OneSidedSearch
from raremetric.rare import RareClassifier
from raremetric.rare.ensemble import Ensemble
from raremetric.voting import Reading
from raremetric.voting.readings import FAR
from raremetric.voting.votes import AdjustedVote, MajorityVote


def classify(X: Tensor, model: MetricKNNClassifier | RareClassifier) -> tuple[Tensor, Tensor]:
    """The index of the predicted class, (n_rows,), and probabilities, (n_rows, n_classes)."""
    if isinstance(model, MetricKNNClassifier):
        return _vote_outputs(X, model)
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
        distances = nearest_of_each_class(mapped, metric.search, k, n_classes=2)
        scores.append(class_scores(distances, metric.floor, member.reading).columns(1, 2))
    weights, means, scales = ensemble.average
    slope, intercept = ensemble.calibration
    return (side_by_side(scores) - means) / scales @ (slope * weights[:, np.newaxis]) + intercept


def _vote_outputs(X: Tensor, model: MetricKNNClassifier) -> tuple[Tensor, Tensor]:
    """The index of the class that wins the vote, and probabilities."""
    vote, examples, search = model._vote, model._examples, model._examples.searches[0]
    is_joint = len(examples.searches) == 1
    if isinstance(vote, AdjustedVote) or isinstance(search, OneSidedSearch) or not is_joint:
        raise ValueError(
            "Adjusted votes, one metric per class, and metrics that are used toward one class "
            "only, such as MLFP, cannot be exported to ONNX. Use vote='score', "
            "multiclass='joint' and another learner."
        )
    mapped = map_rows(X, model.metric_)
    if isinstance(vote, MajorityVote):
        ballots = np.eye(len(model.classes_))[examples.labels.codes]  # (n_examples, n_classes)
        if examples.weights is not None:
            ballots *= examples.weights[:, np.newaxis]
        _, rows = nearest(mapped, search.Z, vote.n_neighbors)
        p = values = shares(X.graph.as_tensor(ballots).Gather(rows).sum(1))
    else:
        distances = nearest_of_each_class(mapped, search, vote.reading.size)
        classes, (slope, intercept) = vote.calibration
        scores = class_scores(distances, examples.floors[0], vote.reading)
        odds = scores.Gather(classes, axis=1) * slope + intercept
        values = _both_classes(odds - logit(vote.threshold), classes)
        p = shares(_both_classes(odds, classes).expit())
    return values.ArgMax(axis=1, keepdims=0), p


def class_scores(parts: Sequence[Sorted], floor: float, reading: Reading) -> Tensor:
    """How much nearer each class is than all others."""
    parts = [
        Sorted(table.columns(0, reading.size).Max(floor), min(width, reading.size))
        for table, width in parts
    ]
    own = [_read(part, reading) for part in parts]
    if len(parts) == 2:
        others = own[::-1]
    else:
        rest = [_merge([*parts[:c], *parts[c + 1 :]]) for c in range(len(parts))]
        others = [_read(part, reading) for part in rest]
    return side_by_side([other - one for other, one in zip(others, own, strict=True)])


def _read(part: Sorted, reading: Reading) -> Tensor:
    """The squared distance to a class, or its logarithm: (n_queries, 1)."""
    m = min(reading.size, part.width)
    used = part.table.columns(0 if reading.averaged else m - 1, m)
    if reading.power == 0:
        values = used.Log()
    else:
        values = used.Min(float(np.exp(FAR)))
        values = values * values
    return values.ReduceMean([1], keepdims=1)


def _merge(parts: Sequence[Sorted]) -> Sorted:
    """The distances of several classes, sorted."""
    width = sum(part.width for part in parts)
    return Sorted(side_by_side([part.table for part in parts]).smallest(width)[0], width)


def shares(values: Tensor) -> Tensor:
    """The values of each row divided by their sum."""
    return values / values.sum(1, keepdims=True)


def _both_classes(values: Tensor, classes: NDArray) -> Tensor:
    """With one of two classes, (n_queries, 1), add the other: it has the opposite value."""
    if len(classes) > 1:
        return values
    return side_by_side([-values, values] if classes[0] == 1 else [values, -values])
