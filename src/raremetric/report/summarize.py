"""From the rows of a study to its tables: the report as data, before any of it is shown."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from raremetric.report.extras import need
from raremetric.report.rows import check_rows, with_scores
from raremetric.study.paper_values import TABLES, PaperTable, paper_datasets, paper_table

if TYPE_CHECKING:
    from pandas import DataFrame

LEARNER_ORDER = ("Euclidean", "LMNN", "ITML", "GMML", "ML1", "ML2", "IML")
ABLATION = ("ML1", "ML2", "IML")
RESAMPLINGS = {
    "none": "without resampling",
    "smote": "with SMOTE",
    "rus": "with random under-sampling",
}
NUMBERS = {"none": "Table 2: ", "smote": "Table 3a: ", "rus": "Table 3b: "}
HALF_A_DIGIT = 0.05  # the paper prints one decimal


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
    paper : PaperTable or None
        What the paper prints; None where it prints nothing on these data sets and learners.
    """

    name: str
    title: str
    resampling: str
    by_share: bool
    learners: list[str]
    datasets: list[str]
    cells: DataFrame
    paper: PaperTable | None

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
        cells = self.cells if share is None else self.cells[self.cells["share"] == share]
        wide = cells.pivot(index="dataset", columns="learner", values=column)
        return wide.reindex(index=self.datasets, columns=self.learners).astype(float)

    def complete(self, column: str = "mean", share: float | None = None) -> DataFrame:
        """The rows of `matrix` that every learner has finished: means over them compare."""
        return self.matrix(column, share).dropna()


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
    tables = [*_plain_tables(scored), *_share_tables(scored)]
    return Summary(
        rows=rows,
        tables=tables,
        differences=find_differences(tables),
        effort=_effort(rows),
    )


def _plain_tables(scored: DataFrame) -> Iterable[Table]:
    """One table for each kind of resampling: the paper's Tables 2 and 3."""
    for resampling, part in _by_resampling(scored[scored["share"].isna()]):
        yield _table(TABLES.get(resampling, f"table-{slug(resampling)}"), "F1", resampling, part)


def _share_tables(scored: DataFrame) -> Iterable[Table]:
    """The third experiment, and the fourth where one of its two variants was run."""
    for resampling, part in _by_resampling(scored[scored["share"].notna()]):
        suffix = "" if resampling == "none" else f"-{slug(resampling)}"
        variants = part["learner"].isin(set(ABLATION) - {"IML"})
        others = part[~variants]
        if not variants.any() or set(others["learner"]) - {"IML"}:
            title = "F1 as the minority shrinks"
            yield _table(f"imbalance{suffix}", title, resampling, others)
        if variants.any():
            title = "Ablation: IML without its parts, as the minority shrinks"
            chosen = part[part["learner"].isin(ABLATION)]
            yield _table(f"ablation{suffix}", title, resampling, chosen)


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


def _table(name: str, title: str, resampling: str, part: DataFrame) -> Table:
    by_share = bool(part["share"].notna().any())
    paper = None if by_share or resampling not in TABLES else paper_table(resampling)
    cells = _with_paper(_cells(part), paper)
    if cells["paper_mean"].isna().all():
        paper = None
    how = "" if by_share and resampling == "none" else _how(resampling)
    return Table(
        name=name,
        title=f"{NUMBERS[resampling] if paper else ''}{title}{how}",
        resampling=resampling,
        by_share=by_share,
        learners=in_order(cells["learner"].unique(), LEARNER_ORDER),
        datasets=in_order(cells["dataset"].unique(), paper_datasets()),
        cells=cells,
        paper=paper,
    )


def _how(resampling: str) -> str:
    return " " + RESAMPLINGS.get(resampling, f"with {resampling}")


def _cells(part: DataFrame) -> DataFrame:
    """Mean and population standard deviation over the splits of each cell, in percent."""
    groups = part.groupby(["dataset", "share", "learner"], dropna=False, sort=False)
    cells = groups.agg(
        n_splits=("split", "size"),
        mean=("f1", "mean"),
        std=("f1", _population_std),
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


def find_differences(tables: list[Table]) -> DataFrame:
    """The cells whose mean is more than two standard errors away from the paper's.

    The standard error is that of our mean, s / √n with the sample standard deviation s over n
    splits (so n ≥ 2); the paper's own error is not added. A difference within half a unit of the
    paper's printed decimal is none.

    Returns
    -------
    DataFrame
        table, dataset, learner, n_splits, mean, paper_mean, difference, standard_error,
        standard_errors (the difference counted in them), the largest first.
    """
    pandas = need("pandas")
    cells = pandas.concat([table.cells.assign(table=table.name) for table in tables])
    cells = cells[cells["paper_mean"].notna() & (cells["n_splits"] >= 2)]
    difference = cells["mean"] - cells["paper_mean"]
    # The population's deviation over √(n−1) is the sample's over √n.
    error = cells["std"] / np.sqrt(cells["n_splits"] - 1)
    found = cells.assign(
        difference=difference,
        standard_error=error,
        standard_errors=np.divide(
            difference.abs(), error, out=np.full(len(cells), np.inf), where=error > 0
        ),
    )[difference.abs() > np.maximum(2 * error, HALF_A_DIGIT)]
    columns = ["table", "dataset", "learner", "n_splits", "mean", "paper_mean"]
    columns += ["difference", "standard_error", "standard_errors"]
    order = found.sort_values("standard_errors", ascending=False, kind="stable")
    return order[columns].reset_index(drop=True)


def _effort(rows: DataFrame) -> DataFrame:
    seconds = rows.groupby("learner")["seconds"]
    effort = seconds.agg(tasks="size", median_seconds="median", total_seconds="sum").reset_index()
    order = in_order(effort["learner"], LEARNER_ORDER)
    return effort.set_index("learner").loc[order].reset_index()
