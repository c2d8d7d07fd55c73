"""compare_table: nested cross-validation of several methods on one table."""

from __future__ import annotations

import time as clock
import warnings
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from scipy.special import logit
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

from raremetric.contenders import RESAMPLING, Tuned, find_contender
from raremetric.contenders.base import draw_training_rows
from raremetric.table.fitting import class_names, fit_method
from raremetric.table.model import fitted_metric
from raremetric.table.notes import table_notes
from raremetric.table.results import Comparison, Failure, FoldResult, measure_name
from raremetric.table.splitting import (
    describe_folds,
    find_copies,
    outer_folds,
    read_with_times,
)
from raremetric.validation import check_integer, check_option

# Not the slow ones: LMNN and ITML can take a minute per fold, SVMs need all pairwise distances.
DEFAULT_METHODS = ("plain", "iml", "iml-score", "rare", "gmml", "logistic", "boosting", "forest")
MAX_SHOWN = 3000  # rows in the scatter plots


def compare_table(
    path: str | Path,
    target: str | int | None = None,
    positive: Any = None,
    *,
    methods: Sequence[str] | None = None,
    resamplings: Sequence[str] = ("none",),
    scoring: str = "f1",
    n_folds: int = 5,
    n_repeats: int = 1,
    time: str | None = None,
    group: str | None = None,
    max_rows: int | None = 5000,
    seed: int = 0,
    n_jobs: int | None = None,
    categorical: Collection[str] = (),
    ignore: Collection[str] = (),
    on_start: Callable[[int], None] = lambda n_results: None,
    on_result: Callable[[FoldResult | Failure], None] = lambda result: None,
) -> Comparison:
    """Compare methods on a table by nested cross-validation.

    Each method is tuned within the training rows of each outer fold, fitted on them and tested on
    the other rows. All methods have the same outer folds. Methods with scores also tune their
    threshold. Encoder, scaler and resampling are fitted on the training rows only. Rows that are
    copies of each other are in the same fold.

    Parameters
    ----------
    path, target, positive, categorical, ignore
        See `raremetric.datasets.read_table`.
    methods : sequence of str or None, default=None
        Names of contenders, such as "iml", or import paths of classes with scikit-learn's
        interface, such as ``"mypackage.module:MyLearner"``. None for `DEFAULT_METHODS`.
    resamplings : sequence of {"none", "smote", "rus"}, default=("none",)
        Each method is combined with each of them.
    scoring : str, default="f1"
        What to tune and compare: "f1", "f2", "f0.5" or any other F-beta, "average_precision" or
        "balanced_accuracy". Methods that count votes are always tuned for F1.
    n_folds : int, default=5
        Number of outer folds, which are stratified.
    n_repeats : int, default=1
        How often to repeat the outer folds with other random draws.
    time : str or None, default=None
        Column with a number or a date. Each model is tested on rows that are later than all of its
        training rows. The column is not used as a feature.
    group : str or None, default=None
        Column with a group, such as a customer. No group has rows in both the training and the
        test part. The column is not used as a feature.
    max_rows : int or None, default=5000
        Maximum number of training rows per fit. From more rows, all positives are kept, up to
        half of this number, and the others are drawn at random. All test rows are tested.
    seed : int, default=0
        Seed for folds and random draws.
    n_jobs : int or None, default=None
        Number of processes.
    on_start : callable (n_results)
        Called before the first result, with the number of results to expect.
    on_result : callable (result)
        Called with each `FoldResult` or `Failure`.

    Returns
    -------
    Comparison
        A method that raises an error is in its ``failures``. If all methods fail, ValueError is
        raised. After an interruption (Ctrl-C), of the methods that have finished all folds, with a
        note. If there are none, KeyboardInterrupt is raised.
    """
    chosen = _check_methods(DEFAULT_METHODS if methods is None else methods)
    settings = [check_option(each, "resampling", RESAMPLING) for each in resamplings]
    if not settings:
        raise ValueError(f"resampling must be one or more of {', '.join(RESAMPLING)}; got none.")
    _check_aim_and_size(scoring, max_rows)
    table, times, groups = read_with_times(path, target, positive, categorical, ignore, time, group)
    data, y = table.data, table.target
    copies, n_copies = find_copies(data)
    folds = outer_folds(
        y, n_folds, seed, n_repeats=n_repeats, copies=copies, groups=groups, times=times
    )
    shown = draw_training_rows(y, MAX_SHOWN, seed)
    plan = Plan(seed, scoring, max_rows, shown)
    tasks = [
        delayed(run_fold)(clone(table.encoder), data, y, fold, i, method, resampling, plan)
        for resampling in settings
        for method in chosen
        for i, fold in enumerate(folds)
    ]
    on_start(len(tasks))
    found = Comparison(
        source=str(path),
        target_name=table.target_name,
        class_names=class_names(table),
        y=y,
        n_columns=data.shape[1],
        n_folds=len(folds),
        seed=seed,
        plain=_plain_plane(clone(table.encoder), data, folds[0][0], shown),
        notes=table_notes(table, n_copies, [train for train, _ in folds], max_rows, seed),
        methods=chosen,
        scoring=scoring,
        shown=shown,
        n_repeats=n_repeats,
        protocol=describe_folds(len(folds), n_repeats, time, group),
    )
    return _collect(found, tasks, n_jobs, on_result)


