"""How the candidates are judged: by their scores of examples that they were not fitted on."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from numbers import Real

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from raremetric.rare import policy
from raremetric.rare.candidates import MetricSpec, metric_numbers, with_readings
from raremetric.rare.fitting import FittedMetric, SharedTransform, fit_metrics
from raremetric.rare.tuning_set import TuningSet
from raremetric.sampling import draw_evenly
from raremetric.selection import Aim, Folds, evaluate, rank, scored_rows
from raremetric.validation import check_labels, check_real

OnStep = Callable[[int], None]  # of a number of finished pairs of a metric and a fold
EVALUATION_SHARE = 0.9  # of a budget in seconds; the rest is for fitting the chosen metrics


def out_of_fold_scores(
    metrics: Sequence[MetricSpec],
    tuned: TuningSet,
    aim: Aim,
    budget: str | float = "fast",
    start: float = 0.0,
    n_jobs: int | None = None,
    on_step: OnStep = lambda n_steps: None,
    first_rows: int = policy.FIRST_ROWS,
) -> tuple[list[MetricSpec], NDArray[np.float32]]:
    """Scores of each example by candidates that were fitted on other folds.

    Metrics that are hopeless in a first round are not tried further. It is the first repeat, or the
    first folds if there is one repeat only, at least two and as many as validate enough positives,
    of a sample of ``first_rows`` if there are many examples. A ``budget`` in seconds counts from
    ``start``, a time given by ``time.perf_counter``. ``n_jobs`` threads work on different folds.

    Returns the metrics that saw all folds, and scores, (n_candidates, n_repeats, n_samples), in the
    order of ``with_readings(metrics)``; NaN for examples that no fold validates.
    """
    if budget in ("fast", "thorough"):
        end = np.inf
    elif isinstance(budget, Real) and not isinstance(budget, bool):
        seconds = check_real(budget, "budget", low=0, closed="neither")
        end = start + EVALUATION_SHARE * seconds
    else:
        raise ValueError(
            f"budget must be 'fast', 'thorough' or a number of seconds; got {budget!r}."
        )
    began = time.perf_counter()
    metrics, left = list(metrics), tuned.repeats[0]
    scores: NDArray = np.full((1, len(tuned.rows)), np.nan, dtype=np.float32)
    sample, folds = _first_round(tuned, first_rows)
    is_part = sample is tuned  # the scores of a round on a sample are not used again
    found = score_folds(metrics, sample, folds, n_jobs, on_step if is_part else None)
    rows, names = scored_rows(folds), [metric.group for metric, _ in with_readings(metrics)]
    evaluation = evaluate(found[:, np.newaxis, rows], sample.sample.take(rows), aim)
    ranks = rank(evaluation, names, aim.measures)
    survivors = np.unique(metric_numbers(metrics)[ranks <= policy.N_SURVIVORS])
    n_folds_left = tuned.n_folds - (len(folds) if is_part else 0)
    if n_spared := (len(metrics) - len(survivors)) * n_folds_left:
        on_step(n_spared)
    if is_part:
        scores, left = found[np.isin(metric_numbers(metrics), survivors)], left[len(folds) :]
    metrics = [metrics[i] for i in survivors]
    if left:
        rest = score_folds(metrics, tuned, left, n_jobs, on_step)
        scores = np.where(np.isnan(scores), rest, scores)
    repeats = [scores]
    for folds in tuned.repeats[1:]:
        now = time.perf_counter()
        if now + (now - began) / len(repeats) > end:
            break
        repeats.append(score_folds(metrics, tuned, folds, n_jobs, on_step))
    return metrics, np.stack(repeats, axis=1)


def _first_round(tuned: TuningSet, first_rows: int) -> tuple[TuningSet, Folds]:
    """The examples and folds of a first round."""
    n_examples = tuned.n_examples
    if len(tuned.repeats) > 1:
        return tuned, tuned.repeats[0]
    if n_examples > 2 * first_rows:
        rng = np.random.RandomState(tuned.seed)
        examples = draw_evenly(n_examples, tuned.sample.positive[:n_examples], first_rows, rng)
        # As many rows that are only validated.
        more = rng.permutation(np.arange(n_examples, len(tuned.rows)))[:first_rows]
        tuned = tuned.restricted(np.concatenate([examples, np.sort(more)]))
    folds = tuned.repeats[0]
    found = np.cumsum([np.count_nonzero(tuned.sample.positive[part]) for _, part in folds])
    n_first = max(2, int(np.searchsorted(found, policy.FIRST_POSITIVES)) + 1)
    return tuned, folds[:n_first]


def score_folds(
    metrics: Sequence[MetricSpec],
    tuned: TuningSet,
    folds: Folds,
    n_jobs: int | None = None,
    on_step: OnStep | None = None,
) -> NDArray[np.float32]:
    """Scores of what these folds validate, NaN for other examples: (n_candidates, n_samples)."""
    X = tuned.features

    def score(train: NDArray, validation: NDArray) -> NDArray[np.float64]:
        scores = []
        for _, _, found in fit_and_score(metrics, tuned, X, train, validation):
            scores.append(found)
            if on_step is not None:
                on_step(1)
        return np.concatenate(scores)

    parts = Parallel(n_jobs=n_jobs, prefer="threads")(delayed(score)(*fold) for fold in folds)
    scores = np.full((len(parts[0]), len(X)), np.nan, dtype=np.float32)
    for (_, validation), part in zip(folds, parts, strict=True):
        scores[:, validation] = part
    return scores


def fit_and_score(
    metrics: Sequence[MetricSpec],
    tuned: TuningSet,
    X: NDArray,
    train: NDArray,
    validation: NDArray,
) -> Iterator[tuple[FittedMetric, NDArray, NDArray[np.float64]]]:
    """Fit the metrics on ``train``; yield each with the rows of ``validation`` and their scores.

    ``X`` are the features of the tuning set. The rows are mapped by the metric, and the scores are
    by all readings, (n_readings, n_validation).
    """
    own = check_labels(tuned.sample.positive[train], "A fold of RareClassifier")
    weights = tuned.sample.take(train).weights
    queries, more = SharedTransform(X[validation]), tuned.rows_for_trees(validation)
    fitted = fit_metrics(metrics, X[train], own, tuned.seed, weights, more)
    for spec, metric in zip(metrics, fitted, strict=True):
        mapped = queries.project(metric.pipeline)
        yield metric, mapped, metric.scores(mapped, spec.readings, exact=False)[0]
