"""Tables of many files: a model of a sample of the rows, calibrated on rows of the whole table."""

from __future__ import annotations

import os
import time as clock
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from raremetric.cluster import dask_client, run_on_each
from raremetric.copies import keys_to_leave_out, rows_without
from raremetric.partitions import Ranks, has_held_out, has_left, plan_sample, score_blocks
from raremetric.performance import OnProgress
from raremetric.rare.collections import log_odds_of, recalibrate
from raremetric.table.aims import check_scoring, quality_figures, unmet_minimum
from raremetric.table.fitting import MAX_SAMPLES, SAMPLED, fit_table
from raremetric.table.model import TableModel
from raremetric.table.reading import TableError, iter_table
from raremetric.table.reading.collections import (
    chosen_pieces,
    collection_files,
    count_labels,
    draw_part,
    join_tables,
)
from raremetric.table.reading.pieces import encoder_frame
from raremetric.table.texts import text_array
from raremetric.validation import check_option, warn_user


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
    check_option(method, "model for several files", SAMPLED)
    check_scoring(scoring)
    files, start = collection_files(source), clock.perf_counter()
    if not files:
        raise FileNotFoundError(f"There is no directory {str(source)!r}.")
    limit = MAX_SAMPLES if max_samples is None else max_samples
    with dask_client(scheduler) as client:
        found = count_labels(files, target, positive, client)
        plan = plan_sample(found.counts, limit, seed)
        wanted = list(zip(files, plan.learned, strict=True))
        drawn = run_on_each(draw_part, wanted, (found.name, found.is_positive, row_names), client)
        sample = join_tables([table for table, _ in drawn])
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
            class_counts=found.counts.sum(axis=0).tolist(),
            on_progress=on_progress,
        )
        if has_held_out(plan).all():
            parts = list(zip(files, plan.held_out, strict=True))
            learned = keys_to_leave_out(model.X)
            fitted = (found.name, found.is_positive, model.encoder, model.classifier, learned)
            scored = run_on_each(_score_part, parts, fitted, client)
            scores, classes = (np.concatenate(each) for each in zip(*scored, strict=True))
            if has_left(classes, 2).all():
                weights = found.counts.sum(axis=0) / np.bincount(classes)
                _calibrate(model, scores, classes, weights)
    if keep_names and row_names is None:
        model.ids = _row_ids(files, [rows for _, rows in drawn])
    model.training |= {
        "rows": int(found.counts.sum()),
        "positive": int(found.counts[:, 1].sum()),
        "files": len(files),
        "seconds": round(clock.perf_counter() - start, 3),
    }
    return model


def _calibrate(model: TableModel, scores: NDArray, classes: NDArray, weights: NDArray) -> None:
    """Calibrate a model on held-out rows; the expected quality is that on these rows."""
    classifier = model.classifier
    missed = recalibrate(classifier, scores, classes == 1, weights[classes])
    if missed is not None:
        warn_user(
            f"No threshold meets scoring={model.scoring!r} on the held-out rows. The threshold "
            f"with the highest expected value is used; this value is {missed:.3g}."
        )
    figures = classifier.best_score_, classifier.score_std_, classifier.validation_
    replaced = unmet_minimum(model.scoring, model.training["validation"])
    notes = [note for note in model.training["notes"] if note not in replaced]
    notes += unmet_minimum(model.scoring, classifier.validation_, "held-out")
    model.training |= {
        **quality_figures(model.scoring, *figures),
        "notes": notes,
        "held_out": len(scores),
    }


def _score_part(shared: tuple, path: Path, ranks: Ranks) -> tuple[NDArray, NDArray]:
    """Log-odds of the held-out rows of a file that no row to learn from equals; their classes."""
    target, labels, encoder, classifier, learned = shared
    scores, classes = [np.empty(0)], [np.empty(0, dtype=np.int64)]
    for table, codes, _ in chosen_pieces(path, target, labels, ranks):
        try:
            encoded = encoder.transform(encoder_frame(table, encoder))
        except TableError:  # raise it again, with the number of the row in the file
            for _ in iter_table(path, encoder):
                pass
            raise
        new = rows_without(learned, encoded)
        scores.append(score_blocks(log_odds_of, classifier, encoded[new])[:, 0])
        classes.append(codes[new])
    return np.concatenate(scores), np.concatenate(classes)


def _row_ids(files: Sequence[Path], rows: Sequence[NDArray]) -> NDArray:
    """The name of each row: its file, below the directory that all files share, and its number."""
    root = os.path.commonpath([file.parent for file in files])
    names = [os.path.relpath(file, root) for file in files]
    own = zip(names, rows, strict=True)
    return text_array([f"{name}:{row}" for name, numbers in own for row in numbers])
