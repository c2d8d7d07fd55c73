"""From a file or a table of the user to columns of numbers, dates and categories."""

from raremetric.table.reading.tables import iter_table, read_table
from raremetric.validation import TableError

__all__ = ["TableError", "iter_table", "read_table"]
