"""The user's own table: compare methods, fit one, save it, predict and explain."""

# ruff: noqa: E402
from raremetric.extras import import_optional

import_optional("pandas")  # one sentence if it is not installed
import_optional("pyarrow")

from raremetric.method_names import DEFAULT_METHODS
from raremetric.table.collections import fit_collection
from raremetric.table.comparison import compare_table
from raremetric.table.explanation import explain_row
from raremetric.table.files import ModelFileError, load_model, save_model
from raremetric.table.fitting import fit_table
from raremetric.table.importances import importances_of_file
from raremetric.table.model import TableModel
from raremetric.table.parts import predict_collection
from raremetric.table.reading import TableError, iter_table, read_table
from raremetric.table.results import Comparison
from raremetric.table.review import labeled_rows, review_file, with_reviewed_rows

__all__ = [
    "DEFAULT_METHODS",
    "Comparison",
    "ModelFileError",
    "TableError",
    "TableModel",
    "compare_table",
    "explain_row",
    "fit_collection",
    "fit_table",
    "importances_of_file",
    "iter_table",
    "labeled_rows",
    "load_model",
    "predict_collection",
    "read_table",
    "review_file",
    "save_model",
    "with_reviewed_rows",
]
