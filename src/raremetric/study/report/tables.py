"""A table of a study: its scores, and the means over the splits that are computed from them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from operator import neg
from statistics import fmean
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import rankdata

from raremetric.datasets import describe_dataset
from raremetric.pages.page import MISSING
from raremetric.study.tasks import Study

MEASURE_NAMES = {"f1": "F1", "average_precision": "average precision"}
RESAMPLING_NAMES = {
    "none": "without resampling",
    "smote": "with SMOTE",
    "rus": "with random under-sampling",
}
FEW = 20  # a data set with fewer positives in the training part has few


@dataclass(frozen=True)
class Score:
    """Mean and population standard deviation over splits, in percent."""

    mean: float
    std: float


@dataclass(frozen=True, kw_only=True)
class Published:
    """Scores of some learners on some data sets that were published elsewhere.

    A subclass can return a mean or a rank as it was printed, where rounding changes it.

    Parameters
    ----------
    source : str
        Where they are from, as in "its difference from the paper".
    scores : dict
        (data set, learner) → `Score`, of F1.
    resampling : {"none", "smote", "rus"}, default="none"
        The table of a study that they belong to.
    note : str
        A sentence about them, to be shown below the table.
    """

    source: str
    scores: dict[tuple[str, str], Score]
    resampling: str = "none"
    note: str = ""

    @property
    def learners(self) -> list[str]:
        """The learners that have scores."""
        return list(dict.fromkeys(learner for _, learner in self.scores))

    def mean_over(self, datasets: Iterable[str], learner: str) -> Score:
        """Average a learner's scores over some data sets."""
        rows = [self.scores[dataset, learner] for dataset in set(datasets)]
        # fmean does not depend on the order of the set.
        return Score(mean=fmean(row.mean for row in rows), std=fmean(row.std for row in rows))

    def ranks(self, dataset: str, learners: Sequence[str]) -> list[float]:
        """Rank learners on a data set, 1 for the best."""
        return ranks_of([self.scores[dataset, learner].mean for learner in learners]).tolist()

    def mean_ranks(self, datasets: Sequence[str], learners: Sequence[str]) -> list[float]:
        """Rank learners by their means over some data sets, 1 for the best."""
        return ranks_of([self.mean_over(datasets, learner).mean for learner in learners]).tolist()


def ranks_of(scores: Any) -> NDArray[np.float64]:
    """Ranks in each row, 1 for the highest score. Rounding keeps equal means equal."""
    return rankdata(-np.round(scores, 9), axis=-1)


@dataclass(frozen=True)
class Table:
    """The table of one study, one resampling and one measure.

    Parameters
    ----------
    name : str
        Name of its files, without extension.
    study : Study
    resampling : str
    measure : {"f1", "average_precision"}
    scores : DataFrame
        One row per finished task: the columns of the results, f1, accuracy and other_code: whether
        the task was computed by other code than that of this version.
    published : Published or None
        Scores from elsewhere to compare with.
    """

    name: str
    study: Study
    resampling: str
    measure: str
    scores: pd.DataFrame
    published: Published | None = None

    @property
    def title(self) -> str:
        """The title of the study, with resampling and measure if the study has several."""
        title = self.study.title or self.study.name
        if len(self.study.resamplings) > 1:
            title += f", {self.resampling_name}"
        return f"{title} ({self.measure_name})" if len(self.study.measures) > 1 else title

    @property
    def resampling_name(self) -> str:
        """The resampling in words."""
        return RESAMPLING_NAMES[self.resampling]

    @property
    def measure_name(self) -> str:
        """The measure in words."""
        return MEASURE_NAMES[self.measure]

    @property
    def by_share(self) -> bool:
        """Whether the data sets are varied to given shares of the minority."""
        return any(share is not None for share in self.study.shares)

    @property
    def planned(self) -> int:
        """Number of splits of each cell when the study is complete."""
        return self.study.splits

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

        dataset, share, learner, n_splits, mean, std, accuracy_mean, accuracy_std,
        published_mean, published_std. The last two are NaN where no value was published.
        """
        cells = self._cells(self.scores)
        known = self.published.scores if self.published else {}
        keys = zip(cells["dataset"], cells["learner"], strict=True)
        scores = [known.get(key, Score(np.nan, np.nan)) for key in keys]
        return cells.assign(
            published_mean=[score.mean for score in scores],
            published_std=[score.std for score in scores],
        )

    @cached_property
    def shared(self) -> pd.DataFrame:
        """The same without published values, over the splits that every learner has finished."""
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

    def restricted(self, learners: Sequence[str]) -> Table:
        """The same table with some of its learners."""
        return replace(self, scores=self.scores[self.scores["learner"].isin(learners)])

    @cached_property
    def code(self) -> dict[str, pd.DataFrame]:
        """Fingerprint of the code → the tasks that it computed, the largest number first."""
        parts = self.scores.groupby("fingerprint")
        return dict(sorted(parts, key=lambda part: (-len(part[1]), part[0])))

    @property
    def n_splits(self) -> tuple[int, int]:
        """The smallest and the largest number of splits of a cell."""
        return int(self.cells["n_splits"].min()), int(self.cells["n_splits"].max())

    def complete(self, column: str = "mean", share: float | None = None) -> pd.DataFrame:
        """Data sets × learners, over the data sets and splits that every learner has finished."""
        cells = self.shared if share is None else self.shared[self.shared["share"] == share]
        wide = cells.pivot(index="dataset", columns="learner", values=column)
        return wide.reindex(index=self.datasets, columns=self.learners).astype(float).dropna()


def in_order(names: Iterable[str], order: Iterable[str]) -> list[str]:
    """Each name once, in a given order that contains all of them."""
    found = set(names)
    return [name for name in dict.fromkeys(order) if name in found]


def splits_text(counts: Iterable[float]) -> str:
    """The number of splits, or its range if it varies."""
    numbers = np.asarray(list(counts), dtype=float)
    numbers = numbers[~np.isnan(numbers)]
    if not len(numbers):
        return MISSING
    low, high = int(numbers.min()), int(numbers.max())
    return str(low) if low == high else f"{low}–{high}"


def progress_text(table: Table) -> str:
    """The number of splits of the cells, of how many: such as "20 of 20" or "0–12 of 20"."""
    counts = table.cells.pivot(index=["dataset", "share"], columns="learner", values="n_splits")
    return f"{splits_text(counts.fillna(0).to_numpy().ravel())} of {table.planned}"


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
