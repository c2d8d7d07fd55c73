"""Rows as the values of the leaves that they reach in gradient-boosted trees."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from raremetric.extras import import_optional
from raremetric.performance import jit
from raremetric.scales import LabeledRows, validate_rows
from raremetric.validation import check_integer, check_labels, check_real, weighted_rows

LEAF = -1  # in place of the feature of a node


class Trees(NamedTuple):
    """Binary trees as arrays with one entry per node."""

    feature: NDArray[np.int32]  # the feature that is compared, or LEAF
    threshold: NDArray[np.float32]  # smaller values go left
    left: NDArray[np.int32]  # number of the left child; the right one is the next
    missing_left: NDArray[np.bool_]  # whether missing values go left
    value: NDArray[np.float32]  # of a leaf
    root: NDArray[np.int32]  # number of the first node of each tree


class BinnedRows(NamedTuple):
    """Examples in the form in which XGBoost grows trees; the same for all settings of the trees."""

    data: Any  # a QuantileDMatrix
    n_classes: int


def bin_rows(X: NDArray, y: NDArray, weights: NDArray | None, owner: str) -> BinnedRows:
    """Sort examples into the bins of XGBoost's histograms.

    NaN in X is a missing value, an example of weight zero is left out, and ``owner`` is the
    subject of error messages.
    """
    xgboost = import_optional("xgboost", owner)
    if weights is not None:
        rows, weights = weighted_rows(weights, len(X))
        X, y = X[rows], y[rows]
    labels = check_labels(y, owner)
    data = xgboost.QuantileDMatrix(X.astype(np.float32), labels.codes, weight=weights, nthread=1)
    return BinnedRows(data, len(labels.classes))


class BoostedLeaves(LabeledRows, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Map each row to the values of its leaves in gradient-boosted trees.

    Two rows are close if the trees treat them alike. Any metric learner can follow in a
    ``Pipeline``: its metric then has borders that are parallel to the axes, as trees have, and its
    decisions can still be explained by the nearest examples. Missing values are allowed.

    The trees are grown by XGBoost, which is needed for ``fit`` only: ``pip install
    ".[trees]"`` in a clone.

    Parameters
    ----------
    n_estimators : int, default=150
        Number of trees; with more than two classes, number of trees per class.
    learning_rate : float, default=0.1
        Factor of the values of each tree.
    max_leaves : int, default=15
        Maximum number of leaves of a tree.
    min_child_weight : float, default=0.1
        Minimum sum of p(1 − p) over the examples of a leaf, where p is their probability before
        the tree is grown. It is small, because the p of a rare class is.
    subsample : float, default=0.7
        Share of the examples that a tree is grown on.
    max_features : float, default=0.5
        Share of the features that are tried at a node.
    reg_lambda : float, default=1.0
        Weight of the sum of the squared values of the leaves.
    random_state : int, RandomState instance or None, default=None
        Determines the examples and features that are drawn.

    Attributes
    ----------
    trees_ : Trees
        The trees as arrays.
    n_features_in_, feature_names_in_ : int, ndarray of shape (n_features,)
        Number of features seen in ``fit``, and their names when ``X`` has string column names.

    See Also
    --------
    KernelLandmarks : Nonlinear features that are smooth.
    BalancedDiscriminant : A metric learner for many features.

    Notes
    -----
    The sum of the features of a row is its log-odds under the boosted model, up to a constant. The
    values of an example of the training data depend on its own label: the distance between a new
    row and an example is slightly larger than that between two examples. A vote or a threshold
    that is chosen by cross-validation accounts for this.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.pipeline import make_pipeline
    >>> from raremetric import BalancedDiscriminant, BoostedLeaves, MetricKNNClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = make_pipeline(
    ...     BoostedLeaves(random_state=0), MetricKNNClassifier(BalancedDiscriminant())
    ... ).fit(X[:400], y[:400])
    >>> bool(model.score(X[400:], y[400:]) > 0.9)
    True
    """

    def __init__(
        self,
        n_estimators=150,
        *,
        learning_rate=0.1,
        max_leaves=15,
        min_child_weight=0.1,
        subsample=0.7,
        max_features=0.5,
        reg_lambda=1.0,
        random_state=None,
    ):
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.max_leaves = max_leaves
        self.min_child_weight = min_child_weight
        self.subsample = subsample
        self.max_features = max_features
        self.reg_lambda = reg_lambda
        self.random_state = random_state

    def fit(self, X, y, sample_weight=None) -> BoostedLeaves:
        """Grow the trees.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features on any scale; NaN where a value is missing.
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Weights of the examples in the loss.

        Returns
        -------
        self : BoostedLeaves
        """
        X, y = validate_rows(self, X, y, ensure_all_finite="allow-nan")
        return self.fit_binned(bin_rows(X, y, sample_weight, type(self).__name__))

    def fit_binned(self, rows: BinnedRows) -> BoostedLeaves:
        """Grow the trees on rows that models with other settings share."""
        xgboost = import_optional("xgboost", type(self).__name__)
        n_rounds, parameters = self._parameters(rows.n_classes)
        self.n_features_in_ = rows.data.num_col()
        self.trees_ = read_trees(xgboost.train(parameters, rows.data, n_rounds))
        return self

    def transform(self, X) -> NDArray[np.float32]:
        """Values of the leaves that the rows reach.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        Z : ndarray of shape (n_samples, n_estimators) or (n_samples, n_estimators * n_classes)
        """
        check_is_fitted(self)
        X = validate_rows(self, X, reset=False, ensure_all_finite="allow-nan")
        return leaf_values(X.astype(np.float32), *self.trees_)

    def _parameters(self, n_classes: int) -> tuple[int, dict[str, Any]]:
        """Number of rounds and parameters of XGBoost, checked."""
        share: dict[str, Any] = {"low": 0, "high": 1, "closed": "right"}
        parameters = {
            "learning_rate": check_real(self.learning_rate, "learning_rate", **share),
            "max_leaves": check_integer(self.max_leaves, "max_leaves", low=2),
            "min_child_weight": check_real(self.min_child_weight, "min_child_weight", low=0),
            "subsample": check_real(self.subsample, "subsample", **share),
            "colsample_bynode": check_real(self.max_features, "max_features", **share),
            "reg_lambda": check_real(self.reg_lambda, "reg_lambda", low=0),
            "grow_policy": "lossguide",
            "max_depth": 0,  # only the number of leaves is limited
            "objective": "binary:logistic",
            "nthread": 1,
            "seed": int(check_random_state(self.random_state).randint(2**31 - 1)),
        }
        if n_classes > 2:
            parameters |= {"objective": "multi:softprob", "num_class": n_classes}
        return check_integer(self.n_estimators, "n_estimators", low=1), parameters

    def __setstate__(self, state):
        """Take over what was saved; trees from a file must not lead compiled code out of arrays."""
        if "trees_" in state and not _are_closed(state["trees_"], state.get("n_features_in_")):
            raise ValueError("the nodes of its trees do not fit together.")
        super().__setstate__(state)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = ["float32"]
        return tags

    @property
    def _n_features_out(self) -> int:
        return len(self.trees_.root)


