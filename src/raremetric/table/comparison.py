"""compare_table: nested cross-validation of several methods on one table."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.preprocessing import StandardScaler

from raremetric.contenders import RESAMPLING, find_contender
from raremetric.datasets import read_table
from raremetric.table.fitting import class_names, fit_method, n_tuning_folds
from raremetric.table.model import fitted_metric
from raremetric.table.results import Comparison, FoldResult
from raremetric.validation import check_integer, check_option

# Not the slow ones: LMNN and ITML can take a minute per fold, SVMs need all pairwise distances.
DEFAULT_METHODS = ("plain", "iml", "iml-score", "rare", "gmml", "logistic", "boosting", "forest")


def compare_table(
    path: str | Path,
    target: str | int | None = None,
    positive: Any = None,
    *,
    methods: Sequence[str] | None = None,
    resamplings: Sequence[str] = ("none",),
    n_folds: int = 5,
    max_rows: int | None = 5000,
    seed: int = 0,
    n_jobs: int | None = None,
    categorical: Collection[str] = (),
    ignore: Collection[str] = (),
    on_start: Callable[[int], None] = lambda n_results: None,
    on_result: Callable[[FoldResult], None] = lambda result: None,
) -> Comparison:
    """Compare methods on a table by nested cross-validation.

    Each method is tuned for F1 within the training rows of each outer fold, fitted on them and
    tested on the other rows. Methods with scores also tune their threshold. Encoder, scaler and
    resampling are fitted on the training rows only.

    Parameters
    ----------
    path, target, positive, categorical, ignore
        See `raremetric.datasets.read_table`.
    methods : sequence of str or None, default=None
        Names of contenders, such as "iml", or import paths of classes with scikit-learn's
        interface, such as ``"mypackage.module:MyLearner"``. None for `DEFAULT_METHODS`.
    resamplings : sequence of {"none", "smote", "rus"}, default=("none",)
        Each method is combined with each of them.
    n_folds : int, default=5
        Number of outer folds, which are stratified.
    max_rows : int or None, default=5000
        If the table has more rows, this number is drawn at random, with the same share of
        positives.
    seed : int, default=0
        Seed for folds and random draws.
    n_jobs : int or None, default=None
        Number of processes.
    on_start : callable (n_results)
        Called before the first result, with the number of results to expect.
    on_result : callable (result)
        Called with each `FoldResult`.

    Returns
    -------
    Comparison
        After an interruption (Ctrl-C), of the methods that have finished all folds, with a remark.
        If there are none, KeyboardInterrupt is raised.
    """
    chosen = _check_methods(DEFAULT_METHODS if methods is None else methods)
    settings = [check_option(each, "resampling", RESAMPLING) for each in resamplings]
    table = read_table(path, target, positive, categorical=categorical, ignore=ignore)
    data, y, remark = _limit_rows(table.data, table.target, max_rows, seed)
    folds = _split(y, n_folds, seed)
    tasks = [
        delayed(run_fold)(clone(table.encoder), data, y, fold, i, method, resampling, seed)
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
        n_folds=n_folds,
        seed=seed,
        plain=_plain_plane(clone(table.encoder), data, folds[0][0]),
        remark=remark,
        methods=chosen,
    )
    try:
        for result in _run(tasks, n_jobs):
            found.results.append(result)
            on_result(result)
    except KeyboardInterrupt:
        if not found.entries():
            raise
        remark = f"{remark} Stopped: only methods that have finished all folds are shown."
        return replace(found, remark=remark.strip(), is_whole=False)
    return found


def _check_methods(names: Sequence[str]) -> list[str]:
    """Short names where there are any, without repetitions."""
    return list(dict.fromkeys(find_contender(name).alias or name for name in names))


def _limit_rows(data: Any, y: NDArray, max_rows: int | None, seed: int) -> tuple[Any, NDArray, str]:
    if max_rows is None or len(y) <= max_rows:
        return data, y, ""
    check_integer(max_rows, "max_rows", low=20)
    kept, _ = train_test_split(
        np.arange(len(y)), train_size=max_rows, stratify=y, random_state=seed
    )
    kept.sort()
    remark = f"{max_rows} of {len(y)} rows, drawn at random with the same share of positives."
    return data.iloc[kept], y[kept], remark


def _split(y: NDArray, n_folds: int, seed: int) -> list[tuple[NDArray, NDArray]]:
    """The outer folds."""
    check_integer(n_folds, "n_folds", low=2)
    n_rare = int(np.bincount(y).min())
    if n_folds > n_rare:
        raise ValueError(
            f"The rare class has {n_rare} examples, too few for {n_folds} folds: each fold must "
            "contain at least one of them. Use fewer folds."
        )
    folds = list(StratifiedKFold(n_folds, shuffle=True, random_state=seed).split(y, y))
    for train, _ in folds:
        n_tuning_folds(y[train])  # raises an error if they are too few to tune on
    return folds


def _run(tasks: list, n_jobs: int | None) -> Iterator[FoldResult]:
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
    seed: int,
) -> FoldResult:
    """Tune, fit and test one method on one outer fold."""
    train, test = fold
    start = time.perf_counter()
    X = _encode(encoder, data, train)
    tuned = fit_method(method, X[train], y[train], seed=seed, resampling=resampling)
    seconds = time.perf_counter() - start
    answer = tuned.answer(X[test])
    metric = fitted_metric(tuned.model) if number == 0 else None
    return FoldResult(
        method=method,
        resampling=resampling,
        fold=number,
        test=test,
        predicted=answer.predicted,
        score=answer.scores,
        seconds=seconds,
        plane=None if metric is None else _plane(np.asarray(metric.transform(X)), train),
    )


def _encode(encoder: Any, data: Any, train: NDArray) -> NDArray:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # given once, when the file was read
        return encoder.fit(data.iloc[train]).transform(data)


def _plain_plane(encoder: Any, data: Any, train: NDArray) -> NDArray:
    X = _encode(encoder, data, train)
    return _plane(StandardScaler().fit(X[train]).transform(X), train)


def _plane(Z: NDArray, train: NDArray) -> NDArray:
    """All rows on the first two principal components of the training rows."""
    n_directions = min(2, Z.shape[1])
    plane = PCA(n_directions).fit(Z[train]).transform(Z)
    return np.hstack([plane, np.zeros((len(Z), 2 - n_directions))])
