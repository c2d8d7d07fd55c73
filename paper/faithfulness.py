"""The page "How faithful is this?": the paper's claims, cells and figures beside ours."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import jinja2
from pandas import DataFrame, concat

from paper.cells import AS_PRINTED, EXCHANGED, PARTNER, VERDICTS, verdicts_grid
from paper.claims import CLAIMS
from paper.printed import (
    PRINTED_LEARNERS,
    RESAMPLING_OF,
    own_ranks,
    paper_datasets,
    printed_for,
    printed_ranks,
)
from paper.share_claims import FIGURE_DATASET, VARIANTS
from paper.table_claims import OTHERS, TABLES, Runs, part_of
from paper.verdicts import FAILS, HOLDS, NOT_RUN, OPEN, PART
from raremetric.pages import (
    Cell,
    Figure,
    Grid,
    add_legend,
    name_cell,
    new_figure,
    save,
    to_markdown,
)
from raremetric.study.report import (
    Table,
    draw_curves,
    draw_means,
    origin_grid,
    progress_text,
    share_cell,
    signed,
    splits_text,
)

EXPERIMENTS = (*RESAMPLING_OF, "imbalance", "ablation")  # names of their studies
VERDICT_MEANINGS = {
    HOLDS: "the named test shows the claim at the 5 % level; where there is no test, our numbers "
    "agree",
    OPEN: "neither the claim nor the contrary is shown",
    PART: "some parts of the claim hold, and others are not shown or do not",
    FAILS: "the contrary is shown; where there is no test, our numbers are different",
    NOT_RUN: "the results are missing",
}


def is_reproduction(tables: Sequence[Table]) -> bool:
    """Whether the tables contain an experiment of the paper with at least two of its methods."""
    known = {*PRINTED_LEARNERS, *VARIANTS}
    return any(
        table.name in EXPERIMENTS and len(known & set(table.learners)) > 1 for table in tables
    )


def faithfulness_page(
    tables: Sequence[Table], cells: DataFrame | None
) -> tuple[str, DataFrame | None, list[Figure]]:
    """The page as Markdown, the differences that were tested, and its own figures.

    Parameters
    ----------
    tables : sequence of Table
        All tables of the report. Only those of the paper's experiments are used.
    cells : DataFrame or None
        The result of `judge_cells`, if there are cells to compare.

    Returns
    -------
    page : str
    differences : DataFrame or None
        family, comparison, dataset and difference, in points; None if nothing was tested.
    figures : list of Figure
        Those that only this page needs.
    """
    papers = [table for table in tables if table.name in EXPERIMENTS]
    runs = Runs([table for table in tables if table.name in (*EXPERIMENTS, "rivals")])
    findings = [(claim, claim.check(runs)) for claim in CLAIMS]
    counts = Counter(finding.verdict for _, finding in findings)
    numbered = _numbered_figures(runs)
    page = _template().render(
        origin=to_markdown(replace(origin_grid(papers), caption="")),
        complete=is_complete(papers),
        one_code=len({name for table in papers for name in table.code}) == 1,
        findings=findings,
        verdicts=[(name, counts[name], text) for name, text in VERDICT_MEANINGS.items()],
        families={name: len(family.columns) for name, family in runs.families.items()},
        cells="" if cells is None else to_markdown(replace(verdicts_grid(cells), caption="")),
        exchanged={} if cells is None else _exchanged_counts(cells),
        far="" if cells is None else to_markdown(far_grid(cells)),
        beside=[to_markdown(grid) for grid in beside_grids(runs)],
        figures={number: figure.name for number, figure in numbered.items()},
    )
    own = [figure for number, figure in numbered.items() if number in (1, 3)]
    return page, tested_differences(runs), own


def tested_differences(runs: Runs) -> DataFrame | None:
    """From which all p-values of the claims can be computed."""
    parts = [
        family.rename_axis("dataset")
        .reset_index()
        .melt("dataset", None, "comparison", "difference")
        .assign(family=name)
        for name, family in runs.families.items()
    ]
    return concat(parts)[["family", "comparison", "dataset", "difference"]] if parts else None


def _template() -> jinja2.Template:
    environment = jinja2.Environment(
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    return environment.from_string(Path(__file__).with_suffix(".md").read_text("utf-8"))


def _numbered_figures(runs: Runs) -> dict[int, Figure]:
    """Our counterparts of the paper's figures, as far as they have been run."""
    found = {}
    if runs.has("imbalance", OTHERS):
        others = runs.table("imbalance", OTHERS)
        if FIGURE_DATASET in others.datasets:
            found[1] = draw_dataset(replace(others, name="imbalance-others"))
    if runs.has("imbalance"):
        found[4] = draw_means(runs.table("imbalance"))
        if FIGURE_DATASET in runs.table("imbalance").datasets:
            found[3] = draw_dataset(runs.table("imbalance"))
    if runs.has("ablation", VARIANTS):
        found[5] = draw_means(runs.table("ablation", VARIANTS))
    return found


