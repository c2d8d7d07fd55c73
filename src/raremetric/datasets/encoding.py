"""TableEncoder: from a DataFrame with columns of any type to finite floats, and back."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from raremetric.datasets.dates import (
    check_dates,
    date_features,
    date_points,
    decode_date,
    fit_dates,
    is_date_column,
)
from raremetric.datasets.dialect import TableError
from raremetric.datasets.level_features import (
    count_levels,
    decode_level,
    fill_levels,
    level_names,
)
from raremetric.datasets.ngrams import decode_ngrams, fill_ngrams, fit_ngrams
from raremetric.datasets.number_features import as_floats, fill_numbers, is_number
from raremetric.validation import check_integer, check_option, warn_user

TEXT_KINDS = ("onehot", "ngrams")
MISSING_OPTIONS = ("impute", "refuse")


class TableEncoder(TransformerMixin, BaseEstimator):
    """Encode the columns of a DataFrame as numbers, without using the target.

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
        Encoding of each raw column: "number", "date", "onehot" or "ngrams".
    medians_ : ndarray of shape (n_features_in_,)
        Median of each raw column, which replaces missing numbers; NaN for text. For dates,
        in days since the first day.
    levels_ : list of list of str
        Levels of each raw column; empty for numbers and dates.
    ngrams_ : dict
        For each column of the kind "ngrams" by name: ``buckets`` (the hashed n-grams), ``idf``
        (their weights), ``components`` (the directions), and ``vectors`` (the encoded levels, in
        the order of `levels_`).
    dates_ : dict
        For each column of dates by name: ``origin`` (the first day), ``parts`` (the encoded
        features) and ``has_zone`` (whether they had a time zone; then they are in UTC).
    written_ : dict
        How numbers and dates were written in the file that `read_table` read: new files are read
        in the same way. Empty if the encoder was fitted on a DataFrame.

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
    ngrams_: dict[str, dict[str, NDArray]]
    dates_: dict[str, dict[str, Any]]
    written_: dict[str, Any]

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
        self.ngrams_, self.dates_ = {}, {}
        self.written_ = {}
        for name in X.columns:
            kind, levels, median = self._fit_column(X[name])
            self.kinds_.append(kind)
            self.levels_.append(levels)
            medians.append(median)
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
            name, levels = self.feature_names_in_[index], self.levels_[index]
            raw, part = X[name], encoded[:, group[0] : group[-1] + 1]
            if self.kinds_[index] == "number":
                fill_numbers(part[:, 0], raw, self.medians_[index])
            elif self.kinds_[index] == "date":
                date = self.dates_[name]
                check_dates(raw, date["has_zone"])
                features = date_features(date_points(raw), date["origin"], self.medians_[index])
                part[:] = np.column_stack([features[each] for each in date["parts"]])
            elif self.kinds_[index] == "ngrams":
                fill_ngrams(part, raw, levels, self.ngrams_[name])
            else:
                fill_levels(part, raw, levels)
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
            if self.kinds_[index] == "onehot":
                names += level_names(name, self.levels_[index])
            elif self.kinds_[index] == "ngrams":
                names += [f"{name} text {i + 1}" for i in range(self._n_encoded(index))]
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
        """Raw values of an encoded row by column; None for a level that was not seen in `fit`."""
        values: dict[str, Any] = {}
        for index, group in enumerate(self.column_groups()):
            name, levels = str(self.feature_names_in_[index]), self.levels_[index]
            value = float(row[group[0]])
            if self.kinds_[index] == "number":
                values[name] = value
            elif self.kinds_[index] == "date":
                values[name] = decode_date(value, self.dates_[name]["origin"])
            elif self.kinds_[index] == "ngrams":
                values[name] = decode_ngrams(row[group], levels, self.ngrams_[name])
            else:
                values[name] = decode_level(row[group], levels)
        return values

    def _n_encoded(self, index: int) -> int:
        """Number of encoded columns of a raw column."""
        if self.kinds_[index] == "date":
            return len(self.dates_[self.feature_names_in_[index]]["parts"])
        if self.kinds_[index] == "ngrams":
            return len(self.ngrams_[self.feature_names_in_[index]]["components"])
        n_levels = len(self.levels_[index])
        return n_levels - (n_levels == 2) if self.kinds_[index] == "onehot" else 1

    def _fit_column(self, column: Any) -> tuple[str, list[str], float]:
        if is_date_column(column) and not column.isna().all():
            origin, parts, median = fit_dates(date_points(column))
            self.dates_[str(column.name)] = {
                "origin": origin,
                "parts": parts,
                "has_zone": column.dt.tz is not None,
            }
            return "date", [], median
        if is_number(column):
            values = as_floats(column)
            present = values[~np.isnan(values)]
            if not len(present):
                raise ValueError(f"Column {column.name!r} is empty. Leave it out.")
            return "number", [], 2 * float(np.median(present / 2))  # a sum could overflow
        counts = count_levels(column)
        if len(counts) <= self.max_levels:
            return "onehot", sorted(counts), np.nan
        levels = sorted(counts, key=lambda level: (-counts[level], level))
        name = shlex.quote(str(column.name))
        self.ngrams_[str(column.name)] = fit_ngrams(levels, [counts[level] for level in levels])
        advice = f"leave it out (`ignore`, on the command line `--ignore {name}`)"
        if 2 * len(counts) <= sum(counts.values()):  # most levels recur
            advice += (
                "; if it names groups of rows, such as customers, use it as `group` (`--group "
                f"{name}`)"
            )
        warn_user(
            f"Column {column.name!r} has {len(counts)} levels, more than {self.max_levels}, and is "
            f"encoded by parts of its text. If it is an identifier, {advice}."
        )
        return "ngrams", levels, np.nan

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


def _check_frame(X: Any) -> None:
    if not hasattr(X, "columns"):
        raise TypeError(
            f"TableEncoder takes a pandas DataFrame with named columns; got {type(X).__name__}."
        )
    if not all(isinstance(name, str) for name in X.columns) or not X.columns.is_unique:
        raise ValueError("TableEncoder needs column names that are strings and different.")
