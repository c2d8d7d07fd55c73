"""Columns of text as levels: distinct values, tidied, and the level of each row."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from raremetric.datasets.dialect import is_missing
from raremetric.datasets.parsers import unquote
from raremetric.extras import import_optional

# The levels of truth values, in all file formats and spellings.
BOOLEANS = {"false": "False", "true": "True"}


def is_text(kind: Any) -> bool:
    """Whether an Arrow type is text, dictionary-encoded or not."""
    types = import_optional("pyarrow.types")
    if types.is_dictionary(kind):
        kind = kind.value_type
    return types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)


def distinct_values(column: Any) -> tuple[list[str], NDArray]:
    """Distinct values, and the index of each row's value; -1 where it is missing."""
    arrow = import_optional("pyarrow")
    if not arrow.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    column = column.unify_dictionaries()
    if not column.num_chunks:
        return [], np.empty(0, dtype=np.int64)
    indices = arrow.chunked_array([chunk.indices for chunk in column.chunks])
    codes = indices.fill_null(-1).to_numpy()
    return [str(value) for value in column.chunk(0).dictionary.to_pylist()], codes


def to_categorical(levels: list[str], codes: NDArray) -> Any:
    """A Categorical with sorted levels and the smallest integer codes."""
    order = np.argsort(np.array(levels, dtype=object))
    small = np.min_scalar_type(-max(len(levels), 1))
    translation = np.full(len(levels) + 1, -1, dtype=small)  # the last entry is for code -1
    translation[order] = np.arange(len(levels))
    return import_optional("pandas").Categorical.from_codes(
        translation[codes], categories=[levels[i] for i in order]
    )


def tidy_levels(
    raw: list[str], codes: NDArray, *, as_boolean: bool = False
) -> tuple[list[str], NDArray]:
    """Levels without quotes, spaces and spellings of a missing value, and the codes of the rows."""
    tidy = [unquote(value) for value in raw]
    if as_boolean:
        tidy = [BOOLEANS.get(value.lower(), value) for value in tidy]
    levels = sorted({value for value in tidy if not is_missing(value)})
    position = {level: index for index, level in enumerate(levels)}
    translation = np.array([*(position.get(value, -1) for value in tidy), -1], dtype=np.int64)
    return levels, translation[codes]
