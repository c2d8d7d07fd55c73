"""What learners and maps refuse, and what they say when they stop early."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from raremetric import (
    GMML,
    IML,
    IMLCV,
    ITML,
    LMNN,
    MLFP,
    BalancedDiscriminant,
    BoostedLeaves,
    ImportanceWeights,
    KernelLandmarks,
)

BAD_VALUES = [
    (IML(margin=-1), "margin == -1, must be >= 0"),
    (IML(margin=np.nan), "margin == nan, must be finite"),
    (IML(similar_weight=1.5), "similar_weight == 1.5, must be <= 1"),
    (IML(regularization=-0.1), "regularization == -0.1, must be >= 0"),
    (IML(n_neighbors=0), "n_neighbors == 0, must be >= 1"),
    (IML(n_components=4), "n_components == 4, must be <= 3"),
    (IML(pairs="some"), "pairs must be one of 'all', .*got 'some'"),
    (IML(dissimilar=1), "dissimilar must be one of .*got 1"),
    (IML(set_weights="x"), "set_weights must be one of"),
    (IML(solver="sgd"), "solver must be one of 'auto', 'lbfgs'"),
    (IML(init="random"), "init must be one of 'auto', 'identity', 'pca'"),
    (IML(init=np.eye(2)), r"init.shape == \(2, 2\), expected .* == \(3, 3\)"),
    (IML(init=np.full((3, 3), np.nan)), "init contains NaN"),
    (IML(max_iter=0), "max_iter == 0, must be >= 1"),
    (IML(max_samples=1), "max_samples == 1, must be >= 2"),
    (IMLCV(n_candidates=2, max_samples=1), "max_samples == 1, must be >= 2"),
    (LMNN(max_samples=1), "max_samples == 1, must be >= 2"),
    (IML(tol=0), "tol == 0, must be > 0"),
    (LMNN(n_neighbors=0), "n_neighbors == 0"),
    (LMNN(push_weight=1.5), "push_weight == 1.5"),
    (LMNN(init=np.eye(2)), r"expected \(n_components, n_features\) == \(3, 3\)"),
    (LMNN(max_iter=0), "max_iter == 0"),
    (LMNN(tol=0), "tol == 0"),
    (LMNN(n_components=4), "n_components == 4"),
    (ITML(gamma=0), "gamma == 0"),
    (ITML(n_pairs=1), "n_pairs == 1, must be >= 2"),
    (ITML(bounds="deciles"), "bounds must be one of"),
    (ITML(bounds=(4.0, 1.0)), r"0 < u <= l.*got \(4.0, 1.0\)"),
    (ITML(bounds=4.0), "two numbers"),
    (ITML(bound_scale=0), "bound_scale == 0"),
    (ITML(max_iter=0), "max_iter == 0"),
    (ITML(tol=0), "tol == 0"),
    (GMML(t=-0.1), "t == -0.1"),
    (GMML(pairs="all"), "pairs must be one of 'neighbors', 'random'; got 'all'"),
    (GMML(set_weights="equal"), "set_weights must be one of"),
    (GMML(n_pairs=0), "n_pairs == 0"),
    (GMML(n_neighbors=0), "n_neighbors == 0"),
    (MLFP(pos_label=7), r"pos_label must be one of the classes \[0, 1\]; got 7"),
    (BalancedDiscriminant(shrinkage=0.0), "shrinkage == 0.0, must be > 0"),
    (BalancedDiscriminant(shrinkage=1.5), "shrinkage == 1.5, must be <= 1"),
    (BalancedDiscriminant(stretch=0.5), "stretch == 0.5, must be >= 1"),
    (KernelLandmarks("linear"), "kernel must be one of 'laplacian', 'rbf'; got 'linear'"),
    (KernelLandmarks(width=0.0), "width == 0.0, must be > 0"),
    (KernelLandmarks(n_landmarks=0), "n_landmarks == 0, must be >= 1"),
    (KernelLandmarks(n_components=0), "n_components == 0, must be >= 1"),
    (ImportanceWeights(-1.0), "power == -1.0, must be >= 0"),
    (ImportanceWeights(n_estimators=0), "n_estimators == 0, must be >= 1"),
    (BoostedLeaves(0), "n_estimators == 0, must be >= 1"),
    (BoostedLeaves(learning_rate=0.0), "learning_rate == 0.0, must be > 0"),
    (BoostedLeaves(max_leaves=1), "max_leaves == 1, must be >= 2"),
    (BoostedLeaves(subsample=1.5), "subsample == 1.5, must be <= 1"),
    (BoostedLeaves(max_features=0), "max_features == 0, must be > 0"),
    (BoostedLeaves(min_child_weight=-1), "min_child_weight == -1, must be >= 0"),
    (BoostedLeaves(reg_lambda=np.inf), "reg_lambda == inf, must be finite"),
]
BAD_TYPES = [
    (IML(margin="big"), "margin must be an instance of"),
    (IML(n_neighbors=2.5), "n_neighbors must be an instance of"),
    (IML(n_neighbors=True), "n_neighbors must be .* not bool"),
    (IML(max_samples=2.5), "max_samples must be an instance of int"),
]
CASES = [(*each, ValueError) for each in BAD_VALUES] + [(*each, TypeError) for each in BAD_TYPES]


@pytest.mark.parametrize(("learner", "message", "error"), CASES, ids=str)
def test_parameters_are_checked(learner, message, error, problem):
    with pytest.raises(error, match=message):
        learner.fit(*problem)


@pytest.mark.parametrize("learner", [IML(), LMNN(), ITML(), GMML(), MLFP(), BalancedDiscriminant()])
@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.full(24, -1.0), r"must not be negative; row 0 has -1"),
        (np.zeros(24), r"zero for every example"),
        (np.ones(3), r"sample_weight.shape == \(3,\), expected \(24,\)"),
        (np.full(24, np.nan), r"sample_weight contains NaN"),
    ],
)
def test_weights_are_checked(learner, weights, message, problem):
    with pytest.raises(ValueError, match=message):
        learner.fit(*problem, sample_weight=weights)


@pytest.mark.parametrize("learner", [IML(), LMNN(), ITML(), GMML(), MLFP(), BalancedDiscriminant()])
def test_a_class_without_weight_is_missing(learner, problem):
    X, y = problem
    message = "only one class"
    if isinstance(learner, IML):
        message = "All examples of class 1 have a sample_weight of zero"
    with pytest.raises(ValueError, match=message):
        learner.fit(X, y, sample_weight=1.0 - y)


@pytest.mark.parametrize(
    ("learner", "message"),
    [
        (IML(max_iter=2), r"2 iterations \(max_iter=2\).*Raise max_iter or"),
        (LMNN(max_iter=2), "max_iter=2.*Raise max_iter"),
        (ITML(max_iter=1, random_state=0), r"max_iter=1\).*gamma=1"),
        (MLFP(max_iter=3, regularization=0), "MLFP stopped after 3 iterations"),
    ],
)
def test_stopping_early_gives_a_warning(learner, message, problem):
    with pytest.warns(ConvergenceWarning, match=message):
        learner.fit(*problem)
