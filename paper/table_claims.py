"""What our runs say about the paper's claims on Tables 1 to 3."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from pandas import DataFrame

from paper.cells import judge_cells, judge_means
from paper.printed import PRINTED_LEARNERS, own_ranks, paper_datasets, paper_table
from paper.verdicts import (
    FAILS,
    HOLDS,
    NON_INFERIORITY,
    NUMBERS,
    PART,
    SIGNED_RANK,
    Lead,
    all_differences,
    better,
    leads_of,
    listed,
    non_inferiority,
    not_worse,
    turned,
)
from raremetric.datasets import describe_dataset
from raremetric.study.report import Table, sets_text

OTHERS = tuple(name for name in PRINTED_LEARNERS if name != "IML")
RIVALS = ("DMBK", "IterativeLMNN")  # named by the paper, not measured in it
TABLES = {"table2": "Table 2", "table3-smote": "Table 3a", "table3-rus": "Table 3b"}
CELLS = "difference / error of the cells, see below"


def part_of(table: Table, learners: Sequence[str]) -> Table:
    """The same table with some of its learners."""
    return replace(table, scores=table.scores[table.scores["learner"].isin(learners)])


class Finding(NamedTuple):
    """What our runs say about a claim, and the test that the verdict follows from."""

    ours: str
    verdict: str
    test: str


class NotRunError(Exception):
    """Results that a claim is about are missing."""


class Runs:
    """The tables of the paper's experiments that have been run, by name."""

    def __init__(self, tables: Iterable[Table]):
        self.tables = {table.name: table for table in tables}
        self.families: dict[str, DataFrame] = {}  # of comparisons that were tested together

    def has(self, name: str, learners: Sequence[str] = PRINTED_LEARNERS) -> bool:
        """Whether a table has these learners."""
        return name in self.tables and set(learners) <= set(self.tables[name].learners)

    def table(self, name: str, learners: Sequence[str] = PRINTED_LEARNERS) -> Table:
        """A table with exactly these learners."""
        if not self.has(name, learners):
            raise NotRunError
        return part_of(self.tables[name], learners)

    def means(self, name: str, learners: Sequence[str] = PRINTED_LEARNERS) -> DataFrame:
        """Data sets × learners: F1 over the splits that all of these learners have finished."""
        means = self.table(name, learners).complete()
        if means.empty:
            raise NotRunError
        return means

    def leads(self, family: str, comparisons: DataFrame) -> dict[str, Lead]:
        """Test a family of comparisons: a frame of differences, data sets × comparisons."""
        self.families[family] = comparisons
        return leads_of(comparisons)

    def leads_of_iml(self, family: str, means: DataFrame) -> dict[str, Lead]:
        """IML minus each other method, tested together with all other pairs of the methods."""
        leads = self.leads(family, all_differences(means))
        return {name: leads[f"IML minus {name}"] for name in means if name != "IML"}


def of_all(flags: Sequence[bool]) -> str:
    """Whether all parts of a claim hold, some of them or none."""
    return HOLDS if all(flags) else PART if any(flags) else FAILS


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
    return Finding(text, HOLDS if not wrong else PART, NUMBERS)


def means_agree(runs: Runs, *, name: str, reading: str) -> Finding:
    """The Mean row of a table, under one reading of its headings."""
    means = judge_means(judge_cells([runs.table(name)]))
    chosen = means[means["reading"].isin(["", reading])].sort_values("paper_mean", ascending=False)
    texts = [
        f"{row.learner} {row.mean:.1f} (paper: {row.paper_mean:.1f}; {row.verdict})"
        for row in chosen.itertuples()
    ]
    sets = int(chosen["n_datasets"].min())
    where = "" if sets == len(paper_datasets()) else f" Over {sets_text(sets)}."
    flags = [verdict in ("same", "close") for verdict in chosen["verdict"]]
    return Finding(", ".join(texts) + where, of_all(flags), CELLS)


def best_mean(runs: Runs, *, names: Sequence[str]) -> Finding:
    """IML minus each other method of one table or several."""
    texts: list[str] = []
    leads: list[Lead] = []
    for name in names:
        means = runs.means(name)
        found = runs.leads_of_iml(TABLES[name], means)
        texts.append(f"{TABLES[name]}: IML {means['IML'].mean():.1f}, minus {listed(found)}")
        leads += found.values()
    return Finding("; ".join(texts), better(leads), SIGNED_RANK)


