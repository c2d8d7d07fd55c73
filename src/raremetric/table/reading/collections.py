"""A table of many files: which files, their classes, and some of their rows."""

from __future__ import annotations

import glob
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from raremetric.cluster import run_on_each
from raremetric.extras import import_optional
from raremetric.files import TableError
from raremetric.partitions import Ranks, chosen_rows
from raremetric.table.reading.files import is_frame
from raremetric.table.reading.labels import (
    choose_positive,
    classes_of,
    read_label_texts,
    refuse_many_classes,
)
from raremetric.table.reading.pieces import iter_arrow
from raremetric.table.reading.tables import find_target
from raremetric.validation import Labels

SUFFIXES = (".parquet", ".pq", ".csv", ".csv.gz", ".tsv", ".tsv.gz", ".arff", ".dat")


def collection_files(source: Any) -> list[Path]:
    """The files of a directory or of a pattern such as ``"data/*.csv"``, sorted by name.

    An empty list if the source is one file, or a table in memory. Of a directory, these are the
    files with a suffix of a table, all with the same one; names that begin with a point or an
    underscore are skipped.
    """
    if is_frame(source) or Path(source).is_file():
        return []
    if Path(source).is_dir():
        inside = [path for path in sorted(Path(source).iterdir()) if path.is_file()]
        tables = {path: table_suffix(path) for path in inside if path.name[0] not in "._"}
        tables = {path: suffix for path, suffix in tables.items() if suffix}
        if not tables:
            raise FileNotFoundError(
                f"The directory {str(source)!r} contains no table: no file whose name ends in "
                f"{', '.join(SUFFIXES)}."
            )
        if len(kinds := sorted({*tables.values()})) > 1:
            raise ValueError(
                f"The directory {str(source)!r} contains files of several formats: "
                f"{', '.join(kinds)}. Choose one with a pattern, such as "
                f"{str(Path(source, '*' + kinds[0]))!r}."
            )
        return list(tables)
    if not glob.has_magic(str(source)):
        return []
    names = sorted(glob.glob(str(source)))  # noqa: PTH207, of any directory
    files = [Path(name) for name in names if Path(name).is_file()]
    if not files:
        raise FileNotFoundError(f"No file matches the pattern {str(source)!r}.")
    return files


def table_suffix(path: Path) -> str:
    """The ending by which a file of a directory is known to be a table; empty for other files."""
    return next((each for each in SUFFIXES if path.name.lower().endswith(each)), "")


class _Counted(NamedTuple):
    """What one pass over a file finds."""

    names: list[str]
    labels: Counter[str]  # as they are written


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


def count_labels(files: Sequence[Path], target: str | None, positive: Any, client: Any) -> Target:
    """Count the rows of both classes in each file, and check that all have the same columns."""
    first = run_on_each(_names_part, [(files[0],)], target, client)[0]
    try:
        target = find_target(first, target)
    except TableError as error:
        raise TableError(f"{files[0]}: {error}") from error
    found: list[_Counted] = run_on_each(_count_part, [(file,) for file in files], target, client)
    for file, part in zip(files, found, strict=True):
        _check_same_columns(files[0], found[0].names, file, part.names)
    total = sum((part.labels for part in found), Counter())
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
    for row, part in zip(rows, found, strict=True):
        for level, count in part.labels.items():
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


def _pieces(
    path: Path, target: str, row_names: str | None = None
) -> Iterator[tuple[Any, Any, int]]:
    """The Arrow tables of a file, their labels, and the numbers of their first rows."""
    first_row = 1
    try:
        for table in iter_arrow(path, target, row_names=row_names, target=target):
            if table.num_rows:
                find_target(table.column_names, target)
                yield table, read_label_texts(target, table.column(target), first_row), first_row
            first_row += table.num_rows
    except TableError as error:
        raise TableError(f"{path}: {error}") from error


def _names_part(target: str | None, path: Path) -> list[str]:
    try:
        return next(iter_arrow(path, str(target))).column_names
    except TableError as error:
        raise TableError(f"{path}: {error}") from error


def _count_part(target: str, path: Path) -> _Counted:
    labels: Counter[str] = Counter()
    for _, texts, _ in _pieces(path, target):
        counts = np.bincount(texts.codes, minlength=len(texts.categories)).tolist()
        labels.update(dict(zip(texts.categories, counts, strict=True)))
    return _Counted(_names_part(target, path), +labels)  # without levels that do not occur


def chosen_pieces(
    path: Path, target: str, labels: dict[str, bool], ranks: Ranks, row_names: str | None = None
) -> Iterator[tuple[Any, NDArray, NDArray]]:
    """The chosen rows of each piece of a file, their classes, and their numbers from 1 on.

    Parameters
    ----------
    path : Path
    target : str
        Name of the target column.
    labels : dict of str to bool
        Whether each label, as it is written, is positive.
    ranks : Ranks
        Which of the negative and which of the positive rows of the file, sorted.
    row_names : str or None
        Column with the names of the rows.
    """
    seen = np.zeros(2, dtype=np.int64)
    for table, texts, first_row in _pieces(path, target, row_names):
        codes = np.array([labels.get(level, 0) for level in texts.categories], dtype=np.int64)[
            texts.codes
        ]
        sizes = np.bincount(codes, minlength=2)
        own = []
        for which in range(2):
            low, high = np.searchsorted(ranks[which], [seen[which], seen[which] + sizes[which]])
            own.append(ranks[which][low:high] - seen[which])
        seen += sizes
        rows = chosen_rows(codes, own)
        if len(rows):
            yield table.take(rows), codes[rows], first_row + rows


def draw_part(shared: tuple, path: Path, ranks: Ranks) -> tuple[Any, NDArray[np.int64]]:
    """The rows of a file to learn from, and their numbers; no table if there are none."""
    target, labels, row_names = shared
    found = list(chosen_pieces(path, target, labels, ranks, row_names))
    if not found:
        return None, np.empty(0, dtype=np.int64)
    tables, _, rows = zip(*found, strict=True)
    return join_tables(tables), np.concatenate(rows)


def join_tables(tables: Sequence[Any]) -> Any:
    """One Arrow table; columns of text may be encoded in different ways."""
    arrow = import_optional("pyarrow")
    plain = []
    for table in tables:
        if table is None:
            continue
        for index, field in enumerate(table.schema):
            if arrow.types.is_dictionary(field.type):
                column = table.column(index).cast(field.type.value_type)
                table = table.set_column(index, field.name, column)
        plain.append(table.replace_schema_metadata())
    try:
        return arrow.concat_tables(plain, promote_options="permissive")
    except arrow.ArrowException as error:
        raise TableError(f"Columns of the files have different types: {error}") from error