def _are_closed(trees: Any, n_features: Any) -> bool:
    """Whether all numbers of nodes and features are within their arrays, and there is no circle."""
    if not (isinstance(trees, Trees) and isinstance(n_features, int)):
        return False
    if not all(isinstance(each, np.ndarray) and each.ndim == 1 for each in trees):
        return False
    *nodes, root = trees
    n_nodes = len(trees.feature)
    kinds = "".join(each.dtype.kind for each in trees)
    if kinds != "ifibfi" or any(len(each) != n_nodes for each in nodes):
        return False
    inner = np.flatnonzero(trees.feature >= 0)
    left = trees.left[inner]
    return bool(
        ((root >= 0) & (root < n_nodes)).all()
        and (trees.feature[inner] < n_features).all()
        and ((left > inner) & (left < n_nodes - 1)).all()  # children follow their parents
    )


def read_trees(booster: Any) -> Trees:
    """The trees of a fitted XGBoost model."""
    model = json.loads(bytes(booster.save_raw("json")))
    trees = model["learner"]["gradient_booster"]["model"]["trees"]
    sizes = [len(tree["left_children"]) for tree in trees]
    root = np.cumsum([0, *sizes[:-1]])

    def joined(name: str) -> NDArray:
        return np.concatenate([np.asarray(tree[name]) for tree in trees])

    offset = np.repeat(root, sizes)
    is_leaf = joined("left_children") < 0
    left, right = (joined(f"{side}_children") + offset for side in ("left", "right"))
    if not (is_leaf | (right == left + 1)).all():
        raise ValueError("This version of XGBoost numbers the nodes of a tree in an unknown order.")
    condition = joined("split_conditions")  # the threshold, or the value of a leaf
    return Trees(
        feature=np.where(is_leaf, LEAF, joined("split_indices")).astype(np.int32),
        threshold=np.where(is_leaf, 0, condition).astype(np.float32),
        left=left.astype(np.int32),
        missing_left=joined("default_left").astype(bool),
        value=np.where(is_leaf, condition, 0).astype(np.float32),
        root=root.astype(np.int32),
    )


@jit
def leaf_values(X, feature, threshold, left, missing_left, value, root):
    """Value of the leaf of each row in each tree, (n_rows, n_estimators)."""
    values = np.empty((len(X), len(root)), dtype=np.float32)
    for i in range(len(X)):
        for t in range(len(root)):
            node = root[t]
            while feature[node] >= 0:
                x = X[i, feature[node]]
                goes_left = missing_left[node] if np.isnan(x) else x < threshold[node]
                node = left[node] + (0 if goes_left else 1)
            values[i, t] = value[node]
    return values
