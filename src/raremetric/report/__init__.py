"""From the rows of a study to tables, figures and a page."""

from raremetric.report.write import write_report

__all__ = ["write_report"]
