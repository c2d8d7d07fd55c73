"""Alerts to review, and the rows that a review has labeled."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from raremetric.copies import find_copies
from raremetric.encoding.copies import are_numbers
from raremetric.table.explanation import Explanation, explain_rows
from raremetric.table.model import TableModel
from raremetric.table.predictions import BLOCK_BYTES, unguard
from raremetric.table.reading import TableError, iter_table
from raremetric.table.reading.files import read_arrow
from raremetric.table.reading.labels import labeled
from raremetric.table.reading.levels import MISSING_SPELLINGS, MISSING_TEXTS, as_text
from raremetric.validation import as_names, check_integer, warn_user

VERDICTS = ("yes", "no", "unsure")


class Review(NamedTuple):
    """The most likely positives of a file, with the evidence for each."""

    source: str
    n_rows: int
    n_positive: int  # predicted as positive, in the whole file
    class_names: list[str]
    target_name: str
    id_name: str | None
    alerts: list[Explanation]  # the most likely first


def review_file(
    model: TableModel,
    path: str | Path,
    top: int = 50,
    *,
    on_step: Callable[[], None] = lambda: None,
) -> Review:
    """Find the rows of a file that are most likely positive, and explain them.

    Parameters
    ----------
    model : TableModel
    path : str or Path
        The rows, as for `TableModel.predict_file`.
    top : int, default=50
        Number of rows to review. Rows with the same probability keep the order of the file.
    on_step : callable
        Called after each classified piece of the file, and after each explained row.

    Returns
    -------
    Review
    """
    check_integer(top, "top", low=1)
    best: Any = None  # the best rows so far
    ranks = np.empty((0, 2))  # their probability and number
    n_rows = n_positive = 0
    for piece in iter_table(path, model.encoder, block_bytes=BLOCK_BYTES, row_names=model.id_name):
        on_step()
        if not len(piece):
            continue
        positive, probability, *_ = model.decide(model.encoder.transform(piece))
        rows = np.arange(n_rows + 1, n_rows + len(piece) + 1)
        n_rows, n_positive = n_rows + len(piece), n_positive + int(positive.sum())
        ranks = np.vstack([ranks, np.column_stack([probability, rows])])
        best = piece if best is None else pd.concat([best, piece])
        order = np.lexsort((ranks[:, 1], -ranks[:, 0]))[:top]
        best, ranks = best.iloc[order], ranks[order]
    if not n_rows:
        raise TableError(f"{path}: it has no rows of data.")
    chosen = ranks[:, 1].astype(np.int64).tolist()
    return Review(
        source=str(path),
        n_rows=n_rows,
        n_positive=n_positive,
        class_names=list(model.class_names),
        target_name=model.target_name,
        id_name=model.id_name,
        alerts=explain_rows(model, best, chosen, on_row=on_step),
    )


def labeled_rows(
    review: str | Path, source: str | Path, target: str, *, row_names: str | None = None
) -> Any:
    """The rows of a file that have a verdict, with the class that the verdict means.

    Parameters
    ----------
    review : str or Path
        A CSV file exported by the page of ``raremetric review``.
    source : str or Path
        The file that was reviewed.
    target : str
        Name of the column for the class; an existing column of this name is replaced.
    row_names : str or None, default=None
        Column with the names of the rows, which are compared with those in the review.

    Returns
    -------
    DataFrame
        All columns of the source and `target`, in the order of the source. The class is the
        positive one for "yes" and the other one for "no"; rows with "unsure" or without a
        verdict are left out.
    """
    verdicts = read_verdicts(review)
    table, _ = read_arrow(source, verbatim=as_names(row_names or ()))
    rows = sorted(verdicts)
    if rows and rows[-1] > table.num_rows:
        raise TableError(
            f"{review} has a verdict about row {rows[-1]}, but {source} has {table.num_rows} rows: "
            "give the file that was reviewed."
        )
    frame = _to_pandas(table.take([row - 1 for row in rows]), row_names)
    frame.index = rows
    if row_names is not None:
        for row, name in frame[row_names].items():
            if str(name) != verdicts[row]["id"]:
                raise TableError(
                    f"Row {row} of {source} has the id {str(name)!r}, but {review} has "
                    f"{verdicts[row]['id']!r}: give the file that was reviewed, unchanged."
                )
    frame[target] = [verdicts[row]["label"] for row in rows]
    return frame


def with_reviewed_rows(
    path: str | Path,
    target: str,
    review: str | Path,
    source: str | Path,
    *,
    row_names: str | None = None,
) -> Any:
    """The training data together with the rows that a review has labeled.

    Parameters
    ----------
    path : str or Path
        The training file.
    target : str
        Its column with the class.
    review, source, row_names
        See `labeled_rows`.

    Returns
    -------
    DataFrame
        The columns of the training file, with the class as text. If the model was fitted for one
        class against several others, rows with the verdict "no" get the class "not …". A reviewed
        row that is in the training file already, with the same values in all columns but the class,
        is not added: its class there becomes that of the verdict, with a warning.
    """
    table, _ = read_arrow(path, target=target, verbatim=as_names(row_names or ()))
    if target not in table.column_names:
        raise TableError(f"{path}: there is no column {target!r} with the class.")
    table, labels, _ = labeled(table, target)
    known = _to_pandas(table, target, row_names)
    known[target] = [str(labels.classes[code]) for code in labels.codes]
    added = labeled_rows(review, source, target, row_names=row_names)
    absent = [name for name in known.columns if name not in added.columns]
    if absent:
        raise TableError(f"{source} lacks columns of {path}: {', '.join(map(repr, absent))}.")
    # As objects, because pandas changes types if a column of one part is empty.
    known, added = known.astype(object), added[known.columns].astype(object)
    same = _rows_known_already(known, added, target, Path(path).samefile(source))
    if same:
        known.loc[list(same), target] = added.loc[list(same.values()), target].to_numpy()
        n_same = len({*same.values()})
        added = added.drop(index={*same.values()})
        what = "row is" if n_same == 1 else "rows are"
        warn_user(
            f"{n_same} reviewed {what} in {path} already. The class there is replaced by that of "
            "the verdict."
        )
    return pd.concat([known, added], ignore_index=True).infer_objects()


def _to_pandas(table: Any, *as_written: str | None) -> Any:
    """A DataFrame of an Arrow table, in which text such as "NA" is missing in the other columns."""
    frame = table.to_pandas()
    others = frame.columns.difference([name for name in as_written if name is not None])
    spellings = [each for each in MISSING_SPELLINGS if each.strip().lower() in MISSING_TEXTS]
    return frame.mask(frame.isin(dict.fromkeys(others, spellings)))


def _rows_known_already(known: Any, added: Any, target: str, same_file: bool) -> dict[int, int]:
    """Reviewed row by training row, if both have the same values in all columns but the class.

    In a table of categories, equal rows are different examples; then only a row of the same file
    is known already.
    """
    if same_file:
        return {row - 1: row for row in added.index}
    rows = pd.concat([known, added]).drop(columns=target)
    texts = rows.map(as_text, na_action="ignore").fillna("")
    codes = np.column_stack([pd.factorize(texts[name])[0] for name in texts])
    copies = find_copies(codes, are_numbers(rows.infer_objects()))
    if not copies.together:
        return {}
    numbers = copies.numbers.tolist()
    reviewed = dict(zip(numbers[len(known) :], added.index, strict=True))
    return {i: reviewed[key] for i, key in enumerate(numbers[: len(known)]) if key in reviewed}


def read_verdicts(path: str | Path) -> dict[int, dict[str, str]]:
    """The verdicts "yes" and "no" of an exported review, by the number of the row."""
    with Path(path).open(newline="", encoding="utf-8-sig") as stream:
        lines = list(csv.DictReader(stream))
    found = {}
    for line in lines:
        if absent := {"row", "id", "verdict", "label", "note"} - {*line}:
            raise TableError(
                f"{path} is not a review: it has no column {', '.join(sorted(absent))}. Export "
                "one from the page of: raremetric review"
            )
        if line["verdict"] not in ("", *VERDICTS):
            raise TableError(
                f"{path}: the verdict about row {line['row']} is {line['verdict']!r}; it must be "
                f"one of {', '.join(VERDICTS)}, or empty."
            )
        if line["verdict"] in ("yes", "no"):
            found[int(line["row"])] = {
                name: unguard(text or "") for name, text in line.items() if name
            }
    return found
