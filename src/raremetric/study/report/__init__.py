"""Tables, figures and pages from the results of a study.

Besides the whole report, what it is made of can be used to extend it: see the parameter ``extend``
of `write_report`.
"""

from raremetric.study.report.figures import draw_curves, draw_means
from raremetric.study.report.grids import origin_grid, share_cell
from raremetric.study.report.ranks import (
    LEVEL,
    Paired,
    average_ranks,
    differences,
    holm,
    leads,
    pair_tests,
    paired,
    t_test,
)
from raremetric.study.report.tables import (
    Table,
    progress_text,
    ranks_of,
    sets_text,
    signed,
    splits_text,
)
from raremetric.study.report.write import csv_bytes, default_title, figure_files, write_report

__all__ = [
    "LEVEL",
    "Paired",
    "Table",
    "average_ranks",
    "csv_bytes",
    "default_title",
    "differences",
    "draw_curves",
    "draw_means",
    "figure_files",
    "holm",
    "leads",
    "origin_grid",
    "pair_tests",
    "paired",
    "progress_text",
    "ranks_of",
    "sets_text",
    "share_cell",
    "signed",
    "splits_text",
    "t_test",
    "write_report",
]
