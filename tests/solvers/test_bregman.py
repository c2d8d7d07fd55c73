import numpy as np
import pytest

from raremetric.solvers.bregman import project_bregman
from tests.oracles.bregman import itml_optimum


def make_bounds(seed=0, n_pairs=10, n_features=3, feasible=True):
    """Random differences with feasible or infeasible bounds."""
    rng = np.random.RandomState(seed)
    differences = rng.normal(size=(n_pairs, n_features))
    signs = np.where(np.arange(n_pairs) % 2, 1.0, -1.0)
    root = rng.normal(size=(n_features, n_features))
    squared = np.sum((differences @ root.T) ** 2, axis=1)
    bounds = squared * np.where(signs > 0, 1.3, 0.7)
    if not feasible:
        differences[1], bounds[1] = differences[0], bounds[0] / 10
    return differences, signs, bounds


@pytest.mark.kernels
def test_one_bound_by_hand():
    # p = 4 must be at most 1: the axis shrinks by two, the multiplier is 1/1 − 1/4.
    one = np.ones(1)
    found = project_bregman(np.array([[2.0, 0.0]]), one, one, gamma=np.inf, max_iter=5, tol=1e-9)
    np.testing.assert_allclose(found.L, np.diag([0.5, 1.0]))
    np.testing.assert_allclose(found.multipliers, [0.75])
    np.testing.assert_array_equal(found.bounds, [1.0])
    # For M = diag(¼, 1), tr M − log det M − d is 5/4 + log 4 − 2.
    assert found.objective == pytest.approx(np.log(4) - 3 / 4)


@pytest.mark.parametrize("gamma", [0.1, 3.0, np.inf])
@pytest.mark.parametrize("seed", range(4))
def test_optimality_conditions(gamma, seed):
    differences, signs, bounds = make_bounds(seed)
    result = project_bregman(differences, signs, bounds, gamma=gamma, max_iter=200_000, tol=1e-10)
    assert result.converged
    squared = np.sum((differences @ result.L.T) ** 2, axis=1)
    assert np.all(result.multipliers >= 0)
    assert np.all(signs * (squared / result.bounds - 1) <= 1e-6)
    np.testing.assert_allclose(result.multipliers * (squared - result.bounds), 0, atol=1e-6)
    dual = np.eye(3) + (differences.T * (signs * result.multipliers)) @ differences
    np.testing.assert_allclose(np.linalg.inv(dual), result.L.T @ result.L, rtol=1e-6, atol=1e-9)
    slack = 1 / (1 / bounds - signs * result.multipliers / gamma)
    np.testing.assert_allclose(result.bounds, slack, rtol=1e-6)


@pytest.mark.parametrize("gamma", [0.5, 5.0, np.inf])
def test_minimum_of_an_independent_solver(gamma):
    differences, signs, bounds = make_bounds(5)
    result = project_bregman(differences, signs, bounds, gamma=gamma, max_iter=100_000, tol=1e-9)
    value, M = itml_optimum(differences, signs, bounds, gamma)
    assert result.objective == pytest.approx(value, rel=1e-4)
    np.testing.assert_allclose(result.L.T @ result.L, M, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("gamma", [1.0, 1e6, np.inf])
def test_infeasible_bounds_give_a_positive_definite_metric(gamma):
    differences, signs, bounds = make_bounds(6, n_pairs=40, feasible=False)
    result = project_bregman(differences, signs, bounds, gamma=gamma, max_iter=5000, tol=1e-12)
    values = np.linalg.svd(result.L, compute_uv=False)
    assert np.isfinite(values).all()
    assert values[-1] > 0
    assert np.isfinite(result.objective)


def test_printed_step_is_the_exact_one_for_other_bounds():
    """The step ½(1/p − γ/ξ) of the paper's Algorithm 1, against γ = 1 and bounds ξ₀/γ."""
    differences, signs, bounds = make_bounds(7)
    gamma, M, multipliers, slack = 0.3, np.eye(3), np.zeros(10), bounds.copy()
    for _ in range(4):
        for c, (difference, sign) in enumerate(zip(differences, signs, strict=True)):
            p = difference @ M @ difference
            alpha = min(multipliers[c], sign / 2 * (1 / p - gamma / slack[c]))
            slack[c] = gamma * slack[c] / (gamma + sign * alpha * slack[c])
            multipliers[c] -= alpha
            column = M @ difference
            M = M + sign * alpha / (1 - sign * alpha * p) * np.outer(column, column)
    result = project_bregman(differences, signs, bounds / gamma, gamma=1.0, max_iter=4, tol=1e-300)
    np.testing.assert_allclose(result.L.T @ result.L, M, rtol=1e-10)
    np.testing.assert_allclose(result.multipliers, multipliers, rtol=1e-10, atol=1e-14)


def test_bounds_that_hold_change_nothing():
    result = project_bregman(
        np.eye(2), np.ones(2), np.full(2, 100.0), gamma=1.0, max_iter=10, tol=1e-3
    )
    np.testing.assert_array_equal(result.L, np.eye(2))
    assert result.converged
    assert result.n_iter == 1
    assert result.objective == 0
