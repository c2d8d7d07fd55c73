"""GMML: a point on the geodesic between two closed-form metrics."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import linalg
from sklearn.utils import check_random_state

from raremetric.learners.base import MetricLearner
from raremetric.metric import components_from_matrix, spd_geodesic
from raremetric.pairs import (
    Pairs,
    neighbor_pairs,
    pair_sets,
    pair_weights,
    redraw,
    split_by_label,
)
from raremetric.validation import (
    Labels,
    check_integer,
    check_option,
    check_real,
    warn_small_classes,
)

PAIRS_PER_CLASS_PAIR = 40


class GMML(MetricLearner):
    r"""Geometric Mean Metric Learning, in closed form.

    With S and D the scatter matrices of similar and of dissimilar pairs, plus the identity, the
    metric is the point at t on the shortest path of positive definite matrices from S⁻¹, under
    which similar pairs are near, to D, under which dissimilar pairs are far.

    Parameters
    ----------
    t : float, default=0.5
        Between 0 (the metric is S⁻¹) and 1 (it is D).
    pairs : {"random", "neighbors"}, default="random"
        ``n_pairs`` pairs drawn at random, as in the paper; or each example with its k nearest of
        its own class and its k nearest of the other classes, under the Euclidean distance.
    set_weights : {"uniform", "balanced"}, default="uniform"
        Each pair has a weight of one; or the pairs of each class have the same total weight,
        separately in S and D. With ``pairs="neighbors"`` these are the sets and weights of ``IML``.
    n_pairs : int or None, default=None
        How many pairs ``fit`` draws, similar and dissimilar ones together. None means
        40·n_classes·(n_classes − 1).
    n_neighbors : int, default=3
        k, for ``pairs="neighbors"``.
    random_state : int, RandomState instance or None, default=None
        For ``pairs="random"``.
    n_jobs : int or None, default=None
        Threads in the search for neighbors. The result does not depend on it.

    Attributes
    ----------
    components_ : ndarray of shape (n_features, n_features)
        The symmetric square root of the metric.
    similar_scatter_ : ndarray of shape (n_features, n_features)
        S.
    dissimilar_scatter_ : ndarray of shape (n_features, n_features)
        D.
    objective_ : float
        (1 − t) δ²(M, S⁻¹) + t δ²(M, D), with δ the Riemannian distance: what M minimizes.
    pair_sets_ : dict
        For each class label, the pairs of row indices whose first row is of that class:
        ``.similar`` and ``.dissimilar``, of shape (n_pairs, 2).
    classes_, n_features_in_, feature_names_in_ : ndarray, int, ndarray
        Class labels, number of features and, if ``X`` has string column names, their names.

    Notes
    -----
    The metric is the weighted, regularized one of [1]_ with the identity as its prior,

    .. math::

        M = S^{-1} \,\#_t\, D, \qquad
        A \#_t B = A^{1/2} (A^{-1/2} B A^{-1/2})^t A^{1/2}.

    At t = ½ it minimizes tr MS + tr M⁻¹D and solves MSM = D. It is computed by a Cholesky factor
    and one symmetric eigendecomposition, never by a general fractional power of the unsymmetric
    SD, and so is positive definite for all t.

    S and D are sums over pairs, plus the identity. Balanced weights are scaled to a mean of one, so
    that the identity has the same meaning as with uniform weights.

    **Weights.** An example of weight 0 is left out. Otherwise, both examples of a random pair are
    drawn in proportion to their weights, as if rows were repeated; all pairs then count the same.
    With ``pairs="neighbors"``, the weight of an example multiplies the pairs of which it is the
    first; with balanced weights, the total weight of the pairs of a class does not change.
    Only ratios of weights matter: those of the pairs have a mean of one.

    Departures from the paper: neighbor pairs and balanced weights are additions. They give the
    closed form that the conclusion of [2]_ asks for: the sets of ``IML`` without a descent.

    See Also
    --------
    BalancedDiscriminant : A closed form that uses all examples of each class.
    IML : Minimizes a loss over the same sets of pairs.

    References
    ----------
    .. [1] P. Zadeh, R. Hosseini and S. Sra. "Geometric Mean Metric Learning". ICML, 2016.
    .. [2] L. Gautheron, E. Morvant, A. Habrard and M. Sebban. "Metric Learning from Imbalanced
       Data". ICTAI, 2019.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from raremetric import GMML
    >>> X, y = load_iris(return_X_y=True)
    >>> gmml = GMML(pairs="neighbors", set_weights="balanced").fit(X, y)
    >>> M, S = gmml.get_mahalanobis_matrix(), gmml.similar_scatter_
    >>> np.allclose(M @ S @ M, gmml.dissimilar_scatter_)
    True
    """

    def __init__(
        self,
        t=0.5,
        *,
        pairs="random",
        set_weights="uniform",
        n_pairs=None,
        n_neighbors=3,
        random_state=None,
        n_jobs=None,
    ):
        self.t = t
        self.pairs = pairs
        self.set_weights = set_weights
        self.n_pairs = n_pairs
        self.n_neighbors = n_neighbors
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _fit(self, X: NDArray, labels: Labels, sample_weight: ArrayLike | None) -> None:
        X, labels, rows, weights = self._weighted_data(X, labels, sample_weight)
        check_real(self.t, "t", low=0, high=1)
        check_option(self.pairs, "pairs", ("neighbors", "random"))
        check_option(self.set_weights, "set_weights", ("balanced", "uniform"))
        if self.n_pairs is not None:
            check_integer(self.n_pairs, "n_pairs", low=1)
        check_integer(self.n_neighbors, "n_neighbors", low=1)
        similar, dissimilar = self._select_pairs(X, labels, weights)
        if weights is None or self.pairs == "random":  # whose draw depends on the weights
            weights = np.ones(len(X))
        S, D = (self._scatter(X, labels, pairs, weights) for pairs in (similar, dissimilar))
        S, D = _check_definite(S, "similar"), _check_definite(D, "dissimilar")
        inverse = linalg.inv(S)
        M = spd_geodesic((inverse + inverse.T) / 2, D, self.t)
        self.classes_ = labels.classes
        self.components_ = components_from_matrix(M)
        self.similar_scatter_, self.dissimilar_scatter_ = S, D
        # M divides the path from S⁻¹ to D, of length δ, at t: δ² = Σ log² of the eigenvalues of SD.
        # These are squared singular values, which rounding cannot make negative.
        values = linalg.svdvals(linalg.cholesky(S) @ linalg.cholesky(D).T)
        self.objective_ = self.t * (1 - self.t) * float(np.sum((2 * np.log(values)) ** 2))
        self.pair_sets_ = pair_sets(labels, similar, dissimilar, rows)

    def _select_pairs(
        self, X: NDArray, labels: Labels, weights: NDArray | None
    ) -> tuple[Pairs, Pairs]:
        if self.pairs == "neighbors":
            warn_small_classes(labels, self.n_neighbors, type(self).__name__)
            return neighbor_pairs(X, labels, self.n_neighbors, self.n_jobs)
        random_state = check_random_state(self.random_state)
        n_classes = len(labels.classes)
        n_pairs = self.n_pairs or PAIRS_PER_CLASS_PAIR * n_classes * (n_classes - 1)
        anchors = redraw(len(X), n_pairs, random_state, weights)
        others = redraw(len(X), n_pairs, random_state, weights)  # equal rows add nothing
        return split_by_label(labels, anchors, others)

    def _scatter(self, X: NDArray, labels: Labels, pairs: Pairs, sample_weight: NDArray) -> NDArray:
        """I + Σ w δδᵀ over the pairs, with a mean weight of one."""
        weights = sample_weight[pairs.anchors]
        if self.set_weights == "balanced":
            weights = pair_weights(pairs, labels, sample_weight, "balanced")
        if len(weights):
            weights = weights / weights.mean()
        differences = X[pairs.anchors] - X[pairs.others]
        return (differences.T * weights) @ differences + np.eye(X.shape[1])


def _check_definite(scatter: NDArray, kind: str) -> NDArray:
    scatter = (scatter + scatter.T) / 2
    values = linalg.eigvalsh(scatter)
    if values[0] <= values[-1] * len(values) * np.finfo(float).eps:
        raise ValueError(
            f"The {kind} pairs do not span all {len(values)} features, so their scatter matrix "
            "is singular. Standardize the features, raise n_pairs, or drop constant features."
        )
    return scatter
