"""What to know about a table: copies of rows, columns that reveal the class, and other notes."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api.types import is_numeric_dtype
from sklearn.metrics import f1_score
from sklearn.tree import DecisionTreeClassifier

from raremetric.contenders import Contender
from raremetric.copies import Copies
from raremetric.encoding.columns import is_date_column
from raremetric.encoding.copies import as_numbers, identifier_kind
from raremetric.files import quoted
from raremetric.selection import draw_rows, sets_per_class, shuffled_folds
from raremetric.table.aims import measure_of, minimum_of
from raremetric.table.roles import Roles

FEW_POSITIVES = 20
MIN_GROUPS = 20  # levels of a column that may name customers
MANY_RECURRING = 0.1  # share of the rows whose text recurs, from which texts may name groups
MIN_POSITIVES = 10  # with fewer, a column can determine the class by chance
MAX_ROWS = 50_000
DETERMINES = 0.95  # F1 of a single column
N_LEAVES = 4  # of the tree of a single number: too few to overfit
MAX_SINGLE = 5  # columns with the same flaw that have a sentence each
CONSTANT = "has the same value in all rows."
RECURRING = "seems to be an identifier, and its numbers recur."
IDENTIFIER = re.compile(r"(?i:(^|[\W_])(id|key|no|nr|number)$)|[a-z]I[dD]$")  # names of columns
DETERMINING = (
    "alone determines the class almost perfectly. If it is known only after the outcome, the "
    "results are too good."
)


def class_notes(table: Any) -> list[str]:
    """How the classes of a table are used, and whether there are few positive rows."""
    notes, n_positive = [], int(table.target.sum())
    other, positive = table.target_names
    if len(table.classes) > 2:
        notes.append(
            f"The target has {len(table.classes)} classes. They are taken for two, "
            f"{quoted(positive)} (--positive) and {quoted(other)}."
        )
    if n_positive < FEW_POSITIVES:
        notes.append(
            f"Only {n_positive} rows are of class {quoted(positive)}: all figures depend strongly "
            "on chance. Collect more of them, or repeat the folds of a comparison (--repeats)."
        )
    return notes


def leakage_notes(table: Any, copies: Copies, columns: Roles, seed: int) -> list[str]:
    """What makes results on a table better than they are: copies of rows, columns, and dates.

    Dates and groups are noted unless the folds are made by a column of times or of groups.
    """
    grouped = columns.group is not None
    return [
        *_copy_notes(copies),
        *suspicious_columns(table.data, table.target, seed, copies.numbers, grouped),
        *([] if grouped else _group_notes(table)),
        *(date_notes(table.data) if columns.time is None else []),
    ]


def _group_notes(table: Any) -> list[str]:
    """The columns of text with many levels that may name groups of rows."""
    names = [
        shlex.quote(name)
        for name, encoder in table.encoder.encoders_.items()
        if encoder.kind == "ngrams"
        and table.data[name].dropna().duplicated(keep=False).mean() >= MANY_RECURRING
    ]
    if not names:
        return []
    return [
        "If rows with the same text belong together, such as those of one customer, the results "
        f"are honest with {' or '.join(f'--group {name}' for name in names)} only."
    ]


def _copy_notes(copies: Copies) -> list[str]:
    """How many rows repeat an earlier one, and whether they are copies of it."""
    n_repeats = copies.n_repeats
    if not n_repeats:
        return []
    found = "1 row repeats" if n_repeats == 1 else f"{n_repeats} rows repeat"
    if copies.together:
        found += (
            " the values of an earlier row. Copies were kept in the same fold, so that no row is "
            "tested by a model that has learned from its copy."
        )
    else:
        found += (
            " the values of an earlier row. The table has few categories, so that equal rows are "
            "to be expected, and no numbers or texts that could tell most rows apart. These rows "
            "were taken for different examples, which may be in different folds. If they are "
            "copies, remove them."
        )
    if copies.left_out:
        names = ", ".join(map(repr, copies.left_out[:MAX_SINGLE]))
        found += f" Columns that identify rows were not compared: {names}."
    return [found]


def method_notes(
    contenders: Iterable[Contender],
    shape: tuple[int, ...],
    *,
    max_samples: int | None = None,
    max_features: int | None = None,
    weighted: bool,
) -> list[str]:
    """The methods that cannot take weights, or learn from some of the rows or features only.

    ``shape`` is that of the encoded rows to learn from; ``max_samples`` and ``max_features``
    replace the defaults of the methods. A number of rows that the user chose needs no note.
    """
    notes: list[str] = []
    drawn: dict[int, list[str]] = {}
    for each in contenders:
        n_most = each.default_max_samples if max_samples is None else None
        limit = max_features or each.default_max_features
        if weighted and each.ignores_weights:
            notes.append(each.ignores_weights)
        if n_most is not None and n_most < shape[0]:
            drawn.setdefault(n_most, []).append(each.alias or each.title)
        if limit is not None and limit < shape[1]:
            reason = ", to save time. For another number, use `max_features` (`--max-features`)"
            notes.append(
                f"{each.alias or each.title} selects {limit} of the {shape[1]} features, those "
                "whose distributions differ most between the classes, in each fold again"
                f"{'' if max_features else reason}."
            )
    for n_most, names in drawn.items():
        verb = "learns" if len(names) == 1 else "learn"
        notes.append(
            f"{', '.join(names)} {verb} from {n_most} of {shape[0]} rows, drawn with as many of "
            "each class as possible, to limit the time. Probabilities and thresholds are "
            "corrected for the draw. For another number, use `max_samples` (`--max-rows`)."
        )
    return notes


def aim_notes(scoring: Any) -> list[str]:
    """Which threshold the measure of an aim with a minimum belongs to."""
    if minimum_of(scoring) is None:
        return []
    return [
        f"The {measure_of(scoring)[0]} is that of the best threshold for each test fold. All other "
        "measures are those at the threshold that a method chose in training, which may miss the "
        "minimum."
    ]


def suspicious_columns(
    data: Any,
    y: NDArray,
    seed: int = 0,
    copies: NDArray | None = None,
    grouped: bool = False,
) -> list[str]:
    """One sentence for each column that is constant, an identifier, or as good as the class.

    If many columns have the same flaw, there is one sentence for all of them. `copies` are equal
    numbers for copies of a row; None if all rows are different examples.
    """
    rows = draw_rows(y == 1, MAX_ROWS, seed)
    copies = np.arange(len(y)) if copies is None else copies
    weights = (np.bincount(y, minlength=2) / np.bincount(y[rows], minlength=2))[y[rows]]
    found: list[tuple[str, str]] = []  # a column and its flaw
    for name in data.columns:
        column = data[name]
        if column.nunique(dropna=False) == 1:
            found.append((name, CONSTANT))
            continue
        is_identifier = IDENTIFIER.search(str(name)) and is_numeric_dtype(column)
        if determines_class(column.iloc[rows], y[rows], weights, copies[rows]):
            found.append((name, DETERMINING))
        elif is_identifier and may_name_groups(column):
            found.append((name, RECURRING))
        if kind := identifier_kind(column):
            found.append((name, f"{kind}."))
    columns: dict[str, list[str]] = {}
    for name, flaw in found:
        columns.setdefault(flaw, []).append(name)
    sentences = (
        _many(columns[flaw], flaw)
        if len(columns[flaw]) > MAX_SINGLE
        else _one(data[name], flaw, grouped)
        for name, flaw in found
    )
    return list(dict.fromkeys(sentences))


def date_notes(data: Any) -> list[str]:
    """One sentence about the columns of dates, which may call for folds by time."""
    names = [str(name) for name in data if is_date_column(data[name]) and data[name].nunique() > 1]
    if not names:
        return []
    if len(names) == 1:
        found, option = f"Column {names[0]!r} holds", shlex.quote(names[0])
    else:
        more = f" and {len(names) - MAX_SINGLE} others" if len(names) > MAX_SINGLE else ""
        found = f"Columns {', '.join(map(repr, names[:MAX_SINGLE]))}{more} hold"
        option = "and one of them"
    return [
        f"{found} dates. If new rows are later than these, the results are honest with --time "
        f"{option} only."
    ]


def _one(column: Any, flaw: str, grouped: bool) -> str:
    name = shlex.quote(str(column.name))
    sentence = f"Column {str(column.name)!r} {flaw} Consider leaving it out (--ignore {name})."
    if not grouped and flaw in (DETERMINING, RECURRING) and may_name_groups(column):
        sentence += (
            " If rows with the same value belong together, such as those of one customer, the "
            f"results are honest with --group {name} only."
        )
    return sentence


def _many(names: list[str], flaw: str) -> str:
    first = ", ".join(map(repr, names[:MAX_SINGLE]))
    return (
        f"Each of {len(names)} columns ({first} and {len(names) - MAX_SINGLE} others) {flaw} "
        "Consider leaving them out (--ignore)."
    )


def determines_class(column: Any, y: NDArray, weights: NDArray, copies: NDArray) -> bool:
    """Whether the class follows almost always from this column alone."""
    if sets_per_class(y, copies).min() < MIN_POSITIVES:
        return False
    predictions = []
    if is_numeric_dtype(column):
        X = as_numbers(column).reshape(-1, 1)
        tree = DecisionTreeClassifier(max_leaf_nodes=N_LEAVES, random_state=0)
        predictions.append(tree.fit(X, y, sample_weight=weights).predict(X))
    if has_levels(column):
        codes = pd.factorize(column.astype(str))[0]
        predictions.append(_majority_of_level(codes, y, weights, copies))
    return any(f1_score(y, each, sample_weight=weights) > DETERMINES for each in predictions)


def may_name_groups(column: Any) -> bool:
    """Whether the values of a column may be names of groups of rows."""
    recurs = has_levels(column) and not column.is_unique
    return bool(recurs and column.nunique() >= MIN_GROUPS)


def has_levels(column: Any) -> bool:
    """Whether the values of a column may be names: text, or whole numbers such as customers'."""
    if not is_numeric_dtype(column):
        return True
    values = as_numbers(column)
    return bool(np.all((values == np.floor(values)) | np.isnan(values)))


def _majority_of_level(
    codes: NDArray, y: NDArray, weights: NDArray, copies: NDArray
) -> NDArray[np.int64]:
    """The most frequent class of each level in other rows, because rare levels are often pure."""
    predicted = np.zeros(len(y), dtype=np.int64)
    for train, test in shuffled_folds(y, 3, 0, copies=copies):
        signs = weights[train] * (2 * y[train] - 1)
        votes = np.bincount(codes[train], weights=signs, minlength=codes.max() + 1)
        predicted[test] = votes[codes[test]] > 0
    return predicted
