"""A table of many files: which files it has."""

from __future__ import annotations

import glob
from pathlib import Path
from typing import Any

from raremetric.table.reading.files import is_frame

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
