"""write_report: all files of a report, or none of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path

from pandas import DataFrame

from raremetric.files import atomic_write
from raremetric.pages import Figure, Section, to_html, to_markdown
from raremetric.study.report.figures import draw_means, draw_ranks
from raremetric.study.report.grids import (
    dataset_grid,
    effort_grid,
    few_grid,
    lead_grid,
    origin_grid,
    pairs_grid,
    share_grid,
)
from raremetric.study.report.ranks import compare_ranks, few_table, lead_table, why_no_tests
from raremetric.study.report.tables import (
    Summary,
    Table,
    sets_text,
    splits_text,
    summarize,
)
from raremetric.study.tasks import StudyResults

Files = dict[str, bytes]  # name → content
Extend = Callable[[list[Table]], tuple[list[Section], Files]]


def write_report(
    results: Sequence[StudyResults],
    out: Path | str,
    *,
    title: str = "",
    details: dict[str, str],
    extend: Extend = lambda tables: ([], {}),
) -> list[Path]:
    """Write the tables and figures of studies, and a page that contains all of them.

    Parameters
    ----------
    results : sequence of StudyResults
        Studies, which may be incomplete, and their finished tasks, which may belong to several.
    out : Path or str
        The directory to write to. It is created if it does not exist.
    title : str
        Heading of the page. Default: see `default_title`.
    details : dict
        Facts to show at the top of the page: name → text.
    extend : callable (tables) -> (sections, files)
        Further sections of the page, and further files: name → content.

    Returns
    -------
    list of Path
        The files written: ``report.html``; for each table NAME the files
        ``NAME.csv`` (one row per cell), ``NAME.md``, its figures as SVG, and
        ``NAME-tests.csv``; ``NAME-lead.csv`` if the study has a leader, and ``NAME-few.csv`` if it
        reports few positives; and the files of ``extend``. NAME is the name of the study, with the
        resampling if the study has several, and with ``precision`` for the table of average
        precision.

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
    summary = summarize(results)
    parts = [_section(table) for table in summary.tables]
    sections, added = extend(summary.tables)
    page = to_html(
        "raremetric.study.report",
        "report.html",
        title=title or default_title(results),
        details=details,
        overview=_overview(summary),
        sections=[*(section for section, _ in parts), *sections],
        origin=origin_grid(summary.tables),
        effort=effort_grid(summary.effort),
    )
    contents = {"report.html": page.encode()}
    for files in (*(files for _, files in parts), added):
        if twice := [name for name in files if name in contents]:
            raise ValueError(
                f"Two parts of the report would be written to {twice[0]!r}. Files are named after "
                "their study: rename the study."
            )
        contents |= files
    return _write_all(contents, Path(out))


def default_title(results: Sequence[StudyResults]) -> str:
    """The title of the study, or the number of studies."""
    first = results[0].study
    return (
        (first.title or first.name) if len(results) == 1 else f"Results of {len(results)} studies"
    )


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


def _section(table: Table) -> tuple[Section, Files]:
    """A table's section of the page, and its files."""
    main = dataset_grid(table)
    grids, folded, figures, remark = [main], [], [], ""
    frames = {"": _cells(table)}
    if table.by_share:
        grids, folded = [share_grid(table)], [main]
        figures = [draw_means(table)]
    else:
        remark = why_no_tests(table)
        if tests := compare_ranks(table):
            figures = [draw_ranks(table, tests)]
            folded = [pairs_grid(table, tests)]
            frames["-tests"] = tests.pairs
        if (lead := lead_table(table)) is not None:
            grids.append(lead_grid(table, lead))
            frames["-lead"] = lead.round(4)
        if (few := few_table(table)) is not None:
            grids.append(few_grid(table, few))
            frames["-few"] = few.round(4)
    printed = grids if table.by_share else [*grids, *folded]
    return Section(table.name, table.title, grids, figures, folded, remark), {
        **{f"{table.name}{end}.csv": csv_bytes(frame) for end, frame in frames.items()},
        f"{table.name}.md": "\n".join(map(to_markdown, printed)).encode(),
        **figure_files(figures),
    }


def _cells(table: Table) -> DataFrame:
    """One row per cell."""
    columns = ["dataset", "learner", "n_splits", "mean", "std"]
    if table.by_share:
        columns = [columns[0], "share", *columns[1:], "accuracy_mean", "accuracy_std"]
    return table.cells[columns].round(4)


def figure_files(figures: Sequence[Figure]) -> Files:
    """The image files of figures."""
    return {f"{figure.name}.svg": figure.svg for figure in figures}


def csv_bytes(frame: DataFrame) -> bytes:
    """A frame as the content of a CSV file."""
    return frame.to_csv(index=False, lineterminator="\n").encode()


def _write_all(contents: Files, out: Path) -> list[Path]:
    """Write files into a directory, whose other files are not changed."""
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
