"""TableEncoder: from a DataFrame with columns of any type to finite floats, and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from raremetric.datasets.dates import (
    date_features,
    date_points,
    decode_date,
    fit_dates,
    is_date_column,
)
from raremetric.datasets.dialect import TableError, date_message
from raremetric.datasets.levels import MISSING_LEVEL, has_booleans
from raremetric.extras import import_optional
from raremetric.validation import check_integer, check_option, warn_user

OTHER_LEVEL = "(other)"
TEXT_KINDS = ("onehot", "frequent")
MAX_FREQUENT = 15  # 0/1 columns for text with too many levels
MISSING_OPTIONS = ("impute", "refuse")
_BINARY = {"0": "False", "1": "True", "0.0": "False", "1.0": "True"}


class TableEncoder(TransformerMixin, BaseEstimator):
    """Encode the columns of a DataFrame as numbers, without using the target.

    - Numbers are kept. True and False are text: one column, 1 for True.
    - A column of text with at most `max_levels` levels becomes one 0/1 column per level, in
      alphabetical order. If there are two levels, there is one column, for the second. A level
      that was not seen in `fit` is encoded as 0 in all columns, or as 0.5 if there were two levels.
    - A column of text with more levels becomes one 0/1 column for each of the 15 most frequent
      levels that occur more than once, one for all other levels, and the share of rows in `fit`
      that have the level, with a warning. A level that was not seen in `fit` has the share 0.

    - A date becomes the days since the first day in `fit`, the weekday (0 for Monday) and the
      hour. A weekday or hour that is always the same in `fit` is left out.

    Columns are found by name: their order does not matter, and additional columns are ignored.

    Parameters
    ----------
    missing : {"impute", "refuse"}, default="impute"
        "impute" replaces a missing number or date by the median of the column in `fit`, and
        treats missing text as a separate level. "refuse" raises an error that names the columns.
    max_levels : int, default=20
        Maximum number of levels for a column of text to become 0/1 columns.

    Attributes
    ----------
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the raw columns.
    n_features_in_ : int
        Number of raw columns.
    kinds_ : list of str
        Encoding of each raw column: "number", "date", "onehot" or "frequent".
    medians_ : ndarray of shape (n_features_in_,)
        Median of each raw column, which replaces missing numbers; NaN for text. For dates,
        in days since the first day.
    levels_ : list of list of str
        Levels of each raw column; empty for numbers and dates.
    shares_ : dict
        For each column of the kind "frequent" by name: the share of rows of each level, in the
        order of `levels_`, and the number of levels with a column (``n_columns``).
    dates_ : dict
        For each column of dates by name: ``origin`` (the first day), ``parts`` (the encoded
        features) and ``layout`` (how the dates are written; empty if they are not text).

    Examples
    --------
    >>> import pandas as pd
    >>> from raremetric.datasets import TableEncoder
    >>> table = pd.DataFrame({"age": [30, None, 50], "sex": ["f", "m", "f"]})
    >>> encoder = TableEncoder().fit(table)
    >>> encoder.transform(table)
    array([[30.,  0.],
           [40.,  1.],
           [50.,  0.]])
    >>> encoder.get_feature_names_out().tolist()
    ['age', 'sex=m']
    """

    feature_names_in_: NDArray
    n_features_in_: int
    kinds_: list[str]
    medians_: NDArray[np.float64]
    levels_: list[list[str]]
    shares_: dict[str, dict[str, Any]]
    dates_: dict[str, dict[str, Any]]

    def __init__(self, *, missing: str = "impute", max_levels: int = 20):
        self.missing = missing
        self.max_levels = max_levels

    def fit(self, X: Any, y: ArrayLike | None = None) -> TableEncoder:
        """Learn the medians and the levels.

        Parameters
        ----------
        X : DataFrame of shape (n_samples, n_features)
            Raw columns.
        y : ignored
            Present for compatibility with pipelines.

        Returns
        -------
        TableEncoder
            The fitted encoder.
        """
        check_option(self.missing, "missing", MISSING_OPTIONS)
        check_integer(self.max_levels, "max_levels", low=1)
        _check_frame(X)
        self.feature_names_in_ = np.array([str(name) for name in X.columns], dtype=object)
        self.n_features_in_ = len(self.feature_names_in_)
        self._check_missing(X)
        self.kinds_, self.levels_, medians = [], [], []
        self.shares_, self.dates_ = {}, {}
        layouts = X.attrs.get("date_layouts", {})
        for name in X.columns:
            kind, levels, median = self._fit_column(X[name])
            self.kinds_.append(kind)
            self.levels_.append(levels)
            medians.append(median)
            if kind == "date":
                self.dates_[str(name)]["layout"] = layouts.get(name, "")
        self.medians_ = np.array(medians, dtype=np.float64)
        return self

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Encode a table.

        Parameters
        ----------
        X : DataFrame of shape (n_samples, n_columns)
            Contains at least the columns of `fit`, in any order.

        Returns
        -------
        ndarray of shape (n_samples, n_features_out)
        """
        check_is_fitted(self)
        _check_frame(X)
        check_columns(X.columns, self.feature_names_in_.tolist())
        self._check_missing(X)
        # Filled column by column, so that the table is not held twice.
        encoded = np.zeros((len(X), len(self.get_feature_names_out())))
        for index, group in enumerate(self.column_groups()):
            raw, part = X[self.feature_names_in_[index]], encoded[:, group[0] : group[-1] + 1]
            if self.kinds_[index] == "number":
                _fill_numbers(part[:, 0], raw, self.medians_[index])
            elif self.kinds_[index] == "date":
                date = self.dates_[self.feature_names_in_[index]]
                features = date_features(date_points(raw), date["origin"], self.medians_[index])
                part[:] = np.column_stack([features[each] for each in date["parts"]])
            elif self.kinds_[index] == "frequent":
                shares = self.shares_[self.feature_names_in_[index]]
                _fill_frequent(part, raw, self.levels_[index], shares["shares"])
            else:
                _fill_levels(part, raw, self.levels_[index])
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
        names = []
        for index, name in enumerate(self.feature_names_in_):
            levels = self.levels_[index]
            if self.kinds_[index] == "onehot":
                names += [f"{name}={level}" for level in levels[len(levels) == 2 :]]
            elif self.kinds_[index] == "frequent":
                frequent = levels[: self.shares_[name]["n_columns"]]
                names += [f"{name}={level}" for level in [*frequent, OTHER_LEVEL]]
                names.append(f"{name} frequency")
            elif self.kinds_[index] == "date":
                names += [f"{name} {part}" for part in self.dates_[name]["parts"]]
            else:
                names.append(name)
        return np.array(names, dtype=object)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags

    def column_groups(self) -> list[list[int]]:
        """Indices of the encoded columns that belong to each raw column."""
        stops = np.cumsum([self._n_encoded(index) for index in range(self.n_features_in_)]).tolist()
        return [list(range(start, stop)) for start, stop in zip([0, *stops], stops, strict=False)]

    def decode(self, row: NDArray) -> dict[str, Any]:
        """Raw values of an encoded row by column; None for a level that was not seen in `fit`.

        A level without a column of its own is "(other)".
        """
        values: dict[str, Any] = {}
        for index, group in enumerate(self.column_groups()):
            name, levels = str(self.feature_names_in_[index]), self.levels_[index]
            value = float(row[group[0]])
            if self.kinds_[index] == "number":
                values[name] = value
            elif self.kinds_[index] == "date":
                values[name] = decode_date(value, self.dates_[name]["origin"])
            elif self.kinds_[index] == "frequent":
                *flags, other, share = row[group]
                seen = OTHER_LEVEL if share > 0 else None
                values[name] = seen if other else levels[int(np.argmax(flags))]
            elif len(levels) == 2:
                values[name] = levels[int(value)] if value in range(len(levels)) else None
            else:
                hits = np.flatnonzero(row[group])
                values[name] = levels[hits[0]] if len(hits) else None
        return values

    def _n_encoded(self, index: int) -> int:
        """Number of encoded columns of a raw column."""
        if self.kinds_[index] == "date":
            return len(self.dates_[self.feature_names_in_[index]]["parts"])
        if self.kinds_[index] == "frequent":
            return self.shares_[self.feature_names_in_[index]]["n_columns"] + 2
        n_levels = len(self.levels_[index])
        return n_levels - (n_levels == 2) if self.kinds_[index] == "onehot" else 1

    def _fit_column(self, column: Any) -> tuple[str, list[str], float]:
        if is_date_column(column) and not column.isna().all():
            origin, parts, median = fit_dates(date_points(column))
            self.dates_[str(column.name)] = {"origin": origin, "parts": parts}
            return "date", [], median
        if is_number(column):
            values = _as_floats(column)
            present = values[~np.isnan(values)]
            if not len(present):
                raise ValueError(f"Column {column.name!r} is empty. Leave it out.")
            return "number", [], float(np.median(present))
        counts = _count_levels(column)
        if len(counts) <= self.max_levels:
            return "onehot", sorted(counts), np.nan
        levels = sorted(counts, key=lambda level: (-counts[level], level))
        n_repeated = sum(count > 1 for count in counts.values())
        n_columns = min(MAX_FREQUENT, self.max_levels, n_repeated)
        self.shares_[str(column.name)] = {
            "shares": [counts[level] / len(column) for level in levels],
            "n_columns": n_columns,
        }
        warn_user(
            f"Column {column.name!r} has {len(counts)} levels, more than max_levels="
            f"{self.max_levels}. The {n_columns} most frequent ones have a column each, the others "
            "share one. If the column is an identifier or free text, leave it out (`ignore`, on "
            f"the command line `--ignore {column.name}`)."
        )
        return "frequent", levels, np.nan

    def _check_missing(self, X: Any) -> None:
        if self.missing == "impute":
            return
        counts = [(name, int(X[name].isna().sum())) for name in self.feature_names_in_]
        incomplete = [f"{name!r} ({count})" for name, count in counts if count]
        if incomplete:
            raise ValueError(
                f"Values are missing in {', '.join(incomplete[:10])}. Fill them in, or pass "
                'missing="impute".'
            )


