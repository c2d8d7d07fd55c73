"""Names of the methods for a user's table, to be listed without importing the methods."""

# The short names of `raremetric.contenders.CONTENDERS`, in its order; a test compares them.
METHODS = (
    "plain", "lmnn", "itml", "gmml", "iml", "logistic", "boosting", "forest", "svm", "iml-score",
    "rare",
)  # fmt: skip
# Not the slow ones: LMNN and ITML can take a minute per fold, SVMs need all pairwise distances.
DEFAULT_METHODS = ("plain", "iml", "rare", "gmml", "logistic", "boosting", "forest")
