"""What was chosen on data for `RareClassifier`: ten rules, with what each decides.

They were chosen on the data sets that docs/contribute/algorithm.md names; docs/decisions/0016 has
the figures of the latest choices. Not here: what other estimators share, as the readings
(`voting.READINGS`) and the numbers of folds (`selection.folds.fold_numbers`), and what only keeps a
computation finite.
"""

from __future__ import annotations

from raremetric.selection import Averaging

# 1. Smooth metrics: a Laplacian kernel of each width, of the columns weighted by importance.
KERNEL_WIDTHS = (0.5, 2.0, 8.0)
KERNEL_SIZE = {"n_landmarks": 500, "n_components": 100}
IMPORTANCES = {"power": 0.5, "n_estimators": 30}
# 2. The discriminant after these maps, after none, and after ranking: each pair of the two. And IML
# of standardized columns, whose fits would take longer than all others with more columns.
SHRINKAGES = (0.1, 0.5, 0.9)
STRETCHES = (1.0, 3.0, 10.0)
MAX_QUANTILES = 200  # of the ranks of a feature
IML_SETTINGS = ({"margin": 100.0, "regularization": 0.01}, {"margin": 10.0, "regularization": 0.1})
MAX_FEATURES_OF_IML = 100
# 3. Boosted trees.
TREE_SETTINGS: tuple[dict[str, float], ...] = (
    {"max_leaves": 5, "learning_rate": 0.1, "min_child_weight": 0.1, "subsample": 0.7},
    {"max_leaves": 15, "learning_rate": 0.1, "min_child_weight": 0.1, "subsample": 0.7},
)
N_TREES = 150
TREE_SHRINKAGES, TREE_STRETCH = (0.1, 0.5), 3.0  # of the metrics after the leaves
# 4. Penalties of logistic regressions, on standardized and on ranked columns.
INVERSE_PENALTIES = (0.001, 0.01, 0.1, 1.0)
# 5. Which rows are learned from and validated, in multiples of those that can be neighbors.
MORE_ROWS = 20  # trees and logistic regressions learn from so many more at most
MORE_VALIDATED = 10  # so many more are validated at most
# 6. Weights of the groups before the out-of-fold scores are seen.
KERNEL_WEIGHT, LINEAR_WEIGHT = 3.0, 2.0
OTHER_WEIGHT = 1.5  # of trees, and of each group of plain scores, with many positives
HALF_OTHER_WEIGHT = 40  # positives, with which they have half of it
# 7. The average of the best candidates of each group.
AVERAGING = Averaging(n_kept=5, strength=0.1)
# 8. The first round of one repeat: the first folds that validate so many positives.
FIRST_POSITIVES = 20
FIRST_ROWS = 2000  # are sampled for it, if there are more than twice as many
# 9. Who goes on after it: a metric with a candidate among this many of its group.
N_SURVIVORS = 2 * AVERAGING.n_kept
# 10. Levels of a column of text that become 0/1 columns; see decision 6.
MAX_LEVELS = 100
