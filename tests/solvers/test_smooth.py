import numpy as np
import pytest

from raremetric.solvers.smooth import minimize_lbfgs

CURVATURES = np.logspace(0, 4, 12).reshape(3, 4)


def bowl(L):
    return float(1 + np.sum(CURVATURES * L**2)), 2 * CURVATURES * L


@pytest.mark.parametrize("patience", [2, 5])
def test_patience_ends_the_descent_after_iterations_with_little_gain(patience):
    start = np.ones((3, 4))

    def run(max_iter):
        return minimize_lbfgs(bowl, start, max_iter=max_iter, tol=1e-3, patience=patience)

    solution = run(500)
    assert solution.converged
    values = [run(n).value for n in range(1, solution.n_iter + 1)]
    history = np.array([bowl(start)[0], *values])
    gains = history[:-patience] - history[patience:]
    floor = 1e-2 * history[0]
    assert np.all(gains[:-1] > 1e-3 * np.maximum(history[patience:-1], floor))
    assert gains[-1] <= 1e-3 * max(history[-1], floor)


def test_a_descent_that_overflows_returns_its_start():
    def evaluate(point):
        return (1e-79, np.full((1, 1), 1e-39)) if point == 1 else (np.nan, np.full((1, 1), np.nan))

    start = np.ones((1, 1))
    found = minimize_lbfgs(evaluate, start, max_iter=5, tol=1e-6)
    assert np.array_equal(found.L, start)
    assert found.value == 1e-79
    assert not found.converged
