"""Numbers of the paper's experiments for the pages: see `site_numbers`."""

from __future__ import annotations

import re
from functools import cache

import pandas as pd

from docs._ext.site_results import RESULTS, markdown, means_of, p_text
from raremetric.study.report import signed

PAPER_ROWS = {  # what the paper prints: mean F1 without resampling
    "paper, table": {"Euclidean": 67.3, "LMNN": 69.3, "ITML": 70.1, "GMML": 70.8, "IML": 72.1},
    "paper, text": {"Euclidean": 67.3, "LMNN": 70.8, "ITML": 70.1, "GMML": 69.3, "IML": 72.1},
}


def paper_means() -> str:
    """Table 2: our means, and both of the paper's."""
    names = list(PAPER_ROWS["paper, table"])
    ours = means_of("table2").mean()[names].to_dict()
    rows = [["", *names]]
    for title, row in {"here": ours, **PAPER_ROWS}.items():
        best = max(row, key=row.__getitem__)
        rows.append(
            [title, *(f"**{row[n]:.1f}**" if n == best else f"{row[n]:.1f}" for n in names)]
        )
    return markdown(rows)


@cache
def faithfulness() -> str:
    return (RESULTS / "faithfulness.md").read_text("utf-8")


def claim(about: str) -> str:
    """What our runs say about the claim of the paper that begins like this."""
    (found,) = re.findall(
        rf"^\| {re.escape(about)}[^|]*\|([^|]*)\|", faithfulness(), flags=re.MULTILINE
    )
    return found.strip()


def verdict_counts() -> dict[str, int]:
    """How many claims of the paper have each verdict."""
    counts = re.findall(r"^- \*\*([a-z ]+)\*\* \((\d+)\)", faithfulness(), flags=re.MULTILINE)
    return {name: int(n) for name, n in counts}


def verdicts() -> str:
    """How many claims of the paper hold, in part or not."""
    return ", ".join(f"**{name}**: {n}" for name, n in verdict_counts().items() if n)


def behind_plain() -> str:
    """The data sets of Table 2 on which IML does not gain a point over the Euclidean distance."""
    means = means_of("table2").round(1)
    gains = (means["IML"] - means["Euclidean"]).round(1).sort_values()
    return ", ".join(f"`{name}` ({signed(gain)})" for name, gain in gains[gains < 1].items())


def rivals() -> str:
    pairs = pd.read_csv(RESULTS / "rivals-tests.csv").set_index(["first", "second"])
    means = means_of("rivals").mean()
    rows = [["method", "mean F1", "lead of IML (SE)", ""]]
    for name in ("DMBK", "IterativeLMNN", "MLFP"):
        first = "IML" if ("IML", name) in pairs.index else name  # the better one comes first
        row = pairs.loc[first, name if first == "IML" else "IML"]
        lead = row.difference if first == "IML" else -row.difference
        gap = f"{signed(lead)} ({row.standard_error:.1f})"
        rows.append([f"`{name}`", f"{means[name]:.1f}", gap, p_text(row.holm)])
    return markdown(rows)


def gains_with_smote(learner: str) -> str:
    """As in "3.9 points (SE 1.8)"."""
    gain = means_of("table3-smote")[learner] - means_of("table2")[learner]
    return f"{gain.mean():.1f} points (SE {gain.sem():.1f})"
