"""TableEncoder: from a DataFrame with columns of any type to finite floats."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted, validate_data

from raremetric.encoding.columns import (
    MISSING_LEVEL,
    CategoryEncoder,
    DateEncoder,
    EmptyEncoder,
    NumberEncoder,
    count_levels,
    is_date_column,
    is_number,
    plain_column,
)
from raremetric.encoding.texts import TextEncoder
from raremetric.validation import TableError, check_integer, warn_user

# Each is fitted on a Series and encodes it, (n_rows, n_features); unlike a transformer of
# scikit-learn, it is told the name of its column only to name the encoded features.
ColumnEncoder = NumberEncoder | DateEncoder | CategoryEncoder | TextEncoder | EmptyEncoder


class TableEncoder(TransformerMixin, BaseEstimator):
    """Encode the columns of a table of pandas, polars or Arrow, without using the target.

    - Numbers are kept. True and False are text: one column, 1 for True.
    - A column of text with at most `max_levels` levels becomes one 0/1 column per level, in
      alphabetical order. If there are two levels, there is one column, for the second. A level
      that was not seen in `fit` is encoded as 0 in all columns, or as 0.5 if there were two levels.
    - A column of text with more levels becomes 10 numbers, in which levels that are written alike
      have similar values, with a warning: the n-grams of 2 to 4 characters, weighted by TF-IDF, on
      their 10 directions of largest variance. A level that was not seen in `fit` is encoded in
      the same way, by the n-grams that were seen.
    - A date becomes the days since the first day in `fit`, the weekday (0 for Monday) and the
      hour. A weekday or hour that is always the same in `fit` is left out.
    - A missing number or date becomes the median of the column in `fit`. If at least 10 values and
      1 % are missing in `fit`, another 0/1 column says where. Missing text is a level of its own. A
      column that has no value in `fit` is left out.

    Columns are found by name: their order does not matter, and additional columns are ignored. The
    columns of an array are called x0, x1, …, and found by position.

    Parameters
    ----------
    max_levels : int, default=20
        Maximum number of levels for a column of text to become 0/1 columns.
    categorical_features : array-like of str, int or bool, or None, default=None
        Columns of numbers that are codes of categories, and encoded as text is: their names,
        positions, or a mask with one entry per column.

    Attributes
    ----------
    feature_names_in_ : ndarray of shape (n_columns,)
        Names of the raw columns. Not for an array.
    n_features_in_ : int
        Number of raw columns.
    encoders_ : dict
        The fitted encoder of each raw column by name.
    kinds_ : list of str
        Encoding of each raw column: "number", "date", "onehot", "ngrams" or "empty".
    written_ : dict
        How numbers and dates were written in the file that `read_table` read: new files are read
        in the same way. Empty if the encoder was fitted on a DataFrame.

    Examples
    --------
    >>> import pandas as pd
    >>> from raremetric import TableEncoder
    >>> table = pd.DataFrame({"age": [30, None, 50], "sex": ["f", "m", "f"]})
    >>> encoder = TableEncoder().fit(table)
    >>> encoder.transform(table)
    array([[30.,  0.],
           [40.,  1.],
           [50.,  0.]])
    >>> encoder.get_feature_names_out().tolist()
    ['age', 'sex=m']
    """

    def __init__(self, *, max_levels: int = 20, categorical_features: Any = None):
        self.max_levels = max_levels
        self.categorical_features = categorical_features

    def fit(self, X: Any, y: ArrayLike | None = None) -> TableEncoder:
        """Learn the medians and the levels.

        Parameters
        ----------
        X : table of pandas, polars or Arrow, or array-like, of shape (n_samples, n_columns)
            Raw columns.
        y : ignored
            Present for compatibility with pipelines.

        Returns
        -------
        TableEncoder
            The fitted encoder.
        """
        check_integer(self.max_levels, "max_levels", low=1)
        given = as_frame(X)
        frame = with_names(given)
        validate_data(self, given, skip_check_array=True)  # sets the names and their number
        codes = _chosen(self.categorical_features, frame.columns)
        self.encoders_ = {}
        for name in frame.columns:
            column = plain_column(frame[name])
            self.encoders_[name] = self._choose(column, name in codes).fit(column)
        self.written_: dict[str, Any] = {}
        return self

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Encode a table.

        Parameters
        ----------
        X : table of pandas, polars or Arrow, or array-like, of shape (n_samples, n_columns)
            A table contains at least the columns of `fit`, in any order; an array contains them in
            the same order.

        Returns
        -------
        ndarray of shape (n_samples, n_features_out)
        """
        check_is_fitted(self)
        frame = find_columns(self, as_frame(X))
        # Filled column by column, so that the table is not held twice.
        encoded = np.empty((len(frame), len(self.get_feature_names_out())))
        groups = self.column_groups()
        for (name, encoder), group in zip(self.encoders_.items(), groups, strict=True):
            encoded[:, group] = encoder.transform(plain_column(frame[name]))
        return encoded

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> NDArray:
        """Names of the encoded columns, such as ``age``, or ``sex=m`` for a level.

        Parameters
        ----------
        input_features : ignored
            The names of `fit` are used.

        Returns
        -------
        ndarray of str
        """
        check_is_fitted(self)
        names = [each for group in self._names_by_column() for each in group]
        return np.array(names, dtype=object)

    @property
    def kinds_(self) -> list[str]:
        """Encoding of each raw column."""
        return [encoder.kind for encoder in self.encoders_.values()]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags

    def column_groups(self) -> list[list[int]]:
        """Indices of the encoded columns that belong to each raw column."""
        stops = np.cumsum([len(group) for group in self._names_by_column()]).tolist()
        return [list(range(start, stop)) for start, stop in zip([0, *stops], stops, strict=False)]

    def _names_by_column(self) -> list[list[str]]:
        return [encoder.feature_names(name) for name, encoder in self.encoders_.items()]

    def _choose(self, column: Any, is_code: bool) -> ColumnEncoder:
        """The encoder for a column, by its type and its number of levels."""
        if column.isna().all():
            warn_user(f"Column {column.name!r} has no value, and is left out.")
            return EmptyEncoder()
        if is_date_column(column):
            return DateEncoder()
        if not is_code and is_number(column):
            return NumberEncoder()
        counts = count_levels(column)
        if len(counts) <= self.max_levels:
            return CategoryEncoder()
        advice = (
            f"Column {column.name!r} has {len(counts)} levels, more than {self.max_levels}, and is "
            "encoded by parts of its text. If it is an identifier, leave it out (on the command "
            f"line: `--ignore {shlex.quote(column.name)}`)."
        )
        levels = pd.Series([level for level in counts if level != MISSING_LEVEL])
        is_chosen = is_code or isinstance(column.dtype, pd.CategoricalDtype)
        if not is_chosen and pd.to_numeric(levels, errors="coerce").notna().all():
            advice = (
                f"Column {column.name!r} holds numbers written as text: convert it with "
                "pandas.to_numeric. It is encoded by parts of its text."
            )
        warn_user(advice)
        return TextEncoder()


