"""What our runs say about the paper's claims on Tables 1 to 3."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from pandas import DataFrame

from paper.cells import judge_cells, judge_means
from paper.printed import PRINTED_LEARNERS, paper_datasets, paper_table
from raremetric.datasets import describe_dataset
from raremetric.study.report import (
    Paired,
    Table,
    average_ranks,
    differences,
    paired,
    sets_text,
    signed,
)

HOLDS, NOISE, PART = "holds", "within the noise", "holds in part"
FAILS, NOT_RUN = "does not hold", "not run"
OTHERS = tuple(name for name in PRINTED_LEARNERS if name != "IML")
RIVALS = ("DMBK", "IterativeLMNN")  # named by the paper, not measured in it
TABLES = {"table2": "Table 2", "table3-smote": "Table 3a", "table3-rus": "Table 3b"}


class Finding(NamedTuple):
    """What our runs say about a claim."""

    ours: str
    verdict: str


class Runs:
    """The tables of the paper's experiments that have been run, by name.

    Parameters
    ----------
    tables : iterable of Table
    """

    def __init__(self, tables: Iterable[Table]):
        self.tables = {table.name: table for table in tables}

    def table(self, name: str, learners: Sequence[str] = PRINTED_LEARNERS) -> Table | None:
        """A table with exactly these learners; None if one of them has not been run."""
        table = self.tables.get(name)
        if table is None or not set(learners) <= set(table.learners):
            return None
        return table.restricted(learners)

    def means(self, name: str, learners: Sequence[str] = PRINTED_LEARNERS) -> DataFrame | None:
        """Data sets × learners: F1 over the splits that all of these learners have finished."""
        table = self.table(name, learners)
        return None if table is None or table.complete().empty else table.complete()


def lead_text(name: str, lead: Paired) -> str:
    """A mean difference with its standard error over data sets."""
    error = "" if lead.n_datasets < 2 else f" ± {lead.standard_error:.1f}"
    return f"{name} {signed(lead.difference)}{error}"


def verdict_of(leads: Iterable[Paired]) -> str:
    """Whether all differences are positive, and clearly so: by more than two standard errors."""
    known = list(leads)
    if all(lead.difference > 2 * lead.standard_error for lead in known):
        return HOLDS
    positive = [lead.difference > 0 for lead in known]
    return NOISE if all(positive) else PART if any(positive) else FAILS


def of_all(flags: Sequence[bool]) -> str:
    """Whether all parts of a claim hold, some of them or none."""
    return HOLDS if all(flags) else PART if any(flags) else FAILS


def _leads(means: DataFrame, first: str, others: Iterable[str]) -> dict[str, Paired]:
    return {name: paired(differences(means, first, name)) for name in others}


def _listed(leads: dict[str, Paired]) -> str:
    return ", ".join(lead_text(name, lead) for name, lead in leads.items())


def dataset_sizes(runs: Runs) -> Finding:
    """Table 1 beside the files."""
    wrong = []
    for name, paper in paper_datasets().items():
        ours = describe_dataset(name)
        pairs = {
            "examples": (ours.n_samples, paper.n_samples),
            "features": (ours.n_features, paper.n_features),
            "positives": (ours.n_positive, paper.n_positive),
        }
        unequal = [f"{a} {what} (paper: {b})" for what, (a, b) in pairs.items() if a != b]
        wrong += [f"{name}: {', '.join(unequal)}"] * bool(unequal)
    same = len(paper_datasets()) - len(wrong)
    text = f"{same} of {len(paper_datasets())} data sets agree. {'; '.join(wrong)}"
    return Finding(text, HOLDS if not wrong else PART)


def means_agree(runs: Runs, *, name: str, reading: str) -> Finding | None:
    """The Mean row of a table, under one reading of its headings."""
    if (table := runs.table(name)) is None:
        return None
    means = judge_means(judge_cells([table]))
    chosen = means[means["reading"].isin(["", reading])].sort_values("paper_mean", ascending=False)
    texts = [
        f"{row.learner} {row.mean:.1f} (paper: {row.paper_mean:.1f}; {row.verdict})"
        for row in chosen.itertuples()
    ]
    sets = int(chosen["n_datasets"].min())
    where = "" if sets == len(paper_datasets()) else f" Over {sets_text(sets)}."
    flags = [verdict in ("same", "close") for verdict in chosen["verdict"]]
    return Finding(", ".join(texts) + where, of_all(flags))


def best_mean(runs: Runs, *, name: str) -> Finding | None:
    """IML minus each other method of a table."""
    if (means := runs.means(name)) is None:
        return None
    leads = _leads(means, "IML", OTHERS)
    text = f"IML {means['IML'].mean():.1f}. Its lead over the others: {_listed(leads)}"
    return Finding(text, verdict_of(leads.values()))


def best_rank(runs: Runs, *, names: Sequence[str]) -> Finding | None:
    """Average ranks over the data sets and the Mean row."""
    tables = {name: runs.table(name) for name in names}
    ranks = {name: average_ranks(table) for name, table in tables.items() if table}
    texts, flags = [], []
    for name in names:
        if (found := ranks.get(name)) is None:
            return None
        order = sorted(found.with_mean_row.items(), key=lambda item: item[1])
        flags.append(order[0][0] == "IML")
        texts.append(f"{TABLES[name]}: " + ", ".join(f"{who} {rank:.2f}" for who, rank in order))
    return Finding("; ".join(texts), of_all(flags))


def best_when_balanced_and_not(runs: Runs) -> Finding | None:
    """IML's lead in the more and in the less balanced half of the data sets."""
    if (means := runs.means("table2")) is None:
        return None
    order = [name for name in paper_datasets() if name in means.index]  # the most balanced first
    parts = {"more balanced": order[: len(order) // 2], "less balanced": order[len(order) // 2 :]}
    texts: list[str] = []
    leads: list[Paired] = []
    for label, names in parts.items():
        if not names:
            return None
        found = _leads(means.loc[names], "IML", OTHERS)
        texts.append(f"{sets_text(len(names))}, {label}: {_listed(found)}")
        leads += found.values()
    return Finding("; ".join(texts), verdict_of(leads))


def neighbor_pairs_win(runs: Runs) -> Finding | None:
    """The methods with pairs of neighbors minus those with random pairs."""
    if (means := runs.means("table2")) is None:
        return None
    leads = {
        f"{first} minus {second}": paired(differences(means, first, second))
        for first in ("IML", "LMNN")
        for second in ("ITML", "GMML")
    }
    return Finding(_listed(leads), verdict_of(leads.values()))


def best_in_each_setting(runs: Runs) -> Finding | None:
    """The closest method behind IML, with and without resampling."""
    texts, leads = [], []
    for name, title in TABLES.items():
        if (means := runs.means(name)) is None:
            return None
        found = _leads(means, "IML", OTHERS)
        closest = min(found, key=lambda other: found[other].difference)
        texts.append(f"{title}: IML minus {lead_text(closest, found[closest])}")
        leads.append(found[closest])
    return Finding("; ".join(texts), verdict_of(leads))


def _printed_gains(name: str) -> str:
    """What the paper's own cells say about a gain, for each column as printed."""
    plain, resampled = paper_table("table2").scores, paper_table(name).scores
    names = list(paper_datasets())
    gains = {
        learner: paired(
            np.array([resampled[key, learner].mean - plain[key, learner].mean for key in names])
        )
        for learner in PRINTED_LEARNERS
    }
    return f"The paper's cells, as printed: {_listed(gains)}"


def _gains(runs: Runs, name: str) -> dict[str, Paired] | None:
    """F1 with resampling minus F1 without, over the splits that both have."""
    plain, resampled = runs.table("table2"), runs.table(name)
    if plain is None or resampled is None:
        return None
    keys = ["dataset", "split", "learner"]
    both = plain.scores.merge(resampled.scores, on=keys, suffixes=("", "_resampled"))
    if both.empty:
        return None
    gain = (both["f1_resampled"] - both["f1"]).groupby([both["learner"], both["dataset"]]).mean()
    return {learner: paired(gain[learner].to_numpy().round(6)) for learner in PRINTED_LEARNERS}


def smote_helps(runs: Runs) -> Finding | None:
    """Every method gains from SMOTE."""
    if (gains := _gains(runs, "table3-smote")) is None:
        return None
    text = f"With SMOTE minus without: {_listed(gains)}. {_printed_gains('table3-smote')}"
    return Finding(text, verdict_of(gains.values()))


def undersampling_does_not_help(runs: Runs) -> Finding | None:
    """No method gains clearly from under-sampling."""
    if (gains := _gains(runs, "table3-rus")) is None:
        return None
    flags = [not gain.difference > 2 * gain.standard_error for gain in gains.values()]
    text = f"With under-sampling minus without: {_listed(gains)}. {_printed_gains('table3-rus')}"
    return Finding(text, of_all(flags))


def smote_and_iml_add_up(runs: Runs) -> Finding | None:
    """IML with SMOTE against IML alone, and against SMOTE alone."""
    gains, means = _gains(runs, "table3-smote"), runs.means("table3-smote")
    if gains is None or means is None:
        return None
    leads = {
        "over IML alone": gains["IML"],
        "over SMOTE with the Euclidean distance": paired(differences(means, "IML", "Euclidean")),
    }
    return Finding(f"Lead of IML with SMOTE {_listed(leads)}", verdict_of(leads.values()))


def iml_beats_rivals(runs: Runs) -> Finding | None:
    """IML against the two earlier proposals that the paper names."""
    leads: dict[str, Paired] = {}
    for rival in RIVALS:
        if (means := runs.means("table2", ("IML", rival))) is None:
            return None
        leads |= _leads(means, "IML", [rival])
    return Finding(f"Lead of IML over {_listed(leads)}", verdict_of(leads.values()))
