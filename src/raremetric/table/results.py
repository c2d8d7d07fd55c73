"""Comparison: the results of several methods on one table, and their summary."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import (
    average_precision_score,
    balanced_accuracy_score,
    confusion_matrix,
    f1_score,
    matthews_corrcoef,
    precision_score,
    recall_score,
)

from raremetric.contenders import find_contender

MEASURES: dict[str, Callable[..., float]] = {
    "F1": lambda y, predicted, score: f1_score(y, predicted, zero_division=0),
    "precision": lambda y, predicted, score: precision_score(y, predicted, zero_division=0),
    "recall": lambda y, predicted, score: recall_score(y, predicted, zero_division=0),
    "average precision": lambda y, predicted, score: average_precision_score(y, score),
    "balanced accuracy": lambda y, predicted, score: balanced_accuracy_score(y, predicted),
    "MCC": lambda y, predicted, score: matthews_corrcoef(y, predicted),
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
    seconds: float  # for tuning and fitting
    plane: NDArray[np.float64] | None = None  # (n_samples, 2), a projection after the metric


@dataclass(frozen=True)
class Comparison:
    """Results of several methods on one table.

    Parameters
    ----------
    source : str
        The file.
    target_name : str
        The column that contains the class.
    class_names : list of str
        Names of the classes 0 and 1.
    y : ndarray of shape (n_samples,)
        0 or 1 for each row.
    n_columns : int
        Number of raw columns, without the target.
    n_folds : int
        Number of outer folds.
    seed : int
    results : list of FoldResult
    plain : ndarray of shape (n_samples, 2) or None
        The first two principal components of the standardized table, computed on the training
        rows of the first fold.
    remark : str
        A remark for the user, or empty.
    is_whole : bool
        False if the comparison was stopped before all methods had finished.
    methods : sequence of str
        The methods in the order in which to list them.
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
    methods: Sequence[str] = ()

    def entries(self) -> dict[tuple[str, str], list[FoldResult]]:
        """Results by method and resampling, in order of the folds; only if all are finished."""
        found: dict[tuple[str, str], list[FoldResult]] = {}
        for result in sorted(self.results, key=lambda each: each.fold):
            found.setdefault((result.method, result.resampling), []).append(result)
        finished = {key: each for key, each in found.items() if len(each) == self.n_folds}
        order = {name: position for position, name in enumerate(self.methods)}
        keys = sorted(finished, key=lambda key: (order.get(key[0], len(order)), key[1]))
        return {key: finished[key] for key in keys}

    def summary(self) -> list[dict[str, Any]]:
        """Mean and standard deviation of each measure over the folds; one row per method."""
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
        """[[tn, fp], [fn, tp]] over all rows, each of which is tested once."""
        return sum(confusion_matrix(self.y[r.test], r.predicted, labels=[0, 1]) for r in results)


def title_of(method: str, resampling: str) -> str:
    """Name of a method and its resampling in tables and figures."""
    suffix = {"none": "", "smote": " + SMOTE", "rus": " + under-sampling"}[resampling]
    return find_contender(method).title + suffix
