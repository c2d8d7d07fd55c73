"""IML: a metric whose loss gives each class the same weight."""

from __future__ import annotations

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from raremetric.learners.base import MetricLearner
from raremetric.learners.problem import LossParameters, PairSetProblem
from raremetric.metric import initial_components
from raremetric.pairs import check_max_samples, draw_anchors, pair_sets, select_pairs
from raremetric.solvers.smooth import SolverOptions
from raremetric.validation import (
    Labels,
    check_class_weights,
    check_integer,
    check_option,
    check_real,
    check_weights,
    warn_small_classes,
    warn_stopped,
)


class IML(MetricLearner):
    r"""Imbalanced Metric Learning: the rare class counts as much as the frequent one.

    Learns M = LᵀL so that the squared distance between neighbors of the same class is at most 1,
    and that between neighbors of different classes at least 1 + m. Each class has a set of similar
    and a set of dissimilar pairs, and every set has the same weight, no matter how few examples
    its class has.

    Parameters
    ----------
    n_neighbors : int, default=3
        Number k of similar and of dissimilar neighbors per example.
    margin : float, default=100.0
        m ≥ 0: squared distances across classes are pushed beyond 1 + m.
    similar_weight : float, default=0.5
        a between 0 and 1: the share of the similar pairs in the loss; the dissimilar pairs
        have 1 − a.
    regularization : float, default=0.01
        λ ≥ 0: the pull of M toward the identity.
    pairs : {"neighbors", "random", "all"}, default="neighbors"
        Each example with its nearest neighbors; 2nk pairs drawn at random; or all n² pairs, for
        small data. Only "neighbors" can be refreshed.
    dissimilar : {"refreshed", "fixed"}, default="refreshed"
        Whether an example's neighbors of other classes are found again under the current metric
        at every step, as in the program behind the paper's numbers, or chosen once under the
        Euclidean distance, as the paper's text says. Both are convex in M.
    set_weights : {"balanced", "uniform", "inverse"}, default="balanced"
        "balanced" gives each of the 2C sets of C classes a total weight of 1/(2C); "uniform" gives
        each pair a weight of one; "inverse" gives each pair of class c the weight 2(1 − n_c/n),
        which with ``similar_weight=0.5`` is the later method of the same authors.
    solver : {"auto", "lbfgs"}, default="auto"
        "auto" is a compiled L-BFGS over L. "lbfgs", SciPy's L-BFGS-B, is many times slower, but
        continues until it has proved its accuracy. For up to 40 examples, "auto" continues in the
        same way until it has proved
        10 ``tol``, for at most 5 ``max_iter`` more iterations. With a = 0 and λ = 0, it returns the
        first metric without a loss that SciPy's solver reaches, as the paper's program did.
    max_samples : int or None, default=20_000
        With more examples than this, the loss contains only the pairs of a random sample of this
        size: see the notes. None uses all examples. For ``pairs="neighbors"`` only.
    n_components : int or None, default=None
        Rank of the metric: the number of rows of L. None keeps all n_features. A lower rank
        makes the problem non-convex; ``duality_gap_`` then also holds what the rank costs.
    init : {"auto", "identity", "pca"} or array of shape (n_components, n_features), default="auto"
        Where to start. "identity" and "pca" are the unit and the principal axes. "auto" takes the
        unit axes (the principal axes for a lower rank) times the factor with the lowest loss,
        unless that factor is next to zero or leaves no loss at all.
    max_iter : int, default=200
        Maximum number of iterations.
    tol : float, default=1e-4
        Stop when the objective is within this fraction of its minimum (or of a hundredth of the
        loss of M = 0 or of the start, if that is more). "auto" estimates this from the gain of the
        last iterations. "lbfgs" proves it for λ > 0 and a metric of full rank, and
        estimates it otherwise. If ``fit`` ends without the proof or the estimate, it gives a
        ``ConvergenceWarning``; ``duality_gap_`` holds what is proved. Features on very
        different or very large scales can prevent the proof: standardize them. If a feature has a
        standard deviation above 32 and λ > 0, the estimate is not enough, and "auto" must prove
        10 ``tol``, too.
    random_state : int, RandomState instance or None, default=None
        For ``pairs="random"``, and for the draw of anchors if there are more than ``max_samples``
        examples.
    n_jobs : int or None, default=None
        Threads in the search for neighbors. The result does not depend on it.

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
        Number of iterations.
    classes_, n_features_in_, feature_names_in_ : ndarray, int, ndarray
        Class labels, number of features and, if ``X`` has string column names, their names.

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
    examples, each pair of the first has the weight n⁻/n and each pair of the second n⁺/n,

    .. math::

        F(M) = \sum_{c=1}^{C} \Big(1 - \frac{n_c}{n}\Big) \Big(
        \sum_{Sim_c} [d_M^2(x, x') - 1]_+ + \sum_{Dis_c} [1 + m - d_M^2(x, x')]_+ \Big)
        + \lambda \|M - I\|_F^2 .

    That method has no a; another ``similar_weight`` multiplies the two sums by 2a and 2(1 − a).

    Departures from the paper: more than two classes share one metric; the start is scaled
    (``init="identity"`` is the paper's start); the corners of the hinges are rounded during the
    descent, less and less (the reported objective is exact).

    **Weights.** The weight of an example multiplies the pairs of which it is the anchor. The total
    weight of each set of pairs does not change.

    **Large data.** Each set of pairs is a mean over its anchors. Beyond ``max_samples`` examples it
    is estimated without bias from a sample: the same number of anchors of each class, or all
    examples of a class that has fewer, with chances proportional to ``sample_weight``. Neighbors
    are searched among all examples. The objective, its gap and ``pair_sets_`` are those of the
    sampled problem. The metric then varies with the sample, and F1 by a few tenths of a point: see
    the page "Performance" of the documentation.

    The defaults of m, a and λ have the second best mean validation F1 of 120 settings over the
    training parts of the paper's 22 data sets (``benchmarks/defaults.py``), but no setting is good
    everywhere: tune with :class:`IMLCV`. Standardize the features first: the identity, toward
    which M is regularized, and the distance of one assume features on a common scale.

    See Also
    --------
    IMLCV : IML with its three parameters tuned by cross-validation.
    MetricKNNClassifier : Nearest neighbors under a learned metric.
    LMNN : A metric learner without weights against imbalance.

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
        max_samples=20_000,
        n_components=None,
        init="auto",
        max_iter=200,
        tol=1e-4,
        random_state=None,
        n_jobs=None,
    ):
        self.n_neighbors = n_neighbors
        self.margin = margin
        self.similar_weight = similar_weight
        self.regularization = regularization
        self.pairs = pairs
        self.dissimilar = dissimilar
        self.set_weights = set_weights
        self.solver = solver
        self.max_samples = max_samples
        self.n_components = n_components
        self.init = init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _fit(self, X: NDArray, labels: Labels, sample_weight: ArrayLike | None) -> None:
        check_parameters(self)
        weights = check_weights(sample_weight, len(X))
        check_class_weights(labels, weights)
        problem = make_problem(self, X, labels, weights)
        L, options = start_of(self, X)
        parameters = LossParameters(self.margin, self.similar_weight, self.regularization)
        found, self._bound, dissimilar = problem.solve(parameters, L, options)
        if not found.converged:
            goal = f"the objective was known to be within tol={self.tol:g} of its minimum"
            advice = "" if self.solver == "lbfgs" else ", or use solver='lbfgs'"
            warn_stopped("IML", found.n_iter, self.max_iter, goal, advice)
        self.classes_, self.components_ = labels.classes, found.L
        self.objective_, self.n_iter_ = found.value, found.n_iter
        self.pair_sets_ = pair_sets(labels, problem.pairs[0], dissimilar, np.arange(len(X)))

    @property
    def duality_gap_(self) -> float:
        """The objective is at most this far above its minimum over all metrics; NaN for λ = 0."""
        check_is_fitted(self)
        if self._bound.regularization == 0:
            return np.nan
        return max(self.objective_ - self._bound.value, 0.0)


def check_parameters(learner: IML) -> None:
    """Refuse parameters of IML that have no meaning."""
    check_integer(learner.n_neighbors, "n_neighbors", low=1)
    check_real(learner.margin, "margin", low=0)
    check_real(learner.similar_weight, "similar_weight", low=0, high=1)
    check_real(learner.regularization, "regularization", low=0)
    check_option(learner.pairs, "pairs", ("neighbors", "random", "all"))
    check_option(learner.dissimilar, "dissimilar", ("refreshed", "fixed"))
    check_option(learner.set_weights, "set_weights", ("balanced", "uniform", "inverse"))
    check_option(learner.solver, "solver", ("auto", "lbfgs"))
    check_max_samples(learner.max_samples)
    check_integer(learner.max_iter, "max_iter", low=1)
    check_real(learner.tol, "tol", low=0, closed="neither")


def start_of(learner: IML, X: NDArray) -> tuple[NDArray, SolverOptions]:
    """Where the descent starts, and how."""
    init = learner.init
    scale = isinstance(init, str) and init == "auto"
    options = SolverOptions(learner.solver, learner.max_iter, learner.tol, scale)
    return initial_components(init, X, learner.n_components), options


def make_problem(
    learner: IML, X: NDArray, labels: Labels, sample_weight: NDArray
) -> PairSetProblem:
    """The problem of IML on these data; the same for all m, a and λ."""
    kind, k, rng = learner.pairs, learner.n_neighbors, learner.random_state
    if kind == "neighbors":
        warn_small_classes(labels, k, type(learner).__name__)
    n_threads = effective_n_jobs(learner.n_jobs)
    max_samples = learner.max_samples if kind == "neighbors" else None
    anchors = draw_anchors(labels, sample_weight, max_samples, rng)
    pairs = select_pairs(kind, X, labels, k, rng, n_threads, anchors.rows)
    n_refreshed = k if kind == "neighbors" and learner.dissimilar == "refreshed" else 0
    return PairSetProblem(
        X, labels, pairs, set_weights=learner.set_weights, anchors=anchors,
        n_refreshed=n_refreshed, n_threads=n_threads,
    )  # fmt: skip
