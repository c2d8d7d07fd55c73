"""The values printed in the paper's Tables 1 to 3."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

from raremetric.study.report import Table, average_ranks, ranks_of

PRINTED_LEARNERS = ("Euclidean", "LMNN", "ITML", "GMML", "IML")
PAPER_SPLITS = 20
RESAMPLING_OF = {"table2": "none", "table3-smote": "smote", "table3-rus": "rus"}

# Learners with the same printed mean, the better one first. The paper ranked unrounded means.
# The order follows from its bold means and its printed average ranks, except for two cycles that
# do not change any average: Euclidean and LMNN in splice and sonar of Table 2; LMNN and GMML in
# balance, IML and LMNN in heart, GMML and IML in pima of Table 3 with under-sampling.
_EQUAL_MEANS: dict[str, dict[str, tuple[str, ...]]] = {
    "table2": {
        "splice": ("Euclidean", "LMNN"),
        "sonar": ("ITML", "GMML", "LMNN", "Euclidean"),
        "australian": ("ITML", "IML"),
        "heart": ("Euclidean", "ITML"),
        "wine": ("IML", "LMNN"),
        "abalone": ("IML", "Euclidean"),
        "yeast": ("IML", "GMML"),
    },
    "table3-smote": {
        "sonar": ("Euclidean", "ITML"),
        "heart": ("IML", "Euclidean"),
        "pima": ("Euclidean", "GMML"),
        "abalone": ("IML", "ITML"),
        "Mean": ("LMNN", "ITML"),
    },
    "table3-rus": {
        "balance": ("ITML", "IML", "LMNN", "GMML"),
        "heart": ("IML", "LMNN"),
        "pima": ("GMML", "IML"),
        "glass": ("LMNN", "Euclidean"),
        "hayes": ("IML", "Euclidean"),
        "abalone": ("ITML", "GMML"),
    },
}


class PaperDataset(NamedTuple):
    """A row of Table 1, as printed; `raremetric.datasets` describes what the files contain."""

    name: str
    n_samples: int
    n_features: int
    n_classes: int
    n_positive: int


class Score(NamedTuple):
    """Mean and population standard deviation over splits, in percent."""

    mean: float
    std: float


@dataclass(frozen=True)
class PaperTable:
    """Table 2, or one half of Table 3: F1 over 20 splits.

    Parameters
    ----------
    name : {"table2", "table3-smote", "table3-rus"}
    scores : dict
        (data set, learner) → `Score`.
    mean_row : dict
        Learner → `Score`, as printed: both columns averaged over the 22 data sets.
    average_ranks : dict
        Learner → average rank, as printed: over the 22 data sets and the Mean row.
    """

    name: str
    scores: dict[tuple[str, str], Score]
    mean_row: dict[str, Score]
    average_ranks: dict[str, float]

    def ranks(self, dataset: str, learners: Sequence[str] = PRINTED_LEARNERS) -> list[float]:
        """Rank some of the learners in one row of the table, or in "Mean", 1 for the best.

        There are no ties: equal printed means are ranked in the paper's own order.
        """
        order = _EQUAL_MEANS[self.name].get(dataset, ())

        def key(learner: str) -> tuple[float, int]:
            row = self.mean_row[learner] if dataset == "Mean" else self.scores[dataset, learner]
            return -row.mean, order.index(learner) if learner in order else 0

        best_first = sorted(learners, key=key)
        return [best_first.index(learner) + 1.0 for learner in learners]

    def has(self, datasets: Iterable[str], learner: str) -> bool:
        """Whether the paper has this learner on all of these data sets."""
        return all((dataset, learner) in self.scores for dataset in datasets)

    def mean_ranks(self, datasets: Sequence[str], learners: Sequence[str]) -> list[float]:
        """Rank learners by their means over some data sets; over all 22, by the printed ones."""
        if set(datasets) == set(paper_datasets()):
            return self.ranks("Mean", learners)
        return ranks_of([self.mean_over(datasets, each).mean for each in learners]).tolist()

    def mean_over(self, datasets: Iterable[str], learner: str) -> Score:
        """Average a learner's column over some data sets; over all 22, return the printed mean."""
        chosen = set(datasets)
        if chosen == set(paper_datasets()):
            return self.mean_row[learner]
        rows = [self.scores[dataset, learner] for dataset in chosen]
        # fmean does not depend on the order of the set.
        return Score(*map(fmean, zip(*rows, strict=True)))


@lru_cache(maxsize=1)
def paper_datasets() -> dict[str, PaperDataset]:
    """Table 1 by name, in the order of Table 2: from the most balanced to the least."""
    rows = {}
    for row in _read("table1"):
        name, n, d, c, _, n_positive, _ = row.values()
        rows[name] = PaperDataset(name, int(n), int(d), int(c), int(n_positive))
    order = [row["dataset"] for row in _read("table2") if row["dataset"] in rows]
    return {name: rows[name] for name in order}


@lru_cache(maxsize=3)
def paper_table(name: str) -> PaperTable:
    """Table 2 ("table2") or a half of Table 3 ("table3-smote", "table3-rus").

    Examples
    --------
    >>> from paper.printed import paper_table
    >>> paper_table("table2").scores["splice", "IML"]
    Score(mean=87.3, std=0.6)
    """
    rows = {row.pop("dataset"): row for row in _read(name)}
    ranks = rows.pop("Average Rank")
    scores = {
        (dataset, learner): Score(float(row[f"{learner}_mean"]), float(row[f"{learner}_std"]))
        for dataset, row in rows.items()
        for learner in PRINTED_LEARNERS
    }
    return PaperTable(
        name=name,
        mean_row={learner: scores.pop(("Mean", learner)) for learner in PRINTED_LEARNERS},
        average_ranks={learner: float(ranks[f"{learner}_mean"]) for learner in PRINTED_LEARNERS},
        scores=scores,
    )


def printed_for(table: Table) -> PaperTable | None:
    """The table of the paper that a table of ours can be compared with, if there is one."""
    study = table.study
    is_alike = (
        table.measure == "f1"
        and table.resampling == RESAMPLING_OF.get(study.name)
        and study.test_size is None
        and not table.by_share
        and not set(table.datasets).isdisjoint(paper_datasets())
        and not set(table.learners).isdisjoint(PRINTED_LEARNERS)
    )
    return paper_table(study.name) if is_alike else None


def printed_ranks(table: Table) -> dict[str, float] | None:
    """The paper's average ranks of the same learners over the same data sets and the Mean row.

    None if some of their scores were not printed.
    """
    datasets, learners, paper = list(table.complete().index), table.learners, printed_for(table)
    if not paper or not datasets or len(learners) < 2:
        return None
    if not all(paper.has(datasets, who) for who in learners):
        return None
    rows = [paper.ranks(name, learners) for name in datasets]
    rows.append(paper.mean_ranks(datasets, learners))
    return dict(zip(learners, map(fmean, zip(*rows, strict=True)), strict=True))


def own_ranks(table: Table) -> dict[str, float] | None:
    """Our average ranks over the data sets that all learners have finished and the Mean row."""
    if (ranks := average_ranks(table)) is None:
        return None
    n, of_means = len(table.complete()), ranks_of(table.complete().mean())
    return {
        who: (n * rank + own) / (n + 1)
        for (who, rank), own in zip(ranks.items(), of_means.tolist(), strict=True)
    }


def _read(name: str) -> list[dict[str, str]]:
    text = (Path(__file__).parent / "data" / f"{name}.csv").read_text("utf-8")
    return list(csv.DictReader(text.splitlines()))
