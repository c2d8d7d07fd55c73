"""From results to tables, figures and pages."""

from raremetric.report.comparison import comparison_page
from raremetric.report.write import write_report

__all__ = ["comparison_page", "write_report"]
