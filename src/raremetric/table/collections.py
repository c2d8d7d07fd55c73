"""Tables of many files: a model of a sample of the rows, calibrated on rows of the whole table."""

from __future__ import annotations

import os
import time as clock
from collections.abc import Collection, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from raremetric.copies import keys_to_leave_out, rows_without
from raremetric.dask.calibration import BLOCK, Decision
from raremetric.dask.cluster import dask_client, run_on_each
from raremetric.dask.partitions import MIN_HELD_OUT, Partitions, Scores, plan_sample, represent
from raremetric.files import TableError
from raremetric.performance import OnProgress
from raremetric.selection import check_aim, fit_sigmoid
from raremetric.table.aims import check_scoring, quality_figures, unmet_minimum
from raremetric.table.file_partitions import count_labels, join_tables, read_file
from raremetric.table.fitting import MAX_SAMPLES, fit_table
from raremetric.table.model import TableModel
from raremetric.table.reading.files import collection_files
from raremetric.table.reading.pieces import encoder_frame, iter_table
from raremetric.table.texts import text_array
from raremetric.validation import check_option, warn_user

METHODS = ("iml-score", "rare")  # whose calibration can be replaced


def fit_collection(
    source: Any,
    target: str | None = None,
    positive: Any = None,
    *,
    method: str = "rare",
    scoring: Any = "f1",
    threshold: float | None = None,
    max_samples: int | None = None,
    max_features: int | None = None,
    row_names: str | None = None,
    keep_names: bool = True,
    time: str | None = None,
    group: str | None = None,
    seed: int = 0,
    categorical: Collection[str] = (),
    ignore: Collection[str] = (),
    scheduler: str | None = None,
    on_progress: OnProgress | None = None,
) -> TableModel:
    """Fit a model on a table of many files, which does not need to fit in memory.

    One pass over the files counts the classes, one draws the rows to learn from, and one scores
    rows that were not drawn, on which the probabilities are calibrated and the threshold is chosen.

    Parameters
    ----------
    source : str or Path
        A directory of Parquet, CSV, ARFF or KEEL files, or a pattern such as ``"data/*.csv"``. All
        files have the same columns.
    method : {"rare", "iml-score"}, default="rare"
    max_samples : int or None, default=None
        Maximum number of rows to learn from: the same number of each class, or all of a class with
        fewer rows. None for 5,000. Of a class with at least 500 rows, at least a fifth is left for
        the calibration.
    target, positive, scoring, threshold, max_features, row_names, keep_names, time, group, seed, \
categorical, ignore, on_progress
        See `fit_table`. Without `row_names`, a row is called by its file and its number there.
    scheduler : str or None, default=None
        Address of a Dask scheduler whose workers can read the files; None for processes on this
        machine, one per core.

    Returns
    -------
    TableModel
        Its ``X`` and ``y`` are the rows that it was learned from.
    """
    check_option(method, "model for several files", METHODS)
    check_scoring(scoring)
    files, start = collection_files(source), clock.perf_counter()
    if not files:
        raise FileNotFoundError(f"There is no directory {str(source)!r}.")
    limit = MAX_SAMPLES if max_samples is None else max_samples
    with dask_client(scheduler) as client:
        run = partial(run_on_each, client=client)
        found = count_labels(files, target, positive, run)
        read = partial(read_file, found.name, found.is_positive, row_names)
        sizes, totals = found.counts.sum(axis=1), found.counts.sum(axis=0)
        data = Partitions([(file,) for file in files], read, found.counts, sizes, run)
        learned, held_out = plan_sample(found.counts, limit, check_random_state(seed))
        tables, codes, weights, numbers = data.draw(learned)
        sample = join_tables(tables)
        model = fit_table(
            sample,
            found.name,
            found.positive_in(sample),
            method=method,
            max_samples=limit,
            max_features=max_features,
            scoring=scoring,
            threshold=threshold,
            row_names=row_names,
            keep_names=keep_names,
            time=time,
            group=group,
            seed=seed,
            categorical=categorical,
            ignore=ignore,
            represented=represent(codes, weights, totals) if len(codes) < totals.sum() else None,
            on_progress=on_progress,
        )
        if len(codes) < totals.sum():
            scores = data.score(held_out, partial(_score, model, keys_to_leave_out(model.X)))
            _calibrate(model, scores, totals)
    if keep_names and row_names is None:
        model.ids = _row_ids(files, sizes, numbers)
    model.training |= {
        "rows": int(totals.sum()),
        "positive": int(totals[1]),
        "files": len(files),
        "seconds": round(clock.perf_counter() - start, 3),
    }
    return model


