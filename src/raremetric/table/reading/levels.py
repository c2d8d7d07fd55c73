"""Columns of text as levels: distinct values, tidied, and the level of each row."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import types

from raremetric.datasets.parsers import unquote
from raremetric.encoding.categories import BOOLEANS, known_spellings, without_zero
from raremetric.table.reading.dialect import MISSING_WORDS, is_missing


def is_text(kind: Any) -> bool:
    """Whether an Arrow type is text, dictionary-encoded or not."""
    if types.is_dictionary(kind):
        kind = kind.value_type
    return types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)


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


def to_categorical(levels: list[str], codes: NDArray) -> Any:
    """A Categorical with sorted levels and the smallest integer codes."""
    order = np.argsort(np.array(levels, dtype=object))
    small = np.min_scalar_type(-max(len(levels), 1))
    translation = np.full(len(levels) + 1, -1, dtype=small)  # the last entry is for code -1
    translation[order] = np.arange(len(levels))
    return pd.Categorical.from_codes(translation[codes], categories=[levels[i] for i in order])


def tidy_levels(
    raw: list[str],
    codes: NDArray,
    *,
    as_boolean: bool = False,
    missing: Collection[str] = MISSING_WORDS,
) -> tuple[list[str], NDArray]:
    """Levels without quotes, spaces and spellings of a missing value, and the codes of the rows."""
    tidy = [unquote(value) for value in raw]
    if as_boolean:
        tidy = [BOOLEANS.get(value.lower(), value) for value in tidy]
    levels = sorted({value for value in tidy if not is_missing(value, missing)})
    position = {level: index for index, level in enumerate(levels)}
    translation = np.array([*(position.get(value, -1) for value in tidy), -1], dtype=np.int64)
    return levels, translation[codes]


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


def without_zero_decimals(values: Any) -> Any:
    """A Categorical of codes in which 7.0 is written as 7.

    pandas writes integers with missing values in this way, also into CSV files.
    """
    return _renamed(values, [without_zero(level) for level in values.categories])


def as_known_levels(values: Any, known: Collection[str]) -> Any:
    """A Categorical in which truth values and codes are written as the known levels are."""
    return _renamed(values, known_spellings(values.categories.tolist(), known))


def _renamed(values: Any, names: list[str]) -> Any:
    """A Categorical whose levels have other names; equal names are merged."""
    if names == values.categories.tolist():
        return values
    levels = sorted({*names})
    position = {level: index for index, level in enumerate(levels)}
    return to_categorical(levels, np.array([*(position[name] for name in names), -1])[values.codes])
