"""The tables of docs/own-tables.md, from the results."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from benchmarks.own_tables.measuring import agreement
from benchmarks.own_tables.tables import TABLES
from raremetric.study.report import LEVEL, leads, paired, signed
from raremetric.table import DEFAULT_METHODS

LEADERS = ("rare", "iml")
ORIGIN = {"claims": "crashes"}  # made from the same rows

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "own-tables.md"
RESULTS = ROOT / "docs" / "results" / "own-tables" / "own-tables.csv"
START, END = "<!-- results: written by python -m benchmarks.own_tables -->", "<!-- end -->"


def page_text(results: pd.DataFrame) -> str:
    """How well `compare` foretells, F1 of every method, what `fit` announces, and differences."""
    files = [name for name in TABLES if name in set(results["file"])]
    parts = {name: results[results["file"] == name] for name in files}
    found = pd.DataFrame({name: agreement(part) for name, part in parts.items()}).T
    losses, chance, correlations = (
        100 * found[each].astype(float) for each in ("loss", "mean_loss", "correlation")
    )
    constant = {name: 100 * part["f1_behind"].mean() for name, part in results.groupby("method")}
    always = min(constant, key=constant.__getitem__)
    (loss, loss_error), (random_loss, random_error) = map(_mean_and_error, (losses, chance))
    summary = (
        "Spearman's correlation between the F1 of the seven methods in `compare` and on the rows "
        f"set aside is {correlations.mean() / 100:.2f} in the mean over the files, and at least "
        f"{correlations.min() / 100:.2f}. The method that `compare` ranks first loses {loss:.1f} "
        f"points of F1 (SE {loss_error:.1f}) against the best one on the rows set aside, and at "
        f"most {losses.max():.1f}. A method chosen at random loses {random_loss:.1f} "
        f"(SE {random_error:.1f}). Always choosing `{always}`, the best single method in "
        f"hindsight, loses {constant[always]:.1f}. The same method is first on "
        f"{(found['first'] == found['best']).sum()} of {len(files)} files."
    )
    blocks = [
        summary,
        markdown([_agreement_row(name, parts[name], found.loc[name]) for name in files]),
        "F1 in `compare` and on the rows set aside; methods with an asterisk are marked:",
        markdown([_method_row(name, parts[name], "compare_f1") for name in files]),
        "The cross-validated F1 that `fit` prints, and F1 on the rows set aside:",
        markdown([_method_row(name, parts[name], "fit_f1") for name in files]),
        "Which method is better on the rows set aside:",
        *[markdown(_lead_rows(results, name)) for name in LEADERS],
        "Differences of F1 in points, paired over the files. `crashes` and `claims` have the same "
        "rows, so that every SE over files is clustered, and Wilcoxon's test takes the mean of the "
        f"two. Holm: corrected for the six comparisons; below {LEVEL}, the difference is "
        f"significant. Equivalence: below {LEVEL}, the means are equal within ±1 point. Otherwise, "
        "neither is shown.",
    ]
    return "\n\n".join(blocks)


def _mean_and_error(values: pd.Series) -> tuple[float, float]:
    found = paired(values.rename(index=ORIGIN))
    return found.difference, found.standard_error


def _lead_rows(results: pd.DataFrame, leader: str) -> list[dict[str, str]]:
    """One method minus each other one, over the files."""
    means = 100 * results.pivot(index="file", columns="method", values="f1")
    means = means[[*DEFAULT_METHODS]].rename(index=ORIGIN)
    return [
        {
            f"`{leader}` minus": lead.learner,
            "difference": signed(lead.difference),
            "SE": f"{lead.standard_error:.1f}",
            "ahead, behind": f"{lead.wins}, {lead.losses}",
            "Holm p": f"{lead.holm:.3f}",
            "equivalence p": f"{lead.equivalent:.3f}",
        }
        for lead in leads(means, leader).itertuples()
    ]


def _agreement_row(name: str, rows: pd.DataFrame, found: pd.Series) -> dict[str, str]:
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
        "loss in points (SE)": f"{100 * found['loss']:.1f} ({100 * found['error']:.1f})",
        "correlation": f"{found['correlation']:.2f}",
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
