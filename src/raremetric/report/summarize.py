"""From the rows of a study to its tables: the report as data, before any of it is shown."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from raremetric.contenders import CONTENDERS
from raremetric.extras import import_optional
from raremetric.report.differences import find_differences
from raremetric.report.rows import check_rows, few_positives, with_scores
from raremetric.study.paper_values import TABLES, PaperTable, paper_datasets, paper_table
from raremetric.study.reading import GROUPS, named_study

if TYPE_CHECKING:
    from pandas import DataFrame

PAPER_LEARNERS = ("Euclidean", "LMNN", "ITML", "GMML", "IML", "ML2", "ML1", "IML-reference")
BEYOND = [
    name
    for kind in dict.fromkeys(each.kind for each in CONTENDERS.values())
    for name, each in CONTENDERS.items()
    if each.kind == kind and name not in PAPER_LEARNERS
]
RARE_REGIME = GROUPS["rare-regime"]
COMPARED = ("Euclidean", "IML")  # of the paper's learners, beyond the paper
LEARNER_ORDER = ("Euclidean", "LMNN", "ITML", "GMML", "ML1", "ML2", "IML", *BEYOND)
ABLATION = ("ML1", "ML2", "IML")
RESAMPLINGS = {
    "none": "without resampling",
    "smote": "with SMOTE",
    "rus": "with random under-sampling",
}
NUMBERS = {"none": "Table 2: ", "smote": "Table 3a: ", "rus": "Table 3b: "}
SCORES = {"f1": "F1", "average_precision": "average precision"}


@dataclass(frozen=True)
class Table:
    """One table of a study.

    Parameters
    ----------
    name : str
        The file it goes to, without ending.
    title : str
    resampling : str
    by_share : bool
        Whether its rows are variants of the data sets with a given share of the minority.
    learners, datasets : list of str
        Those with at least one finished task, in the paper's order.
    cells : DataFrame
        One row for each cell that has a finished task: dataset, share, learner, n_splits, mean,
        std, accuracy_mean, accuracy_std, paper_mean, paper_std; the last four NaN where absent.
    shared : DataFrame
        The same, but for the paper's values, over the splits that every learner has finished.
    paper : PaperTable or None
        What the paper prints; None where it prints nothing on these data sets and learners.
    score : {"f1", "average_precision"}
        What the means are of.
    few : list of str
        In the rare regime, the data sets with few positives to learn from.
    """

    name: str
    title: str
    resampling: str
    by_share: bool
    learners: list[str]
    datasets: list[str]
    cells: DataFrame
    shared: DataFrame
    paper: PaperTable | None
    score: str = "f1"
    few: list[str] = field(default_factory=list)

    @cached_property
    def shares(self) -> list[float]:
        """The shares of the minority, the largest first."""
        return sorted(self.cells["share"].dropna().unique().tolist(), reverse=True)

    @cached_property
    def n_splits(self) -> tuple[int, int]:
        """The smallest and the largest number of splits behind a cell."""
        return int(self.cells["n_splits"].min()), int(self.cells["n_splits"].max())

    def matrix(self, column: str = "mean", share: float | None = None) -> DataFrame:
        """Data sets × learners, NaN where no task is finished."""
        return self._wide(self.cells, column, share)

    def complete(self, column: str = "mean", share: float | None = None) -> DataFrame:
        """The data sets and splits that every learner has finished: means over them compare."""
        return self._wide(self.shared, column, share).dropna()

    def _wide(self, cells: DataFrame, column: str, share: float | None) -> DataFrame:
        chosen = cells if share is None else cells[cells["share"] == share]
        wide = chosen.pivot(index="dataset", columns="learner", values=column)
        return wide.reindex(index=self.datasets, columns=self.learners).astype(float)


@dataclass(frozen=True)
class Summary:
    """All that a report shows.

    Parameters
    ----------
    rows : DataFrame
        The finished tasks, sorted.
    tables : list of Table
    differences : DataFrame
        The cells that differ from the paper, see `find_differences`.
    effort : DataFrame
        learner, tasks, median_seconds, total_seconds.
    """

    rows: DataFrame
    tables: list[Table]
    differences: DataFrame
    effort: DataFrame


def summarize(rows: DataFrame) -> Summary:
    """Gather the tables of a study.

    Parameters
    ----------
    rows : DataFrame
        One row a finished task, see `raremetric.report.write_report`.

    Returns
    -------
    Summary
    """
    rows = check_rows(rows)
    scored = with_scores(rows)
    tables = [*_plain_tables(scored), *_share_tables(scored), *_own_size_tables(scored)]
    return Summary(
        rows=rows,
        tables=tables,
        differences=find_differences(tables),
        effort=_effort(rows),
    )


def _plain_tables(scored: DataFrame) -> Iterable[Table]:
    """For each resampling the paper's Table 2 or 3, and one beyond it where that was run."""
    plain = scored[scored["share"].isna() & scored["test_size"].isna()]
    for resampling, part in _by_resampling(plain):
        beyond = part["learner"].isin(BEYOND)
        others = part[~beyond]
        if not beyond.any() or set(others["learner"]) - set(COMPARED):
            name = TABLES.get(resampling, f"table-{slug(resampling)}")
            yield _table(name, "F1", resampling, others)
        if beyond.any():
            # The paper's learners on the same splits: they may have been run on more.
            splits = import_optional("pandas").MultiIndex.from_frame(part[["dataset", "split"]])
            same = part["learner"].isin(COMPARED) & splits.isin(splits[beyond])
            name = f"beyond{_suffix(resampling)}"
            yield _table(name, "F1 beyond the paper", resampling, part[beyond | same])


