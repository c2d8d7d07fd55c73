import numpy as np
import pytest

from raremetric.solvers import windowed as kernels
from raremetric.solvers.windowed import empty_history
from tests.losses.test_pair_sets_kernels import make_loss
from tests.oracles.lbfgs import inverse_hessian

pytestmark = pytest.mark.kernels


def positive_definite(rng, size):
    A = rng.normal(size=(size, size))
    return A @ A.T + np.eye(size)


@pytest.mark.parametrize(("dtype", "accuracy"), [(np.float64, 1e-8), (np.float32, 1e-2)])
@pytest.mark.parametrize("n_updates", [0, 3, 9])
def test_direction_against_dense_bfgs(n_updates, dtype, accuracy):
    rng, shape = np.random.RandomState(n_updates), (2, 3)
    hessian, inverse = positive_definite(rng, 6), positive_definite(rng, 3)
    history, L, gradient = empty_history(shape, dtype), rng.normal(size=shape), np.zeros(shape)
    pairs = []
    for _ in range(n_updates):
        point = rng.normal(size=shape)
        change = (hessian @ (point - L).ravel()).reshape(shape)
        kernels.remember(point, L, gradient + change, gradient, history)
        pairs.append(((point - L).ravel(), change.ravel()))
        L, gradient = point, gradient + change
    start = np.kron(np.eye(2), inverse)
    if pairs:
        s, y = pairs[-1]
        start *= s @ y / (y @ start @ y)
    kept = pairs[-len(history[0]) :]
    H = inverse_hessian(start, [s for s, _ in kept], [y for _, y in kept])
    heading, new = np.empty(shape, dtype), rng.normal(size=shape)
    kernels.direction(new, inverse.astype(dtype), history, heading)
    expected = -H @ new.ravel()
    scale = np.abs(expected).max()
    np.testing.assert_allclose(heading.ravel(), expected, rtol=0, atol=accuracy * scale)


def test_a_step_without_curvature_is_not_stored():
    history, zero, one = empty_history((1, 1), float), np.zeros((1, 1)), np.ones((1, 1))
    kernels.remember(one, zero, -one, zero, history)
    assert history[3][0] == 0
    for _ in range(len(history[0])):
        kernels.remember(one, zero, one, zero, history)
    assert history[3][0] == len(history[0])
    kernels.remember(one, zero, -one, zero, history)
    assert history[3][0] == len(history[0]) - 1


def test_a_window_descends_and_reports_convergence():
    loss = make_loss(np.random.RandomState(1), np.float64, 0)  # smooth: no neighbors to change
    L, width = np.eye(3), 0.1
    value, gradient, *_ = kernels.evaluate_pair_sets(L, loss, loss.others, width)
    history, inverse = empty_history((3, 3), float), np.eye(3)
    first, lower, done, settled = kernels.run_window(
        L, value, gradient, loss, loss.others, width, inverse, history, 3, 5, 1e-9
    )
    assert lower < value
    assert (done, settled) == (3, False)
    lower, gradient, *_ = kernels.evaluate_pair_sets(first, loss, loss.others, width)
    point, lowest, done, settled = kernels.run_window(
        first, lower, gradient, loss, loss.others, width, inverse, history, 500, 5, 1e-9
    )
    assert settled
    assert lowest < lower
    _, gradient, *_ = kernels.evaluate_pair_sets(point, loss, loss.others, width)
    assert np.abs(gradient).max() < 1e-3