def check_columns(columns: Sequence[str], known: Sequence[str]) -> None:
    """Raise an error if a table lacks columns that the encoder was fitted on."""
    present = {*columns}
    absent = [name for name in known if name not in present]
    if absent:
        raise TableError(
            f"{len(absent)} of the {len(known)} columns that the model was fitted on are missing: "
            f"{', '.join(map(repr, absent[:10]))}. The table has: "
            f"{', '.join(map(repr, columns[:10]))}."
        )


def is_number(column: Any) -> bool:
    """Whether a column of a DataFrame holds numbers; booleans are a category."""
    types = import_optional("pandas").api.types
    if is_date_column(column) or types.is_timedelta64_dtype(column):
        raise ValueError(date_message(column.name))
    return types.is_numeric_dtype(column) and not types.is_bool_dtype(column)


def _check_frame(X: Any) -> None:
    if not hasattr(X, "columns"):
        raise TypeError(
            f"TableEncoder takes a pandas DataFrame with named columns; got {type(X).__name__}."
        )
    if not all(isinstance(name, str) for name in X.columns) or not X.columns.is_unique:
        raise ValueError("TableEncoder needs column names that are strings and different.")


def _as_floats(column: Any) -> NDArray[np.float64]:
    values = column.to_numpy(dtype=np.float64, na_value=np.nan)
    if np.isinf(values).any():
        row = int(np.argmax(np.isinf(values))) + 1
        raise ValueError(f"Column {column.name!r} holds an infinite value in row {row}.")
    return values


