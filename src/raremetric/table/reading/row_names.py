"""Names of rows, such as identifiers, as text that is the same in all formats."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

EXACT_INTEGERS = 2**53  # floats below it hold all integers


def as_texts(column: Any) -> list[str]:
    """The values of an Arrow column as text; an empty string where a value is missing."""
    return ["" if value is None else as_text(value) for value in column.to_pylist()]


def as_text(value: Any) -> str:
    """A value as text.

    pandas writes integers with missing values as floats: these are written as integers again.
    """
    if isinstance(value, float):
        if value != value:
            return ""
        whole = value.is_integer() and abs(value) < EXACT_INTEGERS
        return str(int(value)) if whole else str(value)
    if isinstance(value, Decimal):
        return f"{value:f}"  # without an exponent
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)
