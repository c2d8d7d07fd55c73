"""What RareClassifier tries: metrics and plain scores, each a learner after some preprocessing.

A candidate is a metric together with one of the readings of its distances, or a plain score.
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
from raremetric.features.ranks import DifferingFeatures, NormalScores
from raremetric.learners.base import MetricLearner
from raremetric.learners.discriminant import BalancedDiscriminant
from raremetric.learners.euclidean import Euclidean
from raremetric.learners.iml import IML
from raremetric.rare import policy
from raremetric.rare.scores import LogisticScore, LogOdds
from raremetric.selection import Groups
from raremetric.voting import READINGS, Reading

KERNEL, LINEAR, TREES = "importance, laplacian", "linear", "trees"  # groups of metrics
LOGISTIC, LOG_ODDS = "logistic", "log-odds of trees"  # groups of plain scores


class MetricSpec(NamedTuple):
    """A metric, or a plain score, to try: an unfitted learner after unfitted preprocessing steps.

    Metrics that begin with the same step hold the same estimator object: it is then fitted once
    for all of them. Two specs are equal only if they hold the same objects.
    """

    group: str  # the best candidates of each group are averaged
    branch: str  # name of the steps
    steps: tuple[BaseEstimator, ...]
    learner: MetricLearner
    readings: tuple[Reading, ...] = READINGS

    def name(self, reading: Reading | None) -> str:
        """The name of a candidate."""
        return ", ".join([self.branch, repr(self.learner), *([str(reading)] if reading else [])])


Candidate = tuple[MetricSpec, Reading | None]  # a plain score has no reading


def default_metrics(n_features: int = 1, max_features: int | None = None) -> list[MetricSpec]:
    """The metrics and plain scores that RareClassifier tries on rows with so many features.

    If there are more than ``max_features``, all begin with their selection.
    """
    scaled = (StandardScaler(),)
    ranked = (NormalScores(policy.MAX_QUANTILES), StandardScaler())
    weighted = (*scaled, ImportanceWeights(**policy.IMPORTANCES))
    discriminants = [
        BalancedDiscriminant(shrinkage, stretch)
        for shrinkage in policy.SHRINKAGES
        for stretch in policy.STRETCHES
    ]
    metrics = []
    for width in policy.KERNEL_WIDTHS:
        steps = (*weighted, KernelLandmarks(width=width, **policy.KERNEL_SIZE))
        metrics += [
            MetricSpec(KERNEL, f"{KERNEL} {width:g}", steps, each) for each in discriminants
        ]
    n_left = n_features if max_features is None else min(n_features, max_features)
    few = n_left <= policy.MAX_FEATURES_OF_IML
    linear = [Euclidean(), *(IML(**each) for each in policy.IML_SETTINGS if few), *discriminants]
    logistic = [LogisticScore(C) for C in policy.INVERSE_PENALTIES]
    for branch, first, learners in (
        ("standard", scaled, linear),
        ("rank", ranked, discriminants),
    ):
        metrics += [MetricSpec(LINEAR, branch, first, each) for each in learners]
        metrics += [MetricSpec(LOGISTIC, branch, first, each, ()) for each in logistic]
    for setting in policy.TREE_SETTINGS if is_installed("xgboost") else ():
        trees = (BoostedLeaves(policy.N_TREES, **setting),)
        name = f"{trees[0].max_leaves} leaves"
        after = [BalancedDiscriminant(rho, policy.TREE_STRETCH) for rho in policy.TREE_SHRINKAGES]
        learners = [Euclidean(), *after]
        metrics += [MetricSpec(TREES, name, trees, each) for each in learners]
        metrics.append(MetricSpec(LOG_ODDS, name, trees, LogOdds(), ()))
    if max_features is None or n_features <= max_features:
        return metrics
    selection = DifferingFeatures(max_features)
    return [metric._replace(steps=(selection, *metric.steps)) for metric in metrics]


def with_readings(metrics: Sequence[MetricSpec]) -> list[Candidate]:
    """All candidates, in the order of the rows of ``out_of_fold_scores``."""
    return [(metric, reading) for metric in metrics for reading in metric.readings or (None,)]


def metric_numbers(metrics: Sequence[MetricSpec]) -> NDArray[np.int64]:
    """The number of each candidate's metric."""
    return np.repeat(np.arange(len(metrics)), [len(metric.readings) or 1 for metric in metrics])


def groups_of(metrics: Sequence[MetricSpec], n_positive: int) -> Groups:
    """The groups of the candidates, with their weights: trees and plain scores need positives."""
    others = policy.OTHER_WEIGHT * n_positive / (n_positive + policy.HALF_OTHER_WEIGHT)
    weights = {KERNEL: policy.KERNEL_WEIGHT, LINEAR: policy.LINEAR_WEIGHT}
    weights |= dict.fromkeys((TREES, LOGISTIC, LOG_ODDS), others)
    return Groups([metric.group for metric, _ in with_readings(metrics)], weights)