def _share_tables(scored: DataFrame) -> Iterable[Table]:
    """The third experiment, and the fourth where one of its two variants was run."""
    varied = scored[scored["share"].notna() & scored["test_size"].isna()]
    for resampling, part in _by_resampling(varied):
        suffix = _suffix(resampling)
        variants = part["learner"].isin(set(ABLATION) - {"IML"})
        others = part[~variants]
        if not variants.any() or set(others["learner"]) - {"IML"}:
            title = "F1 as the minority shrinks"
            yield _table(f"imbalance{suffix}", title, resampling, others)
        if variants.any():
            title = "Ablation: IML without its parts, as the minority shrinks"
            chosen = part[part["learner"].isin(ABLATION)]
            yield _table(f"ablation{suffix}", title, resampling, chosen)


def _own_size_tables(scored: DataFrame) -> Iterable[Table]:
    """Studies with a test size of their own: F1, and average precision where it is known."""
    for test_size, sized in scored[scored["test_size"].notna()].groupby("test_size"):
        for resampling, rows in _by_resampling(sized):
            for name, title, part in _regimes(rows, float(test_size)):
                few = few_positives(part) if name in RARE_REGIME else []
                name += _suffix(resampling)
                yield _table(name, f"F1 {title}", resampling, part, few=few)
                known = part[part["average_precision"].notna()]
                if not known.empty:
                    title = f"Average precision {title}"
                    score = "average_precision"
                    yield _table(f"{name}-precision", title, resampling, known, score, few)


def _regimes(rows: DataFrame, test_size: float) -> Iterable[tuple[str, str, DataFrame]]:
    """The rare regime at odd and at even places, and whatever else has that test size."""
    left = rows
    if test_size == 0.5:
        for name in RARE_REGIME:
            chosen = left["dataset"].isin(named_study(name).datasets)
            if chosen.any():
                places = name.rpartition("-")[2]
                yield name, f"in the rare regime, {places} places", left[chosen]
            left = left[~chosen]
    if not left.empty:
        percent = f"{100 * test_size:g}"
        yield f"test-size-{slug(percent)}", f"on {percent} % of each data set", left


def _suffix(resampling: str) -> str:
    return "" if resampling == "none" else f"-{slug(resampling)}"


