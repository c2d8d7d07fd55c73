"""What each candidate is worth on examples that it did not learn from, and the best together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from raremetric.learners.base import MetricLearner
from raremetric.rare.candidates import Branch, fit_neighborhoods
from raremetric.validation import Labels, check_labels
from raremetric.voting import READINGS, Reading, stratified_folds

KEPT_OF_GROUP = 5


class Candidate(NamedTuple):
    """One metric with one reading."""

    branch: Branch
    metric: int  # its place among the learners of all branches
    learner: MetricLearner
    reading: Reading


class Part(NamedTuple):
    """A candidate's part in the final score: weight · (score − mean) / spread."""

    candidate: int
    weight: float
    mean: float
    spread: float


def list_candidates(tried: Sequence[Branch]) -> list[Candidate]:
    """All candidates, in the order of ``score_repeat``."""
    metrics = [(branch, learner) for branch in tried for learner in branch.learners]
    return [
        Candidate(branch, metric, learner, reading)
        for metric, (branch, learner) in enumerate(metrics)
        for reading in READINGS
    ]


def make_folds(
    labels: Labels, seed: int, thorough: bool = False
) -> list[list[tuple[NDArray, NDArray]]]:
    """Stratified folds for each repeat; no more folds than the rarer class has examples.

    Where examples or positives are few, more folds: what is learned without a fifth of them has
    other distances than what is learned with all, and so another threshold.

    Parameters
    ----------
    labels : Labels
    seed : int
    thorough : bool
        Whether to repeat twice as often; the first half is then the same as without.
    """
    n_samples, rarest = len(labels.codes), int(labels.counts.min())
    few = n_samples <= 500 or (rarest < 40 and n_samples <= 2000)
    repeats = (2 if few or n_samples <= 1000 else 1) * (2 if thorough else 1)
    rng = np.random.RandomState(seed)
    return [stratified_folds(labels, 10 if few else 5, rng) for _ in range(repeats)]


def score_repeat(
    tried: Sequence[Branch],
    X: NDArray,
    labels: Labels,
    folds: Sequence[tuple[NDArray, NDArray]],
    seed: int,
    n_jobs: int | None = None,
) -> NDArray[np.float32]:
    """Scores of each example by all candidates when it was left out, (n_candidates, n_samples).

    Candidates come in the order of branches, learners and readings.
    """

    def score(train: NDArray, test: NDArray) -> NDArray:
        part = check_labels(labels.codes[train], "A fold of RareClassifier")
        fitted = fit_neighborhoods(tried, X[train], part, seed, X[test])
        return np.concatenate(
            [each.scores(each.nearest(mapped, exact=False), READINGS) for each, mapped in fitted]
        )

    results = Parallel(n_jobs=n_jobs, prefer="threads")(
        delayed(score)(train, test) for train, test in folds
    )
    scores = np.empty((len(results[0]), len(X)), dtype=np.float32)
    for (_, test), part in zip(folds, results, strict=True):
        scores[:, test] = part
    return scores


def choose_parts(
    scores: NDArray, groups: Sequence[str], places: NDArray, group_weights: Mapping[str, float]
) -> list[Part]:
    """The best of each group, standardised and averaged; then the groups, by their group_weights.

    Parameters
    ----------
    scores : ndarray of shape (n_candidates, n_repeats, n_samples)
    groups : sequence of str
        The group of each candidate.
    places : ndarray of shape (n_candidates,)
        See ``rank``.
    group_weights : mapping of str to float
        How much each group counts.
    """
    parts = []
    for group in dict.fromkeys(groups):
        best = np.flatnonzero((np.asarray(groups) == group) & (places <= KEPT_OF_GROUP))
        pooled = scores[best].reshape(len(best), -1).astype(np.float64)
        means, spreads = pooled.mean(axis=1), pooled.std(axis=1)
        spreads = np.where(spreads > 0, spreads, 1.0)
        together = ((pooled - means[:, np.newaxis]) / spreads[:, np.newaxis]).mean(axis=0)
        weight = group_weights[group] / (len(best) * max(float(together.std()), 1e-12))
        parts += [
            Part(int(c), weight, float(mean), float(spread))
            for c, mean, spread in zip(best, means, spreads, strict=True)
        ]
    total = sum(part.weight for part in parts)
    return [part._replace(weight=part.weight / total) for part in parts]


def combine(parts: Sequence[Part], scores: Sequence[NDArray]) -> NDArray[np.float64]:
    """The final score, from the scores of each part's candidate."""
    terms = [
        part.weight * (np.asarray(own, dtype=np.float64) - part.mean) / part.spread
        for part, own in zip(parts, scores, strict=True)
    ]
    return np.sum(terms, axis=0)
