"""Two earlier metric learners for imbalanced classes; the paper names but does not measure them."""

from paper.rivals.dmbk import DMBK
from paper.rivals.iterative_lmnn import IterativeLMNN

__all__ = ["DMBK", "IterativeLMNN"]