class Plan(NamedTuple):
    """What all tasks of a comparison have in common."""

    seed: int
    scoring: str
    max_rows: int | None
    shown: NDArray[np.int64]  # rows in the scatter plots


def _collect(
    found: Comparison,
    tasks: list,
    n_jobs: int | None,
    on_result: Callable[[FoldResult | Failure], None],
) -> Comparison:
    """Run the tasks and record their results and failures."""
    try:
        for result in _run(tasks, n_jobs):
            kept: list = found.failures if isinstance(result, Failure) else found.results
            kept.append(result)
            on_result(result)
    except KeyboardInterrupt:
        if not found.entries():
            raise
        note = "Stopped: only methods that have finished all folds are shown."
        return replace(found, notes=[*found.notes, note], is_whole=False)
    if not found.entries():
        errors = [f"{each['title']}: {each['error']}" for each in found.failed()]
        raise ValueError(f"No method could be fitted. {' '.join(errors)}")
    return found


def _check_aim_and_size(scoring: str, max_rows: int | None) -> None:
    measure_name(scoring)  # raises an error if it is unknown
    if max_rows is not None:
        check_integer(max_rows, "max_rows", low=20)


def _check_methods(names: Sequence[str]) -> list[str]:
    """Short names where there are any, without repetitions."""
    return list(dict.fromkeys(find_contender(name).alias or name for name in names))


def _run(tasks: list, n_jobs: int | None) -> Iterator[FoldResult | Failure]:
    """Results in the order in which they are finished."""
    return Parallel(n_jobs=n_jobs, return_as="generator_unordered")(tasks)


def run_fold(
    encoder: Any,
    data: Any,
    y: NDArray,
    fold: tuple[NDArray, NDArray],
    number: int,
    method: str,
    resampling: str,
    plan: Plan,
) -> FoldResult | Failure:
    """Tune, fit and test one method on one outer fold."""
    train, test = fold
    start = clock.perf_counter()
    try:
        X = _encode(encoder, data, train)
        # Indexing copies the rows, so that a method cannot change them for the others.
        tuned = fit_method(
            method,
            X[train],
            y[train],
            seed=plan.seed,
            resampling=resampling,
            scoring=plan.scoring,
            max_rows=plan.max_rows,
        )
        seconds = clock.perf_counter() - start
        predicted, score = _answer(tuned, X[test])
        plane = _learned_plane(tuned, X, train, plan.shown) if number == 0 else None
    except Exception as error:  # one method must not lose the others
        seconds = clock.perf_counter() - start
        return Failure(method, resampling, number, _one_line(error), seconds)
    return FoldResult(
        method=method,
        resampling=resampling,
        fold=number,
        test=test,
        predicted=predicted,
        score=score,
        seconds=seconds,
        plane=plane,
        n_train=len(train),
        n_candidates=tuned.n_candidates,
    )


def _answer(tuned: Tuned, queries: NDArray) -> tuple[NDArray, NDArray]:
    """Predictions, and scores that can be compared between folds."""
    predicted, score = tuned.answer(queries)
    if not np.isfinite(score).all():
        raise ValueError(f"{np.sum(~np.isfinite(score))} of {len(score)} scores are not finite.")
    threshold = getattr(tuned.model, "threshold_", None)
    if threshold is not None and 0 < threshold < 1:
        score = score + logit(threshold)  # log-odds instead of their distance to the threshold
    return predicted, score


def _one_line(error: Exception) -> str:
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _encode(encoder: Any, data: Any, train: NDArray) -> NDArray:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # given once, when the file was read
        return encoder.fit(data.iloc[train]).transform(data)


def _plain_plane(encoder: Any, data: Any, train: NDArray, shown: NDArray) -> NDArray:
    X = _encode(encoder, data, train)
    scaler = StandardScaler().fit(X[train])
    return _plane(scaler.transform(X[shown]), np.isin(shown, train))


def _learned_plane(tuned: Tuned, X: NDArray, train: NDArray, shown: NDArray) -> NDArray | None:
    metric = fitted_metric(tuned.model)
    if metric is None:
        return None
    Z = X[shown]
    for _, step in metric.steps:  # a pipeline would require attributes that show a fitted step
        Z = np.asarray(step.transform(Z))
    return _plane(Z, np.isin(shown, train))


def _plane(Z: NDArray, is_train: NDArray) -> NDArray:
    """All rows on the first two principal components of the training rows."""
    n_directions = min(2, Z.shape[1])
    plane = PCA(n_directions).fit(Z[is_train]).transform(Z)
    return np.hstack([plane, np.zeros((len(Z), 2 - n_directions))])
