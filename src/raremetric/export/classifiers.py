"""The classifiers of this package as ONNX operators."""

from __future__ import annotations

import numpy as np
from scipy.special import logit

from raremetric.classifier import MetricKNNClassifier
from raremetric.export.graph import Graph
from raremetric.export.maps import map_rows
from raremetric.export.neighbors import nearest_of_each_class
from raremetric.export.votes import class_scores, shares, vote_outputs
from raremetric.rare import RareClassifier
from raremetric.rare.ensemble import Ensemble


def classify(graph: Graph, X: str, model: MetricKNNClassifier | RareClassifier) -> tuple[str, str]:
    """The index of the predicted class, (n_rows,), and probabilities, (n_rows, n_classes)."""
    if isinstance(model, MetricKNNClassifier):
        queries = [map_rows(graph, X, learner) for learner in model.metrics_]
        values, p = vote_outputs(model._vote, graph, model._examples, queries)
        return graph.ArgMax(values, axis=1, keepdims=0), p
    if len(model.classes_) == 2:
        return _two_classes(graph, X, model)
    odds = [log_odds(graph, X, each.ensemble_) for each in model.estimators_]
    cuts = logit([each.threshold_ for each in model.estimators_])
    table = graph.Concat(*odds, axis=1)
    winners = graph.ArgMax(graph.Sub(table, cuts), axis=1, keepdims=0)
    return winners, shares(graph, graph.expit(table))


def _two_classes(graph: Graph, X: str, model: RareClassifier) -> tuple[str, str]:
    odds = log_odds(graph, X, model.ensemble_)
    positive = int(model.pos_label_ == model.classes_[1])
    found = graph.GreaterOrEqual(graph.Sub(odds, logit(model.threshold_)), 0.0)
    winners = graph.Squeeze(graph.Where(found, positive, 1 - positive), [1])
    p = graph.expit(odds)
    columns = [graph.Sub(1.0, p), p]
    return winners, graph.Concat(*(columns if positive else columns[::-1]), axis=1)


def log_odds(graph: Graph, X: str, ensemble: Ensemble) -> str:
    """Log-odds of the positive class, (n_rows, 1)."""
    scores = []
    for member in ensemble.members:
        metric = member.metric
        k = max(each.reading.size for each in ensemble.members if each.metric is metric)
        queries = map_rows(graph, X, metric.pipeline)
        distances = nearest_of_each_class(graph, queries, metric.search, k, exact=False)
        table = class_scores(graph, distances, metric.floor, member.reading)
        scores.append(graph.columns(table, 1, 2))
    weights, means, scales = ensemble.average
    standardized = graph.Div(graph.Sub(graph.Concat(*scores, axis=1), means), scales)
    slope, intercept = ensemble.calibration
    return graph.Add(graph.MatMul(standardized, slope * weights[:, np.newaxis]), intercept)
