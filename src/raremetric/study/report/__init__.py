"""Tables, figures and pages from the results of a study.

Besides the whole report, what it is made of can be used to extend it: see the parameter ``extend``
of `write_report`.
"""

from typing import TYPE_CHECKING

from raremetric.extras import lazy_names

if TYPE_CHECKING:
    from raremetric.study.report.figures import draw_dataset, draw_means
    from raremetric.study.report.listings import origin_grid
    from raremetric.study.report.published import Published, Score
    from raremetric.study.report.ranks import (
        Paired,
        average_ranks,
        differences,
        paired,
        published_average_ranks,
    )
    from raremetric.study.report.summarize import Table
    from raremetric.study.report.tables import progress_text, sets_text, share_cell, signed
    from raremetric.study.report.write import csv_bytes, figure_files, write_report

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "figures": ["draw_dataset", "draw_means"],
        "listings": ["origin_grid"],
        "published": ["Published", "Score"],
        "ranks": ["Paired", "average_ranks", "differences", "paired", "published_average_ranks"],
        "summarize": ["Table"],
        "tables": ["progress_text", "sets_text", "share_cell", "signed"],
        "write": ["csv_bytes", "figure_files", "write_report"],
    },
)
