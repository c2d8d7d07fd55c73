import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning

from raremetric.learners.lmnn import LMNN
from raremetric.losses.large_margin import make_large_margin_loss
from raremetric.metric import initial_components
from raremetric.solvers.smooth import minimize_lbfgs
from raremetric.validation import check_labels
from tests.conftest import make_problem
from tests.oracles.large_margin import lmnn_loss, lmnn_optimum


@pytest.mark.parametrize("mu", [0.2, 0.8])
@pytest.mark.parametrize("weighted", [False, True])
def test_reaches_the_minimum_of_an_independent_solver(weighted, mu):
    X, y = make_problem(7, n_samples=20)
    w = np.resize([1.0, 2.0, 5.0], 20) if weighted else np.ones(20)
    lmnn, relative = LMNN(2, mu, max_iter=2000).fit(X, y, sample_weight=w), w / w.mean()
    optimum = lmnn_optimum(X, y, 2, mu, relative)
    assert lmnn.objective_ == pytest.approx(optimum, rel=1e-4)
    L, targets = lmnn.components_, lmnn.target_neighbors_
    assert lmnn.objective_ == pytest.approx(lmnn_loss(L, X, y, targets, mu, relative))


def test_all_starts_give_the_same_metric():
    X, y = make_problem(8)
    given = np.random.RandomState(0).normal(size=(3, 3))
    values = [LMNN(init=init, tol=1e-6).fit(X, y).objective_ for init in ("pca", "identity", given)]
    np.testing.assert_allclose(values, values[0], rtol=1e-5)


def test_target_neighbors_are_the_nearest_of_the_class():
    X = np.array([[0.0], [1.0], [3.0], [10.0], [11.0], [14.0]])
    lmnn = LMNN(n_neighbors=2).fit(X, list("aaabbb"))
    expected = [[1, 2], [0, 2], [1, 0], [4, 5], [3, 5], [4, 3]]
    np.testing.assert_array_equal(lmnn.target_neighbors_, expected)


def test_no_impostors():
    X = np.array([[0.0, 0], [0, 1], [0, 2], [99, 0], [99, 1], [99, 2]])
    lmnn = LMNN(n_neighbors=1, push_weight=1.0).fit(X, [0, 0, 0, 1, 1, 1])
    assert lmnn.objective_ == 0
    assert lmnn.n_iter_ == 0
    assert np.isfinite(lmnn.transform(X)).all()


def test_small_classes_have_fewer_targets():
    X, y = make_problem(9)
    X, y = np.vstack([X, X[:1] + 0.1]), np.append(y, 2)
    with pytest.warns(UserWarning, match=r"too few examples \(2: 1\)"):
        lmnn = LMNN().fit(X, y)
    np.testing.assert_array_equal(lmnn.target_neighbors_[-1], [-1, -1, -1])
    assert np.all(lmnn.target_neighbors_[:-1] >= 0)


def test_low_rank_and_a_start_at_the_minimum():
    X, y = load_iris(return_X_y=True)
    lmnn = LMNN(n_components=2).fit(X, y)
    assert lmnn.components_.shape == (2, 4)
    again = LMNN(n_components=2, init=lmnn.components_).fit(X, y)
    assert again.objective_ <= lmnn.objective_ * (1 + 1e-6)
    assert again.n_iter_ < 10


@pytest.mark.parametrize("mu", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("factor", [1e-29, 1e-8, 1e8, 1e29])
def test_the_scale_of_the_features_does_not_matter(factor, mu):
    X, y = make_problem(10)
    expected = LMNN(push_weight=mu).fit(X, y)
    lmnn = LMNN(push_weight=mu).fit(factor * X, y)
    assert lmnn.objective_ == pytest.approx(expected.objective_, rel=2e-4, abs=1e-3)
    if 0 < mu < 1:
        Z, expected_Z = lmnn.transform(factor * X), expected.transform(X)
        np.testing.assert_allclose(Z @ Z.T, expected_Z @ expected_Z.T, rtol=0.05, atol=0.05)


def test_few_examples_of_many_features_are_solved_by_plain_descent():
    X, y = make_problem(11, n_samples=20, n_features=30)
    lmnn = LMNN(max_iter=20)
    with pytest.warns(ConvergenceWarning):
        lmnn.fit(X, y)
    loss = make_large_margin_loss(
        X, check_labels(y, "test"), lmnn.target_neighbors_, np.ones(20), push_weight=0.5
    )
    start = initial_components("pca", X)
    plain = minimize_lbfgs(loss.value_and_gradient, start, max_iter=20, tol=1e-7)
    np.testing.assert_allclose(lmnn.components_, plain.L, rtol=1e-6, atol=1e-9)
    assert lmnn.objective_ == pytest.approx(plain.value)


def test_the_objective_is_exact_where_examples_are_far_from_all_others():
    X, y = make_problem(12, n_samples=30)
    far = X + 1e5 * np.eye(3)[0]  # in single precision, the distances within each half are lost
    X, y = np.vstack([X, far]), np.concatenate([y, y])
    lmnn = LMNN(push_weight=0.9, max_iter=2000).fit(X, y)
    loss = lmnn_loss(lmnn.components_, X, y, lmnn.target_neighbors_, 0.9)
    assert lmnn.objective_ == pytest.approx(loss, rel=1e-6)
    tighter = LMNN(push_weight=0.9, max_iter=2000, tol=1e-6).fit(X, y)
    assert lmnn.objective_ == pytest.approx(tighter.objective_, rel=1e-3)


@pytest.mark.parametrize("n_features", [3, 40])  # 40 separate the classes
@pytest.mark.parametrize("weights", [None, np.resize([1.0, 2.0, 5.0], 40)])
def test_settings_fitted_together_are_as_good_as_single_fits(weights, n_features):
    X, y = make_problem(13, n_samples=40, n_features=n_features)
    settings = [
        {"push_weight": mu, "n_neighbors": k, "max_iter": 300}
        for mu in (0.0, 0.2, 1.0, 0.5, 0.8)
        for k in (2, 3)
    ]
    learners = [LMNN(**each) for each in settings]
    LMNN.fit_settings(learners, X, y, weights)
    relative = None if weights is None else weights / weights.mean()
    for learner, setting in zip(learners, settings, strict=True):
        single = LMNN(**setting).fit(X, y, weights)
        targets, mu = single.target_neighbors_, learner.push_weight
        np.testing.assert_array_equal(learner.target_neighbors_, targets)
        value = lmnn_loss(learner.components_, X, y, targets, mu, relative)
        assert value == pytest.approx(learner.objective_, abs=1e-9)
        assert value == pytest.approx(single.objective_, rel=1e-3, abs=1e-3)
    with pytest.raises(ValueError, match="push_weight == 2"):
        LMNN.fit_settings([LMNN(push_weight=2)], X, y)
