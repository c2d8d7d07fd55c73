"""Features on any scale: which ones are refused, and units in which the others are moderate.

A unit is a power of two. Division by it is exact, and a unit of 1 changes nothing.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import validate_data

LARGEST = 1e140  # sums of squares of larger numbers may overflow
SMALLEST = 1e-140  # squares of smaller numbers may underflow


def unit_of(size: ArrayLike, low: int = 0, high: int = 0) -> NDArray[np.float64]:
    """1 for sizes that are zero or from 2^low to 2^high, else the next higher power of two."""
    size = np.asarray(size, dtype=np.float64)
    moderate = (size == 0) | ((size >= 2.0**low) & (size <= 2.0**high))
    exponents = np.clip(np.frexp(size)[1], -1022, 1023)
    return np.where(moderate, 1.0, np.ldexp(1.0, exponents))


def validate_rows(estimator, X, y="no_validation", *, reset=True, any_unit=False, **checks):
    """scikit-learn's ``validate_data`` in double precision, and a check of the features' scale.

    Training data (``reset``) must not be too small, either, unless the estimator uses units of its
    own for each feature (``any_unit``).
    """
    # Sums depend on the order of the numbers in memory: it is the same for arrays and tables.
    checked = validate_data(estimator, X, y, reset=reset, dtype=np.float64, order="C", **checks)
    rows = checked[0] if isinstance(checked, tuple) else checked
    check_size(rows)
    if reset and not any_unit:
        spread = np.ptp(rows, axis=0)
        smallest = float(spread.min(where=spread > 0, initial=np.inf))
        if smallest < SMALLEST:
            subject = "The features of X differ" if spread.max() < SMALLEST else "A feature differs"
            raise ValueError(
                f"{subject} by {smallest:g} at most, and squares of differences below "
                f"{SMALLEST:g} are lost to rounding. Multiply the features by a large number."
            )
    return checked


def check_size(values: NDArray, name: str = "X") -> None:
    """Refuse numbers whose squares, or sums of them, may overflow."""
    largest = max(float(values.max(initial=0.0)), -float(values.min(initial=0.0)))
    if largest > LARGEST:
        raise ValueError(
            f"{name} contains numbers as large as {largest:g}, but squared distances overflow "
            f"beyond {LARGEST:g}. Divide the features by a large number, or replace these values "
            "if they mean that something is missing."
        )
