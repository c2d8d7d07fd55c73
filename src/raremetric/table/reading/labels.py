"""The target column: the class of each row, and which classes are positive."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any, NoReturn

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from raremetric.datasets.parsers import is_numeric
from raremetric.files import quoted
from raremetric.table.reading.columns import convert_category
from raremetric.table.reading.levels import AMBIGUOUS_WORDS, MISSING_WORDS, is_missing, plain_column
from raremetric.validation import Labels, TableError, check_class_count, warn_user

# A target with more classes, some of which occur once, is not a target for classification.
MAX_CLASSES = 20


def labeled(table: Any, name: str) -> tuple[Any, Labels, NDArray[np.int64]]:
    """The rows of an Arrow table that have a class, their labels and their numbers from 1 on."""
    values = label_texts(name, table.column(name))
    levels = values.categories.tolist()
    empty = words_for_missing(name, levels, np.bincount(values.codes[values.codes >= 0]))
    values = values.remove_categories(empty)
    known = values.codes >= 0
    if not known.all():
        rest = f" or {', '.join(map(repr, empty))}" if empty else ""
        warn_user(
            f"The target column {name!r} is empty{rest} in {(~known).sum()} of {len(known)} rows, "
            "which are left out."
        )
        columns = {key: plain_column(table.column(key)) for key in table.column_names}
        table, values = pa.table(columns).filter(pa.array(known)), values[known]
    classes, merged = classes_of(name, values.categories.tolist(), np.bincount(values.codes))
    codes = merged.astype(values.codes.dtype)[values.codes]
    labels = Labels(classes, codes, np.bincount(codes, minlength=len(classes)))
    return table, labels, np.flatnonzero(known) + 1


def label_texts(name: str, column: Any) -> Any:
    """The label of each row, as it is written, in a Categorical."""
    converted = convert_category(name, column, missing=MISSING_WORDS - AMBIGUOUS_WORDS)
    if converted is None:
        raise TableError(f"The target column {name!r} is empty.")
    return converted.values


def read_label_texts(name: str, column: Any, first_row: int = 1) -> Any:
    """The same for rows of one of many files; an error if a label is missing.

    `first_row` is the number of the first row in the file, for the error message.
    """
    values = label_texts(name, column)
    empty = values.codes < 0
    if empty.any():
        raise TableError(
            f"The target column {name!r} is empty in {empty.sum()} of {len(empty)} rows, first in "
            f"data row {np.argmax(empty) + first_row}: remove those rows."
        )
    return values


def classes_of(name: str, levels: list[str], counts: NDArray) -> tuple[NDArray, NDArray]:
    """The sorted classes, and for each label, as it is written, the index of its class.

    The number of rows with each label is in `counts`.
    """
    classes = _classes(levels)
    if classes.dtype.kind == "f":
        _refuse_quantity(name, classes, counts.sum())
    # "1" and "1.0" are different texts but the same number: merge them.
    classes, merged = np.unique(classes, return_inverse=True)
    check_class_count(classes, "A model", f"the target column {name!r}")
    return classes, merged


def words_for_missing(name: str, levels: list[str], counts: NDArray) -> list[str]:
    """Labels such as NA that mean a missing value; a warning if one probably does not.

    It is a class if there is at most one other label, or if the others are text and it is the most
    common of all, such as "none" among kinds of injuries.
    """
    others = [level for level in levels if not is_missing(level)]
    found = []
    for level, count in zip(levels, counts.tolist(), strict=True):
        if len(others) < 2 or not is_missing(level):
            continue
        if count < counts.max() or all(map(is_numeric, others)):
            found.append(level)
            continue
        warn_user(
            f"{level!r} in the target column {name!r} is taken for a class, because it is the most "
            f"common label ({count} of {counts.sum()} rows). If it means that the class is "
            "unknown, remove those rows."
        )
    return found


def refuse_many_classes(name: str, labels: Labels) -> None:
    """Raise an error if the target is a quantity, an identifier or free text."""
    classes, _, counts = labels
    if len(classes) <= MAX_CLASSES or counts.min() > 1:
        return
    if classes.dtype.kind == "i":
        _refuse_quantity(name, classes, counts.sum())
    raise TableError(
        f"The target column {name!r} holds {len(classes)} different texts in {counts.sum()} rows, "
        f"such as {str(classes[0])!r}: it looks like an identifier or free text, not like classes. "
        "Choose another column."
    )


def _refuse_quantity(name: str, numbers: NDArray, n_rows: int) -> NoReturn:
    raise TableError(
        f"The target column {name!r} looks continuous: it holds {len(numbers)} different numbers "
        f"in {n_rows} rows, such as {numbers[0]:g}. Choose another column, or convert it to "
        "classes first, for example by a threshold."
    )


def choose_positive(name: str, labels: Labels, positive: Any) -> tuple:
    """The positive labels, as values of the target column; by default the rarest class."""
    classes, _, counts = labels
    if positive is None:
        positive = classes.item(np.argmin(counts))
    wanted = positive if isinstance(positive, list | tuple | set) else [positive]
    found = [_find_label(str(label), classes.tolist()) for label in wanted]
    unknown = [label for label, match in zip(wanted, found, strict=True) if match is None]
    if unknown or len({*found}) >= len(classes):
        what = f"has no value {unknown[0]!r}" if unknown else "would have no negative class"
        raise TableError(
            f"The target column {name!r} {what}. Its classes: {labels_and_counts(classes, counts)}."
        )
    _refuse_split_spellings(name, labels, found)
    return tuple(dict.fromkeys(found))


def labels_and_counts(classes: Iterable, counts: Iterable) -> str:
    """The classes, each with its number of rows, for an error message."""
    pairs = zip(classes, counts, strict=True)
    return ", ".join(f"{label} ({count})" for label, count in pairs)[:300]


def _refuse_split_spellings(name: str, labels: Labels, positive: Sequence) -> None:
    """Refuse labels that differ only in case if one is positive and the other is not."""
    known = {str(label).casefold(): label for label in positive}
    counts = dict(zip(labels.classes.tolist(), labels.counts.tolist(), strict=True))
    for label in counts:
        other = known.get(str(label).casefold())
        if other is not None and label not in positive:
            raise TableError(
                f"The target column {name!r} holds {quoted(str(other))} (in {counts[other]} of "
                f"{labels.counts.sum()} rows) and {quoted(str(label))} ({counts[label]}), which "
                "differ only in case: write the class in one way, or name each spelling as "
                "positive (--positive)."
            )


def _find_label(text: str, classes: list) -> Any:
    """The class that is written like this, or the only one if case is ignored; None if none is."""
    for spelling in (str, lambda label: str(label).casefold()):
        matches = [label for label in classes if spelling(label) == spelling(text)]
        if len(matches) == 1:
            return matches[0]
    return None


def _classes(levels: Sequence[str]) -> NDArray:
    """Levels as numbers if all are numeric, otherwise as text; large integers stay text."""
    texts = np.array(levels, dtype=object)  # not of fixed width: one may be very long
    if not all(map(is_numeric, levels)):
        return texts
    exact = [Decimal(level) for level in levels]
    if any(number != number.to_integral_value() for number in exact):
        return np.array(levels, dtype=np.float64)
    fits = all(abs(number) < 2**63 for number in exact)
    return np.array([*map(int, exact)], dtype=np.int64) if fits else texts
