"""What RareClassifier tries: metrics, each a learner after some preprocessing steps.

A candidate is one of these metrics together with one of the readings of its distances.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.preprocessing import StandardScaler

from raremetric.extras import is_installed
from raremetric.features import BoostedLeaves, ImportanceWeights, KernelLandmarks
from raremetric.features.normal_scores import NormalScores
from raremetric.features.selection import DifferingFeatures
from raremetric.learners.base import MetricLearner
from raremetric.learners.discriminant import BalancedDiscriminant
from raremetric.learners.euclidean import Euclidean
from raremetric.learners.iml import IML
from raremetric.rare.log_odds import LOG_ODDS_READINGS, LogOddsDistance
from raremetric.validation import Labels
from raremetric.voting import READINGS, Reading

TREES = "trees"
LOG_ODDS = "log-odds of trees"
MIN_POSITIVES_FOR_TREES = 20  # with fewer, trees hardly contribute
FEW_ROWS = 1000  # with fewer, there are fewer and smaller trees, but any number of metrics
# From this ratio of the rows for trees to the rows that can be neighbors on, the log-odds of trees
# are a group.
MANY_TIMES = 5
MAX_FEATURES_FOR_IML = 100  # with more, its fits would take longer than all others


def prior_weights(n_positive: int) -> dict[str, float]:
    """The weight of each group in the final score, before the out-of-fold scores are seen.

    Trees need many positives. Like all other settings of RareClassifier, the weights were chosen
    on KEEL's data sets at odd positions and on splits 1 to 5 of the paper's data sets.
    """
    for_trees = 1.5 * n_positive / (n_positive + 40)
    return {"importance, laplacian": 3.0, "linear": 2.0, TREES: for_trees, LOG_ODDS: for_trees}


class MetricSpec(NamedTuple):
    """A metric to try: an unfitted learner after unfitted preprocessing steps.

    Metrics that begin with the same step hold the same estimator object: it is then fitted once
    for all of them. Two specs are equal only if they hold the same objects.
    """

    group: str  # the best candidates of each group are averaged
    branch: str  # name of the steps
    steps: tuple[BaseEstimator, ...]
    learner: MetricLearner
    readings: tuple[Reading, ...] = READINGS
    before: str = "standardization"  # the steps in words

    def name(self, reading: Reading) -> str:
        """The name of a candidate."""
        return f"{self.branch}, {self.learner!r}, {reading}"

    def words(self, reading: Reading) -> str:
        """A candidate in words."""
        return f"{self.learner!r} after {self.before}, by the {reading.words}"


def default_metrics(
    labels: Labels | None = None,
    n_features: int = 1,
    n_for_trees: int | None = None,
    max_features: int | None = None,
) -> list[MetricSpec]:
    """The metrics that RareClassifier tries on such examples; without labels, all it ever tries.

    ``n_for_trees`` is the number of rows that trees learn from; None for the examples only. If
    there are more than ``max_features`` features, all metrics begin with their selection.
    """
    scaled = (StandardScaler(),)
    ranked = (NormalScores(200), StandardScaler())
    weighted = (*scaled, ImportanceWeights())
    metrics = []
    for width in (0.5, 2.0, 8.0):
        name, steps = f"importance, laplacian {width:g}", (*weighted, KernelLandmarks(width=width))
        before = f"a Laplacian kernel of width {width:g} of the columns weighted by importance"
        metrics += [
            MetricSpec("importance, laplacian", name, steps, each, before=before)
            for each in _discriminants()
        ]
    n_left = n_features if max_features is None else min(n_features, max_features)
    imls = _imls() if n_left <= MAX_FEATURES_FOR_IML else []
    linear = (Euclidean(), *imls, *_discriminants())
    metrics += [MetricSpec("linear", "standard", scaled, each) for each in linear]
    metrics += [
        MetricSpec("linear", "rank", ranked, each, before="ranking") for each in _discriminants()
    ]
    metrics += _tree_metrics(labels, n_for_trees) if is_installed("xgboost") else []
    if max_features is None or n_features <= max_features:
        return metrics
    first = DifferingFeatures(max_features)
    return [metric._replace(steps=(first, *metric.steps)) for metric in metrics]


def _tree_metrics(labels: Labels | None, n_for_trees: int | None) -> list[MetricSpec]:
    learners = [Euclidean(), BalancedDiscriminant(0.1, 3.0), BalancedDiscriminant(0.5, 3.0)]
    if labels is not None and labels.counts.min() < MIN_POSITIVES_FOR_TREES:
        return []
    if labels is not None and len(labels.codes) < FEW_ROWS:
        return _after_trees(TREES, [BoostedLeaves(75, learning_rate=0.2)], learners)
    trees = [
        BoostedLeaves(max_leaves=5),
        BoostedLeaves(),
        BoostedLeaves(max_leaves=31, min_child_weight=0.3),
        BoostedLeaves(learning_rate=0.3, subsample=1.0),
    ]
    n_rows = np.inf if labels is None else len(labels.codes)
    with_many = n_for_trees is not None and n_for_trees >= MANY_TIMES * n_rows
    if not with_many:
        learners.append(LogOddsDistance())
    metrics = _after_trees(TREES, trees, learners)
    if with_many or labels is None:
        metrics += _after_trees(LOG_ODDS, trees, [LogOddsDistance()], LOG_ODDS_READINGS)
    return metrics


def _after_trees(
    group: str,
    trees: Sequence[BoostedLeaves],
    learners: Sequence[MetricLearner],
    readings: tuple[Reading, ...] = READINGS,
) -> list[MetricSpec]:
    """All learners after each of the trees."""
    metrics = []
    for step in trees:
        leaves, rate = f"{step.max_leaves} leaves", f"{step.learning_rate:g}"
        name = f"{'log-odds, ' if group == LOG_ODDS else ''}{leaves}, rate {rate}"
        before = f"boosted trees of at most {leaves} with a learning rate of {rate}"
        metrics += [MetricSpec(group, name, (step,), each, readings, before) for each in learners]
    return metrics


def _discriminants() -> list[MetricLearner]:
    return [
        BalancedDiscriminant(shrinkage, stretch)
        for shrinkage in (0.1, 0.5, 0.9)
        for stretch in (1.0, 3.0, 10.0)
    ]


def _imls() -> list[MetricLearner]:
    return [
        IML(margin=margin, similar_weight=weight, regularization=regularization)
        for margin, weight, regularization in (
            (100.0, 0.5, 0.01),
            (10.0, 0.5, 0.1),
            (1.0, 0.5, 0.01),
            (1000.0, 0.3, 0.1),
            (100.0, 0.8, 1.0),
        )
    ]


def with_readings(metrics: Sequence[MetricSpec]) -> list[tuple[MetricSpec, Reading]]:
    """All candidates, in the order of the rows of ``out_of_fold_scores``."""
    return [(metric, reading) for metric in metrics for reading in metric.readings]


def metric_numbers(metrics: Sequence[MetricSpec]) -> NDArray[np.int64]:
    """The number of each candidate's metric."""
    return np.repeat(np.arange(len(metrics)), [len(metric.readings) for metric in metrics])


def limited_metrics(metrics: Sequence[MetricSpec], n_rows: int) -> NDArray[np.int64] | None:
    """Numbers that tell the metrics of candidates apart, if a group may have only a few; else None.

    Their number is limited with many rows, because a prediction searches the neighbors under each
    metric. With few rows, this is cheap, and an average of more metrics is slightly better. A
    search in one dimension is always cheap: all metrics by log-odds have the same number.
    """
    if n_rows < FEW_ROWS:
        return None
    numbers = metric_numbers(metrics)
    is_cheap = [metric.group == LOG_ODDS for metric, _ in with_readings(metrics)]
    return np.where(is_cheap, len(metrics), numbers)
