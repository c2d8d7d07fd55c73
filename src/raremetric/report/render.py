"""The report as one page that needs nothing beside it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any

from raremetric.extras import import_optional
from raremetric.report.figures import Figure
from raremetric.report.grid import Grid
from raremetric.report.summarize import Summary
from raremetric.report.tables import splits_text


@dataclass(frozen=True)
class Section:
    """One table of the study with all that belongs to it.

    Parameters
    ----------
    name, title : str
    grids : list of Grid
        Shown first.
    figures : list of Figure
    folded : list of Grid
        Long ones, closed until they are asked for.
    remark : str
        Why something is missing, or empty.
    """

    name: str
    title: str
    grids: list[Grid]
    figures: list[Figure] = field(default_factory=list)
    folded: list[Grid] = field(default_factory=list)
    remark: str = ""


def render_page(
    summary: Summary,
    sections: list[Section],
    *,
    title: str,
    details: dict[str, str],
    differences: Grid | None,
    effort: Grid,
) -> str:
    """Fill the template.

    Parameters
    ----------
    summary : Summary
    sections : list of Section
    title : str
    details : dict
        What to know of the run: name → text.
    differences : Grid or None
        None where there is no paper to differ from.
    effort : Grid

    Returns
    -------
    str
        HTML. Every text in it is escaped; styles, script and figures are inside.
    """
    return fill(
        "report.html",
        title=title,
        details=details,
        overview=overview(summary),
        sections=sections,
        differences=differences,
        effort=effort,
    )


def fill(template: str, **values: Any) -> str:
    """A page from a template of this package, with styles and script inside."""
    jinja2, markup = import_optional("jinja2"), import_optional("markupsafe").Markup
    environment = jinja2.Environment(
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        loader=jinja2.FunctionLoader(_template),
    )
    style, script = markup(_template("report.css")), markup(_template("report.js"))
    return environment.get_template(template).render(style=style, script=script, **values).lstrip()


def overview(summary: Summary) -> str:
    """What was run, in a sentence."""
    rows = summary.rows
    splits = splits_text(count for table in summary.tables for count in table.cells["n_splits"])
    return (
        f"{len(rows)} finished tasks: {rows['dataset'].nunique()} data sets, "
        f"{rows['learner'].nunique()} learners ({_listed(summary.effort['learner'])}), "
        f"{splits} splits."
    )


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names)


def _template(name: str) -> str:
    return files("raremetric.report").joinpath("templates", name).read_text("utf-8")
