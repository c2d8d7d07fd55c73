"""For one's own table: compare methods, fit one, save it, predict and explain."""

from raremetric.table.comparison import Comparison, compare_table
from raremetric.table.fitting import fit_table
from raremetric.table.methods import METHODS
from raremetric.table.model import TableModel
from raremetric.table.saving import ModelFileError, load_model, save_model

__all__ = [
    "METHODS",
    "Comparison",
    "ModelFileError",
    "TableModel",
    "compare_table",
    "fit_table",
    "load_model",
    "save_model",
]
