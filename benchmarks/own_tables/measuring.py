"""What `compare` says about a file, and whether the rows that were set aside agree."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import spearmanr
from sklearn.metrics import average_precision_score, f1_score

from benchmarks.own_tables.tables import TABLES, OwnTable, make_parts, units_of, write_table
from raremetric.table import DEFAULT_METHODS, compare_table, fit_table

N_DRAWS = 1000  # bootstrap draws for F1
N_SLOW_DRAWS = 200  # for average precision, which needs a sort per draw


def measure_file(
    name: str, scale: float = 1, methods: Sequence[str] = DEFAULT_METHODS
) -> list[dict[str, Any]]:
    """Results of one file, one row per method, in the order of `compare`.

    Parameters
    ----------
    name : str
        A key of `TABLES`.
    scale : float, default=1
        Share of the rows to use.
    methods : sequence of str
    """
    table = TABLES[name]
    rest, held_out = make_parts(name, scale)
    with TemporaryDirectory() as folder, warnings.catch_warnings():
        # Notes about levels, few positives and copies; the page is about the results.
        warnings.simplefilter("ignore")
        paths = [
            write_table(part, table, Path(folder) / title)
            for part, title in ((rest, "rest"), (held_out, "held-out"))
        ]
        ranked, compare_seconds = rank_methods(paths[0], table, methods)
        answers = {row["method"]: ask(row["method"], *paths, table) for row in ranked}
    truth = (held_out[table.target].astype(str) == table.positive).to_numpy().astype(np.int64)
    # Rows that are set aside by time are drawn one by one; otherwise groups and copies together.
    units = np.arange(len(truth)) if table.time is not None else units_of(held_out, table)
    measured = measure_methods(truth, answers, units)
    about = {
        "file": name,
        "rows": len(rest),
        "positives": int((rest[table.target].astype(str) == table.positive).sum()),
        "held_out_rows": len(truth),
        "held_out_positives": int(truth.sum()),
        "compare_cpu": round(compare_seconds, 1),
    }
    return [{**about, **row, **measured[row["method"]]} for row in ranked]


def rank_methods(
    path: Path, table: OwnTable, methods: Sequence[str]
) -> tuple[list[dict[str, Any]], float]:
    """The methods as `compare` ranks them, the best first, and its CPU seconds."""
    start = time.process_time()
    found = compare_table(
        path,
        table.target,
        table.positive,
        methods=methods,
        time=table.time,
        group=table.group,
        ignore=table.not_features,
    )
    seconds = time.process_time() - start
    rows = [
        {
            "method": row["method"],
            "marked": row["among_best"],
            "compare_f1": row["F1"]["mean"],
            "compare_f1_std": row["F1"]["std"],
            "compare_ap": row["average precision"]["mean"],
        }
        for row in found.summary()
    ]
    return sorted(rows, key=lambda row: -row["compare_f1"]), seconds


def ask(method: str, rest: Path, held_out: Path, table: OwnTable) -> dict[str, Any]:
    """Fit a method on the rest and classify the rows that were set aside.

    Returns
    -------
    dict
        ``predicted`` and ``score`` of each row, ``fit_f1`` (the F1 that `fit` announces, or None)
        and ``fit_cpu`` in seconds.
    """
    start = time.process_time()
    splits = {"time": table.time, "group": table.group}
    ignore = table.not_features
    model = fit_table(rest, table.target, table.positive, method=method, ignore=ignore, **splits)
    seconds = time.process_time() - start
    found = model.predict_table(held_out)
    return {
        "predicted": (found["class"] == model.class_names[1]).to_numpy().astype(np.int64),
        "score": found["probability"].to_numpy(),
        "fit_f1": model.training["score"],
        "fit_cpu": round(seconds, 1),
    }


def measure_methods(
    y: NDArray, answers: dict[str, dict[str, Any]], units: NDArray
) -> dict[str, dict[str, float]]:
    """F1 and average precision of each method, and how far they are behind the best.

    Parameters
    ----------
    y : ndarray of shape (n_samples,)
        0 or 1.
    answers : dict
        What `ask` returns for each method.
    units : ndarray of int of shape (n_samples,)
        Rows with the same number are drawn together by the bootstrap.

    Returns
    -------
    dict of dict
        ``f1``, ``f1_behind`` (difference to the method with the highest F1) and ``f1_behind_error``
        (its standard error); the same with ``ap``.
    """
    f1 = {each: f1_score(y, a["predicted"], zero_division=0) for each, a in answers.items()}
    ap = {each: average_precision_score(y, a["score"]) for each, a in answers.items()}
    drawn = draw_units(units, N_DRAWS)
    drawn_f1 = {each: weighted_f1(y, a["predicted"], drawn) for each, a in answers.items()}
    drawn_ap = {
        each: np.array(
            [average_precision_score(y, a["score"], sample_weight=w) for w in drawn[:N_SLOW_DRAWS]]
        )
        for each, a in answers.items()
    }
    best = {"f1": max(f1, key=f1.__getitem__), "ap": max(ap, key=ap.__getitem__)}
    return {
        each: {
            "f1": f1[each],
            "f1_behind": f1[best["f1"]] - f1[each],
            "f1_behind_error": float(np.std(drawn_f1[best["f1"]] - drawn_f1[each], ddof=1)),
            "ap": ap[each],
            "ap_behind": ap[best["ap"]] - ap[each],
            "ap_behind_error": float(np.std(drawn_ap[best["ap"]] - drawn_ap[each], ddof=1)),
            "fit_f1": answers[each]["fit_f1"],
            "fit_cpu": answers[each]["fit_cpu"],
        }
        for each in answers
    }


def draw_units(units: NDArray, n_draws: int) -> NDArray[np.int64]:
    """How often each row is drawn if units are drawn with replacement, (n_draws, n_samples)."""
    _, numbers = np.unique(units, return_inverse=True)
    n_units = numbers.max() + 1
    rng = np.random.default_rng([17, n_draws])  # unlike the seeds of the tables
    counts = rng.multinomial(n_units, np.ones(n_units) / n_units, n_draws)
    return counts[:, numbers]


def weighted_f1(y: NDArray, predicted: NDArray, weights: NDArray) -> NDArray[np.float64]:
    """F1 for each row of weights: 2 tp / (positives + alerts); 0 if there is nothing to count."""
    hits = weights @ (y * predicted)
    total = weights @ (y + predicted)
    return np.divide(2 * hits, total, out=np.zeros(len(weights)), where=total > 0)


def agreement(rows: pd.DataFrame) -> dict[str, Any]:
    """How well `compare` foretells the results on the rows that were set aside.

    Parameters
    ----------
    rows : DataFrame
        The results of one file, see `measure_file`.

    Returns
    -------
    dict
        ``first``: the method that `compare` ranks first. ``best``: the one with the highest F1 on
        the rows that were set aside. ``loss``: how far `first` is behind `best` there, in F1, and
        ``error``, its standard error. ``mean_loss``: the same of a method chosen at random.
        ``correlation``: Spearman's, of the F1 of all methods in `compare` and on these rows.
    """
    first = rows.loc[rows["compare_f1"].idxmax()]
    best = rows.loc[rows["f1"].idxmax()]
    return {
        "first": first["method"],
        "best": best["method"],
        "loss": float(first["f1_behind"]),
        "error": float(first["f1_behind_error"]),
        "mean_loss": float(rows["f1_behind"].mean()),
        "correlation": float(spearmanr(rows["compare_f1"], rows["f1"]).statistic),
    }
