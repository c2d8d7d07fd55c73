"""Checks of labels, parameters and weights, with clear errors and warnings."""

from __future__ import annotations

import difflib
import sys
import warnings
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from numbers import Integral, Real
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_array, check_scalar, column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import has_fit_parameter

MAX_LISTED_OPTIONS = 12  # with more, an error names the similar options, if there are any
MAX_NAMED_OPTIONS = 60  # with more, an error does not name them all, even if none is similar
MAX_WEIGHT = 1e100  # also the largest ratio of two weights
PACKAGE = str(Path(__file__).parent)


class TableError(ValueError):
    """A table cannot be used as it is; the message says why and what to do."""


class Labels(NamedTuple):
    """Class labels as integers, and the classes they encode."""

    classes: NDArray  # (n_classes,), sorted
    codes: NDArray[np.int64]  # (n_samples,), indices into classes
    counts: NDArray[np.int64]  # (n_classes,)


def check_labels(y: ArrayLike, owner: str) -> Labels:
    """Encode the labels and refuse fewer than two classes; the error names the owner."""
    if np.asarray(y).dtype.kind not in "biuSU":  # these are always labels; the check takes time
        check_classification_targets(y)
    classes, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
    check_class_count(classes, owner, "y")
    return Labels(classes, codes.reshape(-1).astype(np.int64), counts)


def check_pos_label(pos_label: Any, classes: NDArray, counts: NDArray) -> Any:
    """The positive class of two, which is the rarest if none is given; None for more classes."""
    known = classes.tolist()
    if len(known) > 2 and pos_label is not None:
        raise ValueError(
            f"pos_label={pos_label!r} can be used with two classes only; there are {len(known)}. "
            "Leave it None, or make y two classes."
        )
    return rarest_or_given(classes, counts, pos_label) if len(known) == 2 else None


def rarest_or_given(classes: NDArray, counts: NDArray, pos_label: Any) -> Any:
    """The positive class: the given one, or the rarest."""
    known = classes.tolist()
    if pos_label is None:
        return known[int(np.argmin(counts))]
    if pos_label not in known:
        raise ValueError(f"pos_label must be one of the classes {known}; got {pos_label!r}.")
    return pos_label


def check_class_count(classes: NDArray, owner: str, where: str) -> None:
    """Refuse fewer than two classes; `where` is where they were found, for the error message."""
    if len(classes) < 2:
        raise ValueError(
            f"{owner} needs examples of at least two classes, but {where} holds only one class: "
            f"{classes.tolist()[0]!r}. Check the target column."
        )


def check_real(
    value: float,
    name: str,
    *,
    low: float | None = None,
    high: float | None = None,
    closed: str = "both",
) -> float:
    """A finite real number within its bounds."""
    check_scalar(value, name, Real, min_val=low, max_val=high, include_boundaries=closed)
    if not np.isfinite(value):
        raise ValueError(f"{name} == {value}, must be finite.")
    return float(value)


def check_integer(value: int | Integral, name: str, *, low: int, high: int | None = None) -> int:
    """An integer within its bounds; True and False are not integers."""
    if isinstance(value, bool):
        raise TypeError(f"{name} must be an instance of int, not bool.")
    return int(check_scalar(value, name, Integral, min_val=low, max_val=high))


def check_option(value: object, name: str, allowed: Collection[str]) -> str:
    """One of the allowed words; if there are many, the error names the similar ones, if any."""
    if isinstance(value, str) and value in allowed:
        return value
    if len(allowed) <= MAX_LISTED_OPTIONS:
        choices = ", ".join(repr(option) for option in sorted(allowed))
        raise ValueError(f"{name} must be one of {choices}; got {value!r}.")
    similar = did_you_mean(value, allowed)
    if not similar and len(allowed) <= MAX_NAMED_OPTIONS:
        similar = f"They are {', '.join(sorted(allowed))}."
    message = f"Unknown {name} {value!r}; there are {len(allowed)} to choose from."
    raise ValueError(f"{message} {similar}".rstrip())


def as_names(names: Iterable[str], needed: str = "") -> list[str]:
    """Names without repetitions; a text is one name. If `needed` is given, there must be one."""
    found = list(dict.fromkeys([names] if isinstance(names, str) else names))
    if needed and not found:
        raise ValueError(
            f"{needed} must contain at least one name; got none. Leave it out for the default."
        )
    return found


def did_you_mean(value: object, allowed: Collection[str]) -> str:
    """A question that suggests similar words, without regard to case, or an empty string."""
    folded = {option.casefold(): option for option in allowed}
    near = [folded[key] for key in difflib.get_close_matches(str(value).casefold(), folded, n=3)]
    return f"Did you mean {' or '.join(map(repr, near))}?" if near else ""


