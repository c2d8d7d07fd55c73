"""What a user might choose instead: linear models, kernel machines, balanced forests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit
from sklearn import config_context
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils.validation import has_fit_parameter

from raremetric.contenders.averaged import ClassifierFamily
from raremetric.contenders.base import positive_scores
from raremetric.features.landmarks import kernel_distances, median_distance
from raremetric.performance import jit
from raremetric.validation import quiet_constants

CERTAIN = 1e-6  # probabilities are kept this far from 0 and 1
CLASS_WEIGHTS = [None, "balanced"]
LOGISTIC_GRID: dict[str, list] = {
    "C": np.logspace(-3, 3, 13).round(6).tolist(),
    "class_weight": CLASS_WEIGHTS,
}
MAX_PER_CLASS = 3000  # examples of a tree of a balanced forest
MAX_ROWS_OF_KERNEL = 5000  # learned from by default: all pairwise distances are computed
SVM_GRID: dict[str, list] = {
    "width": [0.5, 1.0, 2.0, 4.0, 8.0, 16.0],
    "C": [0.1, 1.0, 10.0, 100.0, 1000.0],
    "class_weight": CLASS_WEIGHTS,
}
FOREST_GRID: dict[str, list] = {
    "max_features": ["sqrt", 0.3, 0.6, 1.0],
    "min_samples_leaf": [1, 2, 4, 8],
    "max_depth": [None, 8, 4],
}


class Classifiers(ClassifierFamily):
    """Any scikit-learn classifier with scores or probabilities, on standardized features.

    Parameters
    ----------
    estimator : classifier
    """

    def __init__(self, estimator):
        self.estimator = estimator

    def fit(self, X, y, settings, seed, weights=None) -> Classifiers:
        """Fit one copy for each setting; an open ``random_state`` is set to the seed."""
        self.models_ = []
        for params in settings:
            model = make_pipeline(StandardScaler(), self._copy(params, seed))
            given = {}
            if weights is not None:  # for the steps that can take them
                given = {
                    f"{name}__sample_weight": weights
                    for name, step in model.steps
                    if has_fit_parameter(step, "sample_weight")
                }
            with quiet_constants():
                self.models_.append(model.fit(X, y.copy(), **given))
        return self

    def _copy(self, params: Mapping[str, Any], seed: int) -> Any:
        model = clone(self.estimator).set_params(**params)
        if model.get_params().get("random_state", 0) is None:
            model.set_params(random_state=seed)
        return model

    def scores(self, X: NDArray) -> NDArray:
        """Values of the decision function, or the log-odds of the probabilities."""
        found = np.stack([positive_scores(model, X) for model in self.models_])
        if hasattr(self.models_[0], "decision_function"):
            return found
        return logit(np.clip(found, CERTAIN, 1 - CERTAIN))


class LogisticRegressions(Classifiers):
    """scikit-learn's logistic regression."""

    def __init__(self):
        super().__init__(LogisticRegression(max_iter=1000))


class KernelMachines(ClassifierFamily):
    """Support vector machines with the kernel exp(−distance / (width · unit)).

    The unit is the median distance between two examples. All settings share the distances.

    Parameters
    ----------
    kernel : {"rbf", "laplacian"}
        Squared Euclidean or Manhattan distances of standardized features.

    Attributes
    ----------
    scaler_ : StandardScaler
    vectors_ : ndarray of shape (n_vectors, n_features)
        The standardized examples that are support vectors of some machine.
    coefficients_ : ndarray of shape (n_settings, n_vectors)
        The dual coefficients of each machine; 0 where an example is no support vector of it. Plain
        arrays, as in `Forest`: libsvm is not protected against a model file with changed content.
    intercepts_, widths_ : ndarray of shape (n_settings,)
    """

    def __init__(self, kernel="rbf"):
        self.kernel = kernel

    def fit(self, X, y, settings, seed, weights=None) -> KernelMachines:
        """Fit one machine for each setting: ``width`` and the parameters of SVC."""
        with quiet_constants():
            self.scaler_ = StandardScaler().fit(X, sample_weight=weights)
        X = self.scaler_.transform(X)
        distances = kernel_distances(X, X, self.kernel)
        unit = median_distance(distances)
        self.widths_ = np.array([params.get("width", 1.0) * unit for params in settings])
        coefficients = np.zeros((len(settings), len(X)))
        self.intercepts_ = np.empty(len(settings))
        for i, (params, width) in enumerate(zip(settings, self.widths_, strict=True)):
            svm = SVC(kernel="precomputed", **{k: v for k, v in params.items() if k != "width"})
            svm.fit(np.exp(-distances / width), y, sample_weight=weights)
            coefficients[i, svm.support_] = svm.dual_coef_[0]
            self.intercepts_[i] = svm.intercept_[0]
        used = coefficients.any(axis=0)
        self.vectors_, self.coefficients_ = X[used], coefficients[:, used]
        return self

    def scores(self, X: NDArray) -> NDArray:
        """Values of the decision function."""
        distances = kernel_distances(self.scaler_.transform(X), self.vectors_, self.kernel)
        machines = zip(self.coefficients_, self.intercepts_, self.widths_, strict=True)
        # One product per row, so that no other row changes the last bits of its value.
        return np.stack([np.vecdot(np.exp(-distances / w), a) + b for a, b, w in machines])


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


@jit
def mean_of_trees(X, roots, left, right, feature, threshold, value):
    """The mean over the trees of a `Forest`, of the value of each row of single precision."""
    p = np.zeros(len(X))
    for i in range(len(X)):
        for root in roots:
            node, following = -1, root
            while following != node:
                node = following
                goes_left = X[i, feature[node]] <= threshold[node]
                following = left[node] if goes_left else right[node]
            p[i] += value[node] / len(roots)
    return p


class BalancedForests(ClassifierFamily):
    """The balanced random forest of Chen, Liaw and Breiman (2004).

    Each tree learns from as many examples of one class as of the other, drawn with replacement; of
    each class, no more than `MAX_PER_CLASS`, because the time of a tree grows with their number.
    imbalanced-learn's forest is the same but takes several times as long, because it prepares and
    validates the sample of every tree. Why regression trees: see ``mean_importances``.

    Parameters
    ----------
    n_estimators : int
    """

    def __init__(self, n_estimators=50):
        self.n_estimators = n_estimators

    def fit(self, X, y, settings, seed, weights=None) -> BalancedForests:
        """Grow one forest for each setting: parameters of a tree.

        With weights, rows are drawn with probabilities that are proportional to them.
        """
        X, values = X.astype(np.float32), y.astype(np.float64)  # the types that trees work with
        classes = [np.flatnonzero(y == label) for label in (0, 1)]
        size = min(MAX_PER_CLASS, *map(len, classes))
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
        X = np.ascontiguousarray(X, dtype=np.float32)
        p = np.stack([mean_of_trees(X, *forest) for forest in self.forests_])
        return logit(np.clip(p, 0.5 / self.n_estimators, 1 - 0.5 / self.n_estimators))
