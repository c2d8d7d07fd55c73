"""Read KEEL and ARFF files: a header of @attribute lines, followed by rows as in a CSV file."""

from __future__ import annotations

import io
import re
from collections.abc import Collection
from pathlib import Path

from raremetric.datasets.parsers import Attribute, parse_header
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


def read_keel(path: Path, target: object, verbatim: Collection[str]) -> RawTable:
    """The table of a file; its target column is the output, or the last attribute."""
    offset = data_offset(path)
    with open_stream(path) as stream:
        lines = stream.read(offset).decode("utf-8-sig", errors="replace").splitlines()
        sample = stream.read(SAMPLE_BYTES).decode("utf-8", errors="replace")
    try:
        attributes, output = parse_header(lines)
    except ValueError as error:
        raise TableError(str(error)) from error
    if re.match(r"\s*\{", sample):
        raise TableError("Sparse ARFF files are not supported. Save it as dense ARFF.")
    names = name_columns([attribute.name for attribute in attributes])
    numeric = frozenset(attribute.name for attribute in attributes if not _is_text(attribute))
    numeric = numeric.difference(verbatim)
    quote = "'" if sample.count("'") > sample.count('"') else '"'
    dialect = Dialect(names, has_header=False, numeric=numeric, quote=quote, offset=offset)
    dialect = dialect.with_text((output,), output if target is None else target)
    return read_csv(path, dialect, verbatim)._replace(target=output)


def _is_text(attribute: Attribute) -> bool:
    if attribute.kind == "relational":
        raise TableError(f"Attribute {attribute.name!r} is relational, which is not supported.")
    return attribute.kind in {"nominal", "string", "date"}
