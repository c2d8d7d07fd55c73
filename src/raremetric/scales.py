"""Features on any scale: which ones are refused, and units in which the others are moderate.

A unit is a power of two. Division by it is exact, and a unit of 1 changes nothing.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.utils.validation import validate_data

LARGEST = 1e30  # of a feature; in single precision, numbers overflow beyond 1e38
SMALLEST = 1e-30  # difference within a feature
MAX_DENSE = 1 << 30  # bytes of a sparse matrix when it is dense


def unit_of(size: ArrayLike, low: int = 0, high: int = 0) -> NDArray[np.float64]:
    """1 for sizes that are zero or from 2^low to 2^high, else the next higher power of two."""
    size = np.asarray(size, dtype=np.float64)
    moderate = (size == 0) | ((size >= 2.0**low) & (size <= 2.0**high))
    return np.where(moderate, 1.0, np.ldexp(1.0, np.frexp(size)[1]))


def validate_rows(estimator, X, y="no_validation", *, reset=True, **checks):
    """scikit-learn's ``validate_data`` in double precision, and a check of the features' scale.

    Training data (``reset``) must not be too small, either.
    """
    # Sums depend on the order of the numbers in memory: it is the same for arrays and tables.
    checks |= {"dtype": np.float64, "order": "C", "accept_sparse": "csr"}
    try:
        checked = validate_data(estimator, X, y, reset=reset, **checks)
    except (TypeError, ValueError) as error:
        if not (advice := _advice(X, checks)):
            raise
        kind = TypeError if isinstance(error, TypeError) else ValueError
        reason = re.split(r"\.\s", str(error))[0].removesuffix(".")
        raise kind(f"{reason}. {advice}") from error
    rows, *labels = checked if isinstance(checked, tuple) else (checked,)
    for values in labels:
        if values.dtype == object and None in values.tolist():
            raise ValueError(
                "y must hold the class of every row, but it holds None in position "
                f"{values.tolist().index(None)}. Leave out rows without a class."
            )
    rows = as_dense(rows) if issparse(rows) else rows
    check_size(rows)
    if reset:
        spread = np.ptp(rows, axis=0)
        smallest = float(spread.min(where=spread > 0, initial=np.inf))
        if smallest < SMALLEST:
            subject = "The features of X differ" if spread.max() < SMALLEST else "A feature differs"
            raise ValueError(
                f"{subject} by {smallest:g} at most; differences below {SMALLEST:g} are not "
                "supported. Multiply the features by a large number."
            )
    return (rows, *labels) if labels else rows


class LabeledRows:
    """Tags of an estimator that needs labels, and whose rows `validate_rows` checks."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.target_tags.required = True
        tags.input_tags.sparse = True
        return tags


def is_numeric(X: Any, allow_nan: bool = False) -> bool:
    """Whether all values of an array are numbers, and none is missing."""
    if issparse(X):
        return True
    try:
        values = np.asarray(X)
        if values.dtype.kind in "OUS":
            values = values.astype(np.float64)
    except (TypeError, ValueError):
        return False
    if values.dtype.kind == "f":
        return allow_nan or not np.isnan(values).any()
    return values.dtype.kind in "biuc"


def _advice(X: Any, checks: dict[str, Any]) -> str:
    """What to do about rows that are not numbers; empty if they are."""
    allow_nan = checks.get("ensure_all_finite") == "allow-nan"
    if is_numeric(X, allow_nan):
        return ""
    names = [name for name in getattr(X, "columns", ()) if isinstance(name, str)]
    wrong = next((f" (as in column {name!r})" for name in names if not is_numeric(X[name])), "")
    return (
        f"Text, categories, dates and missing values{wrong} must be encoded as numbers first: put "
        "raremetric.TableEncoder() before this step in a pipeline. RareClassifier has one inside, "
        "if its fit saw a data frame or such values, and unless encoder=None."
    )


def as_dense(rows: Any) -> NDArray[np.float64]:
    """The rows of a sparse matrix as an array, if it is not too large."""
    size = 8 * rows.shape[0] * rows.shape[1]
    if size > MAX_DENSE:
        raise ValueError(
            f"X is a sparse matrix of shape {rows.shape}, which would take {size / 2**30:.1f} GB "
            f"as an array; at most {MAX_DENSE / 2**30:g} GB are allowed. Map it to fewer features "
            "first, as by sklearn.decomposition.TruncatedSVD(100) in a pipeline, or pass fewer "
            "rows at a time."
        )
    return rows.toarray(order="C")


def check_size(values: NDArray, name: str = "X") -> None:
    """Refuse numbers that are so large that results could overflow."""
    largest = max(float(values.max(initial=0.0)), -float(values.min(initial=0.0)))
    if largest > LARGEST:
        raise ValueError(
            f"{name} contains numbers as large as {largest:g}; numbers beyond {LARGEST:g} are not "
            "supported. Divide the features by a large number, or replace these values if they "
            "mean that something is missing."
        )
