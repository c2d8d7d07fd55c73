"""A table as it is read: rows of cells, in Markdown and LaTeX."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

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
    """One field of a table.

    Parameters
    ----------
    text : str
    value : float, str or None, default=None
        What to sort by; None to put it last.
    best : bool, default=False
        Set in bold.
    detail : str, default=""
        A second line: the paper's figure and the difference from it.
    """

    text: str
    value: float | str | None = None
    best: bool = False
    detail: str = ""


@dataclass(frozen=True)
class Grid:
    """A table as it is read.

    Parameters
    ----------
    caption : str
    header : list of str
    rows : list of list of Cell
    foot : list of list of Cell
        Rows that stay at the end however the others are sorted.
    n_labels : int
        How many columns at the left name the row; the others hold figures.
    notes : list of str
        Sentences below the table.
    """

    caption: str
    header: list[str]
    rows: list[list[Cell]]
    foot: list[list[Cell]] = field(default_factory=list)
    n_labels: int = 1
    notes: list[str] = field(default_factory=list)

    @property
    def has_details(self) -> bool:
        """Whether a cell has a second line."""
        return any(cell.detail for row in [*self.rows, *self.foot] for cell in row)

    @property
    def text_columns(self) -> list[bool]:
        """For each column whether it holds names, not figures."""
        first = self.rows[0] if self.rows else []
        names = [isinstance(cell.value, str) for cell in first]
        return names or [True] * len(self.header)

    def of_details(self) -> Grid:
        """The same table with the second line of each cell in place of the first."""

        def shown(row: list[Cell]) -> list[Cell]:
            labels, figures = row[: self.n_labels], row[self.n_labels :]
            return [*labels, *(Cell(cell.detail or MISSING) for cell in figures)]

        caption = f"{self.caption}; difference from the paper, and the paper's value"
        rows, foot = (list(map(shown, part)) for part in (self.rows, self.foot))
        return Grid(caption, self.header, rows, foot, self.n_labels)


def to_markdown(grid: Grid) -> str:
    """The table for GitHub, its caption as a line in bold above, its notes below."""
    aligns = [":--" if is_text else "--:" for is_text in grid.text_columns]
    lines = [f"**{_markdown(grid.caption)}**", ""]
    lines += [_bars(map(_markdown, grid.header)), _bars(aligns)]
    lines += [_bars(_shown(row, _markdown, "**{}**")) for row in [*grid.rows, *grid.foot]]
    lines += [line for note in grid.notes for line in ("", _markdown(note))]
    return "\n".join(lines) + "\n"


def to_latex(grid: Grid) -> str:
    r"""The table as a ``table`` with booktabs' rules, to be read by ``\input``."""
    aligns = "".join("l" if is_text else "c" for is_text in grid.text_columns)
    lines = [r"\begin{table}[t]\centering", rf"\caption{{{_latex(grid.caption)}}}"]
    lines += [rf"\begin{{tabular}}{{{aligns}}}", r"\toprule"]
    lines += [_row(map(_latex, grid.header)), r"\midrule"]
    lines += [_row(_shown(row, _latex, r"\textbf{{{}}}")) for row in grid.rows]
    for row in grid.foot:
        lines += [r"\midrule", _row(_shown(row, _latex, r"\textbf{{{}}}"))]
    lines += [r"\bottomrule", r"\end{tabular}"]
    lines += [rf"\par\smallskip{{\footnotesize {_latex(note)}}}" for note in grid.notes]
    return "\n".join([*lines, r"\end{table}", ""])


def _shown(row: list[Cell], escape: Callable[[str], str], bold: str) -> list[str]:
    """The texts of a row; of the best, the mean alone is in bold, as in the paper."""
    texts = []
    for cell in row:
        first, space, rest = cell.text.partition(" ")
        head = escape(first)
        texts.append((bold.format(head) if cell.best else head) + space + escape(rest))
    return texts


def _bars(fields) -> str:
    return "| " + " | ".join(fields) + " |"


def _row(fields) -> str:
    return " & ".join(fields) + r" \\"


def _markdown(text: str) -> str:
    """Text that Markdown and the HTML in it leave as it is."""
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([\\`*_|\[\]$])", r"\\\1", " ".join(text.split()))


def _latex(text: str) -> str:
    return "".join(_LATEX.get(char, char) for char in " ".join(text.split()))