def as_frame(X: Any) -> Any:
    """A table of pandas, polars or Arrow, or an array, as a DataFrame; pandas' own is not copied.

    The columns of an array are numbered.
    """
    if isinstance(X, pd.DataFrame):
        return X
    if hasattr(X, "to_pandas"):
        return X.to_pandas(date_as_object=False)
    if isinstance(X, list | tuple) or hasattr(X, "__array__") or issparse(X):
        return pd.DataFrame(check_array(X, dtype=None, ensure_all_finite=False))
    raise TypeError(
        "X must be a data frame of pandas, polars or Arrow, or an array with two dimensions; got "
        f"{type(X).__name__}."
    )


def position_names(frame: Any) -> list[str]:
    """The names of columns that have none: x0, x1, …"""
    return [f"x{j}" for j in range(frame.shape[1])]


def with_names(frame: Any) -> Any:
    """The same table; its columns are called x0, x1, … if they have numbers instead of names."""
    names = frame.columns
    if not any(isinstance(name, str) for name in names):
        return frame.set_axis(position_names(frame), axis="columns")
    if not all(isinstance(name, str) for name in names) or not names.is_unique:
        raise ValueError(
            "The names of the columns must be different, and all of them strings or none of them."
        )
    return frame


def check_columns(columns: Sequence[str], known: Sequence[str]) -> None:
    """Raise an error if a table lacks columns that the encoder was fitted on."""
    present = {*columns}
    absent = [name for name in known if name not in present]
    if absent:
        folded = {name.casefold() for name in present}
        alike = [name for name in absent if name.casefold() in folded]
        case = f" {len(alike)} of them differ only in case." if alike else ""
        raise TableError(
            f"{len(absent)} of the {len(known)} columns that the model was fitted on are missing: "
            f"{_first_names(absent)}.{case} The table has: {_first_names(columns)}."
        )


def _first_names(names: Sequence[str]) -> str:
    """At most ten names, and the number of the others."""
    others = f" and {len(names) - 10} others" if len(names) > 10 else ""
    return ", ".join(map(repr, names[:10])) + others


def find_columns(fitted: Any, frame: Any) -> Any:
    """The columns that an estimator was fitted on, by their names, or by position if it has none.

    As in scikit-learn, there is a warning if only one of both has names.
    """
    known = getattr(fitted, "feature_names_in_", None)
    if known is None or not any(isinstance(name, str) for name in frame.columns):
        validate_data(fitted, frame, reset=False, skip_check_array=True)
        return frame.set_axis(position_names(frame) if known is None else known, axis="columns")
    names = known.tolist()
    check_columns(with_names(frame).columns, names)
    return frame if frame.columns.tolist() == names else frame[names]


def _chosen(features: Any, names: Sequence[str]) -> set[str]:
    """The names of the columns that were chosen by name, position or mask."""
    if features is None:
        return set()
    chosen, positions = np.atleast_1d(np.asarray(features)), range(len(names))
    if chosen.dtype == bool and chosen.shape == (len(names),):
        return {*np.asarray(names)[chosen]}
    for each in chosen.tolist():
        known = isinstance(each, str | int | float) and (each in positions or each in names)
        if isinstance(each, bool) or not known:
            raise ValueError(
                "categorical_features must be names of columns, their positions, or a mask with "
                f"one entry per column; got {each!r}."
            )
    return {names[each] if each in positions else each for each in chosen.tolist()}
