"""The report of the paper's experiments: that of any study, with the printed values beside ours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from pandas import DataFrame

from paper.cells import cells_grid, draw_cells, judge_cells, verdicts_grid
from paper.faithfulness import EXPERIMENTS, faithfulness_page, is_reproduction
from paper.printed import RESAMPLING_OF, PaperTable, paper_table
from paper.share_claims import FIGURE_DATASET
from raremetric.pages import Section, to_markdown
from raremetric.study import Store, StudyResults, read_study
from raremetric.study.report import Table, csv_bytes, figure_files, write_report

Files = dict[str, bytes]
# Name of a study → the table of the paper whose protocol it has.
PRINTED_FOR = {**{name: name for name in RESAMPLING_OF}, "beyond": "table2"}


def report_store(store: Path, out: Path, title: str = "") -> list[Path]:
    """Write the report of all studies in a store.

    Parameters
    ----------
    store : Path
    out : Path
        The directory to write to.
    title : str
        Heading of the page. Default: that of the study, or "The paper, reproduced".

    Returns
    -------
    list of Path
        The files written: see `raremetric.study.report.write_report`. Besides, ``cells.csv``,
        ``.md`` and
        a figure if a study is compared with the paper, and ``faithfulness.md`` for experiments of
        the paper.
    """
    source = Store(store)
    results = source.results()
    return write_paper_report(
        results, out, title=title or default_title(results), details=source.details()
    )


def write_paper_report(
    results: Sequence[StudyResults], out: Path, *, title: str, details: dict[str, str]
) -> list[Path]:
    """Write the report of studies with what the paper prints beside it."""
    return write_report(
        [with_planned_splits(each) for each in results],
        out,
        title=title,
        details=details,
        published=printed_for([each.study.name for each in results]),
        figure_dataset=FIGURE_DATASET,
        extend=paper_parts,
    )


def printed_for(names: Sequence[str]) -> dict[str, PaperTable]:
    """Name of a study → the table of the paper to compare it with, if there is one."""
    return {name: paper_table(PRINTED_FOR[name]) for name in names if name in PRINTED_FOR}


def with_planned_splits(results: StudyResults) -> StudyResults:
    """The same results, with all splits that the file of the study names: some may not be run."""
    path = Path(__file__).with_name(f"{results.study.name}.toml")
    if not path.exists():
        return results
    planned = read_study(path).splits
    return StudyResults(replace(results.study, splits=planned), results.rows)


def default_title(results: Sequence[StudyResults]) -> str:
    """The heading of the page."""
    if len(results) == 1:
        return results[0].study.title or results[0].study.name
    if all(each.study.name in EXPERIMENTS for each in results):
        return "The paper, reproduced"
    return f"Results of {len(results)} studies"


def paper_parts(tables: Sequence[Table]) -> tuple[list[Section], Files]:
    """What the report of the paper has besides the tables: sections of the page, and files."""
    sections: list[Section] = []
    files: Files = {}
    cells = None
    if compared := [table for table in tables if table.published]:
        cells = judge_cells(compared)
        section, files = _cells_section(compared, cells)
        sections = [section]
    if is_reproduction(tables):
        text, figures = faithfulness_page(tables, cells)
        files |= {"faithfulness.md": text.encode(), **figure_files(figures)}
    return sections, files


def _cells_section(tables: Sequence[Table], cells: DataFrame) -> tuple[Section, Files]:
    """Every cell that the paper has, too, with a verdict."""
    counts = verdicts_grid(cells)
    # Two studies may be compared with the same table of the paper: the first one names it.
    titles = {PRINTED_FOR[table.name]: table.title for table in reversed(tables)}
    parts = cells.groupby("table", sort=False)
    each = [cells_grid(titles[name], part) for name, part in parts]
    figures = [draw_cells(cells)]
    files = {
        "cells.csv": csv_bytes(cells.round(4)),
        "cells.md": "\n".join(map(to_markdown, [counts, *each])).encode(),
        **figure_files(figures),
    }
    title = "Every cell beside the paper's"
    return Section("paper_cells", title, [counts], figures, folded=each), files
