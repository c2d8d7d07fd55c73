"""Read KEEL and ARFF files: a header of @attribute lines, followed by rows as in a CSV file."""

from __future__ import annotations

import io
import re
from collections.abc import Collection
from pathlib import Path

from raremetric.datasets.parsers import parse_header
from raremetric.files import TableError
from raremetric.table.reading.csv_files import RawTable, open_stream, read_csv
from raremetric.table.reading.dialect import SAMPLE_BYTES, Dialect, name_columns


def data_offset(path: Path) -> int:
    """Offset in bytes of the first row after ``@data``; 0 if it is a file of another format."""
    offset, declares = 0, False
    with open_stream(path) as stream:
        for line in io.BufferedReader(stream):
            offset += len(line)
            if line.strip().lower() == b"@data":
                return offset
            declares = declares or line.lower().startswith(b"@attribute")
    if declares:
        raise TableError("It has @attribute lines, but no @data line. Add one before the rows.")
    return 0


def read_keel(path: Path, target: object, text: Collection[str]) -> RawTable:
    """The table of a file; its target column is the output, or the last attribute."""
    offset = data_offset(path)
    with open_stream(path) as stream:
        lines = stream.read(offset).decode("utf-8-sig", errors="replace").splitlines()
        sample = stream.read(SAMPLE_BYTES).decode("utf-8", errors="replace")
    try:
        attributes, output = parse_header(lines)
    except ValueError as error:
        raise TableError(str(error)) from error
    kinds = dict(zip(name_columns([each.name for each in attributes]), attributes, strict=True))
    for name, attribute in kinds.items():
        if attribute.kind == "relational":
            raise TableError(f"Attribute {name!r} is relational, which is not supported.")
    if re.match(r"\s*\{", sample):
        raise TableError("Sparse ARFF files are not supported. Save it as dense ARFF.")
    is_text = {"nominal", "string", "date"}
    dialect = Dialect(
        [*kinds],
        has_header=False,
        numeric=frozenset(name for name, each in kinds.items() if each.kind not in is_text),
        quote="'" if sample.count("'") > sample.count('"') else '"',
        offset=offset,
    )
    dialect = dialect.with_text([*text, output], output if target is None else target)
    return read_csv(path, dialect)._replace(target=output)
