"""Both solvers against an independent conic solver."""

import numpy as np
import pytest

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
    for solver in ("lbfgs", "projected"):
        iml = IML(
            margin=m,
            similar_weight=a,
            regularization=lam,
            dissimilar="refreshed" if refreshed else "fixed",
            set_weights=scheme,
            solver=solver,
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
