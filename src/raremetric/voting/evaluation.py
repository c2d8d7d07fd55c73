"""What scores are worth on examples that were not learned from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata
from sklearn.model_selection import StratifiedKFold

from raremetric.validation import Labels
from raremetric.voting.calibration import fit_sigmoid
from raremetric.voting.thresholds import Utility, best_threshold, observed_utility


class Evaluation(NamedTuple):
    """Of each candidate, out of fold."""

    utility: NDArray[np.float64]  # what is to be maximised, at the candidate's own threshold
    log_loss: NDArray[np.float64]
    average_precision: NDArray[np.float64]


def stratified_folds(
    labels: Labels, n_folds: int, rng: np.random.RandomState | int | None
) -> list[tuple[NDArray, NDArray]]:
    """Shuffled folds; no more of them than the rarest class has examples."""
    splitter = StratifiedKFold(
        int(min(n_folds, labels.counts.min())), shuffle=True, random_state=rng
    )
    return list(splitter.split(np.zeros(len(labels.codes)), labels.codes))


def log_loss(p: NDArray, positive: NDArray) -> NDArray:
    """Mean negative log-likelihood of probabilities of shape (..., n)."""
    p = np.clip(p, 1e-6, 1 - 1e-6)
    return -np.mean(np.where(positive, np.log(p), np.log1p(-p)), axis=-1)


def average_precision(scores: NDArray, positive: NDArray) -> NDArray:
    """Average precision of scores of shape (..., n), for many scores at once.

    Examples with the same score are called together: their order says nothing.
    """
    order = np.argsort(-scores, axis=-1)
    ranked, hits = np.take_along_axis(scores, order, axis=-1), positive[order]
    n = hits.shape[-1]
    places = np.where(np.diff(ranked, axis=-1, append=-np.inf) != 0, np.arange(n), n)
    ends = np.minimum.accumulate(places[..., ::-1], axis=-1)[..., ::-1]  # of each one's equals
    precision = np.cumsum(hits, axis=-1) / np.arange(1, n + 1)
    at_end = np.take_along_axis(precision, ends, axis=-1)
    return np.sum(hits * at_end, axis=-1) / np.count_nonzero(positive)


def evaluate(scores: NDArray, positive: NDArray, utility: Utility) -> Evaluation:
    """Judge scores of shape (n_candidates, n_repeats, n_samples)."""
    n_candidates, repeats, _ = scores.shape
    pooled, truth = scores.reshape(n_candidates, -1).astype(np.float64), np.tile(positive, repeats)
    p = fit_sigmoid(pooled, truth)(pooled)
    called = np.stack([row >= best_threshold(row, utility) for row in p])
    return Evaluation(
        observed_utility(called, truth, utility),
        log_loss(p, truth),
        average_precision(scores, positive).mean(axis=-1),
    )


def rank(evaluation: Evaluation, groups: Sequence[str], threshold_free: bool) -> NDArray[np.int64]:
    """Place of each candidate within its group, from 1.

    By the sum of its ranks in utility, log-loss and average precision; where no threshold
    matters, by average precision alone. Of equals the first.
    """
    places = np.zeros(len(groups), dtype=np.int64)
    for group in dict.fromkeys(groups):
        members = np.flatnonzero(np.asarray(groups) == group)
        standing = rankdata(-evaluation.average_precision[members])
        if not threshold_free:
            standing += rankdata(-evaluation.utility[members])
            standing += rankdata(evaluation.log_loss[members])
        places[members[np.argsort(standing, kind="stable")]] = np.arange(1, len(members) + 1)
    return places
