"""A leading apostrophe keeps spreadsheet programs from running text as a formula."""

from __future__ import annotations

import re
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

# A spreadsheet runs a cell that begins with one of these characters. Text that begins with
# apostrophes and one of them gets another apostrophe, so that it can be read back.
_RUN = r"[=+\-@\t\r\n]"


def guard(text: str) -> str:
    """Add an apostrophe to a text that a spreadsheet would run."""
    return re.sub(rf"^('*{_RUN})", r"'\1", text)


def unguard(text: str) -> str:
    """Remove the apostrophe that `guard` added."""
    return text[1:] if re.match(rf"'+{_RUN}", text) else text


def guarded_table(table: Any) -> Any:
    """An Arrow table whose text and names of columns are guarded."""
    for index, field in enumerate(table.schema):
        column = table.column(index)
        if field.type == pa.string():
            column = pc.replace_substring_regex(column, pattern=rf"^('*{_RUN})", replacement=r"'\1")
        table = table.set_column(index, guard(field.name), column)
    return table
