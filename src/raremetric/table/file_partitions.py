"""The files of a table as partitions: their classes, their rows, and tables of some of these."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from raremetric.extras import import_optional
from raremetric.files import TableError
from raremetric.table.reading.labels import (
    choose_positive,
    classes_of,
    read_label_texts,
    refuse_many_classes,
)
from raremetric.table.reading.pieces import iter_arrow
from raremetric.table.reading.tables import find_target
from raremetric.validation import Labels


class Target(NamedTuple):
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


def count_labels(files: Sequence[Path], target: str | None, positive: Any, run: Callable) -> Target:
    """Count the rows of both classes in each file, and check that all have the same columns."""
    first = run(_names_part, [(files[0],)], target)[0]
    try:
        target = find_target(first, target)
    except TableError as error:
        raise TableError(f"{files[0]}: {error}") from error
    found = run(_count_part, [(file,) for file in files], target)
    for file, (names, _) in zip(files, found, strict=True):
        _check_same_columns(files[0], found[0][0], file, names)
    total: Counter[str] = sum((labels for _, labels in found), Counter())
    levels = sorted(total)
    counts = np.array([total[level] for level in levels], dtype=np.int64)
    if not counts.sum():
        raise TableError(f"The {len(files)} files have no rows of data.")
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
    return Target(target, is_positive, positive, np.array(rows, dtype=np.int64))


def _check_same_columns(
    first: Path, expected: Sequence[str], file: Path, names: Sequence[str]
) -> None:
    for name in expected:
        if name not in names:
            raise TableError(f"{file} has no column {name!r}, which {first} has.")
    for name in names:
        if name not in expected:
            raise TableError(f"{file} has a column {name!r}, which {first} does not have.")


def _pieces(path: Path, target: str, row_names: str | None = None) -> Iterator[tuple[Any, Any]]:
    """The Arrow tables of a file, and their labels."""
    first_row = 1
    try:
        for table in iter_arrow(path, target, row_names=row_names, target=target):
            if table.num_rows:
                find_target(table.column_names, target)
                yield table, read_label_texts(target, table.column(target), first_row)
            first_row += table.num_rows
    except TableError as error:
        raise TableError(f"{path}: {error}") from error


def _names_part(target: str | None, path: Path) -> list[str]:
    try:
        return next(iter_arrow(path, str(target))).column_names
    except TableError as error:
        raise TableError(f"{path}: {error}") from error


def _count_part(target: str, path: Path) -> tuple[list[str], Counter[str]]:
    """The columns of a file, and the number of rows with each label as it is written."""
    labels: Counter[str] = Counter()
    for _, texts in _pieces(path, target):
        counts = np.bincount(texts.codes, minlength=len(texts.categories)).tolist()
        labels.update(dict(zip(texts.categories, counts, strict=True)))
    return _names_part(target, path), +labels  # without levels that do not occur


def read_file(
    target: str, labels: dict[str, bool], row_names: str | None, path: Path
) -> Iterator[tuple[Any, NDArray, NDArray]]:
    """The pieces of a file, 1 or 0 for each row, and weights of one.

    Parameters
    ----------
    target : str
        Name of the target column.
    labels : dict of str to bool
        Whether each label, as it is written, is positive.
    row_names : str or None
        Column with the names of the rows.
    path : Path
    """
    for table, texts in _pieces(path, target, row_names):
        codes = np.array([labels.get(level, 0) for level in texts.categories], dtype=np.int64)
        yield table, codes[texts.codes], np.ones(len(texts))


def join_tables(tables: Sequence[Any]) -> Any:
    """One Arrow table; columns of text may be encoded in different ways."""
    arrow = import_optional("pyarrow")
    plain = []
    for table in tables:
        for index, field in enumerate(table.schema):
            if arrow.types.is_dictionary(field.type):
                column = table.column(index).cast(field.type.value_type)
                table = table.set_column(index, field.name, column)
        plain.append(table.replace_schema_metadata())
    try:
        return arrow.concat_tables(plain, promote_options="permissive")
    except arrow.ArrowException as error:
        raise TableError(f"Columns of the files have different types: {error}") from error
