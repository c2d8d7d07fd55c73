"""IML: a metric whose loss gives each class the same say."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from raremetric.learners.base import MetricLearner, initial_components
from raremetric.losses.dual import DualBound
from raremetric.losses.pair_sets import PairSetObjective
from raremetric.pairs import (
    Pairs,
    all_pairs,
    neighbor_pairs,
    pair_sets,
    pair_weights,
    random_pairs,
)
from raremetric.performance import one_blas_thread
from raremetric.solvers.projected import minimize_projected
from raremetric.solvers.scipy import minimize_lbfgs
from raremetric.solvers.stages import Solution, minimize_in_stages
from raremetric.solvers.windowed import WIDTHS, as_exact_as, descend
from raremetric.validation import (
    Labels,
    check_integer,
    check_option,
    check_real,
    check_weights,
    warn_small_classes,
)


class IML(MetricLearner):
    r"""Imbalanced Metric Learning: the rare class counts as much as the frequent one.

    Learns M = LᵀL so that examples of one class come within a distance of one, and examples of
    different classes go beyond 1 + m. Each class has a set of similar and a set of dissimilar
    pairs, and every set has the same weight, however few examples its class has.

    Parameters
    ----------
    n_neighbors : int, default=3
        Number k of similar and of dissimilar neighbors per example.
    margin : float, default=100.0
        m ≥ 0: squared distances across classes are pushed beyond 1 + m.
    similar_weight : float, default=0.5
        a between 0 and 1: the share of the similar pairs in the loss; the dissimilar ones
        have 1 − a. With ``set_weights="inverse"`` there is no a: leave it at 0.5.
    regularization : float, default=0.01
        λ ≥ 0: the pull of M towards the identity.
    pairs : {"neighbors", "random", "all"}, default="neighbors"
        Each example with its nearest neighbors; 2nk pairs drawn at random; or all pairs (n²
        of them: for small data). Only "neighbors" can be refreshed.
    dissimilar : {"refreshed", "fixed"}, default="refreshed"
        Whether an example's neighbors of other classes are found anew under the current metric
        at every step, as in the program behind the paper's numbers, or chosen once under the
        plain distance, as the paper's text reads. Both are convex in M.
    set_weights : {"balanced", "uniform", "inverse"}, default="balanced"
        Each of the 2C sets (C classes) has a total weight of 1/(2C); or each pair has a weight
        of one; or, "inverse", each pair of class c has the weight 1 − n_c/n, without a: the later
        weights of the same authors.
    solver : {"auto", "lbfgs", "projected"}, default="auto"
        "auto" is a compiled L-BFGS over L, many times faster than the two others, which go on
        until they have proved how good they are: SciPy's L-BFGS-B over L, and accelerated
        projected gradient descent over M. With a = 0 and λ = 0 any metric that is large enough has
        no loss, and "auto" takes the first that SciPy comes to, as the paper's program did.
    n_components : int or None, default=None
        Rank of the metric: the number of rows of L. None keeps all n_features. A lower rank
        makes the problem non-convex; ``duality_gap_`` then also holds what the rank costs.
    init : {"auto", "identity", "pca"} or array of shape (n_components, n_features), default="auto"
        Where to start. "identity" and "pca" are the unit and the principal axes; "auto" takes the
        first (or, for a lower rank, the second) and stretches it by the factor that fits best (not
        if that brings it next to zero, or fits everything).
    max_iter : int, default=200
        Bound on the iterations.
    tol : float, default=1e-4
        Stop when the objective is within this fraction of its minimum. "auto" estimates that
        from what the last iterations gained. The other solvers prove it for λ > 0, where the
        iterations suffice (``duality_gap_`` says what is proved), and estimate it otherwise.
    warm_start : bool, default=False
        Start from the metric of the last ``fit`` instead of ``init``.
    random_state : int, RandomState instance or None, default=None
        For ``pairs="random"``.
    n_jobs : int or None, default=None
        Threads in the search for neighbors. The result does not depend on it.
    verbose : int, default=0
        1 logs every iteration ("auto": every few) to the logger "raremetric" (standard error
        by default).

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        L.
    objective_ : float
        Value of the loss at ``components_``.
    duality_gap_ : float
        The objective is at most this far above its minimum over all metrics. NaN for λ = 0.
    pair_sets_ : dict
        For each class label, the pairs of row indices in the loss: ``.similar`` and
        ``.dissimilar``, of shape (n_pairs, 2). Refreshed pairs are those of the final metric.
    n_iter_ : int
        Iterations done.
    classes_ : ndarray of shape (n_classes,)
        Class labels seen in ``fit``.
    n_features_in_ : int
        Number of features seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, when ``X`` has string column names.

    Notes
    -----
    The problem is equation (3) of [1]_, with one pair of sets for each of the C classes:

    .. math::

        F(M) = \sum_{c=1}^{C} \Big(
        \tfrac{a}{2C |Sim_c|} \sum_{Sim_c} [d_M^2(x, x') - 1]_+ +
        \tfrac{1-a}{2C |Dis_c|} \sum_{Dis_c} [1 + m - d_M^2(x, x')]_+ \Big)
        + \lambda \|M - I\|_F^2 .

    For two classes these are the paper's four sets and weights. The gradient over L
    is 2LΣcδδᵀ + 4λL(M − I), with c the weighted slope of the pair's hinge.

    The paper's ablations are settings: ``IML(set_weights="uniform")`` is ML2, and
    ``IML(pairs="random", set_weights="uniform")`` is ML1. ``IML(set_weights="inverse")`` is the
    later IML of [2]_, whose sets are summed, not averaged: for two classes with n⁺ and n⁻
    examples, each pair of the first weighs n⁻/n and each of the second n⁺/n,

    .. math::

        F(M) = \sum_{c=1}^{C} \Big(1 - \frac{n_c}{n}\Big) \Big(
        \sum_{Sim_c} [d_M^2(x, x') - 1]_+ + \sum_{Dis_c} [1 + m - d_M^2(x, x')]_+ \Big)
        + \lambda \|M - I\|_F^2 .

    Departures from the paper: more than two classes share one metric; the start is scaled
    (``init="identity"`` is the paper's); the corners of the hinges are rounded during the
    descent, ever less (the reported objective is exact).

    The defaults m = 100, a = 0.5, λ = 0.01 have the second best mean validation F1 of 120 settings
    over the training parts of the paper's 22 data sets (73.1 %; the best, 73.3 %, is m = 1000 with
    λ = 0.001, outside of the paper's grid; ``benchmarks/defaults.py``). No setting is good
    everywhere: tune with :class:`IMLCV`.

    Scale the features first: the identity that M is pulled to, and the distance of one, have a
    meaning for standardised features.

    References
    ----------
    .. [1] L. Gautheron, E. Morvant, A. Habrard and M. Sebban. "Metric Learning from Imbalanced
       Data". ICTAI, 2019.
    .. [2] L. Gautheron, A. Habrard, E. Morvant and M. Sebban. "Metric Learning from Imbalanced
       Data with Generalization Guarantees". Pattern Recognition Letters, 2020.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from raremetric import IML
    >>> X, y = make_classification(n_samples=200, weights=[0.9], random_state=0)
    >>> iml = IML().fit(X, y)
    >>> iml.transform(X).shape
    (200, 20)
    >>> proved = IML(solver="lbfgs", regularization=0.1).fit(X, y)
    >>> bool(proved.duality_gap_ <= 1e-4 * proved.objective_)
    True
    """

    def __init__(
        self,
        n_neighbors=3,
        margin=100.0,
        similar_weight=0.5,
        regularization=0.01,
        *,
        pairs="neighbors",
        dissimilar="refreshed",
        set_weights="balanced",
        solver="auto",
        n_components=None,
        init="auto",
        max_iter=200,
        tol=1e-4,
        warm_start=False,
        random_state=None,
        n_jobs=None,
        verbose=0,
    ):
        self.n_neighbors = n_neighbors
        self.margin = margin
        self.similar_weight = similar_weight
        self.regularization = regularization
        self.pairs = pairs
        self.dissimilar = dissimilar
        self.set_weights = set_weights
        self.solver = solver
        self.n_components = n_components
        self.init = init
        self.max_iter = max_iter
        self.tol = tol
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @one_blas_thread
    def fit(self, X, y, sample_weight=None) -> IML:
        """Learn the metric.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training examples; standardise them first.
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            An example's weight multiplies the pairs it is the anchor of, within their set: the
            set's total weight stays.

        Returns
        -------
        self : IML
        """
        X, labels = self._check_training_data(X, y)
        self._check_parameters()
        weights = check_weights(sample_weight, len(X))
        similar, dissimilar = self._select_pairs(X, labels)
        objective = self._objective(X, labels, similar, dissimilar, weights)
        solution = self._solve(objective, self._start(X, objective))
        self.classes_ = labels.classes
        self.components_ = solution.L
        self.objective_ = solution.value
        self.n_iter_ = solution.n_iter
        self.pair_sets_ = pair_sets(labels, similar, objective.dissimilar_pairs(solution.L))
        return self

    @property
    def duality_gap_(self) -> float:
        """The objective is at most this far above its minimum over all metrics; NaN for λ = 0."""
        check_is_fitted(self)
        if self._bound.regularization == 0:
            return np.nan
        return max(self.objective_ - self._bound.value, 0.0)

    def _check_parameters(self) -> None:
        check_integer(self.n_neighbors, "n_neighbors", low=1)
        check_real(self.margin, "margin", low=0)
        check_real(self.similar_weight, "similar_weight", low=0, high=1)
        check_real(self.regularization, "regularization", low=0)
        check_option(self.pairs, "pairs", ("neighbors", "random", "all"))
        check_option(self.dissimilar, "dissimilar", ("refreshed", "fixed"))
        check_option(self.set_weights, "set_weights", ("balanced", "uniform", "inverse"))
        if self.set_weights == "inverse" and self.similar_weight != 0.5:
            raise ValueError(
                f'similar_weight == {self.similar_weight}, but set_weights="inverse" fixes the '
                "weights of similar and dissimilar pairs; leave similar_weight at its default, 0.5."
            )
        check_option(self.solver, "solver", ("auto", "lbfgs", "projected"))
        check_integer(self.max_iter, "max_iter", low=1)
        check_real(self.tol, "tol", low=0, closed="neither")

    def _refreshed(self) -> bool:
        return self.pairs == "neighbors" and self.dissimilar == "refreshed"

    def _select_pairs(self, X: NDArray, labels: Labels) -> tuple[Pairs, Pairs]:
        if self.pairs == "all":
            return all_pairs(labels)
        if self.pairs == "random":
            n_pairs = 2 * len(X) * self.n_neighbors
            return random_pairs(labels, n_pairs, check_random_state(self.random_state))
        warn_small_classes(labels, self.n_neighbors, type(self).__name__)
        return neighbor_pairs(X, labels, self.n_neighbors, self.n_jobs)

    def _objective(
        self, X: NDArray, labels: Labels, similar: Pairs, dissimilar: Pairs, weights: NDArray
    ) -> PairSetObjective:
        whole = 2.0 if self.set_weights == "inverse" else 1.0  # makes up for a = 1 − a = ½
        return PairSetObjective(
            X,
            labels,
            similar,
            dissimilar,
            whole * pair_weights(similar, labels, weights, self.set_weights),
            whole * pair_weights(dissimilar, labels, weights, self.set_weights),
            margin=self.margin,
            similar_weight=self.similar_weight,
            regularization=self.regularization,
            refresh=self.n_neighbors if self._refreshed() else 0,
            spare=0 if self.solver == "auto" else self.n_neighbors,
            n_parts=effective_n_jobs(self.n_jobs),
        )

    def _start(self, X: NDArray, objective: PairSetObjective) -> NDArray:
        if self.warm_start and hasattr(self, "components_"):
            return initial_components(self.components_, X, self.n_components)
        L = initial_components(self.init, X, self.n_components)
        if isinstance(self.init, str) and self.init == "auto":
            return objective.best_multiple(L)
        return L

    def _solve(self, objective: PairSetObjective, L: NDArray) -> Solution:
        self._bound = DualBound(self.regularization)
        limits = {"max_iter": self.max_iter, "tol": self.tol}
        report = self._reporter(self.verbose)

        def lower_bound(point: NDArray, width: float) -> float:
            self._bound.add(objective.dual_point(point, width))
            return self._bound.value

        if self.solver == "auto":
            solution = self._descend(objective, L, report)
            solution = solution._replace(value=objective.value(solution.L))
            if self.regularization > 0:
                rough = as_exact_as(self.tol, objective)
                self._bound.add(objective.dual_point(solution.L, WIDTHS[-1], rough))
        else:
            minimize = self._reference_stage(objective, report)
            solution = minimize_in_stages(minimize, objective.value, lower_bound, L, **limits)
        if not solution.converged:
            warnings.warn(
                f"IML stopped after max_iter={self.max_iter} iterations, before the objective was "
                f"within tol={self.tol:g} of its minimum. Raise max_iter or tol.",
                ConvergenceWarning,
                stacklevel=4,
            )
        return solution

    def _descend(self, objective: PairSetObjective, L: NDArray, report=None) -> Solution:
        """The fast path; the value returned is that of a rounded loss."""
        limits = {"max_iter": self.max_iter, "tol": self.tol}
        if self.similar_weight == 0 and self.regularization == 0:
            # Any metric that is large enough has no loss: the way there decides which. Take the
            # way of the paper's program.
            return minimize_lbfgs(objective.value_and_gradient, L, **limits, report=report)
        return descend(objective, L, **limits, report=report)

    def _reference_stage(self, objective: PairSetObjective, report) -> Callable[..., Solution]:
        """A function that minimises the loss rounded by a given width."""
        solve: Callable[..., Solution] = minimize_lbfgs
        evaluate = objective.value_and_gradient
        if self.solver == "projected":
            solve, evaluate = minimize_projected, objective.value_and_matrix_gradient

        def minimize(L: NDArray, width: float, max_iter: int, tol: float) -> Solution:
            return solve(
                lambda point: evaluate(point, width), L, max_iter=max_iter, tol=tol, report=report
            )

        return minimize
