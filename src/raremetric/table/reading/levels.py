"""Columns of text: missing values, distinct values, and levels."""

from __future__ import annotations

import re
from collections.abc import Collection
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import types

from raremetric.encoding.copies import EXACT_INTEGERS

# Spellings of a missing value, compared without regard to case.
MISSING_WORDS = frozenset({"", "?", "na", "n/a", "#n/a", "nan", "null", "<null>", "none", "<na>"})
# In a column of text, "none" is a level, such as the kind of an injury.
MISSING_TEXTS = MISSING_WORDS - {"none"}
# Those that can also be the name of a class, such as North America, or no injury.
AMBIGUOUS_WORDS = frozenset({"na", "n/a", "nan", "null", "none"})
_NAN = re.compile(r"[-+]?nan(\(\w*\))?")  # as C writes it, and Arrow reads it
# Arrow compares literally: list all usual spellings, also with a space next to the delimiter.
MISSING_SPELLINGS = [
    before + spelling + after
    for word in sorted(MISSING_WORDS)
    for spelling in sorted({word, word.upper(), word.capitalize(), word.replace("nan", "NaN")})
    for before in ("", " ")
    for after in ("", " ")
]


def is_missing(text: str, words: Collection[str] = MISSING_WORDS) -> bool:
    """Whether a field is a spelling of a missing value."""
    word = text.strip().lower()
    return word in words or ("nan" in word and "nan" in words and _NAN.fullmatch(word) is not None)


def as_texts(column: Any) -> list[str]:
    """The values of an Arrow column, such as names of rows; empty where a value is missing.

    They are the same in all formats.
    """
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


def is_text(kind: Any) -> bool:
    """Whether an Arrow type is text, dictionary-encoded or not."""
    if types.is_dictionary(kind):
        kind = kind.value_type
    return types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)


def plain_column(column: Any) -> Any:
    """A column of a type for which Arrow has all conversions.

    Only text remains dictionary-encoded. String views, which polars uses, become strings.
    """
    kind = column.type
    if not types.is_dictionary(kind):
        return column.cast("string") if types.is_string_view(kind) else column
    if not is_text(kind):
        return column.cast(kind.value_type)
    if not types.is_string_view(kind.value_type):
        return column
    chunks = [
        pa.DictionaryArray.from_arrays(chunk.indices, chunk.dictionary.cast("string"))
        for chunk in column.chunks
    ]
    return pa.chunked_array(chunks, pa.dictionary(kind.index_type, pa.string()))


def distinct_values(column: Any) -> tuple[list[str], NDArray]:
    """Distinct values, and the index of each row's value; -1 where it is missing."""
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    column = column.unify_dictionaries()
    if not column.num_chunks:
        return [], np.empty(0, dtype=np.int64)
    indices = pa.chunked_array([chunk.indices for chunk in column.chunks])
    codes = indices.cast("int32").fill_null(-1).to_numpy()  # polars has unsigned indices
    return [str(value) for value in column.chunk(0).dictionary.to_pylist()], codes


def tidy_levels(
    raw: list[str], codes: NDArray, missing: Collection[str]
) -> tuple[list[str], NDArray]:
    """Levels without quotes, spaces and spellings of a missing value, and the codes of the rows."""
    return renamed([unquote(value) for value in raw], codes, missing)


def renamed(
    names: list[str], codes: NDArray, missing: Collection[str] = ()
) -> tuple[list[str], NDArray]:
    """Sorted levels, of which equal ones are merged, and the codes of the rows."""
    levels = sorted({name for name in names if not is_missing(name, missing)})
    position = {level: index for index, level in enumerate(levels)}
    translation = np.array([*(position.get(name, -1) for name in names), -1], dtype=np.int64)
    return levels, translation[codes]


def unquote(text: str) -> str:
    """Text without surrounding white space and one pair of surrounding quotes."""
    text = text.strip()
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        return text[1:-1].replace("\\'", "'").replace('\\"', '"')
    return text
