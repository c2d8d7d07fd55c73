"""TableEncoder: a table with named columns of any kind in, finite floats out."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from raremetric.extras import import_optional
from raremetric.validation import check_integer, check_option

MISSING_LEVEL = "(missing)"
MISSING_OPTIONS = ("impute", "refuse")


class TableEncoder(TransformerMixin, BaseEstimator):
    """Encode the columns of a DataFrame as numbers, by name and without a look at the target.

    - Numbers stay; True and False become 1 and 0.
    - A column of text with at most `max_levels` levels becomes one 0/1 column for each level, in
      alphabetical order; of two levels, only the second. A level not seen in `fit` is 0 in all of
      them, and 0.5 (neither) where there were two levels.
    - A column of text with more levels becomes one column of ranks, 0 for the most frequent
      level, with a warning. A level not seen in `fit` ranks after all others.

    Columns are found by name: their order does not matter and further columns are ignored.

    Parameters
    ----------
    missing : {"impute", "refuse"}, default="impute"
        "impute" puts the median of the fitted column in the place of a missing number and takes
        missing text as a level of its own. "refuse" raises an error that names the columns.
    max_levels : int, default=20
        Up to this number of levels, text becomes 0/1 columns.

    Attributes
    ----------
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the raw columns.
    n_features_in_ : int
        Number of raw columns.
    kinds_ : list of str
        Of each raw column: "number", "onehot" or "rank".
    medians_ : ndarray of shape (n_features_in_,)
        Of each raw column the value for a missing number; NaN for text.
    levels_ : list of list of str
        Of each raw column its levels; empty for numbers.

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
            Only here for pipelines.

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
        for name in X.columns:
            kind, levels, median = self._fit_column(X[name])
            self.kinds_.append(kind)
            self.levels_.append(levels)
            medians.append(median)
        self.medians_ = np.array(medians, dtype=np.float64)
        return self

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Encode a table that has the fitted columns.

        Parameters
        ----------
        X : DataFrame of shape (n_samples, n_columns)
            At least the columns of `fit`, in any order.

        Returns
        -------
        ndarray of shape (n_samples, n_features_out)
            Finite floats.
        """
        check_is_fitted(self)
        _check_frame(X)
        self._check_columns(X)
        self._check_missing(X)
        # Filled column by column, so that no second table of the same size is held.
        encoded = np.zeros((len(X), len(self.get_feature_names_out())))
        start = 0
        for index, name in enumerate(self.feature_names_in_):
            stop = start + self._width(index)
            if self.kinds_[index] == "number":
                _fill_numbers(encoded[:, start], X[name], self.medians_[index])
            else:
                codes = _level_codes(X[name], self.levels_[index])
                _fill_levels(encoded[:, start:stop], codes, self.kinds_[index], self.levels_[index])
            start = stop
        return encoded

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> NDArray:
        """Names of the encoded columns: ``age``, or ``sex=m`` for a level.

        Parameters
        ----------
        input_features : ignored
            The names are those of `fit`.

        Returns
        -------
        ndarray of str
            One name for each encoded column.
        """
        check_is_fitted(self)
        names = []
        for index, name in enumerate(self.feature_names_in_):
            if self.kinds_[index] != "onehot":
                names.append(name)
            else:
                levels = self.levels_[index]
                names += [f"{name}={level}" for level in levels[len(levels) == 2 :]]
        return np.array(names, dtype=object)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags

    def _width(self, index: int) -> int:
        n_levels = len(self.levels_[index])
        return n_levels - (n_levels == 2) if self.kinds_[index] == "onehot" else 1

    def _fit_column(self, column: Any) -> tuple[str, list[str], float]:
        if is_number(column):
            values = _as_floats(column)
            present = values[~np.isnan(values)]
            if not len(present):
                raise ValueError(f"Column {column.name!r} is empty: leave it out.")
            return "number", [], float(np.median(present))
        levels, counts = _count_levels(column)
        if len(levels) <= self.max_levels:
            return "onehot", sorted(levels), np.nan
        warnings.warn(
            f"Column {column.name!r} has {len(levels)} levels, more than max_levels="
            f"{self.max_levels}: they are encoded as ranks, the most frequent first. If it is an "
            "identifier or free text, leave the column out (`ignore`).",
            UserWarning,
            stacklevel=3,
        )
        order = sorted(range(len(levels)), key=lambda i: (-counts[i], levels[i]))
        return "rank", [levels[i] for i in order], np.nan

    def _check_columns(self, X: Any) -> None:
        absent = [name for name in self.feature_names_in_ if name not in X.columns]
        if absent:
            raise ValueError(
                f"The table lacks {len(absent)} of the {self.n_features_in_} columns that the "
                f"encoder was fitted on: {', '.join(map(repr, absent[:10]))}. It has: "
                f"{', '.join(repr(str(name)) for name in X.columns[:10])}."
            )

    def _check_missing(self, X: Any) -> None:
        if self.missing == "impute":
            return
        counts = {name: int(X[name].isna().sum()) for name in self.feature_names_in_}
        holes = [f"{name!r} ({count})" for name, count in counts.items() if count]
        if holes:
            raise ValueError(
                f"Values are missing in {', '.join(holes[:10])}. Fill them, "
                'or pass missing="impute".'
            )


def is_number(column: Any) -> bool:
    """Whether a column of a DataFrame holds numbers or truth values."""
    types = import_optional("pandas").api.types
    if types.is_datetime64_any_dtype(column) or types.is_timedelta64_dtype(column):
        raise ValueError(date_sentence(column.name))
    return types.is_numeric_dtype(column)


def date_sentence(name: str) -> str:
    """What to do with a column of dates."""
    return (
        f"Column {name!r} holds dates or times, and it is not clear what a distance between them "
        "should mean here. Replace it by numbers that mean something (an age in days, the month, "
        "the hour), or leave it out (`ignore`)."
    )


def _check_frame(X: Any) -> None:
    if not hasattr(X, "columns"):
        raise TypeError(
            f"TableEncoder takes a pandas DataFrame with named columns; got {type(X).__name__}."
        )
    if not all(isinstance(name, str) for name in X.columns) or not X.columns.is_unique:
        raise ValueError("TableEncoder needs columns named by text, no name twice.")


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
                f"Column {column.name!r} was numbers when the encoder was fitted, but row "
                f"{row + 1} holds {column.iloc[row]!r}."
            )
        column = numbers
    values = _as_floats(column)
    out[:] = np.where(np.isnan(values), median, values)


def _categorical(column: Any) -> tuple[list[str], NDArray]:
    """Levels as text, and the index of each row's level; -1 where it is missing."""
    values = column.astype("category").cat
    return [str(level) for level in values.categories], values.codes.to_numpy()


def _count_levels(column: Any) -> tuple[list[str], list[int]]:
    levels, codes = _categorical(column)
    # The first place counts the missing ones.
    counts = np.bincount(codes.astype(np.int64) + 1, minlength=len(levels) + 1)
    named = zip([MISSING_LEVEL, *levels], counts.tolist(), strict=True)
    seen = [(level, count) for level, count in named if count]
    return [level for level, _ in seen], [count for _, count in seen]


def _level_codes(column: Any, known: list[str]) -> NDArray[np.int64]:
    """Index of each row's level among the known ones; -1 for a level not known."""
    levels, codes = _categorical(column)
    position = {level: index for index, level in enumerate(known)}
    translation = [position.get(level, -1) for level in [*levels, MISSING_LEVEL]]
    return np.array(translation, dtype=np.int64)[codes]  # code -1 takes the last place


def _fill_levels(out: NDArray[np.float64], codes: NDArray, kind: str, levels: list[str]) -> None:
    if kind == "rank":
        out[:, 0] = np.where(codes < 0, len(levels), codes)
    elif len(levels) == 2:
        out[:, 0] = np.where(codes < 0, 0.5, codes)
    else:
        rows = np.flatnonzero(codes >= 0)
        out[rows, codes[rows]] = 1.0
