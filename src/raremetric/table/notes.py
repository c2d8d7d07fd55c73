"""What a user should know about a table and the methods that learn from it, in sentences."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from numpy.typing import NDArray

from raremetric.contenders import Contender
from raremetric.copies import Copies
from raremetric.files import quoted
from raremetric.selection import draw_rows
from raremetric.table.leakage import MAX_SINGLE, suspicious_columns
from raremetric.table.measures import measure_of
from raremetric.table.roles import class_names

FEW_POSITIVES = 20


def table_notes(
    table: Any, copies: Copies, trains: Sequence[NDArray], max_samples: int | None, seed: int
) -> list[str]:
    """All about a table that is compared on, one sentence or two each.

    Parameters
    ----------
    table : Bunch
        From `read_table`.
    copies : Copies
    trains : sequence of ndarray
        Training rows of each outer fold.
    max_samples : int or None
        Maximum number of training rows that are used.
    seed : int
    """
    notes, n_positive = [], int(table.target.sum())
    other, positive = class_names(table)
    if len(table.classes) > 2:
        notes.append(
            f"The target has {len(table.classes)} classes. They are compared as {quoted(positive)} "
            f"and {quoted(other)}."
        )
    if n_positive < FEW_POSITIVES:
        notes.append(
            f"Only {n_positive} rows are of class {quoted(positive)}: the results depend "
            "strongly on chance. Collect more of them, or repeat the folds (--repeats)."
        )
    return [
        *notes,
        *copy_notes(copies),
        *_draw_notes(table.target, trains, max_samples),
        *suspicious_columns(table.data, table.target, seed, copies.numbers),
    ]


def copy_notes(copies: Copies) -> list[str]:
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


def _draw_notes(y: NDArray, trains: Sequence[NDArray], max_samples: int | None) -> list[str]:
    """How many training rows were drawn, if not all were used."""
    train = max(trains, key=len)
    drawn = draw_rows(y[train] == 1, max_samples, 0)
    if len(drawn) == len(train):
        return []
    n_all, n_drawn = int(y[train].sum()), int(y[train][drawn].sum())
    kept = "all" if n_drawn == n_all else f"{n_drawn} of {n_all}"
    return [
        f"Each method learned from {len(drawn)} of {len(train)} training rows per fold (--max-rows "
        f"{max_samples}): {kept} positives, and others drawn at random. Thresholds are corrected "
        "for the draw, and all rows were tested, so that all figures are for the whole table."
    ]


def method_notes(contenders: Iterable[Contender], *, weighted: bool) -> list[str]:
    """The methods that cannot take weights, and those that look at the rows to be tested."""
    contenders = list(contenders)
    found = [each.ignores_weights for each in contenders] if weighted else []
    found += [each.looks_at_queries for each in contenders]
    return [sentence for sentence in found if sentence]


def aim_notes(scoring: Any) -> list[str]:
    """Which threshold the measure of an aim with a minimum belongs to."""
    if not isinstance(scoring, str) or ">=" not in scoring:
        return []
    return [
        f"The {measure_of(scoring)[0]} is that of the best threshold for each test fold. All other "
        "measures are those at the threshold that a method chose in training, which may miss the "
        "minimum."
    ]
