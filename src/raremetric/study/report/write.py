"""write_report: all files of a report, or none of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from raremetric.files import atomic_write
from raremetric.pages.drawing import Figure
from raremetric.pages.page import Grid, Section, to_html, to_latex, to_markdown
from raremetric.study.report.figures import table_figures
from raremetric.study.report.listings import (
    effort_grid,
    few_grid,
    lead_grid,
    origin_grid,
    pairs_grid,
)
from raremetric.study.report.published import Published
from raremetric.study.report.ranks import compare_ranks, few_table, lead_table, why_no_tests
from raremetric.study.report.summarize import Summary, Table, summarize
from raremetric.study.report.tables import (
    dataset_grid,
    long_table,
    sets_text,
    share_grid,
    splits_text,
    wide_table,
)
from raremetric.study.tasks import StudyResults

if TYPE_CHECKING:
    from pandas import DataFrame

Files = dict[str, bytes]  # name → content
Extend = Callable[[list[Table]], tuple[list[Section], Files]]


def write_report(
    results: Sequence[StudyResults],
    out: Path | str,
    *,
    title: str,
    details: dict[str, str],
    published: Mapping[str, Published] | None = None,
    figure_dataset: str | None = None,
    extend: Extend | None = None,
) -> list[Path]:
    """Write the tables and figures of studies, and a page that contains all of them.

    Parameters
    ----------
    results : sequence of StudyResults
        Studies with their finished tasks. A study may be incomplete, and a task may belong to
        several studies.
    out : Path or str
        The directory to write to. It is created if it does not exist.
    title : str
        Heading of the page.
    details : dict
        Facts about the run to show at the top of the page, such as command and versions: name →
        text.
    published : dict or None
        Name of a study → scores from elsewhere to show beside its F1.
    figure_dataset : str or None
        The data set that is drawn where shares of the minority vary, if a table has it. Default:
        the first one.
    extend : callable (tables) -> (sections, files) or None
        Further sections of the page, and further files: name → content. It gets all tables.

    Returns
    -------
    list of Path
        The files written: ``results.csv`` and ``report.html``; for each table NAME the files
        ``NAME.csv`` (one row per cell), ``NAME-wide.csv``, ``NAME.md``, ``NAME.tex``, its figures
        as PNG and SVG, and ``NAME-tests.csv``; ``NAME-lead.csv`` if the study has a leader, and
        ``NAME-few.csv`` if it reports few positives; and the files of ``extend``. NAME is the
        name of the study, with the resampling if the study has several, and with ``precision`` for
        the table of average precision.

    Raises
    ------
    ValueError
        If no study has a finished task, the rows are not those of a study, or two files would
        have the same name.

    Notes
    -----
    All content is computed before the first file is written, and no file is replaced before all of
    them are written: a report that fails leaves the previous one as it is.
    """
    summary = summarize(results, published)
    contents = {"results.csv": csv_bytes(summary.rows)}
    sections = []
    for table in summary.tables:
        section, files = _section(table, figure_dataset)
        sections.append(section)
        _add(contents, files)
    if extend is not None:
        more, files = extend(summary.tables)
        sections += more
        _add(contents, files)
    sources = [table.published.source for table in summary.tables if table.published]
    page = to_html(
        "raremetric.study.report",
        "report.html",
        title=title,
        details=details,
        overview=_overview(summary),
        sections=sections,
        compared=next(iter(sources), ""),
        origin=origin_grid(summary.tables),
        effort=effort_grid(summary.effort),
    )
    _add(contents, {"report.html": page.encode()})
    return write_all(contents, Path(out))


def _add(contents: Files, files: Files) -> None:
    if twice := [name for name in files if name in contents]:
        raise ValueError(
            f"Two parts of the report would be written to {twice[0]!r}. Files are named after "
            "their study: rename the study."
        )
    contents.update(files)


def _overview(summary: Summary) -> str:
    """What was run, in a sentence."""
    rows, learners = summary.rows, summary.effort["learner"]
    splits = splits_text(count for table in summary.tables for count in table.cells["n_splits"])
    text = (
        f"{len(rows)} finished tasks: {sets_text(rows['dataset'].nunique())}, "
        f"{len(learners)} learner{'s' * (len(learners) != 1)} ({', '.join(learners)}), "
        f"{splits} split{'s' * (splits != '1')}."
    )
    if summary.not_started:
        text += f" No finished task yet: {', '.join(summary.not_started)}."
    return text


def _section(table: Table, figure_dataset: str | None) -> tuple[Section, Files]:
    """A table's section of the page, and its files."""
    tests = None if table.by_share else compare_ranks(table)
    figures = table_figures(table, tests, figure_dataset)
    grid = dataset_grid(table)
    main = share_grid(table) if table.by_share else grid
    pairs = [pairs_grid(table, tests)] if tests else []
    extra, files = _lead_and_few(table)
    section = Section(
        name=table.name,
        title=table.title,
        grids=[main, *extra],
        figures=figures,
        folded=[grid] if table.by_share else pairs,
        remark="" if table.by_share else why_no_tests(table),
    )
    grids = [main, *([main.detail_grid()] if main.has_details else []), *extra, *pairs]
    files |= {
        f"{table.name}.csv": csv_bytes(long_table(table)),
        f"{table.name}-wide.csv": csv_bytes(wide_table(table)),
        f"{table.name}.md": "\n".join(map(to_markdown, grids)).encode(),
        f"{table.name}.tex": "\n".join(map(to_latex, grids)).encode(),
    }
    if tests:
        files[f"{table.name}-tests.csv"] = csv_bytes(tests.pairs)
    return section, files | figure_files(figures)


def figure_files(figures: Sequence[Figure]) -> Files:
    """The image files of figures."""
    return {
        f"{figure.name}.{kind}": content
        for figure in figures
        for kind, content in (("svg", figure.svg), ("png", figure.png))
    }


def _lead_and_few(table: Table) -> tuple[list[Grid], Files]:
    """The lead of the study's leader, and the data sets with few positives, if asked for."""
    lead, few = lead_table(table), few_table(table)
    grids, files = [], {}
    if lead is not None:
        grids.append(lead_grid(table, lead))
        files[f"{table.name}-lead.csv"] = csv_bytes(lead.round(4))
    if few is not None:
        grids.append(few_grid(table, few))
        files[f"{table.name}-few.csv"] = csv_bytes(few.round(4))
    return grids, files


def csv_bytes(frame: DataFrame) -> bytes:
    """A frame as the content of a CSV file."""
    return frame.to_csv(index=False, lineterminator="\n").encode()


def write_all(contents: Files, out: Path) -> list[Path]:
    """Write files into a directory. None is replaced before all of them are written.

    Parameters
    ----------
    contents : dict
        Name of a file → its content.
    out : Path
        The directory, created if it does not exist. Other files in it are not changed.

    Returns
    -------
    list of Path
        The files written.
    """
    if out.exists() and not out.is_dir():
        raise NotADirectoryError(f"The report is written to a directory; {str(out)!r} is a file.")
    out.mkdir(parents=True, exist_ok=True)
    paths = [out / name for name in contents]
    with ExitStack() as stack:  # at its end, the new files replace the old ones
        streams = [stack.enter_context(atomic_write(path)) for path in paths]
        for stream, content in zip(streams, contents.values(), strict=True):
            stream.write(content)
            stream.flush()
    return paths
