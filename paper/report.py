"""The report of the paper's experiments: that of any study, with the printed values beside ours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from pandas import DataFrame

from paper.cells import cells_grid, draw_cells, judge_cells, verdicts_grid
from paper.faithfulness import EXPERIMENTS, faithfulness_page, is_reproduction
from paper.printed import PRINTED_LEARNERS, RESAMPLING_OF, PaperTable, paper_table
from paper.share_claims import FIGURE_DATASET
from raremetric.pages import Section, to_markdown
from raremetric.study import Store, Study, StudyResults, read_study
from raremetric.study.report import Table, csv_bytes, figure_files, write_report

Files = dict[str, bytes]
LOST_POINTS = "ecoli-0-"  # names of KEEL's files that have lost their decimal points begin so
RIVALS_TITLE = "IML and methods beyond the paper, on the data sets of Table 2"


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
        [part for each in results for part in as_reported(each)],
        out,
        title=title,
        details=details,
        published=printed_for([each.study.name for each in results]),
        figure_dataset=FIGURE_DATASET,
        extend=paper_parts,
    )


def printed_for(names: Sequence[str]) -> dict[str, PaperTable]:
    """Name of a study → the table of the paper to compare it with, if there is one."""
    return {name: paper_table(name) for name in names if name in RESAMPLING_OF}


def as_reported(results: StudyResults) -> list[StudyResults]:
    """The tables that a study is reported in, with all splits that its file names.

    Methods beyond the paper that were run with those of Table 2 have a table of their own: so
    Table 2 has the paper's methods, and its p-values are corrected for these. Besides, there are
    tables of the splits on which nothing was chosen, and without the files that have lost decimal
    points.
    """
    study, rows = results.study, results.rows
    more = {each.name for each in study.learners} - {*PRINTED_LEARNERS}
    if study.name == "table2" and len(study.learners) == len(PRINTED_LEARNERS) + len(more) and more:
        with_rivals = replace(study, name="rivals", title=RIVALS_TITLE)
        return [
            *as_reported(_part(results, study, {*PRINTED_LEARNERS})),
            _part(results, with_rivals, {"IML", *more}),
        ]
    path = Path(__file__).with_name(f"{study.name}.toml")
    planned = replace(study, splits=read_study(path).splits) if path.exists() else study
    found = [StudyResults(planned, rows)]
    if study.name == "beyond":
        later = replace(
            planned,
            name="beyond-later",
            title=f"{study.title}, splits 6 to {planned.splits}",
            first_split=6,
            splits=planned.splits - 5,
        )
        found.append(StudyResults(later, rows[rows["split"] > 5]))
    if study.name == "rare-regime-even-again":
        intact = replace(
            planned,
            name=f"{study.name}-intact",
            title=f"{study.title}, without files that have lost decimal points",
            datasets=tuple(name for name in study.datasets if not name.startswith(LOST_POINTS)),
        )
        found.append(StudyResults(intact, rows[rows["dataset"].isin(intact.datasets)]))
    return found


def _part(results: StudyResults, study: Study, learners: set[str]) -> StudyResults:
    kept = tuple(each for each in study.learners if each.name in learners)
    rows = results.rows
    return StudyResults(replace(study, learners=kept), rows[rows["learner"].isin(learners)])


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
        text, differences, figures = faithfulness_page(tables, cells)
        files |= {"faithfulness.md": text.encode(), **figure_files(figures)}
        if differences is not None:
            files["differences.csv"] = csv_bytes(differences)
    return sections, files


def _cells_section(tables: Sequence[Table], cells: DataFrame) -> tuple[Section, Files]:
    """Every cell that the paper has, too, with a verdict."""
    counts = verdicts_grid(cells)
    titles = {table.name: table.title for table in tables}
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
