"""The balanced random forest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit
from sklearn import config_context
from sklearn.tree import DecisionTreeRegressor

from raremetric.contenders.averaged import ClassifierFamily, Settings

FOREST_GRID: dict[str, list] = {
    "max_features": ["sqrt", 0.3, 0.6, 1.0],
    "min_samples_leaf": [1, 2, 4, 8],
    "max_depth": [None, 8, 4],
}


class Forest(NamedTuple):
    """The nodes of all trees of a forest, one after the other.

    Plain arrays, which a model file can hold. Compiled trees of scikit-learn are not loaded from
    such files, because they are not protected against changed content.
    """

    roots: NDArray[np.int64]  # (n_estimators,)
    left: NDArray[np.int64]  # (n_nodes,), the next node; a leaf leads to itself
    right: NDArray[np.int64]
    feature: NDArray[np.int64]
    threshold: NDArray[np.float64]
    value: NDArray[np.float64]

    @classmethod
    def pack(cls, trees: Sequence[DecisionTreeRegressor]) -> Forest:
        """Copy the nodes of fitted trees."""
        nodes = [tree.tree_ for tree in trees]
        starts = np.cumsum([0, *(each.node_count for each in nodes)])
        parts = []
        for start, each in zip(starts, nodes, strict=False):
            own, leaf = np.arange(each.node_count), each.children_left < 0
            left, right = (
                start + np.where(leaf, own, child)
                for child in (each.children_left, each.children_right)
            )
            feature = np.where(leaf, 0, each.feature)
            parts.append((left, right, feature, each.threshold, each.value[:, 0, 0]))
        return cls(starts[:-1], *map(np.concatenate, zip(*parts, strict=True)))

    def predict(self, X: NDArray[np.float32]) -> NDArray[np.float64]:
        """The value of each row in each tree, (n_estimators, n_rows)."""
        node = np.repeat(self.roots[:, np.newaxis], len(X), axis=1)
        rows = np.arange(len(X))
        for _ in range(len(self.left)):  # at most; usually the depth of the deepest tree
            is_left = X[rows, self.feature[node]] <= self.threshold[node]
            following = np.where(is_left, self.left[node], self.right[node])
            if np.array_equal(following, node):
                break
            node = following
        return self.value[node]


class BalancedForests(ClassifierFamily):
    """The balanced random forest of Chen, Liaw and Breiman (2004).

    Each tree learns from as many examples of one class as of the other, drawn with replacement.
    imbalanced-learn's forest is the same but takes several times as long, because it prepares and
    validates the sample of every tree. Why regression trees: see ``mean_importances``.

    Parameters
    ----------
    n_estimators : int
    """

    def __init__(self, n_estimators=100):
        self.n_estimators = n_estimators

    def fit(
        self,
        X: NDArray,
        y: NDArray,
        settings: Settings,
        seed: int,
        weights: NDArray | None = None,
    ) -> BalancedForests:
        """Grow one forest for each setting: parameters of a tree.

        With weights, rows are drawn with probabilities that are proportional to them.
        """
        X, values = X.astype(np.float32), y.astype(np.float64)  # the types that trees work with
        classes = [np.flatnonzero(y == label) for label in (0, 1)]
        size = min(map(len, classes))
        shares = [
            None if weights is None else weights[rows] / weights[rows].sum() for rows in classes
        ]
        with config_context(skip_parameter_validation=True, assume_finite=True):
            self.forests_ = []
            for params in settings:
                rng, trees = np.random.RandomState(seed), []
                for _ in range(self.n_estimators):
                    drawn = [
                        rows[rng.randint(len(rows), size=size)]
                        if p is None
                        else rng.choice(rows, size, p=p)
                        for rows, p in zip(classes, shares, strict=True)
                    ]
                    rows = np.concatenate(drawn)
                    # The generator itself: seeding another would cost as much as the tree.
                    tree = DecisionTreeRegressor(**params, random_state=rng)
                    trees.append(tree.fit(X[rows], values[rows], check_input=False))
                self.forests_.append(Forest.pack(trees))
        return self

    def scores(self, X: NDArray) -> NDArray:
        """Log-odds of the mean over the trees, kept half a tree away from 0 and 1."""
        X = X.astype(np.float32)
        p = np.zeros((len(self.forests_), len(X)))
        for i, forest in enumerate(self.forests_):
            for values in forest.predict(X):
                p[i] += values / self.n_estimators
        return logit(np.clip(p, 0.5 / self.n_estimators, 1 - 0.5 / self.n_estimators))
