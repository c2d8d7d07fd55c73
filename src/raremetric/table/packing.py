"""The training rows of a model and their names as plain arrays, which a model file can hold."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from raremetric.encoding.columns import date_points, is_date_column
from raremetric.table.reading.dates import as_points


class PackedTexts(NamedTuple):
    """The texts of an array of objects, which take no more space than the texts themselves."""

    content: NDArray[np.uint8]  # all texts in UTF-8, one after the other
    ends: NDArray[np.int64]  # where each of them ends

    @classmethod
    def pack(cls, texts: NDArray) -> PackedTexts:
        """Copy the texts of an array."""
        encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
        content = np.frombuffer(b"".join(encoded), dtype=np.uint8)
        return cls(content.copy(), np.cumsum([*map(len, encoded)], dtype=np.int64))

    def unpack(self) -> NDArray:
        """The texts; an error if the arrays do not fit together."""
        if self.content.dtype != np.uint8 or np.diff(self.ends, prepend=0).min(initial=0) < 0:
            raise ValueError("its texts do not fit together.")
        raw, bounds = self.content.tobytes(), pairwise([0, *self.ends.tolist()])
        texts = [raw[a:b].decode("utf-8", "surrogatepass") for a, b in bounds]
        return np.array(texts, dtype=object)


class PackedColumn(NamedTuple):
    """A column of numbers, categories or dates."""

    # Numbers; of categories the position of the level, -1 where a value is missing; of dates
    # microseconds since 1970.
    values: NDArray
    levels: PackedTexts | None = None  # of categories
    in_utc: bool | None = None  # of dates: whether they had a time zone

    @classmethod
    def pack(cls, column: Any) -> PackedColumn:
        """Copy a column as `read_table` reads it."""
        if is_date_column(column):
            return cls(date_points(column).astype(np.int64), in_utc=column.dt.tz is not None)
        if isinstance(column.dtype, pd.CategoricalDtype):
            used = column.cat.remove_unused_categories().cat
            levels = np.array([str(level) for level in used.categories], dtype=object)
            return cls(used.codes.to_numpy(), PackedTexts.pack(levels))
        return cls(column.to_numpy())

    def unpack(self) -> Any:
        """The column; an error if the parts do not fit together."""
        kinds = "iuf" if self.levels is None and self.in_utc is None else "i"
        if self.values.dtype.kind not in kinds:
            raise ValueError("its training rows do not fit together.")
        if self.levels is not None:
            return pd.Categorical.from_codes(self.values, self.levels.unpack().tolist())
        if self.in_utc is not None:
            return as_points(self.values.astype("datetime64[us]"), self.in_utc)
        return self.values


def pack_rows(frame: Any) -> dict[str, PackedColumn]:
    """The columns of a DataFrame by name."""
    return {str(name): PackedColumn.pack(frame[name]) for name in frame}


def unpack_rows(columns: dict[str, PackedColumn]) -> Any:
    """A DataFrame of packed columns."""
    return pd.DataFrame({name: each.unpack() for name, each in columns.items()}, copy=False)
