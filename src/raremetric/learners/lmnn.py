"""LMNN: a large margin between target neighbors and impostors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from raremetric.learners.base import MetricLearner
from raremetric.losses.large_margin import (
    LargeMarginLoss,
    find_targets,
    make_large_margin_loss,
)
from raremetric.metric import initial_components
from raremetric.pairs import check_max_samples, draw_anchors
from raremetric.solvers.smooth import PATIENCE, Solution, minimize_lbfgs
from raremetric.validation import (
    Labels,
    check_integer,
    check_real,
    warn_small_classes,
    warn_stopped,
)

STEP_TOLERANCE = 1e-3  # gain of one iteration that ends a plain descent, as a share of tol
SEPARATED = 1e-3  # share of the loss at the start: less means that the metric is not determined
RIDGE = 1e-3  # of the mean curvature, for directions in which no target differs


class LMNN(MetricLearner):
    r"""Large Margin Nearest Neighbor.

    Learns M = LᵀL so that each example is near its k target neighbors, the nearest of its own
    class, and no example of another class, an impostor, comes within a margin of them.

    Parameters
    ----------
    n_neighbors : int, default=3
        Number k of target neighbors per example.
    push_weight : float, default=0.5
        μ between 0 and 1: the share of the push of impostors in the loss; the pull of target
        neighbors has 1 − μ. With μ = 0 the metric shrinks to zero.
    max_samples : int or None, default=20_000
        If there are more examples, the sums run over at most this many of them, which are drawn at
        random: see the notes. None takes all.
    n_components : int or None, default=None
        Rank of the metric: the number of rows of L. None keeps all n_features.
    init : {"pca", "identity"} or array of shape (n_components, n_features), default="pca"
        Where to start: the principal axes, the unit axes (both are scaled to the data) or a
        given L.
    max_iter : int, default=200
        Maximum number of iterations.
    tol : float, default=1e-4
        Relative accuracy of the objective: the descent ends when five iterations gain less than
        this fraction of it (or of a hundredth of its value at the start), or when no step
        decreases it. This is an estimate, not a proof: far outliers can end the descent early.
    random_state : int, RandomState instance or None, default=None
        For the draw of anchors if there are more than ``max_samples`` examples.
    n_jobs : int or None, default=None
        Threads in the search for the target neighbors. The result does not depend on it.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        L.
    objective_ : float
        Value of the loss at ``components_``.
    target_neighbors_ : ndarray of shape (n_samples, n_neighbors)
        Row indices of the target neighbors of each training example, nearest first. Rows of
        classes with too few examples end in -1, and those of examples that are not anchors
        consist of -1.
    n_iter_ : int
        Number of iterations.
    classes_, n_features_in_, feature_names_in_ : ndarray, int, ndarray
        Class labels, number of features and, if ``X`` has string column names, their names.

    Notes
    -----
    With T(i) the target neighbors of example i, the problem is that of [1]_,

    .. math::

        F(L) = (1-\mu) \sum_i \sum_{j \in T(i)} d^2(i, j) +
        \mu \sum_i \sum_{j \in T(i)} \sum_{l:\, y_l \ne y_i}
        \big[1 + d^2(i, j) - d^2(i, l)\big]_+^2,

    with d² the squared distance after L. Both are sums, not means, so μ weighs them as in [1]_.
    The gradient is 2LΣcδδᵀ over the pairs of T and of examples and impostors: c = 1 − μ plus μ
    times the slopes of its triplets for a target, minus μ times these slopes for an impostor.

    The impostors are found again at every evaluation. The metric for c·X is that for X divided by
    c².

    Where classes can be separated with hardly any pull, as with few examples of many features or
    with μ = 1, many metrics have nearly the same loss. Then, and with μ = 0, plain L-BFGS
    from the start decides which one is found.

    Departures from the paper: the problem is solved over L by L-BFGS, not over M; for a full-rank
    L the loss is convex in M, so both have the same minimum. The hinge is squared, so that it has
    no corner. A class with fewer than k + 1 examples has fewer targets, one with a single example
    none.

    **Weights.** An example of weight 0 is left out. Otherwise, the terms of F of an example i, its
    pull and its push, are multiplied by its weight: an example of weight 2 counts like two examples
    i with the same targets and impostors. As a target or an impostor of others, it counts once.
    Only ratios matter: the weights are divided by their mean.

    **Large data.** Beyond ``max_samples`` examples, the sums over i run over a sample, the anchors:
    the same number of each class, or all examples of a class that has fewer, with chances
    proportional to their weights. The terms of an anchor are divided by its chance to be drawn, so
    that F is estimated without bias. Targets and impostors are found among all examples. This saves
    most of the search for targets, but none of the search for impostors.

    See Also
    --------
    IML : A metric learner for imbalanced classes.

    References
    ----------
    .. [1] K. Weinberger and L. Saul. "Distance Metric Learning for Large Margin Nearest Neighbor
       Classification". JMLR 10, 2009.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from raremetric import LMNN
    >>> X, y = load_iris(return_X_y=True)
    >>> lmnn = LMNN(n_components=2).fit(X, y)
    >>> lmnn.transform(X).shape
    (150, 2)
    >>> lmnn.target_neighbors_[0]
    array([17,  4, 39])
    """

    def __init__(
        self,
        n_neighbors=3,
        push_weight=0.5,
        *,
        max_samples=20_000,
        n_components=None,
        init="pca",
        max_iter=200,
        tol=1e-4,
        random_state=None,
        n_jobs=None,
    ):
        self.n_neighbors = n_neighbors
        self.push_weight = push_weight
        self.max_samples = max_samples
        self.n_components = n_components
        self.init = init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _fit(self, X: NDArray, labels: Labels, sample_weight: ArrayLike | None) -> None:
        self._fit_path([self], X, labels, sample_weight)

    @classmethod
    def fit_settings(cls, learners: Sequence[Self], X, y, sample_weight=None) -> None:
        """Fit several settings to the same data; see `MetricLearner.fit_settings`.

        Those that differ in ``push_weight`` only share the target neighbors, and each one starts
        from the metric of another.
        """
        groups: dict[tuple, list[Self]] = {}
        for learner in learners:
            others = learner.get_params() | {"push_weight": None}
            key = tuple(id(value) if np.ndim(value) else value for value in others.values())
            groups.setdefault(key, []).append(learner)
        for members in groups.values():
            for learner in members:
                rows, labels = learner._check_training_data(X, y)
            members[0]._fit_path(members, rows, labels, sample_weight)

    def _fit_path(
        self, learners: Sequence[Self], X: NDArray, labels: Labels, sample_weight: ArrayLike | None
    ) -> None:
        """Fit learners that differ from this one in ``push_weight`` only."""
        n_samples = len(X)
        X, labels, rows, weights = self._weighted_data(X, labels, sample_weight)
        for learner in learners:
            check_parameters(learner)
        warn_small_classes(labels, self.n_neighbors, type(self).__name__)
        given = np.ones(len(X)) if weights is None else weights
        anchors = draw_anchors(labels, given, self.max_samples, self.random_state)
        targets = find_targets(X, labels, self.n_neighbors, self.n_jobs, anchors.rows)
        # In units of about one variance, the result for c·X is that for X divided by c.
        unit, scale = unit_of_features(X), isinstance(self.init, str)
        loss = make_large_margin_loss(X / unit, labels, targets, anchors.weights, push_weight=0.5)
        start = initial_components(self.init, X, self.n_components, weights)
        start = start if scale else unit * start
        push_weights = [learner.push_weight for learner in learners]
        solutions = minimize_path(loss, push_weights, start, scale, self.max_iter, self.tol)
        numbers = np.full((n_samples, self.n_neighbors), -1)
        numbers[rows] = np.append(rows, -1)[targets]
        for learner, found in zip(learners, solutions, strict=True):
            if not found.converged:
                goal = f"the objective was estimated to be within tol={self.tol:g} of its minimum"
                warn_stopped("LMNN", found.n_iter, self.max_iter, goal)
            learner.classes_, learner.components_ = labels.classes, found.L / unit
            learner.objective_, learner.n_iter_ = found.value, found.n_iter
            learner.target_neighbors_ = numbers


def check_parameters(learner: LMNN) -> None:
    """Raise an error if a parameter of LMNN is not valid."""
    check_integer(learner.n_neighbors, "n_neighbors", low=1)
    check_real(learner.push_weight, "push_weight", low=0, high=1)
    check_max_samples(learner.max_samples)
    check_integer(learner.max_iter, "max_iter", low=1)
    check_real(learner.tol, "tol", low=0, closed="neither")


def unit_of_features(X: NDArray) -> float:
    """The power of two nearest to the root mean square of the centered features."""
    if not np.ptp(X, axis=0).any():  # equal examples; centered, they can differ from 0 by rounding
        return 1.0
    return float(2.0 ** np.round(np.log2(np.sqrt(np.mean((X - X.mean(axis=0)) ** 2)))))


def minimize_path(
    loss: LargeMarginLoss,
    push_weights: Sequence[float],
    L: NDArray,
    scale: bool,
    max_iter: int,
    tol: float,
) -> list[Solution]:
    """The minimum for each push weight; with ``scale`` only the directions of the start L matter.

    From the largest weight on, each starts from the metric of the one before: the rank of the
    metric falls with the weight, and a descent over L cannot raise it again. Metrics that
    the loss does not determine all start from L, by plain L-BFGS: that path then decides which
    metric is found. They are those with a push weight of 0, and those of classes that can be
    separated with hardly any pull: with few examples of many features, or a push weight of 1.
    """
    scatter = loss.scatter_of_targets()
    mean = np.sum((L @ scatter) * L) / max(np.sum((loss.targets >= 0).T * loss.weights), 1)
    scaled = L / np.sqrt(mean) if scale and mean > 0 else L  # distances of 1 between targets
    values, vectors = np.linalg.eigh(scatter)
    values = np.maximum(values, 0) + max(RIDGE * values.mean(), np.finfo(float).tiny)
    # With L = L'·inverse, the pull of the targets has about the same curvature for all of L'.
    inverse = (vectors * np.sqrt(values.mean() / values)) @ vectors.T

    solutions: dict[float, Solution] = {}
    last, plain = None, False
    for weight in sorted(set(push_weights), reverse=True):
        each = loss.weighted(weight)
        if weight > 0 and not plain:
            found = _descend(each, scaled if last is None else last, inverse, max_iter, tol)
            is_fresh = scale and last is None
            floor = SEPARATED * each.value_and_gradient(scaled)[0] if is_fresh else -np.inf
            if found.value > floor:
                solutions[weight], last = found, found.L
                continue
        solutions[weight] = minimize_lbfgs(
            each.value_and_gradient, L, max_iter=max_iter, tol=STEP_TOLERANCE * tol
        )
        plain = plain or weight < 1
    return [solutions[weight] for weight in push_weights]


def _descend(
    loss: LargeMarginLoss, L: NDArray, inverse: NDArray, max_iter: int, tol: float
) -> Solution:
    """Minimize over L' with L = L'·inverse."""

    def evaluate(point: NDArray) -> tuple[float, NDArray]:
        value, gradient = loss.value_and_gradient(point @ inverse)
        return value, gradient @ inverse

    start = np.linalg.solve(inverse, L.T).T
    found = minimize_lbfgs(evaluate, start, max_iter=max_iter, tol=tol, patience=PATIENCE)
    return found._replace(L=found.L @ inverse)
