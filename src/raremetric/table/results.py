"""Comparison: the results of several methods on one table, and their summary."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import confusion_matrix

from raremetric.contenders import find_contender
from raremetric.table.aims import (
    MEASURES,
    Measure,
    behind_best,
    measure_of,
    positives_on_top,
    show_measure,
)

BUDGETS = (10, 20, 50, 100, 200)  # numbers of rows that somebody can check
HOPELESS = (
    "No method ranks the rows better than chance: no average precision is above the share of the "
    "class by two standard errors. These columns may say nothing about the class, or there are too "
    "few examples of it."
)


@dataclass(frozen=True)
class FoldResult:
    """One method on one outer fold."""

    method: str
    fold: int
    test: NDArray[np.int64]  # rows
    predicted: NDArray[np.int64]  # (n_test,)
    score: NDArray[np.float64]  # (n_test,), larger for more likely positives
    seconds: float  # for tuning and fitting
    n_train: int  # training rows of the fold, before any are drawn from them
    n_candidates: int = 1  # settings that were tried
    # (n_columns,), decrease of the average precision when a raw column is permuted
    importances: NDArray[np.float64] | None = None


@dataclass(frozen=True)
class Failure:
    """A method that raised an error on an outer fold, or gave scores that are not finite."""

    method: str
    fold: int
    error: str  # one line
    seconds: float


@dataclass(frozen=True)
class Comparison:
    """Results of several methods on one table, as :func:`compare_table` returns them.

    Attributes
    ----------
    results, failures : list of FoldResult, list of Failure
        One for each method on each outer fold.
    notes : list of str
        What was drawn, and what makes the results doubtful.
    protocol : str
        Sentences about the folds.
    is_whole : bool
        False if the comparison was stopped before all methods had finished.
    """

    source: str  # the file
    target_name: str
    class_names: list[str]  # of the classes 0 and 1
    y: NDArray[np.int64]  # 0 or 1 for each row
    n_folds: int  # outer folds, over all repeats
    results: list[FoldResult] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    is_whole: bool = True
    methods: Sequence[str] = ()  # in the order in which to list them
    scoring: Any = "f1"  # what was tuned for: see `RareClassifier`
    failures: list[Failure] = field(default_factory=list)
    n_repeats: int = 1  # how often each row is tested
    protocol: str = "Each row is tested once, by a model that was fitted on the other folds."
    weights: NDArray[np.float64] | None = None  # of the rows, in all but confusion matrices
    columns: Sequence[str] = ()  # names of the raw columns

    @property
    def aim(self) -> str:
        """Name of the measure that was tuned for."""
        return measure_of(self.scoring)[0]

    @property
    def measures(self) -> dict[str, Measure]:
        """The measures to show; the one that was tuned for is the first."""
        return dict([measure_of(self.scoring)]) | MEASURES

    def entries(self) -> dict[str, list[FoldResult]]:
        """Results by method, in order of the folds; only if all are finished."""
        found: dict[str, list[FoldResult]] = {}
        for result in sorted(self.results, key=lambda each: each.fold):
            found.setdefault(result.method, []).append(result)
        names = self.methods or sorted(found)
        return {name: found[name] for name in names if len(found.get(name, ())) == self.n_folds}

    def failed(self) -> list[dict[str, str]]:
        """The methods that did not finish because of an error, with the error of the first fold."""
        found: dict[str, Failure] = {}
        for each in sorted(self.failures, key=lambda each: each.fold):
            found.setdefault(each.method, each)
        return [{**_about(name), "error": each.error} for name, each in found.items()]

    def summary(self) -> list[dict[str, Any]]:
        """Mean and standard deviation of each measure over the folds; one row per method."""
        return self._summary

    @cached_property
    def _summary(self) -> list[dict[str, Any]]:
        y, w = self.y, self.weights
        rows: list[dict[str, Any]] = []
        by_fold = {}
        for method, results in self.entries().items():
            row: dict[str, Any] = {
                **_about(method),
                "n_candidates": max(r.n_candidates for r in results),
            }
            for name, measure in self.measures.items():
                values = [
                    measure(y[r.test], r.predicted, r.score, None if w is None else w[r.test])
                    for r in results
                ]
                row[name] = _mean_and_std(values)
                if name == self.aim:
                    by_fold[method] = np.array(values)
            row["seconds"] = _mean_and_std([r.seconds for r in results])
            row["confusion"] = self.confusion(results).tolist()
            rows.append(row)
        test_ratio = float(np.mean([len(r.test) / r.n_train for r in self.results]))
        for row in rows:
            behind, limit = behind_best(by_fold, test_ratio)[row["method"]]
            row |= {"among_best": behind <= limit + 1e-12, "behind": behind, "by_chance": limit}
        return rows

    @property
    def best(self) -> dict[str, Any]:
        """The row of the summary with the highest mean of what was tuned for."""
        return max(self.summary(), key=lambda row: row[self.aim]["mean"])

    @property
    def best_sentence(self) -> str:
        """What the marks of the best methods mean."""
        n_marked = sum(row["among_best"] for row in self.summary())
        if len(self.summary()) == 1:
            return "Only one method was tested."
        limits = sorted(row["by_chance"] for row in self.summary() if row != self.best)
        low, high = (show_measure(self.aim, each) for each in (limits[0], limits[-1]))
        if n_marked == 1:
            which = f"the best {self.aim}; the differences to all others are larger than chance"
        elif n_marked == len(self.summary()):
            which = "all methods: none can be told from the best"
        else:
            which = f"the best {self.aim}, and methods whose difference to it can be chance"
        return (
            f"Marked with *: {which} (paired t-test over the folds, 5 % level). These folds show a "
            f"difference in {self.aim} from {low} to {high} on, depending on the method; more rows "
            "or repeats (--repeats) show smaller ones."
        )

    @property
    def is_better_than_chance(self) -> bool:
        """Whether a method has an average precision above the share of the positive class.

        It must be above it by two standard errors over the folds.
        """
        share = np.average(self.y, weights=self.weights)
        found = [row["average precision"] for row in self.summary()]
        return any(
            each["mean"] - 2 * each["std"] / math.sqrt(self.n_folds) > share for each in found
        )

    def remarks(self) -> list[str]:
        """The notes, the methods that could not be tested, and whether any finds anything."""
        failed = [f"{each['title']} failed: {each['error']}" for each in self.failed()]
        return [*self.notes, *failed, *([] if self.is_better_than_chance else [HOPELESS])]

    def confusion(self, results: Sequence[FoldResult]) -> NDArray[np.int64]:
        """[[tn, fp], [fn, tp]] over all tests; each row is tested once per repeat."""
        return sum(confusion_matrix(self.y[r.test], r.predicted, labels=[0, 1]) for r in results)

    def importances(self) -> list[dict[str, Any]]:
        """How much each method depends on each column, measured on rows it has not seen.

        Returns
        -------
        list of dict
            One per method, with ``method``, ``title`` and ``columns``: for each raw
            column its name as ``column``, the ``importance``, and the ``std`` over the folds, the
            largest first. The importance is the mean over the folds of the decrease of the average
            precision when the column is permuted in the test part. Empty unless `compare_table`
            was called with ``importances=True``.
        """
        found = []
        for method, results in self.entries().items():
            decreases = [each.importances for each in results if each.importances is not None]
            if decreases:
                spread = np.std(decreases, axis=0)
                columns = ranked_columns(self.columns, np.mean(decreases, axis=0), spread)
                found.append({**_about(method), "columns": columns})
        return found

    def budgets(self, sizes: Sequence[int] = BUDGETS) -> list[dict[str, Any]]:
        """Precision and recall if only the rows with the highest scores are checked.

        Parameters
        ----------
        sizes : sequence of int
            Numbers of rows to check; larger ones than the number of tested rows are left out.

        Returns
        -------
        list of dict
            One per method and size, with ``method``, ``title``, ``alerts`` (the
            size), ``found`` (positives among them), ``precision`` and ``recall``. The scores of
            all test folds are ranked together. Rows with equal scores count by the share of
            positives among them. With repeats, the mean over the repeats. With weights, precision
            and recall are weighted; ``alerts`` and ``found`` are numbers of rows.
        """
        per_repeat = self.n_folds // self.n_repeats
        names = ("found", "precision", "recall")
        budgets = []
        for method, results in self.entries().items():
            parts = [results[i : i + per_repeat] for i in range(0, len(results), per_repeat)]
            pooled = [np.concatenate([r.test for r in part]) for part in parts]
            scores = [np.concatenate([r.score for r in part]) for part in parts]
            for size in [size for size in sizes if size <= len(pooled[0])]:
                tops = [self._top(*each, size) for each in zip(pooled, scores, strict=True)]
                means = dict(zip(names, np.mean(tops, axis=0).tolist(), strict=True))
                budgets.append({**_about(method), "alerts": size, **means})
        return budgets

    def _top(self, rows: NDArray, score: NDArray, size: int) -> tuple[float, float, float]:
        """Number of positives among the rows with the highest scores, precision and recall."""
        y = self.y[rows]
        weights = np.ones(len(rows)) if self.weights is None else self.weights[rows]
        weighted_hits = positives_on_top(weights * y, score, size)
        alerts, total = positives_on_top(weights, score, size), max(float(weights @ y), 1e-300)
        return positives_on_top(y, score, size), weighted_hits / alerts, weighted_hits / total


def title_of(method: str) -> str:
    """Name of a method in tables and figures."""
    return find_contender(method).title


def _about(method: str) -> dict[str, str]:
    return {"method": method, "title": title_of(method)}


def _mean_and_std(values: Sequence[float]) -> dict[str, float]:
    return {"mean": float(np.mean(values)), "std": float(np.std(values))}


def ranked_columns(
    names: Sequence[str], importances: NDArray, spread: NDArray
) -> list[dict[str, Any]]:
    """The columns by their importance, the largest first."""
    return [
        {"column": str(names[j]), "importance": float(importances[j]), "std": float(spread[j])}
        for j in np.argsort(-importances, kind="stable")
    ]
