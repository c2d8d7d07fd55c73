"""From the rows of studies to tables of means: the content of a report, before formatting."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from raremetric.extras import import_optional
from raremetric.study.report.published import Published
from raremetric.study.report.rows import (
    check_rows,
    datasets_with_few_positives,
    sort_rows,
    with_scores,
)
from raremetric.study.tasks import Study, StudyResults

if TYPE_CHECKING:
    from pandas import DataFrame

MEASURE_NAMES = {"f1": "F1", "average_precision": "average precision"}
RESAMPLING_NAMES = {
    "none": "without resampling",
    "smote": "with SMOTE",
    "rus": "with random under-sampling",
}


@dataclass(frozen=True)
class Table:
    """The table of one study, one resampling and one measure.

    Parameters
    ----------
    name : str
        Name of its files, without extension.
    title : str
    resampling : str
    measure : {"f1", "average_precision"}
    by_share : bool
        Whether the data sets are varied to given shares of the minority.
    learners, datasets : list of str
        Those with at least one finished task, in the order of the study.
    scores : DataFrame
        One row per finished task: the columns of the results, f1 and accuracy.
    planned : int
        Number of splits of each cell when the study is complete.
    published : Published or None
        Scores from elsewhere to compare with.
    leader : str or None
        The learner whose lead over the others is reported.
    few : list of str
        The data sets with few positives to learn from, if the study reports them separately.
    """

    name: str
    title: str
    resampling: str
    measure: str
    by_share: bool
    learners: list[str]
    datasets: list[str]
    scores: DataFrame
    planned: int
    published: Published | None = None
    leader: str | None = None
    few: list[str] = field(default_factory=list)

    @property
    def measure_name(self) -> str:
        """The measure in words."""
        return MEASURE_NAMES[self.measure]

    @cached_property
    def cells(self) -> DataFrame:
        """One row per cell with a finished task, in the order of the table.

        dataset, share, learner, n_splits, mean, std, accuracy_mean, accuracy_std,
        published_mean, published_std. The last two are NaN where no value was published.
        """
        return _with_published(self._cells(self.scores), self.published)

    @cached_property
    def shared(self) -> DataFrame:
        """The same without published values, over the splits that every learner has finished."""
        splits = self.scores.groupby(["dataset", "share", "split"], dropna=False)
        n_learners = self.scores["learner"].nunique()
        return self._cells(self.scores[splits["learner"].transform("nunique") == n_learners])

    def _cells(self, part: DataFrame) -> DataFrame:
        """Mean and population standard deviation over the splits of each cell, in percent."""
        groups = part.groupby(["dataset", "share", "learner"], dropna=False, sort=False)
        cells = groups.agg(
            n_splits=("split", "size"),
            mean=(self.measure, "mean"),
            std=(self.measure, _population_std),
            accuracy_mean=("accuracy", "mean"),
            accuracy_std=("accuracy", _population_std),
        ).reset_index()
        order = cells.assign(
            dataset=cells["dataset"].map(self.datasets.index),
            share=-cells["share"],
            learner=cells["learner"].map(self.learners.index),
        ).sort_values(["dataset", "share", "learner"])
        return cells.loc[order.index].reset_index(drop=True)

    def restricted(self, learners: Sequence[str]) -> Table:
        """The same table with some of its learners."""
        kept = [name for name in self.learners if name in learners]
        scores = self.scores[self.scores["learner"].isin(kept)]
        datasets = in_order(scores["dataset"].unique(), self.datasets)
        return replace(self, learners=kept, datasets=datasets, scores=scores)

    @cached_property
    def shares(self) -> list[float]:
        """The shares of the minority, the largest first."""
        return sorted(self.cells["share"].dropna().unique().tolist(), reverse=True)

    @cached_property
    def code(self) -> dict[str, DataFrame]:
        """Fingerprint of the code → the tasks that it computed, the largest number first."""
        parts = self.scores.groupby("fingerprint")
        return dict(sorted(parts, key=lambda part: (-len(part[1]), part[0])))

    @cached_property
    def n_splits(self) -> tuple[int, int]:
        """The smallest and the largest number of splits of a cell."""
        return int(self.cells["n_splits"].min()), int(self.cells["n_splits"].max())

    def matrix(self, column: str = "mean", share: float | None = None) -> DataFrame:
        """Data sets × learners, NaN where no task is finished."""
        return self._wide(self.cells, column, share)

    def complete(self, column: str = "mean", share: float | None = None) -> DataFrame:
        """Data sets × learners, over the data sets and splits that every learner has finished."""
        return self._wide(self.shared, column, share).dropna()

    def _wide(self, cells: DataFrame, column: str, share: float | None) -> DataFrame:
        chosen = cells if share is None else cells[cells["share"] == share]
        wide = chosen.pivot(index="dataset", columns="learner", values=column)
        return wide.reindex(index=self.datasets, columns=self.learners).astype(float)


@dataclass(frozen=True)
class Summary:
    """The content of a report.

    Parameters
    ----------
    rows : DataFrame
        The finished tasks of all studies, each once, sorted.
    tables : list of Table
    effort : DataFrame
        learner, tasks, median_seconds, total_seconds.
    not_started : list of str
        Names of the studies without any finished task.
    """

    rows: DataFrame
    tables: list[Table]
    effort: DataFrame
    not_started: list[str]


def summarize(
    results: Sequence[StudyResults], published: Mapping[str, Published] | None = None
) -> Summary:
    """Compute the tables of studies.

    Parameters
    ----------
    results : sequence of StudyResults
        A task may belong to several studies.
    published : dict or None
        Name of a study → scores from elsewhere to compare its F1 with.

    Returns
    -------
    Summary

    Raises
    ------
    ValueError
        If no study has a finished task, or the rows are not those of a study.
    """
    started = [
        StudyResults(each.study, check_rows(each.rows)) for each in results if len(each.rows)
    ]
    if not started:
        raise ValueError(
            "There is no finished task to report: run `raremetric study run` with this store first."
        )
    together = import_optional("pandas").concat([each.rows for each in started])
    rows = sort_rows(together.drop_duplicates())
    return Summary(
        rows=rows,
        tables=[
            table
            for each in started
            for table in study_tables(each, (published or {}).get(each.study.name))
        ],
        effort=_effort(rows, [name for each in started for name in _learner_names(each.study)]),
        not_started=[each.study.name for each in results if not len(each.rows)],
    )


def study_tables(results: StudyResults, published: Published | None = None) -> Iterator[Table]:
    """One table per resampling and measure, if there are values of that measure."""
    study, scored = results.study, with_scores(results.rows)
    for resampling in in_order(scored["resampling"].unique(), study.resamplings):
        resampled = scored[scored["resampling"] == resampling]
        for measure in study.measures:
            part = resampled[resampled[measure].notna()]
            if not part.empty:
                known = published if published and published.resampling == resampling else None
                if measure != "f1" or _has_shares(study) or study.test_size is not None:
                    known = None  # another protocol
                yield _table(study, resampling, measure, part, known)


def _table(
    study: Study, resampling: str, measure: str, part: DataFrame, published: Published | None
) -> Table:
    by_share = _has_shares(study)
    learners = in_order(part["learner"].unique(), _learner_names(study))
    datasets = in_order(part["dataset"].unique(), study.datasets)
    known = {(dataset, learner) for dataset in datasets for learner in learners}
    return Table(
        name=_file_name(study, resampling, measure),
        title=_title(study, resampling, measure),
        resampling=resampling,
        measure=measure,
        by_share=by_share,
        learners=learners,
        datasets=datasets,
        scores=part,
        planned=study.splits,
        published=published if published and known & set(published.scores) else None,
        leader=study.leader,
        few=datasets_with_few_positives(part) if study.few_positives and not by_share else [],
    )


def _file_name(study: Study, resampling: str, measure: str) -> str:
    name = slug(study.name)
    if len(study.resamplings) > 1 and resampling != "none":
        name += f"-{slug(resampling)}"
    return f"{name}-precision" if measure == "average_precision" else name


def _title(study: Study, resampling: str, measure: str) -> str:
    """The title of the study, with resampling and measure if the study has several."""
    title = study.title or study.name
    if len(study.resamplings) > 1:
        title += f", {resampling_name(resampling)}"
    return f"{title} ({MEASURE_NAMES[measure]})" if len(study.measures) > 1 else title


def _has_shares(study: Study) -> bool:
    return any(share is not None for share in study.shares)


def _learner_names(study: Study) -> list[str]:
    return [learner.name for learner in study.learners]


def resampling_name(resampling: str) -> str:
    """A resampling in words."""
    return RESAMPLING_NAMES.get(resampling, f"with {resampling}")


def in_order(names: Iterable[str], order: Iterable[str]) -> list[str]:
    """Sort names by a given order; names that it does not contain follow alphabetically."""
    position = {name: number for number, name in enumerate(order)}
    return sorted(names, key=lambda name: (position.get(name, len(position)), name))


def slug(name: str) -> str:
    """Turn a name into a part of a file name."""
    return re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-") or "unnamed"


def _population_std(values) -> float:
    return float(np.std(values.to_numpy()))


def _with_published(cells: DataFrame, published: Published | None) -> DataFrame:
    known = published.scores if published else {}
    scores = [known.get(key) for key in zip(cells["dataset"], cells["learner"], strict=True)]
    return cells.assign(
        published_mean=[score.mean if score else np.nan for score in scores],
        published_std=[score.std if score else np.nan for score in scores],
    )


def _effort(rows: DataFrame, learners: Iterable[str]) -> DataFrame:
    seconds = rows.groupby("learner")["seconds"]
    effort = seconds.agg(tasks="size", median_seconds="median", total_seconds="sum")
    # A learner of several studies has its position in the first of them.
    order = in_order(effort.index, dict.fromkeys(learners))
    return effort.loc[order].reset_index()
