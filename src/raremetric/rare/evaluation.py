"""How the candidates are judged: by their scores of examples that they were not fitted on."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from numbers import Real
from typing import NamedTuple

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from raremetric.rare.candidates import (
    MetricSpec,
    limited_metrics,
    metric_numbers,
    prior_weights,
    with_readings,
)
from raremetric.rare.fitting import SharedTransform, fit_metrics
from raremetric.rare.policy import (
    AVERAGING,
    EVALUATION_SHARE,
    FIRST_ROWS,
    MIN_POSITIVES_TO_DROP_GROUPS,
    N_SURVIVORS,
)
from raremetric.rare.tuning_set import TuningSet
from raremetric.sampling import draw_evenly
from raremetric.selection import Aim, Folds, average_best, rank_by_aim
from raremetric.selection.cv import scored_rows
from raremetric.selection.race import rounds_of, with_enough_positives
from raremetric.validation import check_labels, check_option, check_real

BUDGETS = ("fast", "thorough")


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


class OutOfFold(NamedTuple):
    """The metrics that saw all folds, and the scores of their candidates."""

    metrics: list[MetricSpec]
    # (n_candidates, n_repeats, n_samples), in the order of ``with_readings(metrics)``; NaN for
    # examples that no fold validates
    scores: NDArray[np.float32]


def out_of_fold_scores(
    metrics: Sequence[MetricSpec],
    tuned: TuningSet,
    aim: Aim,
    budget: str | float = "fast",
    start: float = 0.0,
    n_jobs: int | None = None,
    on_step: Callable[[int], None] = lambda n_steps: None,
) -> OutOfFold:
    """Scores of each example by candidates that were fitted on other folds.

    Candidates race: after the first repeat, or after the first folds if there is one repeat only,
    hopeless metrics are dropped, see `best_metrics`. If there are many examples, the first folds
    are those of a sample.

    Parameters
    ----------
    metrics : sequence of MetricSpec
    tuned : TuningSet
    aim : Aim
        What the candidates are ranked by.
    budget : {"fast", "thorough"} or float, default="fast"
        How often to repeat; a number is a time in seconds, counted from ``start``.
    start : float, default=0.0
        A time given by ``time.perf_counter``.
    n_jobs : int or None, default=None
        Number of threads, which work on different folds.
    on_step : callable (n_steps)
        Called with the number of finished pairs of a metric and a fold, by the thread that has
        fitted them.
    """
    end = np.inf if isinstance(budget, str) else start + EVALUATION_SHARE * budget
    began = time.perf_counter()
    metrics, scores, left = _race(list(metrics), tuned, aim, n_jobs, on_step)
    if left:
        rest = score_folds(metrics, tuned, left, n_jobs, on_step)
        scores = np.where(np.isnan(scores), rest, scores)
    found = [scores]
    for folds in tuned.repeats[1:]:
        now = time.perf_counter()
        if now + (now - began) / len(found) > end:
            break
        found.append(score_folds(metrics, tuned, folds, n_jobs, on_step))
    return OutOfFold(metrics, np.stack(found, axis=1))


def _race(
    metrics: list[MetricSpec],
    tuned: TuningSet,
    aim: Aim,
    n_jobs: int | None,
    on_step: Callable[[int], None],
) -> tuple[list[MetricSpec], NDArray, Folds]:
    """Drop the metrics that are hopeless in a first round.

    Returns the others, their scores of what this round validates, NaN elsewhere, and the folds of
    the first repeat that are left. The scores of a round on a sample are not used again.
    """
    first, *others = tuned.repeats
    unknown = np.full((1, len(tuned.X)), np.nan, dtype=np.float32)
    if not others and tuned.n_examples > 2 * FIRST_ROWS:
        sample = tuned.restricted(_first_rows(tuned))
        folds = with_enough_positives(sample.repeats[0], sample.sample.positive)
        if not folds:
            return metrics, unknown, first
        scores = score_folds(metrics, sample, folds, n_jobs)
        drop_groups = bool(sample.sample.counts.min() >= MIN_POSITIVES_TO_DROP_GROUPS)
        survivors = best_metrics(metrics, scores, folds, sample, aim, drop_groups)
        on_step((len(metrics) - len(survivors)) * tuned.n_folds)
        return [metrics[i] for i in survivors], unknown, first
    rounds = [first] if others else rounds_of(first, tuned.sample.positive)
    if len(rounds) == 1 and not others:
        return metrics, unknown, first
    scores = score_folds(metrics, tuned, rounds[0], n_jobs, on_step)
    survivors = best_metrics(metrics, scores, rounds[0], tuned, aim, drop_groups=not others)
    on_step((len(metrics) - len(survivors)) * (tuned.n_folds - len(rounds[0])))
    scores = scores[np.isin(metric_numbers(metrics), survivors)]
    left = [fold for folds in rounds[1:] for fold in folds]
    return [metrics[i] for i in survivors], scores, left


def _first_rows(tuned: TuningSet) -> NDArray[np.int64]:
    """The rows of a first round on a sample: examples, and as many that are only validated."""
    rng, n_examples = np.random.RandomState(tuned.seed), tuned.n_examples
    examples = draw_evenly(n_examples, tuned.sample.positive[:n_examples], FIRST_ROWS, rng)
    others = rng.permutation(np.arange(n_examples, len(tuned.X)))[:FIRST_ROWS]
    return np.concatenate([examples, np.sort(others)])


def best_metrics(
    metrics: Sequence[MetricSpec],
    scores: NDArray,
    folds: Folds,
    tuned: TuningSet,
    aim: Aim,
    drop_groups: bool,
) -> NDArray[np.int64]:
    """Positions of the metrics that go on after a first round with these folds.

    If groups may be dropped, those that would be averaged go on: no group that only adds noise.
    Otherwise, and so with few examples, those with a candidate among the best of their group.
    """
    groups = [metric.group for metric, _ in with_readings(metrics)]
    numbers = metric_numbers(metrics)
    rows = scored_rows(folds)
    sample = tuned.sample.take(rows)
    ranks = rank_by_aim(scores[:, rows], groups, sample, aim)
    if not drop_groups:
        return np.unique(numbers[ranks <= N_SURVIVORS])
    kept, _ = average_best(
        scores[:, np.newaxis, rows],
        groups,
        ranks,
        sample,
        prior_weights(int(tuned.sample.counts.min())),
        AVERAGING,
        limited_metrics(metrics, tuned.n_examples),
    )
    return np.unique(numbers[kept])


def score_folds(
    metrics: Sequence[MetricSpec],
    tuned: TuningSet,
    folds: Folds,
    n_jobs: int | None = None,
    on_step: Callable[[int], None] = lambda n_steps: None,
) -> NDArray[np.float32]:
    """Scores of what these folds validate, NaN for other examples: (n_candidates, n_samples)."""
    parts = Parallel(n_jobs=n_jobs, prefer="threads")(
        delayed(_score_fold)(metrics, tuned, train, validation, on_step)
        for train, validation in folds
    )
    scores = np.full((len(parts[0]), len(tuned.X)), np.nan, dtype=np.float32)
    for (_, validation), part in zip(folds, parts, strict=True):
        scores[:, validation] = part
    return scores


def _score_fold(
    metrics: Sequence[MetricSpec],
    tuned: TuningSet,
    train: NDArray,
    validation: NDArray,
    on_step: Callable[[int], None],
) -> NDArray[np.float64]:
    """Fit all metrics on ``train``, score ``validation``: (n_candidates, n_validation)."""
    own = check_labels(tuned.sample.positive[train], "A fold of RareClassifier")
    weights = tuned.sample.take(train).weights
    queries = SharedTransform(tuned.X[validation])
    scores = []
    more = tuned.rows_for_trees(validation)
    fitted = fit_metrics(metrics, tuned.X[train], own, tuned.seed, weights, more)
    for spec, metric in zip(metrics, fitted, strict=True):
        mapped = queries.project(metric.pipeline)
        k = max(reading.size for reading in spec.readings)
        found = metric.search.nearest_of_each_class(mapped, k, exact=False)
        scores.append(metric.scores([near.distances for near in found], spec.readings))
        on_step(1)
    return np.concatenate(scores)