def _calibrate(model: TableModel, scores: Scores, totals: NDArray) -> None:
    """Calibrate a model on held-out rows; the expected quality is that on these rows.

    If these are too few, the rows that the model was learned from are added, with what models of
    the other folds say of them.
    """
    classifier, n_held_out = model.classifier, len(scores.codes)
    is_held_out = bool(np.bincount(scores.codes, minlength=2).min() >= MIN_HELD_OUT)
    kind = "held-out" if is_held_out else "cross-validated"
    if not is_held_out:
        values, codes = classifier._out_of_fold
        own = Scores(values[:, np.newaxis], codes, np.ones(len(codes)))
        scores = Scores.joined([scores, own])
    log_odds = scores.values[:, 0]
    positive = scores.codes == 1
    weights = represent(scores.codes, scores.weights, totals)
    sigmoid = fit_sigmoid(log_odds, positive, weights)
    calibration = sigmoid.after(classifier.ensemble_.calibration)
    classifier.ensemble_ = classifier.ensemble_._replace(calibration=calibration)
    aim = check_aim(classifier.scoring)
    found = Decision.best(sigmoid(log_odds), positive, weights, aim, model.fixed_threshold)
    if found.missed is not None:
        warn_user(
            f"No threshold meets scoring={model.scoring!r} on {kind} rows. The threshold with the "
            f"highest expected value is used; this value is {found.missed:.3g}."
        )
    classifier.threshold_, classifier.validation_ = found.threshold, found.validation
    classifier.best_score_, classifier.score_std_ = found.score, found.score_std
    replaced = unmet_minimum(model.scoring, model.training["validation"])
    notes = [note for note in model.training["notes"] if note not in replaced]
    notes += unmet_minimum(model.scoring, found.validation, kind)
    model.training |= {
        **quality_figures(model.scoring, found.score, found.score_std, found.validation),
        "notes": notes,
    }
    if is_held_out:
        model.training["held_out"] = n_held_out


def _score(model: TableModel, keys: set[bytes], table: Any, path: Path) -> tuple[NDArray, NDArray]:
    """Log-odds of the rows of an Arrow table without copies of rows with these keys; which rows."""
    try:
        X = model.encoder.transform(encoder_frame(table, model.encoder))
    except TableError:  # raise it again, with the number of the row in the file
        for _ in iter_table(path, model.encoder):
            pass
        raise
    rows = rows_without(keys, X)
    blocks = [X[rows[low : low + BLOCK]] for low in range(0, len(rows), BLOCK)]
    found = [model.classifier.ensemble_.log_odds(block) for block in blocks]
    return np.concatenate([np.empty(0), *found])[:, np.newaxis], rows


def _row_ids(files: Sequence[Path], sizes: NDArray, numbers: NDArray) -> NDArray:
    """The name of each row: its file, below the directory that all files share, and its number."""
    root = os.path.commonpath([file.parent for file in files])
    names = [os.path.relpath(file, root) for file in files]
    ends = np.cumsum(sizes)
    of_file = np.searchsorted(ends, numbers, side="right")
    rows = numbers - (ends - sizes)[of_file] + 1
    return text_array([f"{names[i]}:{row}" for i, row in zip(of_file, rows, strict=True)])
