"""Grids, figures and self-contained HTML pages, for all reports."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from io import BytesIO
from typing import Any

from raremetric.extras import import_optional

__all__ = [
    "INK",
    "MISSING",
    "Cell",
    "Figure",
    "Grid",
    "Section",
    "add_legend",
    "name_cell",
    "new_figure",
    "save",
    "styles",
    "to_markdown",
]

MISSING = "–"
INK = "#161616"  # color of text and axes; a page replaces it with the color of its own text

# Color and marker of known learners. All colors are legible on white and on dark pages.
STYLES = {
    "Euclidean": ("#8a8a8a", "s"),
    "LMNN": ("#3b82c4", "^"),
    "ITML": ("#c9930a", "v"),
    "GMML": ("#17a077", "D"),
    "IML": ("#d9541e", "o"),
    "ML1": ("#2a9db0", "<"),
    "ML2": ("#6f78d6", ">"),
    "RareClassifier-fast": ("#e0709a", "*"),
    "RareClassifier-thorough": ("#c2255c", "*"),
}
# Other learners take these colors first, then the colors above that are not in the figure.
COLORS = ("#b0609c", "#7f9a2b", "#a8705a", "#8f5fd0", *(color for color, _ in STYLES.values()))
MARKERS = ("P", "X", "h", "p", "d", "H", "8")
LONGEST_NAME = 32


@dataclass(frozen=True)
class Cell:
    """One cell of a grid."""

    text: str
    value: float | str | None = None  # to sort by; cells without one are sorted last
    best: bool = False  # whether to print it in bold


def name_cell(name: str) -> Cell:
    """A cell with a name, sorted by it."""
    return Cell(name, name)


@dataclass(frozen=True)
class Grid:
    """A table of formatted cells."""

    caption: str
    header: list[str]
    rows: list[list[Cell]]
    foot: list[list[Cell]] = field(default_factory=list)  # below the others when they are sorted
    notes: list[str] = field(default_factory=list)  # sentences below the table

    @property
    def text_columns(self) -> list[bool]:
        """For each column, whether it holds text rather than numbers."""
        first = self.rows[0] if self.rows else []
        is_text = [isinstance(cell.value, str) for cell in first]
        return is_text or [True] * len(self.header)


@dataclass(frozen=True)
class Figure:
    """A finished figure."""

    name: str  # of its files, without extension
    caption: str
    svg: bytes  # with a white background
    inline: str  # SVG for a page: without background, in the color of the page's text


@dataclass(frozen=True)
class Section:
    """A section of a page."""

    name: str  # its id in the page
    title: str
    grids: list[Grid]
    figures: list[Figure] = field(default_factory=list)
    folded: list[Grid] = field(default_factory=list)  # collapsed until the reader opens them
    remark: str = ""  # why something is missing


def to_html(package: str, template: str, **values: Any) -> str:
    """Fill a template, which is in the folder ``templates`` of a package.

    The template can use those of raremetric itself. The page is standalone, with style, script and
    figures included, and all texts are escaped.
    """
    jinja2 = import_optional("jinja2")
    shared = jinja2.PackageLoader("raremetric")
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
    lines += [line(_cell_texts(row)) for row in grid.rows + grid.foot]
    lines += [each for note in grid.notes for each in ("", _escape_markdown(note))]
    return "\n".join(lines) + "\n"


def _cell_texts(row: list[Cell]) -> list[str]:
    """Escaped texts of a row. In the best cell only the mean is bold."""
    texts = []
    for cell in row:
        first, space, rest = cell.text.partition(" ")
        head = _escape_markdown(first)
        texts.append((f"**{head}**" if cell.best else head) + space + _escape_markdown(rest))
    return texts


def _escape_markdown(text: str) -> str:
    """Escape everything that Markdown, or the HTML in it, would interpret."""
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([\\`*_|\[\]$])", r"\\\1", " ".join(text.split()))


@contextmanager
def new_figure(size: tuple[float, float], n_axes: int, n_rows: int = 1) -> Iterator[Any]:
    """A figure outside Matplotlib's global state, of a size in inches, and its axes, row by row."""
    matplotlib = import_optional("matplotlib")
    colors = ["text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color"]
    settings = dict.fromkeys([*colors, "grid.color"], INK) | {
        "axes.grid": True,
        "axes.spines.right": False,
        "axes.spines.top": False,
        "font.family": "DejaVu Sans",  # shipped with Matplotlib, so every machine has it
        "font.size": 10,
        "grid.alpha": 0.15,
        "legend.frameon": False,
        "svg.fonttype": "path",
        "svg.hashsalt": "raremetric",
    }
    with matplotlib.rc_context(settings):
        figure = import_optional("matplotlib.figure").Figure(figsize=size, layout="constrained")
        import_optional("matplotlib.backends.backend_agg").FigureCanvasAgg(figure)
        yield figure, figure.subplots(n_rows, n_axes // n_rows, squeeze=False).ravel()


def styles(learners: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Color and marker of each learner; no two learners have the same pair.

    Learners in `STYLES` always look the same. The others have different colors as long as there
    are colors left, then different markers.
    """
    names = list(learners)
    fixed = {name: STYLES[name] for name in names if name in STYLES}
    used = {color for color, _ in fixed.values()}
    colors = [color for color in COLORS if color not in used]
    chosen = {}
    for number, name in enumerate(name for name in names if name not in STYLES):
        cycle, position = divmod(number, len(colors))
        chosen[name] = colors[position], MARKERS[(position + cycle) % len(MARKERS)]
    return {name: fixed.get(name) or chosen[name] for name in names}


def short_names(learners: Iterable[str]) -> dict[str, str]:
    """Map names to names that fit into a figure, or to themselves if two would become equal."""
    names = list(learners)
    short = {
        name: name if len(name) <= LONGEST_NAME else name[: LONGEST_NAME - 1] + "…"
        for name in names
    }
    return short if len(set(short.values())) == len(names) else {name: name for name in names}


def add_legend(figure: Any, lines: list[Any], names: Iterable[str]) -> None:
    """Name the lines below the figure, in as many columns as fit."""
    # Matplotlib omits labels that begin with an underscore.
    labels = [re.sub("^_", " _", name) for name in short_names(names).values()]
    # About eleven characters fit into an inch; line and gap take the width of six.
    n_columns = int(11 * figure.get_figwidth() / (6 + max(map(len, labels))))
    legend = figure.legend(
        lines,
        labels,
        loc="outside lower center",
        ncols=min(max(n_columns, 1), len(labels)),
    )
    for text in legend.get_texts():
        text.set_parse_math(False)


def save(figure: Any, name: str, caption: str) -> Figure:
    """Render a figure as a file and for a page."""
    svg, transparent = BytesIO(), BytesIO()
    no_date = {"Date": None}  # the same results give the same bytes
    figure.savefig(svg, format="svg", metadata=no_date)
    figure.savefig(transparent, format="svg", metadata=no_date, transparent=True)
    inline = _for_page(transparent.getvalue().decode(), name)
    return Figure(name, caption, svg.getvalue(), inline)


def _for_page(svg: str, name: str) -> str:
    """Adapt an SVG to a page: its text color, and ids that no other figure has."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r"<!--.*?-->", "", svg, flags=re.DOTALL)
    svg = svg.replace(INK, "currentColor")
    svg = re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{name}-", svg)
    return re.sub(r'<svg ([^>]*?)width="[^"]*"', r"<svg \1", svg, count=1).replace(
        "<svg ", '<svg aria-hidden="true" focusable="false" ', 1
    )
