"""How the candidates are judged: by their scores of examples that they were not fitted on."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from numbers import Real

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from raremetric.rare.candidates import MetricSpec, SharedTransform, fit_metrics
from raremetric.validation import Labels, check_labels, check_option, check_real
from raremetric.voting import READINGS, stratified_folds

BUDGETS = ("fast", "thorough")
# Share of a budget in seconds; the rest of the time is for fitting the chosen metrics.
EVALUATION_SHARE = 0.9
MAX_NEIGHBORS = max(reading.size for reading in READINGS)

Folds = Sequence[tuple[NDArray, NDArray]]  # rows to learn from and rows to validate on


def check_budget(budget: str | float) -> None:
    """Refuse anything but 'fast', 'thorough' and a positive number of seconds."""
    if isinstance(budget, str):
        check_option(budget, "budget", BUDGETS)
    elif isinstance(budget, Real) and not isinstance(budget, bool):
        check_real(float(budget), "budget", low=0, closed="neither")
    else:
        raise TypeError(
            f"budget must be 'fast', 'thorough' or a number of seconds; got {budget!r}."
        )


def make_folds(
    labels: Labels, seed: int, thorough: bool = False, groups: NDArray | None = None
) -> list[Folds]:
    """Stratified folds for each repeat; no more folds than the rarer class has examples.

    There are more folds where examples or positives are few. A metric that is fitted without a
    fifth of few examples has other distances than one fitted on all of them, and would need
    another threshold.

    Parameters
    ----------
    labels : Labels
    seed : int
    thorough : bool, default=False
        Repeat twice as often; the first half of the repeats is then the same as without.
    groups : ndarray of shape (n_samples,) or None, default=None
        If given, examples of one group are in the same fold.
    """
    n_folds, n_repeats = fold_numbers(labels, thorough)
    rng = np.random.RandomState(seed)
    return [stratified_folds(labels, n_folds, rng, groups) for _ in range(n_repeats)]


def fold_numbers(labels: Labels, thorough: bool = False) -> tuple[int, int]:
    """Number of folds and number of repeats: see `make_folds`."""
    n_samples, rarest = len(labels.codes), int(labels.counts.min())
    few = n_samples <= 500 or (rarest < 40 and n_samples <= 2000)
    return 10 if few else 5, (2 if few or n_samples <= 1000 else 1) * (2 if thorough else 1)


def split_weights(
    labels: Labels, sampled: Labels, rows: NDArray, weights: NDArray | None
) -> tuple[NDArray, NDArray | None]:
    """How much of its class each sampled row represents, and the weights of the sampled rows.

    The latter have a mean of one, so that the ridge of the calibration does not depend on their
    scale. None in place of weights that are all one.
    """
    if weights is None:
        return labels.counts / sampled.counts, None
    own = weights[rows]
    class_weights = np.bincount(labels.codes, weights) / np.bincount(sampled.codes, own)
    own = own / own.mean()
    return class_weights, None if (own == 1).all() else own


def out_of_fold_scores(
    metrics: Sequence[MetricSpec],
    X: NDArray,
    labels: Labels,
    seed: int,
    budget: str | float = "fast",
    start: float = 0.0,
    n_jobs: int | None = None,
    weights: NDArray | None = None,
    repeats: Sequence[Folds] | None = None,
    on_step: Callable[[], None] = lambda: None,
) -> NDArray[np.float32]:
    """Scores of each example by candidates that were fitted on other folds.

    Parameters
    ----------
    metrics : sequence of MetricSpec
    X : ndarray of shape (n_samples, n_features)
    labels : Labels
    seed : int
        Seed of the folds and of the preprocessing steps.
    budget : {"fast", "thorough"} or float, default="fast"
        How often to repeat; a number is a time in seconds, counted from ``start``.
    start : float, default=0.0
        A time given by ``time.perf_counter``.
    n_jobs : int or None, default=None
        Number of threads, which work on different folds.
    weights : ndarray of shape (n_samples,) or None, default=None
        Weights of the examples for the metrics; None for all the same.
    repeats : sequence of folds or None, default=None
        The folds of each repeat; None for `make_folds`.
    on_step : callable
        Called after each metric of each fold, by the thread that has fitted it.

    Returns
    -------
    scores : ndarray of shape (n_candidates, n_repeats, n_samples)
        Candidates come in the order of ``with_readings(metrics)``. The scores of examples that no
        fold validates are NaN.
    """
    end = np.inf if isinstance(budget, str) else start + EVALUATION_SHARE * budget
    if repeats is None:
        repeats = make_folds(labels, seed, thorough=budget != "fast")
    scores: list[NDArray] = []
    began = time.perf_counter()
    for folds in repeats:
        now = time.perf_counter()
        if scores and now + (now - began) / len(scores) > end:
            break
        scores.append(score_repeat(metrics, X, labels, folds, seed, n_jobs, weights, on_step))
    return np.stack(scores, axis=1)


def score_repeat(
    metrics: Sequence[MetricSpec],
    X: NDArray,
    labels: Labels,
    folds: Folds,
    seed: int,
    n_jobs: int | None = None,
    weights: NDArray | None = None,
    on_step: Callable[[], None] = lambda: None,
) -> NDArray[np.float32]:
    """Out-of-fold scores of one repeat, (n_candidates, n_samples)."""
    parts = Parallel(n_jobs=n_jobs, prefer="threads")(
        delayed(_score_fold)(metrics, X, labels, train, test, seed, weights, on_step)
        for train, test in folds
    )
    scores = np.full((len(parts[0]), len(X)), np.nan, dtype=np.float32)
    for (_, test), part in zip(folds, parts, strict=True):
        scores[:, test] = part
    return scores


def _score_fold(
    metrics: Sequence[MetricSpec],
    X: NDArray,
    labels: Labels,
    train: NDArray,
    test: NDArray,
    seed: int,
    weights: NDArray | None,
    on_step: Callable[[], None],
) -> NDArray[np.float64]:
    """Fit all metrics on ``train``, score ``test`` by all candidates: (n_candidates, n_test)."""
    own = check_labels(labels.codes[train], "A fold of RareClassifier")
    own_weights = None if weights is None else weights[train]
    queries = SharedTransform(X[test])
    scores = []
    for metric in fit_metrics(metrics, X[train], own, seed, own_weights):
        mapped = queries.project(metric.pipeline)
        found = metric.search.nearest_of_each_class(mapped, MAX_NEIGHBORS, exact=False)
        scores.append(metric.scores([near.distances for near in found], READINGS))
        on_step()
    return np.concatenate(scores)