def _by_resampling(rows: DataFrame) -> list[tuple[str, DataFrame]]:
    names = in_order(rows["resampling"].unique(), list(RESAMPLINGS))
    return [(name, rows[rows["resampling"] == name]) for name in names]


def in_order(names: Iterable[str], order: Iterable[str]) -> list[str]:
    """Names in a known order, those that it does not know behind it by the alphabet."""
    place = {name: number for number, name in enumerate(order)}
    return sorted(names, key=lambda name: (place.get(name, len(place)), name))


def slug(name: str) -> str:
    """A name that can be part of a file's name."""
    return re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-") or "unnamed"


def _table(
    name: str,
    title: str,
    resampling: str,
    part: DataFrame,
    score: str = "f1",
    few: Iterable[str] = (),
) -> Table:
    by_share = bool(part["share"].notna().any())
    as_in_paper = not (by_share or part["test_size"].notna().any())
    paper = paper_table(resampling) if as_in_paper and resampling in TABLES else None
    cells = _with_paper(_cells(part, score), paper)
    if cells["paper_mean"].isna().all():
        paper = None
    in_paper = name in TABLES.values()
    how = "" if not in_paper and resampling == "none" else _how(resampling)
    number = NUMBERS[resampling] if paper and in_paper else ""
    return Table(
        name=name,
        title=f"{number}{title}{how}",
        resampling=resampling,
        by_share=by_share,
        learners=in_order(cells["learner"].unique(), LEARNER_ORDER),
        datasets=in_order(cells["dataset"].unique(), paper_datasets()),
        cells=cells,
        shared=_cells(_of_all_learners(part), score),
        paper=paper,
        score=score,
        few=list(few),
    )


def _how(resampling: str) -> str:
    return " " + RESAMPLINGS.get(resampling, f"with {resampling}")


def _of_all_learners(part: DataFrame) -> DataFrame:
    """The rows of those splits of a data set that every learner has finished."""
    splits = part.groupby(["dataset", "share", "split"], dropna=False)
    return part[splits["learner"].transform("nunique") == part["learner"].nunique()]


def _cells(part: DataFrame, score: str) -> DataFrame:
    """Mean and population standard deviation over the splits of each cell, in percent."""
    groups = part.groupby(["dataset", "share", "learner"], dropna=False, sort=False)
    cells = groups.agg(
        n_splits=("split", "size"),
        mean=(score, "mean"),
        std=(score, _population_std),
        accuracy_mean=("accuracy", "mean"),
        accuracy_std=("accuracy", _population_std),
    ).reset_index()
    return _sorted_by(
        cells,
        dataset=in_order(cells["dataset"].unique(), paper_datasets()),
        share=sorted(cells["share"].unique(), reverse=True),
        learner=in_order(cells["learner"].unique(), LEARNER_ORDER),
    )


def _sorted_by(cells: DataFrame, **orders: list) -> DataFrame:
    places = cells[list(orders)].copy()
    for name, order in orders.items():
        places[name] = places[name].map({value: place for place, value in enumerate(order)})
    return cells.loc[places.sort_values(list(orders)).index].reset_index(drop=True)


def _population_std(values) -> float:
    return float(np.std(values.to_numpy()))


def _with_paper(cells: DataFrame, paper: PaperTable | None) -> DataFrame:
    known = paper.scores if paper else {}
    scores = [known.get(key) for key in zip(cells["dataset"], cells["learner"], strict=True)]
    return cells.assign(
        paper_mean=[score.mean if score else np.nan for score in scores],
        paper_std=[score.std if score else np.nan for score in scores],
    )


def _effort(rows: DataFrame) -> DataFrame:
    seconds = rows.groupby("learner")["seconds"]
    effort = seconds.agg(tasks="size", median_seconds="median", total_seconds="sum").reset_index()
    order = in_order(effort["learner"], LEARNER_ORDER)
    return effort.set_index("learner").loc[order].reset_index()
