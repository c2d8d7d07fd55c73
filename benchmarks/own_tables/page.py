"""The tables of docs/evidence/own-files.md, from the results; `docs/_ext` puts them there."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from benchmarks.own_tables.measuring import agreement
from benchmarks.own_tables.tables import TABLES
from raremetric.study.report import leads, paired, signed
from raremetric.table import DEFAULT_METHODS

ORIGIN = {"claims": "crashes"}  # made from the same rows

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "docs" / "results" / "own-tables" / "own-tables.csv"


def summary(results: pd.DataFrame) -> str:
    """How well `compare` foretells which method is best, in a few sentences."""
    found = agreements(results)
    losses, chance, correlations = (
        100 * found[each].astype(float) for each in ("loss", "mean_loss", "correlation")
    )
    constant = {name: 100 * part["f1_behind"].mean() for name, part in results.groupby("method")}
    always = min(constant, key=constant.__getitem__)
    (loss, loss_error), (random_loss, random_error) = map(_mean_and_error, (losses, chance))
    return (
        "Spearman's correlation between the F1 of the seven methods in `compare` and on the rows "
        f"set aside is {correlations.mean() / 100:.2f} in the mean over the files, and at least "
        f"{correlations.min() / 100:.2f}. The method that `compare` ranks first loses {loss:.1f} "
        f"points of F1 (SE {loss_error:.1f}) against the best one on the rows set aside, and at "
        f"most {losses.max():.1f}. A method chosen at random loses {random_loss:.1f} "
        f"(SE {random_error:.1f}). Always choosing `{always}`, the best single method in "
        f"hindsight, loses {constant[always]:.1f}. The same method is first on "
        f"{(found['first'] == found['best']).sum()} of {len(found)} files."
    )


def agreement_table(results: pd.DataFrame) -> str:
    """Which method `compare` ranks first, and which is best on the rows set aside."""
    found = agreements(results)
    parts = dict(iter(results.groupby("file")))
    return markdown([_agreement_row(name, parts[name], found.loc[name]) for name in found.index])


def lead_table(results: pd.DataFrame, leader: str) -> str:
    """One method minus each other one, over the files."""
    return markdown(_lead_rows(results, leader))


def agreements(results: pd.DataFrame) -> pd.DataFrame:
    """For each file, how well `compare` foretells which method is best."""
    names = [name for name in TABLES if name in set(results["file"])]
    return pd.DataFrame({name: agreement(results[results["file"] == name]) for name in names}).T


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


def markdown(rows: list[dict[str, str]]) -> str:
    """The rows as a Markdown table."""
    names = list(rows[0])
    lines = [names, ["---"] * len(names), *([row[name] for name in names] for row in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
