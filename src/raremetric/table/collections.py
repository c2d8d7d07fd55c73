"""Tables of many files: a model of a sample of the rows, calibrated on rows of the whole table."""

from __future__ import annotations

import os
import time as clock
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from raremetric.copies import keys_to_leave_out, rows_without
from raremetric.dask.cluster import dask_client, run_on_each
from raremetric.dask.partitions import MIN_HELD_OUT, Partitions, Scores, plan_sample, represent
from raremetric.rare import RareClassifier
from raremetric.table.aims import check_scoring
from raremetric.table.calibration import calibrate, log_odds
from raremetric.table.fitting import fit_table
from raremetric.table.model import TableModel
from raremetric.table.reading.files import collection_files, naming
from raremetric.table.reading.labels import (
    choose_positive,
    classes_of,
    read_label_texts,
    refuse_many_classes,
    words_for_missing,
)
from raremetric.table.reading.tables import (
    column_names,
    encoder_frame,
    find_target,
    iter_arrow,
    iter_table,
)
from raremetric.validation import Labels, TableError, check_option

METHODS = ("iml", "rare")  # whose calibration can be replaced
MAX_SAMPLES = RareClassifier().max_samples


def fit_collection(
    source: Any,
    target: str | None = None,
    positive: Any = None,
    *,
    method: str = "rare",
    scoring: Any = "f1",
    max_samples: int | None = None,
    row_names: str | None = None,
    keep_names: bool = True,
    seed: int = 0,
    scheduler: str | None = None,
    **options: Any,
) -> TableModel:
    """Fit a model on a table of many files, which does not need to fit in memory.

    One pass over the files counts the classes, one draws the rows to learn from, and one scores
    rows that were not drawn, on which the probabilities are calibrated and the threshold is chosen.

    Parameters
    ----------
    source : str or Path
        A directory of Parquet or CSV files, or a pattern such as ``"data/*.csv"``. All
        files have the same columns.
    method : {"rare", "iml"}, default="rare"
    max_samples : int or None, default=None
        Maximum number of rows to learn from: the same number of each class, or all of a class with
        fewer rows. None for 5,000. Of a class with at least 500 rows, at least a fifth is left for
        the calibration.
    target, positive, scoring, row_names, keep_names, seed
        See `fit_table`. Without `row_names`, a row is called by its file and its number there.
    scheduler : str or None, default=None
        Address of a Dask scheduler whose workers can read the files; None for processes on this
        machine, one per core.
    **options
        Other parameters of `fit_table`, without `weight`.

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
        found = _count_labels(files, target, positive, run)
        read = partial(_read_file, found.name, found.is_positive, row_names)
        sizes, totals = found.counts.sum(axis=1), found.counts.sum(axis=0)
        data = Partitions([(file,) for file in files], read, found.counts, sizes, run)
        learned, held_out = plan_sample(found.counts, limit, check_random_state(seed))
        tables, codes, numbers = data.draw(learned)
        sample, is_sample = _join_tables(tables), len(codes) < totals.sum()
        model = fit_table(
            sample,
            found.name,
            found.positive_in(sample),
            method=method,
            scoring=scoring,
            max_samples=limit,
            row_names=row_names,
            keep_names=keep_names,
            seed=seed,
            represented=represent(codes, totals) if is_sample else None,
            **options,
        )
        if is_sample:
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
    n_held_out = len(scores.codes)
    is_held_out = bool(np.bincount(scores.codes, minlength=2).min() >= MIN_HELD_OUT)
    if not is_held_out:
        values, codes = model.classifier.out_of_fold_
        scores = Scores.joined([scores, Scores(values, codes)])
    weights = represent(scores.codes, totals)
    kind = "held-out" if is_held_out else "cross-validated"
    calibrate(model, scores.values, scores.codes == 1, weights, kind)
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
    return log_odds(model, X[rows]), rows


def _row_ids(files: Sequence[Path], sizes: NDArray, numbers: NDArray) -> NDArray:
    """The name of each row: its file, below the directory that all files share, and its number."""
    root = os.path.commonpath([file.parent for file in files])
    names = [os.path.relpath(file, root) for file in files]
    ends = np.cumsum(sizes)
    of_file = np.searchsorted(ends, numbers, side="right")
    rows = numbers - (ends - sizes)[of_file] + 1
    called = [f"{names[i]}:{row}" for i, row in zip(of_file, rows, strict=True)]
    return np.array(called, dtype=object)


# The files as partitions.


class _Target(NamedTuple):
    """The target column of all files."""

    name: str
    is_positive: dict[str, bool]  # by the label as it is written
    positive: tuple  # the positive classes
    counts: NDArray[np.int64]  # (n_files, 2), negative and positive rows of each file

    def positive_in(self, table: Any) -> list:
        """The positive classes that occur in some of the rows, an Arrow table."""
        texts = read_label_texts(self.name, table.column(self.name))
        classes, _ = classes_of(self.name, texts.categories.tolist(), np.bincount(texts.codes))
        known = {str(label) for label in classes.tolist()}
        return [label for label in self.positive if str(label) in known]


def _count_labels(
    files: Sequence[Path], target: str | None, positive: Any, run: Callable
) -> _Target:
    """Count the rows of both classes in each file, and check that all have the same columns."""
    first = column_names(files[0], str(target))
    with naming(files[0]):
        target = find_target(first, target)
    found = run(_count_part, [(file,) for file in files], target)
    for file, (names, _) in zip(files, found, strict=True):
        for name in first:
            if name not in names:
                raise TableError(f"{file} has no column {name!r}, which {files[0]} has.")
        for name in names:
            if name not in first:
                raise TableError(f"{file} has a column {name!r}, which {files[0]} does not have.")
    total: Counter[str] = sum((labels for _, labels in found), Counter())
    levels = sorted(total)
    counts = np.array([total[level] for level in levels], dtype=np.int64)
    if not counts.sum():
        raise TableError(f"The {len(files)} files have no rows of data.")
    if empty := words_for_missing(target, levels, counts):
        raise TableError(
            f"The target column {target!r} holds {empty[0]!r}, which is taken for a missing value: "
            "remove those rows, or write another word if it is a class."
        )
    classes, merged = classes_of(target, levels, counts)
    labels = Labels(classes, merged, np.bincount(merged, counts).astype(np.int64))
    if positive is None:
        refuse_many_classes(target, labels)
    positive = choose_positive(target, labels, positive)
    chosen = np.isin(classes, positive)
    is_positive = {level: bool(chosen[c]) for level, c in zip(levels, merged, strict=True)}
    rows = [[0, 0] for _ in files]
    for row, (_, own) in zip(rows, found, strict=True):
        for level, count in own.items():
            row[is_positive[level]] += count
    return _Target(target, is_positive, positive, np.array(rows, dtype=np.int64))


def _pieces(path: Path, target: str, row_names: str | None = None) -> Iterator[tuple[Any, Any]]:
    """The Arrow tables of a file, and their labels."""
    first_row = 1
    with naming(path):
        for table in iter_arrow(path, target, row_names=row_names):
            if table.num_rows:
                find_target(table.column_names, target)
                yield table, read_label_texts(target, table.column(target), first_row)
            first_row += table.num_rows


def _count_part(target: str, path: Path) -> tuple[list[str], Counter[str]]:
    """The columns of a file, and the number of rows with each label as it is written."""
    labels: Counter[str] = Counter()
    for _, texts in _pieces(path, target):
        counts = np.bincount(texts.codes, minlength=len(texts.categories)).tolist()
        labels.update(dict(zip(texts.categories, counts, strict=True)))
    return column_names(path, target), +labels  # without levels that do not occur


def _read_file(
    target: str, labels: dict[str, bool], row_names: str | None, path: Path
) -> Iterator[tuple[Any, NDArray]]:
    """The pieces of a file, and 1 or 0 for each row.

    ``labels`` says whether each label, as it is written, is positive.
    """
    for table, texts in _pieces(path, target, row_names):
        codes = np.array([labels.get(level, 0) for level in texts.categories], dtype=np.int64)
        yield table, codes[texts.codes]


def _join_tables(tables: Sequence[Any]) -> Any:
    """One Arrow table; columns of text may be encoded in different ways."""
    plain = []
    for table in tables:
        for index, field in enumerate(table.schema):
            if pa.types.is_dictionary(field.type):
                column = table.column(index).cast(field.type.value_type)
                table = table.set_column(index, field.name, column)
        plain.append(table.replace_schema_metadata())
    try:
        return pa.concat_tables(plain, promote_options="permissive")
    except pa.ArrowException as error:
        raise TableError(f"Columns of the files have different types: {error}") from error
