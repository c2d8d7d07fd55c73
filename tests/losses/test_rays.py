import numpy as np
import pytest

from raremetric.losses.pair_sets import best_multiple, golden_section
from tests.conftest import make_problem
from tests.losses.test_pair_sets import make_loss


@pytest.mark.parametrize("lowest", [-2.0, 0.3, 5.0])
def test_golden_section_finds_the_minimum_or_the_nearer_end(lowest):
    found = golden_section(lambda t: (t - lowest) ** 2, -1.0, 4.0, accuracy=1e-3)
    assert found == pytest.approx(np.clip(lowest, -1, 4), abs=1e-3)


@pytest.mark.parametrize("refreshed", [False, True])
def test_the_loss_on_a_ray_is_the_loss(refreshed):
    L = np.diag([1.0, 2.0, 0.5])
    loss = make_loss(*make_problem(1), m=5.0, a=0.3, lam=0.2, refreshed=refreshed)
    expected, _ = loss.value_and_gradient(3.0 * L)
    assert loss.on_ray(loss.ray(L))(9.0) == pytest.approx(expected, rel=1e-12)


def test_strong_regularization_determines_the_scale():
    loss = make_loss(*make_problem(1), m=1.0, a=0.5, lam=1e6)
    L = best_multiple(2 * np.eye(3), loss.ray(2 * np.eye(3)), loss)
    np.testing.assert_allclose(L.T @ L, np.eye(3), rtol=0.05)
