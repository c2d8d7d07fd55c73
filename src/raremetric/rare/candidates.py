"""What RareClassifier tries: metrics, each a learner after some preprocessing steps.

A candidate is one of these metrics together with one of the readings of its distances.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.preprocessing import StandardScaler

from raremetric.extras import is_installed
from raremetric.features import BoostedLeaves, ImportanceWeights, KernelLandmarks
from raremetric.features.ranks import DifferingFeatures, NormalScores
from raremetric.learners.base import MetricLearner
from raremetric.learners.discriminant import BalancedDiscriminant
from raremetric.learners.euclidean import Euclidean
from raremetric.learners.iml import IML
from raremetric.rare import policy
from raremetric.selection import Groups
from raremetric.validation import Labels
from raremetric.voting import READINGS, Reading

KERNEL, LINEAR = "importance, laplacian", "linear"  # groups
TREES, LOG_ODDS = "trees", "log-odds of trees"


class LogOddsDistance(MetricLearner):
    """The absolute difference between the sums of two rows: after boosted trees, their log-odds.

    The difference of the mean distances to the classes is nearly a linear function of the log-odds:
    this metric ranks rows as the trees do. Where trees learn from many more rows than can be
    neighbors, their log-odds are more exact than the density of the neighbors.
    """

    def _fit(self, X: NDArray, labels: Labels, sample_weight: ArrayLike | None) -> None:
        self.classes_, self.components_ = labels.classes, np.ones((1, X.shape[1]))


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
        learner = " ".join(repr(self.learner).split())  # scikit-learn wraps long lines
        return f"{learner} after {self.before}, by the {reading.words}"


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
    ranked = (NormalScores(policy.MAX_QUANTILES), StandardScaler())
    weighted = (*scaled, ImportanceWeights(**policy.IMPORTANCES))
    metrics = []
    for width in policy.KERNEL_WIDTHS:
        steps = (*weighted, KernelLandmarks(width=width, **policy.KERNEL_SIZE))
        before = f"a Laplacian kernel of width {width:g} of the columns weighted by importance"
        metrics += [
            MetricSpec(KERNEL, f"{KERNEL} {width:g}", steps, each, before=before)
            for each in _discriminants()
        ]
    n_left = n_features if max_features is None else min(n_features, max_features)
    few = n_left <= policy.MAX_FEATURES_FOR_IML
    imls = [IML(**each) for each in policy.IML_SETTINGS] if few else []
    linear = (Euclidean(), *imls, *_discriminants())
    metrics += [MetricSpec(LINEAR, "standard", scaled, each) for each in linear]
    metrics += [
        MetricSpec(LINEAR, "rank", ranked, each, before="ranking") for each in _discriminants()
    ]
    metrics += _tree_metrics(labels, n_for_trees) if is_installed("xgboost") else []
    if max_features is None or n_features <= max_features:
        return metrics
    first = DifferingFeatures(max_features)
    return [metric._replace(steps=(first, *metric.steps)) for metric in metrics]


def _discriminants() -> list[MetricLearner]:
    return [
        BalancedDiscriminant(shrinkage, stretch)
        for shrinkage in policy.SHRINKAGES
        for stretch in policy.STRETCHES
    ]


def _tree_metrics(labels: Labels | None, n_for_trees: int | None) -> list[MetricSpec]:
    learners: list[MetricLearner] = [Euclidean()]
    learners += [
        BalancedDiscriminant(shrinkage, policy.STRETCH_AFTER_TREES)
        for shrinkage in policy.SHRINKAGES_AFTER_TREES
    ]
    if labels is not None and labels.counts.min() < policy.MIN_POSITIVES_FOR_TREES:
        return []
    if labels is not None and len(labels.codes) < policy.FEW_ROWS:
        trees = [BoostedLeaves(policy.N_SMALL_TREES, **policy.SMALL_TREES)]
        return _after_trees(TREES, trees, learners)
    trees = [BoostedLeaves(policy.N_TREES, **each) for each in policy.TREE_SETTINGS]
    n_rows = np.inf if labels is None else len(labels.codes)
    with_many = n_for_trees is not None and n_for_trees >= policy.MANY_TIMES * n_rows
    if not with_many:
        learners.append(LogOddsDistance())
    metrics = _after_trees(TREES, trees, learners)
    if with_many or labels is None:
        metrics += _after_trees(LOG_ODDS, trees, [LogOddsDistance()], policy.LOG_ODDS_READINGS)
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


def with_readings(metrics: Sequence[MetricSpec]) -> list[tuple[MetricSpec, Reading]]:
    """All candidates, in the order of the rows of ``out_of_fold_scores``."""
    return [(metric, reading) for metric in metrics for reading in metric.readings]


def metric_numbers(metrics: Sequence[MetricSpec]) -> NDArray[np.int64]:
    """The number of each candidate's metric."""
    return np.repeat(np.arange(len(metrics)), [len(metric.readings) for metric in metrics])


def groups_of(metrics: Sequence[MetricSpec], n_rows: int, n_positive: int) -> Groups:
    """The groups of the candidates, and how much they count before any scores are seen.

    Trees need many positives. With many rows that can be neighbors, the number of metrics of a
    group is limited, because a prediction searches the neighbors under each metric. With few rows,
    this is cheap, and an average of more metrics is slightly better. A search in one dimension is
    always cheap: all metrics by log-odds have the same number.
    """
    for_trees = policy.TREE_WEIGHT * n_positive / (n_positive + policy.HALF_TREE_WEIGHT)
    weights = {
        KERNEL: policy.KERNEL_WEIGHT,
        LINEAR: policy.LINEAR_WEIGHT,
        TREES: for_trees,
        LOG_ODDS: for_trees,
    }
    names = [metric.group for metric, _ in with_readings(metrics)]
    numbers = np.where(np.array(names) == LOG_ODDS, len(metrics), metric_numbers(metrics))
    return Groups(names, weights, None if n_rows < policy.FEW_ROWS else numbers)
