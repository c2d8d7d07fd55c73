"""Tables, figures and pages from the results of a study, a comparison or a review."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from raremetric.report.comparison import comparison_page
    from raremetric.report.review import review_page
    from raremetric.report.write import write_report

__all__ = ["comparison_page", "review_page", "write_report"]

# Imported when first used: a page of `compare` does not need the report of a study.
_MODULE_OF = {
    "comparison_page": "raremetric.report.comparison",
    "review_page": "raremetric.report.review",
    "write_report": "raremetric.report.write",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULE_OF[name]), name)
