"""The solvers against an independent conic solver."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from raremetric import IML
from tests.conftest import make_problem
from tests.oracles.conic import iml_optimum

GRID = np.random.RandomState(7)
PROBLEMS = [
    (
        seed,
        float(GRID.choice([1, 10, 100, 1000, 10_000])),
        float(GRID.choice([0, 0.01, 0.1, 1, 10])),
        float(GRID.choice(np.arange(0.05, 1, 0.05)).round(2)),
    )
    for seed in range(10)
]


SCHEMES = [(*problem, "balanced") for problem in PROBLEMS]
SCHEMES += [(*problem, "inverse") for problem in PROBLEMS[:4]]


@pytest.mark.parametrize("refreshed", [False, True], ids=["fixed", "refreshed"])
@pytest.mark.parametrize(("seed", "m", "lam", "a", "scheme"), SCHEMES)
def test_solvers_reach_the_conic_optimum(seed, m, lam, a, scheme, refreshed):
    X, y = make_problem(seed, n_samples=20, n_classes=2 + seed % 2)
    optimum = iml_optimum(X, y, k=3, m=m, a=a, lam=lam, refreshed=refreshed, scheme=scheme)
    iml = IML(
        margin=m,
        similar_weight=a,
        regularization=lam,
        dissimilar="refreshed" if refreshed else "fixed",
        set_weights=scheme,
        solver="lbfgs",
        max_iter=2000,
        tol=5e-5,
    ).fit(X, y)
    assert iml.objective_ == pytest.approx(optimum, rel=1e-4)
    if lam > 0:
        # The independent optimum is within the gap, and the gap is small.
        assert iml.objective_ - iml.duality_gap_ <= optimum * (1 + 1e-6)
        assert iml.duality_gap_ <= 1e-4 * optimum
    else:
        assert np.isnan(iml.duality_gap_)


@pytest.mark.parametrize(
    ("seed", "m", "a", "refreshed"),
    [
        (21, 0.1, 0.95, False),
        (7, 1.0, 0.8, False),
        (13, 1.0, 0.2, True),
        (22, 0.1, 0.95, True),
        pytest.param(18, 1.0, 0.8, False, marks=pytest.mark.kernels),
        pytest.param(8, 0.1, 0.8, True, marks=pytest.mark.kernels),
    ],
)
def test_the_fast_solver_reaches_the_optimum_of_tiny_problems(seed, m, a, refreshed):
    # The loss is small, so that the rounding of the hinges is not: it once cost up to 12 %.
    X, y = make_problem(seed, n_samples=14, n_features=4)
    optimum = iml_optimum(X, y, k=1, m=m, a=a, lam=1e-3, refreshed=refreshed)
    dissimilar = "refreshed" if refreshed else "fixed"
    iml = IML(1, m, a, 1e-3, dissimilar=dissimilar).fit(X, y)
    assert iml.objective_ <= optimum * (1 + 1e-3)
    assert iml.objective_ - iml.duality_gap_ <= optimum * (1 + 1e-6)


def test_a_tiny_problem_that_is_not_solved_gets_a_warning():
    X, y = make_problem(21, n_samples=14, n_features=4)
    with pytest.warns(ConvergenceWarning, match=r"stopped after \d+ iterations \(max_iter=10\)"):
        IML(1, 0.1, 0.95, 1e-3, dissimilar="fixed", max_iter=10).fit(X, y)
