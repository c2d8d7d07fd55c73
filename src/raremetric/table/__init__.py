"""The user's own table: compare methods, fit one, save it, predict and explain."""

from typing import TYPE_CHECKING

from raremetric.extras import lazy_names

if TYPE_CHECKING:
    from raremetric.table.calibration import recalibrate
    from raremetric.table.collections import fit_collection
    from raremetric.table.comparison import compare_table
    from raremetric.table.explanation import explain_row, importances_of_file
    from raremetric.table.files import ModelFileError, load_model, save_model
    from raremetric.table.fitting import fit_table
    from raremetric.table.model import TableModel
    from raremetric.table.parts import predict_collection
    from raremetric.table.reading import TableError, iter_table, read_table
    from raremetric.table.results import Comparison
    from raremetric.table.review import labeled_rows, review_file, with_reviewed_rows

# The short names of `raremetric.contenders.CONTENDERS`, in its order; a test compares them.
METHODS = (
    "plain", "lmnn", "itml", "gmml", "iml", "logistic", "boosting", "forest", "svm",
    "rare",
)  # fmt: skip
# Not the slow ones: LMNN and ITML can take a minute per fold, SVMs need all pairwise distances.
DEFAULT_METHODS = ("plain", "iml", "rare", "gmml", "logistic", "boosting", "forest")

__getattr__, __dir__, _names = lazy_names(
    __name__,
    {
        "calibration": ["recalibrate"],
        "collections": ["fit_collection"],
        "comparison": ["compare_table"],
        "explanation": ["explain_row", "importances_of_file"],
        "files": ["ModelFileError", "load_model", "save_model"],
        "fitting": ["fit_table"],
        "model": ["TableModel"],
        "parts": ["predict_collection"],
        "reading": ["TableError", "iter_table", "read_table"],
        "results": ["Comparison"],
        "review": ["labeled_rows", "review_file", "with_reviewed_rows"],
    },
    needs=["pandas", "pyarrow"],
)
__all__ = ["DEFAULT_METHODS", *_names]
