"""Tables, figures and pages from the results of a study, a comparison or a review.

Besides whole pages, what they are made of can be used to extend the report of a study: see the
parameter ``extend`` of `write_report`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from raremetric.report.comparison import comparison_page
    from raremetric.report.drawing import INK, Figure, new_figure, save, styles
    from raremetric.report.figures import draw_dataset, draw_means
    from raremetric.report.listings import origin_grid
    from raremetric.report.page import MISSING, Cell, Grid, Section, name_cell, to_markdown
    from raremetric.report.published import Published, Score
    from raremetric.report.ranks import (
        Paired,
        average_ranks,
        differences,
        paired,
        published_average_ranks,
    )
    from raremetric.report.review import review_page
    from raremetric.report.summarize import Table
    from raremetric.report.tables import progress_text, sets_text, share_cell, signed
    from raremetric.report.write import csv_bytes, figure_files, write_report

# Imported when first used: a page of `compare` does not need the report of a study.
_NAMES_IN = {
    "comparison": ["comparison_page"],
    "drawing": ["INK", "Figure", "new_figure", "save", "styles"],
    "figures": ["draw_dataset", "draw_means"],
    "listings": ["origin_grid"],
    "page": ["MISSING", "Cell", "Grid", "Section", "name_cell", "to_markdown"],
    "published": ["Published", "Score"],
    "ranks": ["Paired", "average_ranks", "differences", "paired", "published_average_ranks"],
    "review": ["review_page"],
    "summarize": ["Table"],
    "tables": ["progress_text", "sets_text", "share_cell", "signed"],
    "write": ["csv_bytes", "figure_files", "write_report"],
}
_MODULE_OF = {name: module for module, names in _NAMES_IN.items() for name in names}
__all__ = [
    "INK",
    "MISSING",
    "Cell",
    "Figure",
    "Grid",
    "Paired",
    "Published",
    "Score",
    "Section",
    "Table",
    "average_ranks",
    "comparison_page",
    "csv_bytes",
    "differences",
    "draw_dataset",
    "draw_means",
    "figure_files",
    "name_cell",
    "new_figure",
    "origin_grid",
    "paired",
    "progress_text",
    "published_average_ranks",
    "review_page",
    "save",
    "sets_text",
    "share_cell",
    "signed",
    "styles",
    "to_markdown",
    "write_report",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
