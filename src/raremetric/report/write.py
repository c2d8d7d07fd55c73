"""write_report: all files of a report, each there whole or not at all."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from raremetric.extras import import_optional
from raremetric.report.figures import table_figures
from raremetric.report.grid import Grid, to_latex, to_markdown
from raremetric.report.listings import (
    differences_grid,
    effort_grid,
    few_grid,
    lead_grid,
    pairs_grid,
)
from raremetric.report.paired import few_table, lead_table
from raremetric.report.ranks import compare, why_no_comparison
from raremetric.report.render import Section, render_page
from raremetric.report.summarize import Table, summarize
from raremetric.report.tables import dataset_grid, long_table, share_grid, wide_table

if TYPE_CHECKING:
    from pandas import DataFrame

    from raremetric.study.tasks import StudyResults


def write_report(
    results: DataFrame | Sequence[StudyResults],
    out: Path | str,
    *,
    title: str,
    details: dict[str, str],
) -> list[Path]:
    """Write a study's tables and figures, and a page with all of them.

    Parameters
    ----------
    results : DataFrame or sequence of StudyResults
        One row a finished task: dataset, share (empty where it does not apply), resampling,
        split, learner, tn, fp, fn, tp, candidate, seconds; average_precision and test_size may
        be there. The study may be incomplete, and its data sets and learners need not be the
        paper's.
    out : Path or str
        The directory to write to, made if it is not there.
    title : str
        Head of the page.
    details : dict
        What to know of the run, such as machine, command and versions: name → text.

    Returns
    -------
    list of Path
        The files written: ``results.csv`` and ``report.html``; for each table NAME the files
        ``NAME.csv`` (one row a cell), ``NAME-wide.csv``, ``NAME.md``, ``NAME.tex``, its figures
        as PNG and SVG, and ``NAME-tests.csv``; beyond the paper ``NAME-lead.csv``, and in the
        rare regime ``NAME-few.csv``; ``differences.csv`` and ``.md`` where the paper
        has figures for the same cells.

    Raises
    ------
    ValueError
        If there are no rows, or they are not those of a study.

    Notes
    -----
    Everything is made before anything is written, and each file is written beside its place and
    then moved there: a report that fails leaves what was there before.
    """
    pandas = import_optional("pandas")
    rows = results if isinstance(results, pandas.DataFrame) else _all_rows(results)
    summary = summarize(rows)
    contents = {"results.csv": _csv(summary.rows)}
    sections = []
    for table in summary.tables:
        section, files = _section(table)
        sections.append(section)
        contents |= files
    differences = None
    if any(table.paper for table in summary.tables):
        differences = differences_grid(summary)
        contents["differences.csv"] = _csv(summary.differences.round(4))
        contents["differences.md"] = to_markdown(differences).encode()
    page = render_page(
        summary,
        sections,
        title=title,
        details=details,
        differences=differences,
        effort=effort_grid(summary),
    )
    contents["report.html"] = page.encode()
    return write_all(contents, Path(out))


def _all_rows(results: Sequence[StudyResults]) -> DataFrame:
    rows = import_optional("pandas").concat([each.rows for each in results])
    return rows.drop_duplicates().reset_index(drop=True)


def _section(table: Table) -> tuple[Section, dict[str, bytes]]:
    """A table's part of the page, and its files."""
    comparison = None if table.by_share else compare(table)
    figures = table_figures(table, comparison)
    grid = dataset_grid(table)
    shown = share_grid(table) if table.by_share else grid
    tests = [pairs_grid(table, comparison)] if comparison else []
    extra, files = _beyond(table)
    section = Section(
        name=table.name,
        title=table.title,
        grids=[shown, *extra],
        figures=figures,
        folded=[grid] if table.by_share else tests,
        remark="" if table.by_share else why_no_comparison(table),
    )
    parts = [shown, *([shown.of_details()] if shown.has_details else []), *extra, *tests]
    files |= {
        f"{table.name}.csv": _csv(long_table(table)),
        f"{table.name}-wide.csv": _csv(wide_table(table)),
        f"{table.name}.md": "\n".join(map(to_markdown, parts)).encode(),
        f"{table.name}.tex": "\n".join(map(to_latex, parts)).encode(),
    }
    if comparison:
        files[f"{table.name}-tests.csv"] = _csv(comparison.pairs)
    for figure in figures:
        files |= {f"{figure.name}.svg": figure.svg, f"{figure.name}.png": figure.png}
    return section, files


def _beyond(table: Table) -> tuple[list[Grid], dict[str, bytes]]:
    """What only tables beyond the paper have: how far we are ahead, and where positives are few."""
    lead, few = lead_table(table), few_table(table)
    grids, files = [], {}
    if lead is not None:
        grids.append(lead_grid(table, lead))
        files[f"{table.name}-lead.csv"] = _csv(lead.round(4))
    if few is not None:
        grids.append(few_grid(table, few))
        files[f"{table.name}-few.csv"] = _csv(few.round(4))
    return grids, files


def _csv(frame: DataFrame) -> bytes:
    return frame.to_csv(index=False, lineterminator="\n").encode()


def write_all(contents: dict[str, bytes], out: Path) -> list[Path]:
    """Write files into a directory: all of them beside it first, then each by a rename.

    Parameters
    ----------
    contents : dict
        Name of a file → what goes into it.
    out : Path
        The directory, made if it is not there. Other files in it are left alone.

    Returns
    -------
    list of Path
        The files written.
    """
    if out.exists() and not out.is_dir():
        raise NotADirectoryError(f"The report goes to a directory; {str(out)!r} is a file.")
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".report-", dir=out) as waiting:
        for name, content in contents.items():
            Path(waiting, name).write_bytes(content)
        return [Path(waiting, name).replace(out / name) for name in contents]
