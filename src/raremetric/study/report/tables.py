"""From the rows of studies to tables of means: the content of a report, before formatting."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import neg
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import rankdata

from raremetric.datasets import describe_dataset
from raremetric.pages import MISSING
from raremetric.study.protocol import package_fingerprint
from raremetric.study.tasks import COUNTS, MEASURED, MEASURES, REPORTED, Study, StudyResults

RESAMPLING_NAMES = {
    "none": "without resampling",
    "smote": "with SMOTE",
    "rus": "with random under-sampling",
}
KEY = ["dataset", "share", "test_size", "resampling", "split", "learner"]  # of a row
FEW = 20  # a data set with fewer positives in the training part has few


def ranks_of(scores: Any) -> NDArray[np.float64]:
    """Ranks in each row, 1 for the highest score. Rounding keeps equal means equal."""
    return rankdata(-np.round(scores, 9), axis=-1)


@dataclass(frozen=True)
class Table:
    """The table of one study, one resampling and one measure."""

    name: str  # of its files, without extension
    study: Study
    resampling: str
    measure: str  # a key of MEASURES
    scores: pd.DataFrame  # one row per finished task: `REPORTED`, f1, accuracy, neg_log_loss

    @property
    def title(self) -> str:
        """The title of the study, with resampling and measure if the study has several."""
        title = self.study.title or self.study.name
        if len(self.study.resampling) > 1:
            title += f", {RESAMPLING_NAMES[self.resampling]}"
        return f"{title} ({self.measure_name})" if len(self.study.measures) > 1 else title

    @property
    def measure_name(self) -> str:
        """The measure in words."""
        return MEASURES[self.measure].name

    @property
    def by_share(self) -> bool:
        """Whether the data sets are varied to given shares of the minority."""
        return any(share is not None for share in self.study.shares)

    @cached_property
    def learners(self) -> list[str]:
        """The learners with at least one finished task, in the order of the study."""
        return in_order(self.scores["learner"], [spec.name for spec in self.study.learners])

    @cached_property
    def datasets(self) -> list[str]:
        """The data sets with at least one finished task, in the order of the study."""
        return in_order(self.scores["dataset"], self.study.datasets)

    @cached_property
    def shares(self) -> list[float]:
        """The shares of the minority, the largest first."""
        return sorted(self.scores["share"].dropna().unique().tolist(), reverse=True)

    @cached_property
    def few(self) -> list[str]:
        """The data sets with few positives to learn from, if the study reports them separately."""
        if self.by_share or not self.study.few_positives:
            return []
        positives = self.scores["tp"] + self.scores["fn"]
        tested = positives.groupby(self.scores["dataset"]).mean()
        return [name for name, n in tested.items() if describe_dataset(name).n_positive - n < FEW]

    @cached_property
    def cells(self) -> pd.DataFrame:
        """One row per cell with a finished task, in the order of the table.

        dataset, share, learner, n_splits, mean, std, accuracy_mean, accuracy_std.
        """
        return self._cells(self.scores)

    @cached_property
    def shared(self) -> pd.DataFrame:
        """The same over the splits that every learner has finished."""
        splits = self.scores.groupby(["dataset", "share", "split"], dropna=False)
        is_whole = splits["learner"].transform("nunique") == len(self.learners)
        return self._cells(self.scores[is_whole])

    def _cells(self, part: pd.DataFrame) -> pd.DataFrame:
        """Mean and population standard deviation over the splits of each cell, in percent."""

        def std(values: pd.Series) -> float:
            return float(np.std(values.to_numpy()))

        cells = part.groupby(["dataset", "share", "learner"], dropna=False, sort=False).agg(
            n_splits=("split", "size"),
            mean=(self.measure, "mean"),
            std=(self.measure, std),
            accuracy_mean=("accuracy", "mean"),
            accuracy_std=("accuracy", std),
        )
        place = {"dataset": self.datasets.index, "share": neg, "learner": self.learners.index}
        return cells.reset_index().sort_values(
            [*place], key=lambda column: column.map(place[column.name]), ignore_index=True
        )

    @cached_property
    def code(self) -> dict[str, pd.DataFrame]:
        """Fingerprint of the code → the tasks that it computed, the largest number first."""
        parts = self.scores.groupby("fingerprint")
        return dict(sorted(parts, key=lambda part: (-len(part[1]), part[0])))

    @property
    def n_of_other_code(self) -> int:
        """The number of tasks that are known to be computed by other code than this version."""
        code = self.scores["fingerprint"].str.partition("+")[0]  # without that of a user's class
        return int(((code != "") & (code != package_fingerprint())).sum())

    @property
    def n_splits(self) -> tuple[int, int]:
        """The smallest and the largest number of splits of a cell."""
        return int(self.cells["n_splits"].min()), int(self.cells["n_splits"].max())

    def complete(self, column: str = "mean", share: float | None = None) -> pd.DataFrame:
        """Data sets × learners, over the data sets and splits that every learner has finished."""
        cells = self.shared if share is None else self.shared[self.shared["share"] == share]
        wide = cells.pivot(index="dataset", columns="learner", values=column)
        return wide.reindex(index=self.datasets, columns=self.learners).astype(float).dropna()


class Summary(NamedTuple):
    """The content of a report."""

    rows: pd.DataFrame  # the finished tasks of all studies, each once, sorted
    tables: list[Table]
    effort: pd.DataFrame  # learner, tasks, total_seconds, and median_… of each time
    not_started: list[str]  # names of the studies without any finished task


def summarize(results: Sequence[StudyResults]) -> Summary:
    """Compute the tables of studies."""
    started = [(each.study, check_rows(each.rows)) for each in results if len(each.rows)]
    if not started:
        raise ValueError(
            "There is no finished task to report: run `raremetric study run` with this store first."
        )
    together = sort_rows(pd.concat([rows for _, rows in started]).drop_duplicates())
    learners = [spec.name for study, _ in started for spec in study.learners]
    tasks = together.groupby("learner")
    effort = tasks[["seconds", *MEASURED[1:]]].median().add_prefix("median_")
    effort = effort.assign(tasks=tasks.size(), total_seconds=tasks["seconds"].sum())
    return Summary(
        rows=together,
        tables=[table for study, rows in started for table in study_tables(study, rows)],
        effort=effort.loc[in_order(effort.index, learners)].reset_index(),
        not_started=[each.study.name for each in results if not len(each.rows)],
    )


def check_rows(rows: pd.DataFrame) -> pd.DataFrame:
    """The columns `REPORTED` of the rows of a study with their types, sorted by task.

    Average precision, size of the test part, fingerprint and `MEASURED` may be missing or empty.
    """
    numbers = ["share", "test_size", "average_precision", *MEASURED]
    types = dict.fromkeys([*numbers, "seconds"], float) | dict.fromkeys(["split", *COUNTS], int)
    rows = rows.reindex(columns=[*REPORTED]).astype(types)
    rows[numbers] = rows[numbers].round(6)
    rows["fingerprint"] = rows["fingerprint"].fillna("").astype(str)
    return sort_rows(rows)


def sort_rows(rows: pd.DataFrame) -> pd.DataFrame:
    """Sort rows by task: the same tasks give the same frame, in whatever order they were run."""
    return rows.sort_values(KEY, na_position="first", kind="stable", ignore_index=True)


def with_scores(rows: pd.DataFrame) -> pd.DataFrame:
    """Add the measures and `accuracy`, all times 100.

    F1 = tp / (tp + (fp + fn) / 2), and 0 if there are no true positives.
    """
    errors = rows["fp"] + rows["fn"]
    f1 = (rows["tp"] / (rows["tp"] + errors / 2)).where(rows["tp"] > 0, 0.0)
    accuracy = (rows["tp"] + rows["tn"]) / rows[[*COUNTS]].sum(axis=1)
    ap, loss = rows["average_precision"], rows["log_loss"]
    return rows.assign(
        f1=100 * f1, accuracy=100 * accuracy, average_precision=100 * ap, neg_log_loss=-100 * loss
    )


def study_tables(study: Study, rows: pd.DataFrame) -> Iterator[Table]:
    """One table per resampling and measure, if there are values of that measure."""
    scored = with_scores(rows)
    for resampling in in_order(scored["resampling"], study.resampling):
        for measure in study.measures:
            part = scored[(scored["resampling"] == resampling) & scored[measure].notna()]
            if not part.empty:
                name = slug(study.name)
                if len(study.resampling) > 1 and resampling != "none":
                    name += f"-{resampling}"
                name += MEASURES[measure].ending
                yield Table(name, study, resampling, measure, part)


def in_order(names: Iterable[str], order: Iterable[str]) -> list[str]:
    """Each name once, in a given order that contains all of them."""
    found = set(names)
    return [name for name in dict.fromkeys(order) if name in found]


def splits_text(counts: Iterable[float]) -> str:
    """The number of splits, or its range if it varies."""
    numbers = pd.Series(counts, dtype=float).dropna()
    if numbers.empty:
        return MISSING
    low, high = int(numbers.min()), int(numbers.max())
    return str(low) if low == high else f"{low}–{high}"


def progress_text(table: Table) -> str:
    """The number of splits of the cells, of how many: such as "20 of 20" or "0–12 of 20"."""
    counts = table.cells.pivot(index=["dataset", "share"], columns="learner", values="n_splits")
    return f"{splits_text(counts.fillna(0).to_numpy().ravel())} of {table.study.splits}"


def code_text(table: Table) -> str:
    """The fingerprint of the code, or all of them with the numbers of tasks."""
    names = {name or "unknown": part for name, part in table.code.items()}
    if len(names) == 1:
        return next(iter(names))
    texts = []
    for name, part in names.items():
        learners = in_order(part["learner"], table.learners)
        whose = "" if len(learners) == len(table.learners) else f" of {', '.join(learners)}"
        count = f"{len(part)} task{'s' * (len(part) != 1)}"
        texts.append(f"{name} ({count}{whose})")
    return f"{len(names)} fingerprints: {', '.join(texts)}"


def slug(name: str) -> str:
    """Turn a name into a part of a file name."""
    return re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-") or "unnamed"


def signed(number: float) -> str:
    """A number with one decimal and a sign, except for zero."""
    text = f"{abs(number):.1f}"
    if float(text) == 0:
        return text
    return ("+" if number > 0 else "−") + text


def sets_text(number: int) -> str:
    """A number of data sets in words."""
    return f"{number} data set{'s' * (number != 1)}"
