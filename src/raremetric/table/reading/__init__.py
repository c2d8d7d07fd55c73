"""From a file or a table of the user to columns of numbers, dates and categories."""

from raremetric.files import TableError
from raremetric.table.reading.tables import iter_table, read_table

__all__ = ["TableError", "iter_table", "read_table"]
