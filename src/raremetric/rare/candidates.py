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
from raremetric.rare.log_odds import LogOddsDistance
from raremetric.rare.policy import (
    FEW_ROWS,
    HALF_TREE_WEIGHT,
    IML_SETTINGS,
    KERNEL_WEIGHT,
    KERNEL_WIDTHS,
    LINEAR_WEIGHT,
    LOG_ODDS_READINGS,
    MANY_TIMES,
    MAX_FEATURES_FOR_IML,
    MAX_QUANTILES,
    MIN_POSITIVES_FOR_TREES,
    N_FEW_TREES,
    RATE_OF_FEW_TREES,
    SHRINKAGES,
    SHRINKAGES_AFTER_TREES,
    STRETCH_AFTER_TREES,
    STRETCHES,
    TREE_SETTINGS,
    TREE_WEIGHT,
)
from raremetric.validation import Labels
from raremetric.voting import READINGS, Reading

TREES = "trees"
LOG_ODDS = "log-odds of trees"


def prior_weights(n_positive: int) -> dict[str, float]:
    """The weight of each group in the final score, before the out-of-fold scores are seen.

    Trees need many positives.
    """
    for_trees = TREE_WEIGHT * n_positive / (n_positive + HALF_TREE_WEIGHT)
    return {
        "importance, laplacian": KERNEL_WEIGHT,
        "linear": LINEAR_WEIGHT,
        TREES: for_trees,
        LOG_ODDS: for_trees,
    }


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
    ranked = (NormalScores(MAX_QUANTILES), StandardScaler())
    weighted = (*scaled, ImportanceWeights())
    metrics = []
    for width in KERNEL_WIDTHS:
        name, steps = f"importance, laplacian {width:g}", (*weighted, KernelLandmarks(width=width))
        before = f"a Laplacian kernel of width {width:g} of the columns weighted by importance"
        metrics += [
            MetricSpec("importance, laplacian", name, steps, each, before=before)
            for each in _discriminants()
        ]
    n_left = n_features if max_features is None else min(n_features, max_features)
    imls = [IML(**each) for each in IML_SETTINGS] if n_left <= MAX_FEATURES_FOR_IML else []
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
    learners: list[MetricLearner] = [Euclidean()]
    learners += [BalancedDiscriminant(s, STRETCH_AFTER_TREES) for s in SHRINKAGES_AFTER_TREES]
    if labels is not None and labels.counts.min() < MIN_POSITIVES_FOR_TREES:
        return []
    if labels is not None and len(labels.codes) < FEW_ROWS:
        return _after_trees(
            TREES, [BoostedLeaves(N_FEW_TREES, learning_rate=RATE_OF_FEW_TREES)], learners
        )
    trees = [BoostedLeaves(**each) for each in TREE_SETTINGS]
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
        for shrinkage in SHRINKAGES
        for stretch in STRETCHES
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
