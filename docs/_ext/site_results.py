"""The committed results as tables, and how their numbers are written."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pandas as pd

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "docs" / "results"


def markdown(rows: list[list[str]], numbers_from: int = 1) -> str:
    """Rows as a Markdown table; columns from this one on are aligned to the right."""
    width = len(rows[0])
    rule = ["---"] * numbers_from + ["--:"] * (width - numbers_from)
    return "\n".join(f"| {' | '.join(row)} |" for row in (rows[0], rule, *rows[1:]))


@cache
def means_of(name: str) -> pd.DataFrame:
    """The means in a report: data sets × learners."""
    return pd.read_csv(RESULTS / f"{name}.csv").pivot_table("mean", "dataset", "learner")


@cache
def leads_of(name: str) -> pd.DataFrame:
    """The differences of the leader of a study from each other learner, by learner."""
    return pd.read_csv(RESULTS / f"{name}-lead.csv", index_col="learner")


def p_text(p_value: float) -> str:
    return "p < 0.001" if p_value < 0.001 else f"p = {p_value:.3f}"
