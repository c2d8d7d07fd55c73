"""Nested cross-validation of several methods on one table."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.metrics import (
    average_precision_score,
    balanced_accuracy_score,
    confusion_matrix,
    f1_score,
    matthews_corrcoef,
    precision_score,
    recall_score,
)
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from raremetric.datasets import read_table
from raremetric.table.fitting import class_names, fit_quietly, n_folds_for
from raremetric.table.methods import METHODS, Setting, find_method
from raremetric.table.model import leading_metric
from raremetric.validation import check_integer, check_option

MEASURES: dict[str, Callable[..., float]] = {
    "F1": lambda y, found, score: f1_score(y, found, zero_division=0),
    "precision": lambda y, found, score: precision_score(y, found, zero_division=0),
    "recall": lambda y, found, score: recall_score(y, found, zero_division=0),
    "average precision": lambda y, found, score: average_precision_score(y, score),
    "balanced accuracy": lambda y, found, score: balanced_accuracy_score(y, found),
    "MCC": lambda y, found, score: matthews_corrcoef(y, found),
}


@dataclass(frozen=True)
class FoldResult:
    """One method on one outer fold."""

    method: str
    resampling: str
    fold: int
    test: NDArray[np.int64]  # rows
    predicted: NDArray[np.int64]  # (n_test,)
    score: NDArray[np.float64]  # (n_test,), larger for more likely positives
    seconds: float  # tuning and fitting
    plane: NDArray[np.float64] | None = None  # (n_samples, 2) under the learned metric


@dataclass(frozen=True)
class Comparison:
    """What came of comparing methods on a table.

    Parameters
    ----------
    source : str
        The file.
    target_name : str
    class_names : list of str
        What 0 and 1 stand for.
    y : ndarray of shape (n_samples,)
    n_columns : int
    n_folds : int
    seed : int
    results : list of FoldResult
        Of methods that saw all folds.
    plain : ndarray of shape (n_samples, 2)
        Leading directions of the standardised table, found on the first fold's training part.
    remark : str
        What is to be known, or empty.
    is_whole : bool
        False where it was stopped before all methods were through.
    """

    source: str
    target_name: str
    class_names: list[str]
    y: NDArray[np.int64]
    n_columns: int
    n_folds: int
    seed: int
    results: list[FoldResult] = field(default_factory=list)
    plain: NDArray[np.float64] | None = None
    remark: str = ""
    is_whole: bool = True

    def entries(self) -> dict[tuple[str, str], list[FoldResult]]:
        """The results of each method and resampling, fold by fold."""
        found: dict[tuple[str, str], list[FoldResult]] = {}
        for result in sorted(self.results, key=lambda each: each.fold):
            found.setdefault((result.method, result.resampling), []).append(result)
        order = list(METHODS)
        whole = {key: each for key, each in found.items() if len(each) == self.n_folds}
        return dict(sorted(whole.items(), key=lambda item: (order.index(item[0][0]), item[0][1])))

    def summary(self) -> list[dict[str, Any]]:
        """One row a method: mean and standard deviation over the folds of each measure."""
        rows = []
        for (method, resampling), results in self.entries().items():
            row: dict[str, Any] = {
                "method": method,
                "title": title_of(method, resampling),
                "resampling": resampling,
            }
            for name, measure in MEASURES.items():
                values = [measure(self.y[r.test], r.predicted, r.score) for r in results]
                row[name] = {"mean": float(np.mean(values)), "std": float(np.std(values))}
            seconds = [r.seconds for r in results]
            row["seconds"] = {"mean": float(np.mean(seconds)), "std": float(np.std(seconds))}
            row["confusion"] = self.confusion(results).tolist()
            rows.append(row)
        return rows

    def confusion(self, results: Sequence[FoldResult]) -> NDArray[np.int64]:
        """[[tn, fp], [fn, tp]] over all rows, each tested once."""
        return sum(confusion_matrix(self.y[r.test], r.predicted, labels=[0, 1]) for r in results)


def title_of(method: str, resampling: str) -> str:
    """A method as a table names it."""
    suffix = {"none": "", "smote": " + SMOTE", "rus": " + under-sampling"}[resampling]
    return METHODS[method].title + suffix


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

    Each method is tuned (by F1, in inner folds), fitted on the training part of each outer fold
    and tested on the rest. Encoder, scaler and resampling see the training part only.

    Parameters
    ----------
    path, target, positive, categorical, ignore
        As for `raremetric.datasets.read_table`.
    methods : sequence of str or None, default=None
        Names of `raremetric.table.METHODS`; None for all.
    resamplings : sequence of {"none", "smote", "rus"}, default=("none",)
        Each method is run with each of them.
    n_folds : int, default=5
        Outer folds, stratified.
    max_rows : int or None, default=5000
        Of a longer table so many rows are drawn, with the same share of positives.
    seed : int, default=0
        For folds and draws.
    n_jobs : int or None, default=None
        Processes.
    on_start : callable (n_results)
        Called before the first result, with the number of results to expect.
    on_result : callable (result)
        Called with each result.

    Returns
    -------
    Comparison
        If it is interrupted (Ctrl-C) after some methods have seen all folds, of those, with a
        remark; otherwise the interruption goes on.
    """
    chosen = list(METHODS) if methods is None else [find_method(name).name for name in methods]
    settings = [check_option(each, "resampling", ("none", "smote", "rus")) for each in resamplings]
    table = read_table(path, target, positive, categorical=categorical, ignore=ignore)
    data, y, remark = _limited(table.data, table.target, max_rows, seed)
    check_integer(n_folds, "n_folds", low=2)
    if n_folds > (n_rare := int(np.bincount(y).min())):
        raise ValueError(
            f"The rare class has {n_rare} examples, too few for {n_folds} folds: each fold must "
            "hold one to test on. Ask for fewer folds."
        )
    folds = list(StratifiedKFold(n_folds, shuffle=True, random_state=seed).split(data, y))
    inner = n_folds_for(y[folds[0][0]])
    tasks = [
        delayed(run_fold)(
            clone(table.encoder), data, y, folds[i], i, method, Setting(resampling, inner, seed)
        )
        for resampling in settings
        for method in chosen
        for i in range(n_folds)
    ]
    on_start(len(tasks))
    results: list[FoldResult] = []
    about = {
        "source": str(path),
        "target_name": table.target_name,
        "class_names": class_names(table),
        "y": y,
        "n_columns": data.shape[1],
        "n_folds": n_folds,
        "seed": seed,
        "results": results,
        "plain": _plain_plane(clone(table.encoder), data, folds[0][0]),
    }
    try:
        for result in _as_they_come(tasks, n_jobs):
            results.append(result)
            on_result(result)
    except KeyboardInterrupt:
        stopped = f"{remark} Stopped: only the methods that were through all folds are shown."
        partial = Comparison(**about, remark=stopped.strip(), is_whole=False)
        if not partial.entries():
            raise
        return partial
    return Comparison(**about, remark=remark)