def check_weights(sample_weight: ArrayLike | None, n_samples: int) -> NDArray[np.float64]:
    """One non-negative, finite weight per example; ones where none were given."""
    if sample_weight is None:
        return np.ones(n_samples)
    weights = check_array(
        sample_weight, ensure_2d=False, dtype=np.float64, input_name="sample_weight"
    )
    if weights.shape != (n_samples,):
        raise ValueError(
            f"sample_weight.shape == {weights.shape}, expected {(n_samples,)}: "
            "one weight per example."
        )
    if np.any(weights < 0):
        row = int(np.argmax(weights < 0))
        raise ValueError(
            f"sample_weight must not be negative; row {row} has {weights[row]:g}. "
            "Use 0 to leave an example out."
        )
    if not weights.any():
        raise ValueError("sample_weight is zero for every example: nothing to learn from.")
    largest, smallest = float(weights.max()), float(weights[weights > 0].min())
    if smallest < largest / MAX_WEIGHT:
        raise ValueError(
            f"sample_weight holds {smallest:g} and {largest:g}; weights above zero must not differ "
            f"by a factor of more than {MAX_WEIGHT:g}. Use 0 to leave an example out."
        )
    # Only ratios matter, and sums of weights could overflow, or products of them underflow.
    return weights if 1 / MAX_WEIGHT <= largest <= MAX_WEIGHT else weights / largest


def check_class_weights(labels: Labels, weights: NDArray) -> None:
    """Refuse weights that leave a class without any weight."""
    totals = np.bincount(labels.codes, weights)
    if not totals.all():
        label = labels.classes.tolist()[int(np.argmin(totals))]
        raise ValueError(
            f"All examples of class {label!r} have a sample_weight of zero: there is nothing to "
            "learn about it. Give one of them a weight, or leave the class out."
        )


def weighted_rows(
    sample_weight: ArrayLike | None, n_samples: int
) -> tuple[NDArray[np.int64], NDArray[np.float64] | None]:
    """Rows with a weight above zero, and their weights; None in place of weights that are one."""
    if sample_weight is None:
        return np.arange(n_samples), None
    weights = check_weights(sample_weight, n_samples)
    rows = np.flatnonzero(weights)
    weights = weights[rows]
    return rows, None if (weights == 1).all() else weights


def relative_weights(weights: NDArray | None) -> NDArray | None:
    """Weights above zero, divided by their mean; None in place of weights that are all the same."""
    if weights is None or (weights == weights[0]).all():
        return None
    return weights / weights.mean()


def check_groups(groups: Any, n_samples: int) -> NDArray | None:
    """The number of the group of each example, in the order of their appearance, or None."""
    if groups is None:
        return None
    groups = column_or_1d(groups)
    if len(groups) != n_samples:
        raise ValueError(
            f"groups must have one entry per example; got {len(groups)} for {n_samples} examples."
        )
    _, first, inverse = np.unique(groups, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[inverse]


def check_class_sizes(
    labels: Labels, owner: str, advice: str = "Add examples, or leave that class out."
) -> None:
    """Refuse classes with a single example: none could be held out for validation."""
    if labels.counts.min() < 2:
        rarest = labels.classes.tolist()[int(np.argmin(labels.counts))]
        raise ValueError(
            f"{owner} needs at least 2 examples of each class to hold some of them out for "
            f"validation; class {rarest!r} has 1. {advice}"
        )


class SmallClassWarning(UserWarning):
    """A class has fewer examples than the number of neighbors requires."""


def warn_small_classes(labels: Labels, n_neighbors: int, owner: str) -> None:
    """Say which classes have fewer than n_neighbors + 1 examples."""
    small = labels.counts <= n_neighbors
    if not small.any():
        return
    counts = ", ".join(
        f"{label!r}: {count}"
        for label, count in zip(labels.classes[small].tolist(), labels.counts[small], strict=True)
    )
    warn_user(
        f"{owner} uses n_neighbors={n_neighbors} neighbors within each class, but these classes "
        f"have too few examples ({counts}): fewer neighbors are used for them.",
        SmallClassWarning,
    )


def forget_attributes(estimator: object, *names: str) -> None:
    """Delete attributes of an earlier fit that this fit may not set."""
    for name in names:
        vars(estimator).pop(name, None)


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the line that called the package from outside."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_code.co_filename.startswith(PACKAGE):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


def warn_stopped(owner: str, n_iter: int, max_iter: int, goal: str, advice: str = "") -> None:
    """Say that a fit did not reach the goal that its ``tol`` stands for, and what to do."""
    if n_iter >= max_iter:
        end, remedy = "", "Raise max_iter or tol"
    else:
        end = ", because no further step made progress"
        remedy = "Standardize the features and clip outliers, or raise tol"
    warn_user(
        f"{owner} stopped after {n_iter} iterations (max_iter={max_iter}){end}, before {goal}. "
        f"{remedy}{advice}.",
        ConvergenceWarning,
    )


def take_rows(X: Any, rows: NDArray) -> Any:
    """Rows of an array, a sparse matrix, or a table of pandas, polars or pyarrow, by position."""
    if isinstance(X, np.ndarray) or not hasattr(X, "take"):
        return X[rows]
    return X.take(rows)


@contextmanager
def quiet_repeats() -> Iterator[None]:
    """Fit many candidates or folds without a warning from each of them.

    A fit that stops early is evaluated as it is.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", SmallClassWarning)
        yield


def quiet_constants() -> np.errstate:
    """Fit StandardScaler with weights without a warning for each constant column.

    Its weighted variance may be rounded to a negative number, whose square root scikit-learn
    computes before it sets the scale of the column to 1.
    """
    return np.errstate(invalid="ignore")


def accepted_weights(estimator: Any, weights: NDArray | None) -> dict[str, NDArray]:
    """The weights as a parameter of ``fit``, for an estimator that has it."""
    if weights is None or not has_fit_parameter(estimator, "sample_weight"):
        return {}
    return {"sample_weight": weights}
