"""The tables of docs/own-tables.md, from the results."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from benchmarks.own_tables.measuring import agreement
from benchmarks.own_tables.tables import TABLES
from raremetric.table import DEFAULT_METHODS

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "own-tables.md"
RESULTS = ROOT / "docs" / "results" / "own-tables" / "own-tables.csv"
START, END = "<!-- results: written by python -m benchmarks.own_tables -->", "<!-- end -->"


def page_text(results: pd.DataFrame) -> str:
    """A sentence and two Markdown tables: whether both sides agree, and F1 of every method."""
    files = [name for name in TABLES if name in set(results["file"])]
    parts = {name: results[results["file"] == name] for name in files}
    found = {name: agreement(part) for name, part in parts.items()}
    n_agree, n_close, n_same = (
        sum(each[key] for each in found.values()) for key in ("agrees", "close", "same")
    )
    sentence = (
        f"Both agree within noise on {n_agree} of {len(files)} files. On {n_close}, the first "
        "method of `compare` is within two standard errors of the best on the rows set aside; on "
        f"{n_same}, the same method is first."
    )
    tables = [
        markdown([_agreement_row(name, parts[name], found[name]) for name in files]),
        markdown([_method_row(name, parts[name]) for name in files]),
    ]
    return "\n\n".join([sentence, *tables])


def _agreement_row(name: str, rows: pd.DataFrame, found: dict[str, Any]) -> dict[str, str]:
    one = rows.iloc[0]
    marked = [row["method"] for _, row in rows.iterrows() if row["marked"]]
    others = ", ".join(method for method in marked if method != found["first"])
    return {
        "file": f"`{name}`",
        "positives / rows": f"{one['positives']:.0f} / {one['rows']:.0f}",
        "set aside": f"{one['held_out_positives']:.0f} / {one['held_out_rows']:.0f}",
        "first in `compare`": found["first"],
        "also marked": others,
        "best on the rows set aside": found["best"],
        "first is behind by": f"{found['behind']:.3f} ± {found['error']:.3f}",
        "agree": "yes" if found["agrees"] else "no",
    }


def _method_row(name: str, rows: pd.DataFrame) -> dict[str, str]:
    """F1 in `compare` and on the rows set aside, with an asterisk for marked methods."""
    cells = {
        row["method"]: f"{row['compare_f1']:.2f}{'*' * bool(row['marked'])} / {row['f1']:.2f}"
        for _, row in rows.iterrows()
    }
    order = [method for method in DEFAULT_METHODS if method in cells]
    return {"F1": f"`{name}`", **{method: cells[method] for method in order}}


def markdown(rows: list[dict[str, str]]) -> str:
    """The rows as a Markdown table."""
    names = list(rows[0])
    lines = [names, ["---"] * len(names), *([row[name] for name in names] for row in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def replace_results(page: str, text: str) -> str:
    """The page with this text between the two comments."""
    before, _, rest = page.partition(START)
    _, _, after = rest.partition(END)
    return f"{before}{START}\n\n{text}\n\n{END}{after}"
