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
    """What agrees, F1 of every method, and how far off the F1 is that `fit` announces."""
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
    blocks = [
        sentence,
        markdown([_agreement_row(name, parts[name], found[name]) for name in files]),
        "F1 in `compare` and on the rows set aside; methods with an asterisk are marked:",
        markdown([_method_row(name, parts[name], "compare_f1") for name in files]),
        "The cross-validated F1 that `fit` prints, and F1 on the rows set aside:",
        markdown([_method_row(name, parts[name], "fit_f1") for name in files]),
    ]
    return "\n\n".join(blocks)


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
        "CPU s of `compare`": f"{one['compare_cpu']:.0f}",
    }


def _method_row(name: str, rows: pd.DataFrame, column: str) -> dict[str, str]:
    """F1 as announced in a column, and on the rows set aside; empty where nothing is announced."""
    cells = {}
    for _, row in rows[rows["method"].isin(DEFAULT_METHODS)].iterrows():
        mark = "*" if column == "compare_f1" and row["marked"] else ""
        cell = f"{row[column]:.2f}{mark} / {row['f1']:.2f}"
        cells[row["method"]] = "" if pd.isna(row[column]) else cell
    return {"file": f"`{name}`", **{each: cells.get(each, "") for each in DEFAULT_METHODS}}


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