def _as_they_come(tasks: list, n_jobs: int | None) -> Iterator[FoldResult]:
    return Parallel(n_jobs=n_jobs, return_as="generator_unordered")(tasks)


def _limited(data: Any, y: NDArray, max_rows: int | None, seed: int) -> tuple[Any, NDArray, str]:
    if max_rows is None or len(y) <= max_rows:
        return data, y, ""
    check_integer(max_rows, "max_rows", low=20)
    kept, _ = train_test_split(
        np.arange(len(y)), train_size=max_rows, stratify=y, random_state=seed
    )
    kept.sort()
    remark = f"{max_rows} of {len(y)} rows, drawn at random with the same share of positives."
    return data.iloc[kept], y[kept], remark


def run_fold(
    encoder: Any,
    data: Any,
    y: NDArray,
    fold: tuple[NDArray, NDArray],
    number: int,
    method: str,
    setting: Setting,
) -> FoldResult:
    """Tune, fit and test one method on one outer fold."""
    train, test = fold
    start = time.perf_counter()
    with threadpool_limits(1):
        X = _encode(encoder, data, train)
        model = fit_quietly(METHODS[method].build(setting), X[train], y[train])
        seconds = time.perf_counter() - start
        best = getattr(model, "best_estimator_", model)
        return FoldResult(
            method=method,
            resampling=setting.resampling,
            fold=number,
            test=test,
            predicted=model.predict(X[test]),
            score=_scores(model, X[test]),
            seconds=seconds,
            plane=_learned_plane(best, X, train) if number == 0 else None,
        )


def _encode(encoder: Any, data: Any, train: NDArray) -> NDArray:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # told once, when the file was read
        return encoder.fit(data.iloc[train]).transform(data)


def _scores(model: Any, X: NDArray) -> NDArray:
    if hasattr(model, "decision_function"):
        return model.decision_function(X)
    return model.predict_proba(X)[:, 1]


def _learned_plane(model: Any, X: NDArray, train: NDArray) -> NDArray | None:
    """Rows under the learned metric, or None; imblearn's pipelines leave resampling out here."""
    last = model[-1] if isinstance(model, Pipeline) else model
    if hasattr(last, "ensemble_"):
        return _plane(leading_metric(last.ensemble_).transform(X), train)
    if hasattr(last, "learner_"):
        return _plane(last.learner_.transform(model.named_steps["scale"].transform(X)), train)
    return None


def _plain_plane(encoder: Any, data: Any, train: NDArray) -> NDArray:
    X = _encode(encoder, data, train)
    return _plane(StandardScaler().fit(X[train]).transform(X), train)


def _plane(Z: NDArray, train: NDArray) -> NDArray:
    """The two leading directions of the training rows, for all rows; one column may be zero."""
    n_directions = min(2, Z.shape[1])
    plane = PCA(n_directions).fit(Z[train]).transform(Z)
    return np.hstack([plane, np.zeros((len(Z), 2 - n_directions))])
