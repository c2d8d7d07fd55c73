"""Tables and sections of a report, and how they become Markdown, LaTeX and HTML."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from raremetric.extras import import_optional

if TYPE_CHECKING:
    from raremetric.pages.drawing import Figure

MISSING = "–"

_LATEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "±": r"$\pm$",
    "−": "$-$",
    "–": "--",
} | {char: f"\\{char}" for char in "&%$#_"}


@dataclass(frozen=True)
class Cell:
    """One cell of a grid.

    Parameters
    ----------
    text : str
    value : float, str or None, default=None
        Sort key. Cells without one are sorted last.
    best : bool, default=False
        Whether to print it in bold.
    detail : str, default=""
        A second line: the difference from a published value, and that value.
    """

    text: str
    value: float | str | None = None
    best: bool = False
    detail: str = ""


def name_cell(name: str) -> Cell:
    """A cell with a name, sorted by it."""
    return Cell(name, name)


@dataclass(frozen=True)
class Grid:
    """A table of formatted cells.

    Parameters
    ----------
    caption : str
    header : list of str
    rows : list of list of Cell
    foot : list of list of Cell
        Rows that stay at the bottom when the others are sorted.
    n_labels : int
        Number of columns at the left that name the row. The other columns hold numbers.
    notes : list of str
        Sentences below the table.
    source : str
        Where the values in the second lines of cells are from, such as "the paper".
    """

    caption: str
    header: list[str]
    rows: list[list[Cell]]
    foot: list[list[Cell]] = field(default_factory=list)
    n_labels: int = 1
    notes: list[str] = field(default_factory=list)
    source: str = ""

    @property
    def has_details(self) -> bool:
        """Whether any cell has a second line."""
        return any(cell.detail for row in [*self.rows, *self.foot] for cell in row)

    @property
    def text_columns(self) -> list[bool]:
        """For each column, whether it holds text rather than numbers."""
        first = self.rows[0] if self.rows else []
        is_text = [isinstance(cell.value, str) for cell in first]
        return is_text or [True] * len(self.header)

    def detail_grid(self) -> Grid:
        """The same grid with the second line of each cell instead of the first."""

        def details(row: list[Cell]) -> list[Cell]:
            labels, scores = row[: self.n_labels], row[self.n_labels :]
            return [*labels, *(Cell(cell.detail or MISSING) for cell in scores)]

        caption = f"{self.caption}; difference from {self.source}, and {self.source}'s value"
        rows, foot = (list(map(details, part)) for part in (self.rows, self.foot))
        return Grid(caption, self.header, rows, foot, self.n_labels)


@dataclass(frozen=True)
class Section:
    """A section of a page.

    Parameters
    ----------
    name : str
        Its id in the page.
    title : str
    grids : list of Grid
    figures : list of Figure
    folded : list of Grid
        Long grids, collapsed until the reader opens them.
    remark : str
        Why something is missing, or empty.
    """

    name: str
    title: str
    grids: list[Grid]
    figures: list[Figure] = field(default_factory=list)
    folded: list[Grid] = field(default_factory=list)
    remark: str = ""


def to_html(package: str, template: str, **values: Any) -> str:
    """Fill a template, which is in the folder ``templates`` of a package.

    The template can use those of this package. The page is standalone, with style, script and
    figures included, and all texts are escaped.
    """
    jinja2 = import_optional("jinja2")
    shared = jinja2.PackageLoader("raremetric.pages")
    environment = jinja2.Environment(
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        loader=jinja2.ChoiceLoader([jinja2.PackageLoader(package), shared]),
    )
    markup = import_optional("markupsafe").Markup
    style, script = (
        markup(shared.get_source(environment, name)[0]) for name in ("page.css", "page.js")
    )
    return environment.get_template(template).render(style=style, script=script, **values).lstrip()


def to_markdown(grid: Grid) -> str:
    """Format a grid for GitHub: the caption, if any, in bold above it, the notes below."""

    def line(texts: Iterable[str]) -> str:
        return "| " + " | ".join(texts) + " |"

    lines = [f"**{_escape_markdown(grid.caption)}**", ""] if grid.caption else []
    lines += [line(map(_escape_markdown, grid.header))]
    lines += [line(":--" if is_text else "--:" for is_text in grid.text_columns)]
    lines += [line(_cell_texts(row, _escape_markdown, "**{}**")) for row in grid.rows + grid.foot]
    lines += [each for note in grid.notes for each in ("", _escape_markdown(note))]
    return "\n".join(lines) + "\n"


def to_latex(grid: Grid) -> str:
    r"""Format a grid as a ``table`` with the rules of booktabs, to be included with ``\input``."""

    def line(texts: Iterable[str]) -> str:
        return " & ".join(texts) + r" \\"

    aligns = "".join("l" if is_text else "c" for is_text in grid.text_columns)
    lines = [r"\begin{table}[t]\centering", rf"\caption{{{_escape_latex(grid.caption)}}}"]
    lines += [rf"\begin{{tabular}}{{{aligns}}}", r"\toprule"]
    lines += [line(map(_escape_latex, grid.header)), r"\midrule"]
    lines += [line(_cell_texts(row, _escape_latex, r"\textbf{{{}}}")) for row in grid.rows]
    for row in grid.foot:
        lines += [r"\midrule", line(_cell_texts(row, _escape_latex, r"\textbf{{{}}}"))]
    lines += [r"\bottomrule", r"\end{tabular}"]
    lines += [rf"\par\smallskip{{\footnotesize {_escape_latex(note)}}}" for note in grid.notes]
    return "\n".join([*lines, r"\end{table}", ""])


def _cell_texts(row: list[Cell], escape: Callable[[str], str], bold: str) -> list[str]:
    """Escaped texts of a row. In the best cell only the mean is bold."""
    texts = []
    for cell in row:
        first, space, rest = cell.text.partition(" ")
        head = escape(first)
        texts.append((bold.format(head) if cell.best else head) + space + escape(rest))
    return texts


def _escape_markdown(text: str) -> str:
    """Escape everything that Markdown, or the HTML in it, would interpret."""
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([\\`*_|\[\]$])", r"\\\1", " ".join(text.split()))


def _escape_latex(text: str) -> str:
    return "".join(_LATEX.get(char, char) for char in " ".join(text.split()))
