"""Grids, figures and self-contained HTML pages, for all reports."""

from raremetric.pages.drawing import INK, Figure, new_figure, save, styles
from raremetric.pages.page import MISSING, Cell, Grid, Section, name_cell, to_markdown

__all__ = [
    "INK",
    "MISSING",
    "Cell",
    "Figure",
    "Grid",
    "Section",
    "name_cell",
    "new_figure",
    "save",
    "styles",
    "to_markdown",
]