def best_rank(runs: Runs, *, names: Sequence[str]) -> Finding:
    """Average ranks over the data sets and the Mean row."""
    texts, flags = [], []
    for name in names:
        if (found := own_ranks(runs.table(name))) is None:
            raise NotRunError
        order = sorted(found.items(), key=lambda item: item[1])
        flags.append(order[0][0] == "IML")
        texts.append(f"{TABLES[name]}: " + ", ".join(f"{who} {rank:.2f}" for who, rank in order))
    return Finding("; ".join(texts), of_all(flags), NUMBERS)


def best_when_balanced_and_not(runs: Runs) -> Finding:
    """IML's lead in the more and in the less balanced half of the data sets."""
    means = runs.means("table2")
    order = [name for name in paper_datasets() if name in means.index]  # the most balanced first
    parts = {"more balanced": order[: len(order) // 2], "less balanced": order[len(order) // 2 :]}
    texts: list[str] = []
    leads: list[Lead] = []
    for label, names in parts.items():
        if not names:
            raise NotRunError
        found = runs.leads_of_iml(f"Table 2, {label}", means.loc[names])
        texts.append(f"{sets_text(len(names))}, {label}: IML minus {listed(found)}")
        leads += found.values()
    return Finding("; ".join(texts), better(leads), SIGNED_RANK)


def neighbor_pairs_win(runs: Runs) -> Finding:
    """The methods with pairs of neighbors minus those with random pairs."""
    means = runs.means("table2")
    leads = runs.leads(TABLES["table2"], all_differences(means))
    names = [f"{first} minus {second}" for first in ("IML", "LMNN") for second in ("ITML", "GMML")]
    chosen = {name: leads[name] for name in names}
    return Finding(listed(chosen), better(chosen.values()), SIGNED_RANK)


def _printed_gains(name: str) -> dict[str, Lead]:
    """What the paper's own cells say about a gain, for each column as printed."""
    plain, resampled = paper_table("table2").scores, paper_table(name).scores
    gains = {
        learner: {
            key: resampled[key, learner].mean - plain[key, learner].mean for key in paper_datasets()
        }
        for learner in PRINTED_LEARNERS
    }
    return leads_of(DataFrame(gains).round(6))


def _gains(runs: Runs, name: str) -> dict[str, Lead]:
    """F1 with resampling minus F1 without, over the splits that both have."""
    plain, resampled = runs.table("table2"), runs.table(name)
    keys = ["dataset", "split", "learner"]
    both = plain.scores.merge(resampled.scores, on=keys, suffixes=("", "_resampled"))
    if both.empty:
        raise NotRunError
    gain = (both["f1_resampled"] - both["f1"]).groupby([both["dataset"], both["learner"]]).mean()
    wide = gain.unstack()[[*PRINTED_LEARNERS]].dropna().round(6)
    return runs.leads(f"{TABLES[name]} minus Table 2", wide)


def smote_helps(runs: Runs) -> Finding:
    """Every method gains from SMOTE."""
    gains = _gains(runs, "table3-smote")
    text = f"With SMOTE minus without: {listed(gains)}. The paper's cells, as printed: "
    text += listed(_printed_gains("table3-smote"))
    return Finding(text, better(gains.values()), SIGNED_RANK)


def undersampling_does_not_help(runs: Runs) -> Finding:
    """No method gains a point or more from under-sampling."""
    losses, printed = (
        {name: turned(gain) for name, gain in each.items()}
        for each in (_gains(runs, "table3-rus"), _printed_gains("table3-rus"))
    )
    text = (
        f"Without under-sampling minus with: {listed(losses, non_inferiority)}. The paper's cells, "
    )
    text += f"as printed: {listed(printed, non_inferiority)}"
    return Finding(text, not_worse(losses.values()), NON_INFERIORITY)


def smote_and_iml_add_up(runs: Runs) -> Finding:
    """IML with SMOTE against IML alone, and against SMOTE alone."""
    gains, means = _gains(runs, "table3-smote"), runs.means("table3-smote")
    leads = {
        "over IML alone": gains["IML"],
        "over SMOTE with the Euclidean distance": runs.leads_of_iml("Table 3a", means)["Euclidean"],
    }
    return Finding(f"Lead of IML with SMOTE {listed(leads)}", better(leads.values()), SIGNED_RANK)


def iml_beats_rivals(runs: Runs) -> Finding:
    """IML against the two earlier proposals that the paper names."""
    if not runs.has("rivals", RIVALS):
        raise NotRunError
    found = runs.leads_of_iml("Methods beyond the paper", runs.tables["rivals"].complete())
    leads = {name: found[name] for name in RIVALS}
    return Finding(f"IML minus {listed(leads)}", better(leads.values()), SIGNED_RANK)
