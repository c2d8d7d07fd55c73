"""MLFP: a metric that is used only toward the examples of the rare class."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from raremetric.learners.base import MetricLearner
from raremetric.metric import (
    components_from_matrix,
    matrix_from_components,
    project_psd,
    squared_lengths,
)
from raremetric.neighbors import NeighborSearch
from raremetric.solvers.smooth import minimize_in_stages, minimize_projected
from raremetric.validation import (
    Labels,
    check_integer,
    check_real,
    rarest_or_given,
    warn_small_classes,
    warn_stopped,
)


class MLFP(MetricLearner):
    r"""Metric Learning from Few Positives: distances to the rare class shrink, others stay.

    Learns M = LᵀL with :math:`0 \preceq M \preceq I`, which measures the distance of a query to
    examples of the rare class, the positives. The distance to all others is the plain one. So a
    positive can come nearer to a query, and a negative cannot. :class:`MetricKNNClassifier` votes
    with both distances.

    Parameters
    ----------
    n_neighbors : int, default=3
        Number k of neighbors of each class that are compared, for each example.
    margin : float, default=0.5
        s ≥ 0: by how much a squared distance is to be smaller than another one.
    regularization : float, default=0.01
        μ ≥ 0: the pull of M toward the identity.
    pos_label : class label or None, default=None
        The positive class; None chooses the rarest. All other classes are negatives.
    max_iter : int, default=500
        Maximum number of iterations.
    tol : float, default=1e-3
        Stop when the objective is proved to be within this fraction of its minimum.

    Attributes
    ----------
    components_ : ndarray of shape (n_features, n_features)
        L, for distances to positives.
    pos_label_ : class label
        The positive class.
    objective_ : float
        Value of the loss at ``components_``.
    duality_gap_ : float
        The objective is at most this far above its minimum over all metrics.
    n_iter_ : int
        Number of iterations.
    classes_, n_features_in_, feature_names_in_ : ndarray, int, ndarray
        Class labels, number of features and, if ``X`` has string column names, their names.

    Notes
    -----
    Let P(i) and N(i) be the k nearest positives and negatives of example i, d the plain distance,
    :math:`d_M` the learned one, and α the share of positives. The loss is

    .. math::

        F(M) = \frac{1-\alpha}{nk^2} \sum_{i: y_i = 1} \sum_{j \in P(i)} \sum_{l \in N(i)}
        [s + d_M^2(i, j) - d^2(i, l)]_+
        + \frac{\alpha}{nk^2} \sum_{i: y_i = 0} \sum_{j \in N(i)} \sum_{l \in P(i)}
        [s + d^2(i, j) - d_M^2(i, l)]_+ + \mu \|M - I\|_F^2 .

    The first sum counts false negatives, the second false positives. Both are convex in M: it is
    minimized over M by projected gradient descent with rounded hinges, and the slope at any M
    gives a lower bound on all of F, hence ``duality_gap_``.

    The publication [1]_ leaves some choices open, or its program decides otherwise. Here, the
    neighbors are those under the plain distance; the sums are divided by the number of terms,
    :math:`nk^2`, so that μ does not depend on the number of examples (the theory divides by that
    of all triplets); M is a full matrix (in the program of the experiments a diagonal one after a
    PCA); and the descent starts from the identity, which does not matter.

    **Weights.** The weight of an example multiplies its terms, and α is the share of the
    weights. An example of weight 0 is left out.

    See Also
    --------
    IML : The earlier method of the same authors, with one metric for all distances.
    MetricKNNClassifier : The vote of the nearest neighbors under both distances.

    References
    ----------
    .. [1] R. Viola, R. Emonet, A. Habrard, G. Metzler and M. Sebban. "Learning from Few Positives:
       a Provably Accurate Metric Learning Algorithm to Deal with Imbalanced Data". IJCAI, 2020.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from raremetric import MLFP
    >>> X, y = make_classification(n_samples=200, weights=[0.9], random_state=0)
    >>> mlfp = MLFP().fit(X, y)
    >>> bool(mlfp.duality_gap_ <= 1e-3 * mlfp.objective_)
    True
    """

    is_one_sided = True  # a vote measures distances to ``pos_label_`` under it, others without it

    def __init__(
        self,
        n_neighbors=3,
        margin=0.5,
        regularization=0.01,
        *,
        pos_label=None,
        max_iter=500,
        tol=1e-3,
    ):
        self.n_neighbors = n_neighbors
        self.margin = margin
        self.regularization = regularization
        self.pos_label = pos_label
        self.max_iter = max_iter
        self.tol = tol

    def _fit(self, X: NDArray, labels: Labels, sample_weight: ArrayLike | None) -> None:
        X, labels, _, weights = self._weighted_data(X, labels, sample_weight)
        check_integer(self.n_neighbors, "n_neighbors", low=1)
        check_real(self.margin, "margin", low=0)
        check_real(self.regularization, "regularization", low=0)
        check_integer(self.max_iter, "max_iter", low=1)
        check_real(self.tol, "tol", low=0, closed="neither")
        self.classes_ = labels.classes
        self.pos_label_ = rarest_or_given(labels.classes, labels.counts, self.pos_label)
        positive = labels.classes[labels.codes] == self.pos_label_
        loss = make_loss(self, X, positive, np.ones(len(X)) if weights is None else weights)
        found = minimize_in_stages(
            partial(minimize_projected, largest=1.0), loss.value_and_gradient,
            lambda L: loss.value_and_gradient(L)[0], np.eye(X.shape[1]),
            lower_bound=loss.lower_bound, max_iter=self.max_iter, tol=self.tol,
        )  # fmt: skip
        if not found.converged:
            goal = f"the objective was known to be within tol={self.tol:g} of its minimum"
            warn_stopped("MLFP", found.n_iter, self.max_iter, goal)
        # The symmetric root does not depend on how the eigenvectors are ordered.
        self.components_ = components_from_matrix(matrix_from_components(found.L))
        self.objective_, self.n_iter_ = found.value, found.n_iter
        self.duality_gap_ = max(found.value - found.bound, 0.0)


class FewPositivesLoss(NamedTuple):
    """F(M) = Σ_p w_p Σ_t [c_pt + s_p δ_pᵀMδ_p]₊ + μ‖M − I‖²_F over 0 ⪯ M ⪯ I.

    Each pair p has a positive example as its second one, so that its distance is measured under M.
    For two positives, s = 1: the distance is to be smaller than the plain distances of the first
    one to negatives. For a negative and a positive, s = −1: it is to be larger.
    """

    differences: NDArray[np.float64]  # (n_pairs, n_features), δ
    signs: NDArray[np.float64]  # (n_pairs,), s
    constants: NDArray[np.float64]  # (n_pairs, k), c; −inf where there is no neighbor
    weights: NDArray[np.float64]  # (n_pairs,), w
    regularization: float  # μ

    def value_and_gradient(self, L: NDArray, width: float = 0.0) -> tuple[float, NDArray]:
        """F and its gradient over M, with the corners of the hinges rounded over ``width``."""
        lengths = squared_lengths(L, self.differences)
        u = np.maximum(self.constants + (self.signs * lengths)[:, np.newaxis], 0.0)
        slopes = np.minimum(u / width, 1.0) if width else (u > 0).astype(np.float64)
        values = slopes * u - width * slopes**2 / 2
        pulls = self.weights * self.signs * slopes.sum(axis=1)
        away = matrix_from_components(L) - np.eye(L.shape[1])
        value = self.weights @ values.sum(axis=1) + self.regularization * np.sum(away**2)
        gradient = (self.differences.T * pulls) @ self.differences
        return float(value), gradient + 2 * self.regularization * away

    def lower_bound(self, L: NDArray, width: float) -> float:
        """A lower bound on F over all M, from its slope at M = LᵀL.

        The rounded loss is nowhere above F, and F(M) + ⟨G, Z − M⟩ + μ‖Z − M‖² is nowhere above the
        rounded loss at Z. The minimum over Z is a projection, or for μ = 0 a sum of eigenvalues.
        """
        value, G = self.value_and_gradient(L, width)
        M = matrix_from_components(L)
        if self.regularization == 0:
            return value - np.sum(G * M) + np.minimum(np.linalg.eigvalsh(G), 0.0).sum()
        Z, _ = project_psd(M - G / (2 * self.regularization), largest=1.0)
        return value + np.sum(G * (Z - M)) + self.regularization * np.sum((Z - M) ** 2)


def make_loss(
    learner: MLFP, X: NDArray, positive: NDArray[np.bool_], weights: NDArray
) -> FewPositivesLoss:
    """The terms of each example and its nearest positives and negatives."""
    n_samples, k, s = len(X), learner.n_neighbors, learner.margin
    codes = positive.astype(np.int64)
    labels = Labels(np.array([False, True]), codes, np.bincount(codes, minlength=2))
    warn_small_classes(labels, k, "MLFP")
    negatives, positives = NeighborSearch(X, labels).nearest_of_each_class(None, k)
    plain = negatives.distances**2  # infinite where an example has no such neighbor
    constants = np.where(positive[:, np.newaxis], s - plain, s + plain)
    constants = np.where(np.isinf(plain), -np.inf, constants)
    known = positives.indices.ravel() >= 0
    first = np.repeat(np.arange(n_samples), positives.indices.shape[1])[known]
    second = positives.indices.ravel()[known]
    share = float(weights[positive].sum() / weights.sum())
    own = weights * np.where(positive, 1 - share, share) / (n_samples * k**2)
    signs = np.where(positive, 1.0, -1.0)[first]
    pairs = X[first] - X[second], signs, constants[first], own[first]
    return FewPositivesLoss(*pairs, float(learner.regularization))