def draw_dataset(table: Table) -> Figure:
    """Draw accuracy and F1 on the data set of Figures 1 and 3 against the share of the minority."""
    cells = table.cells[table.cells["dataset"] == FIGURE_DATASET]
    shares = sorted(cells["share"].unique(), reverse=True)
    splits = splits_text(cells["n_splits"])
    labels = {"accuracy_mean": "Accuracy (%)", "mean": "F1 (%)"}
    with new_figure((9.0, 3.8), n_axes=2) as (figure, axes):
        for ax, (column, label) in zip(axes, labels.items(), strict=True):
            wide = cells.pivot(index="share", columns="learner", values=column)
            wide = wide.reindex(index=shares, columns=table.learners)
            draw_curves(ax, wide, [share_cell(share).text for share in shares])
            ax.set(xlabel="Share of the minority", ylabel=label)
        add_legend(figure, axes[0].get_lines(), table.learners)
        figure.suptitle(f"{FIGURE_DATASET}; splits: {splits}", fontsize=11)
        caption = (
            f"Accuracy and F1 on {FIGURE_DATASET} as the minority shrinks. Number of splits: "
            f"{splits}."
        )
        return save(figure, f"{table.name}-{FIGURE_DATASET}", caption)


def is_complete(tables: Sequence[Table]) -> bool:
    """Whether the paper's methods have all splits of all data sets."""
    tables = [part_of(table, (*PRINTED_LEARNERS, *VARIANTS)) for table in tables]
    return (
        {table.name for table in tables} == set(EXPERIMENTS)
        and all(set(table.datasets) == set(paper_datasets()) for table in tables)
        and all(
            progress_text(table) == f"{table.study.splits} of {table.study.splits}"
            for table in tables
        )
    )


def _exchanged_counts(cells: DataFrame) -> dict[str, dict[str, int]]:
    """Title of a table → how many cells of LMNN and GMML are not close, for each reading."""
    both = cells[cells["reading"] != ""]
    return {
        TABLES[name]: {
            "cells": len(part) // 2,
            **(~part["verdict"].isin(VERDICTS[:2])).groupby(part["reading"]).sum().to_dict(),
        }
        for name, part in both.groupby("table", sort=False)
    }


def far_grid(cells: DataFrame) -> Grid:
    """The cells that are not close to the paper's, with the headings exchanged."""
    chosen = cells[cells["reading"] != AS_PRINTED]
    chosen = chosen[~chosen["verdict"].isin(VERDICTS[:2])]
    order = chosen["standard_errors"].abs().sort_values(ascending=False, kind="stable").index
    rows = [
        [
            *map(name_cell, (TABLES[cell.table], cell.dataset, cell.learner)),
            Cell(str(cell.n_splits), cell.n_splits),
            Cell(f"{cell.mean:.1f}", cell.mean),
            Cell(f"{cell.paper_mean:.1f}", cell.paper_mean),
            Cell(signed(cell.standard_errors), abs(cell.standard_errors)),
            name_cell(cell.verdict),
        ]
        for cell in chosen.loc[order].itertuples()
    ]
    header = ["Table", "Data set", "Method", "Splits", "Ours", "Paper", "Difference / error"]
    caption = "Cells that are not close to the paper's, with LMNN and GMML exchanged"
    return Grid(caption, [*header, "Verdict"], rows)


def beside_grids(runs: Runs) -> list[Grid]:
    """Means and average ranks beside the paper's, under both readings of the headings."""
    means, ranks = [], []
    for name, title in TABLES.items():
        if not runs.has(name):
            continue
        table = runs.table(name)
        paper = printed_for(table)
        if paper is None or table.complete().empty:
            continue
        own, papers = own_ranks(table), printed_ranks(table)
        if own and papers:
            ranks += _readings(title, own, papers, "{:.2f}")
        over = table.complete()
        printed = {name: paper.mean_over(over.index, name).mean for name in over}
        means += _readings(title, over.mean().to_dict(), printed, "{:.1f}")
    header = ["Table", "Whose", *PRINTED_LEARNERS]
    note = (
        "Over the data sets that all five methods have finished. Average ranks are over these data "
        "sets and the Mean row, as in the paper: 23 rows if all data sets are finished."
    )
    grids = [
        Grid("Mean F1 beside the paper's", header, means),
        Grid("Average ranks beside the paper's", header, ranks, notes=[note]),
    ]
    return [grid for grid in grids if grid.rows]


def _readings(
    title: str, ours: dict[str, float], printed: dict[str, float], form: str
) -> list[list[Cell]]:
    exchanged = {name: printed[PARTNER.get(name, name)] for name in printed}
    rows = {"ours": ours, "paper, as printed": printed, f"paper, {EXCHANGED}": exchanged}
    return [
        [
            *map(name_cell, (title, whose)),
            *(Cell(form.format(row[name]), row[name]) for name in PRINTED_LEARNERS),
        ]
        for whose, row in rows.items()
    ]