def _fill_numbers(out: NDArray[np.float64], column: Any, median: float) -> None:
    if not is_number(column):
        numbers = import_optional("pandas").to_numeric(column.astype(object), errors="coerce")
        wrong = numbers.isna().to_numpy() & column.notna().to_numpy()
        if wrong.any():
            row = int(np.argmax(wrong))
            raise ValueError(
                f"Column {column.name!r} was numeric when the encoder was fitted, but row "
                f"{row + 1} holds {column.iloc[row]!r}."
            )
        column = numbers
    values = _as_floats(column)
    out[:] = np.where(np.isnan(values), median, values)


def _categorical(column: Any) -> tuple[list[str], NDArray]:
    """Levels as text, and the index of each row's level; -1 where the value is missing."""
    values = column.astype("category").cat
    return [str(level) for level in values.categories], values.codes.to_numpy()


def _count_levels(column: Any) -> dict[str, int]:
    """Number of rows of each level that occurs."""
    levels, codes = _categorical(column)
    # The first entry counts the missing values.
    counts = np.bincount(codes.astype(np.int64) + 1, minlength=len(levels) + 1)
    named = zip([MISSING_LEVEL, *levels], counts.tolist(), strict=True)
    return {level: count for level, count in named if count}


def _level_codes(column: Any, known: list[str]) -> NDArray[np.int64]:
    """Index of each row's level among the known levels; -1 for an unknown level."""
    levels, codes = _categorical(column)
    position = {level: index for index, level in enumerate(known)}
    if has_booleans(known):  # 0 and 1 are other spellings
        levels = [_BINARY.get(level, level) for level in levels]
    translation = [position.get(level, -1) for level in [*levels, MISSING_LEVEL]]
    return np.array(translation, dtype=np.int64)[codes]  # code -1 selects the last entry


def _fill_levels(out: NDArray[np.float64], column: Any, levels: list[str]) -> None:
    codes = _level_codes(column, levels)
    if len(levels) == 2:
        out[:, 0] = np.where(codes < 0, 0.5, codes)
    else:
        rows = np.flatnonzero(codes >= 0)
        out[rows, codes[rows]] = 1.0


def _fill_frequent(
    out: NDArray[np.float64], column: Any, levels: list[str], shares: list[float]
) -> None:
    n_columns = out.shape[1] - 2
    codes = _level_codes(column, levels)
    out[np.arange(len(codes)), np.where((codes < 0) | (codes >= n_columns), n_columns, codes)] = 1.0
    out[:, -1] = np.array([*shares, 0.0])[codes]  # code -1 selects the last entry
