"""The report of the paper's experiments: that of any study, and the printed values beside ours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pandas import DataFrame

from paper.cells import cells_grid, draw_cells, judge_cells, verdicts_grid
from paper.faithfulness import EXPERIMENTS, faithfulness_page, is_reproduction
from paper.printed import PRINTED_LEARNERS, printed_for
from raremetric.pages import Section, to_markdown
from raremetric.study import Store, StudyResults, read_study
from raremetric.study.report import (
    Table,
    csv_bytes,
    default_title,
    figure_files,
    write_report,
)

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
    if not title and len(results) > 1 and {each.study.name for each in results} <= {*EXPERIMENTS}:
        title = "The paper, reproduced"
    title = title or default_title(results)
    return write_paper_report(results, out, title=title, details=source.details())


def write_paper_report(
    results: Sequence[StudyResults], out: Path, *, title: str, details: dict[str, str]
) -> list[Path]:
    """Write the report of studies with what the paper prints beside it."""
    return write_report(
        [part for each in results for part in as_reported(each)],
        out,
        title=title,
        details=details,
        extend=paper_parts,
    )


def as_reported(results: StudyResults) -> list[StudyResults]:
    """The tables that a study is reported in, with all splits that its file names.

    Methods beyond the paper that were run with those of Table 2 have a table of their own: so
    Table 2 has the paper's methods, and its p-values are corrected for these. Besides, there are
    tables of the splits on which nothing was chosen, and without the files that have lost decimal
    points.
    """
    study = results.study
    printed = [each for each in study.learners if each.name in PRINTED_LEARNERS]
    if study.name == "table2" and len(study.learners) > len(printed) == len(PRINTED_LEARNERS):
        rivals = [each for each in study.learners if each not in printed or each.name == "IML"]
        with_rivals = _part(results, name="rivals", title=RIVALS_TITLE, learners=tuple(rivals))
        return [*as_reported(_part(results, learners=tuple(printed))), with_rivals]
    path = Path(__file__).with_name(f"{study.name}.toml")
    planned = _part(results, splits=read_study(path).splits) if path.exists() else results
    found, title, splits = [planned], study.title, planned.study.splits
    if study.name == "beyond":
        title, later = f"{title}, splits 6 to {splits}", {"first_split": 6, "splits": splits - 5}
        found.append(_part(planned, name="beyond-later", title=title, **later))
    if study.name == "rare-regime-even-again":
        title = f"{title}, without files that have lost decimal points"
        intact = tuple(name for name in study.datasets if not name.startswith(LOST_POINTS))
        found.append(_part(planned, name=f"{study.name}-intact", title=title, datasets=intact))
    return found


def _part(results: StudyResults, **changes: Any) -> StudyResults:
    """A study with changes, and the rows that belong to it."""
    study, rows = replace(results.study, **changes), results.rows
    kept = rows["learner"].isin([each.name for each in study.learners])
    kept &= rows["dataset"].isin(study.datasets) & (rows["split"] >= study.first_split)
    return StudyResults(study, rows[kept])


def paper_parts(tables: Sequence[Table]) -> tuple[list[Section], Files]:
    """What the report of the paper has besides the tables: sections of the page, and files."""
    sections: list[Section] = []
    files: Files = {}
    cells = None
    if compared := [table for table in tables if printed_for(table)]:
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
