"""What was chosen on data for `RareClassifier`: each constant, what it decides, how it was chosen.

If nothing else is said, on the data sets that docs/contribute/algorithm.md names: KEEL's at odd
positions, splits 1 to 5 of the paper's, and seven large tables. Not here: what other estimators
share, as the readings (`voting.READINGS`) and the numbers of folds
(`selection.folds.fold_numbers`), and numbers that only keep a computation finite.
"""

from __future__ import annotations

from raremetric.selection import Averaging, FirstRound
from raremetric.voting import Reading

# What is tried: each width, each pair of a shrinkage and a stretch, each of the other settings.
KERNEL_WIDTHS = (0.5, 2.0, 8.0)
KERNEL_SIZE = {"n_landmarks": 500, "n_components": 100}
IMPORTANCES = {"power": 0.5, "n_estimators": 30}  # of the features, before the kernel
SHRINKAGES = (0.1, 0.5, 0.9)
STRETCHES = (1.0, 3.0, 10.0)
IML_SETTINGS = (
    {"margin": 100.0, "similar_weight": 0.5, "regularization": 0.01},
    {"margin": 10.0, "similar_weight": 0.5, "regularization": 0.1},
    {"margin": 1.0, "similar_weight": 0.5, "regularization": 0.01},
    {"margin": 1000.0, "similar_weight": 0.3, "regularization": 0.1},
    {"margin": 100.0, "similar_weight": 0.8, "regularization": 1.0},
)
MAX_FEATURES_FOR_IML = 100  # with more, its fits would take longer than all others; `hiva`
MAX_QUANTILES = 200  # of the ranks of a feature
TREE_SETTINGS: tuple[dict[str, float], ...] = (
    {"max_leaves": 5, "learning_rate": 0.1, "min_child_weight": 0.1, "subsample": 0.7},
    {"max_leaves": 15, "learning_rate": 0.1, "min_child_weight": 0.1, "subsample": 0.7},
    {"max_leaves": 31, "learning_rate": 0.1, "min_child_weight": 0.3, "subsample": 0.7},
    {"max_leaves": 15, "learning_rate": 0.3, "min_child_weight": 0.1, "subsample": 1.0},
)
N_TREES = 150
SMALL_TREES = {**TREE_SETTINGS[1], "learning_rate": 0.2}  # the only setting with few rows
N_SMALL_TREES = 75
SHRINKAGES_AFTER_TREES, STRETCH_AFTER_TREES = (0.1, 0.5), 3.0
MIN_POSITIVES_FOR_TREES = 20  # with fewer, trees hardly contribute
FEW_ROWS = 1000  # with fewer, there are fewer and smaller trees, but any number of metrics
# From this ratio of the rows for trees to the rows that can be neighbors on, the log-odds of trees
# are a group: with two or three times, it gained nothing. See docs/decisions/0010.
MANY_TIMES = 5
# With this reading, rows are in the order of their log-odds, and the score is nearly linear in
# them, so that it is easy to calibrate. See docs/decisions/0010.
LOG_ODDS_READINGS = (Reading(80, averaged=True, power=1),)

# Which rows are learned from and validated.
MORE_ROWS = 20  # times as many rows as can be neighbors are the maximum that trees learn from
MORE_VALIDATED = 10  # times as many are the maximum that are validated, too

# The average of the best candidates.
AVERAGING = Averaging(
    n_kept=5,
    n_metrics=2,  # where their number is limited: see FEW_ROWS
    strength=3.0,
    drop_cost=2.0,
    few=40,
)
# Weights of the groups before the out-of-fold scores are seen.
KERNEL_WEIGHT = 3.0
LINEAR_WEIGHT = 2.0
TREE_WEIGHT = 1.5  # with many positives
HALF_TREE_WEIGHT = 40  # positives, with which trees have half of it

# Who goes on after a first round.
FIRST_ROUND = FirstRound(n_folds=2, min_positives=20)
N_SURVIVORS = 2 * AVERAGING.n_kept  # a metric with a candidate among this many of its group
FIRST_ROWS = 2000  # are sampled for it, if there are more than twice as many and one repeat only
# With fewer, a first round on a sample drops no whole group: it says too little about it. Chosen
# on `kr-vs-k-four`, because of `kr-vs-k-three`.
MIN_POSITIVES_TO_DROP_GROUPS = 100
# Share of a budget in seconds; the rest of the time is for fitting the chosen metrics.
EVALUATION_SHARE = 0.9
