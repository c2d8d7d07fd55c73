"""The paper's protocol, to the seed: splits, folds, resampling, candidates, the winner's rule."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import ParameterGrid, StratifiedKFold, train_test_split
from sklearn.preprocessing import StandardScaler

from raremetric.learners.base import MetricLearner
from raremetric.learners.euclidean import Euclidean
from raremetric.learners.gmml import GMML
from raremetric.learners.iml import IML
from raremetric.learners.itml import ITML
from raremetric.learners.lmnn import LMNN

KINDS: dict[str, type[MetricLearner]] = {
    kind.__name__: kind for kind in (Euclidean, LMNN, ITML, GMML, IML)
}
RESAMPLING = ("none", "smote", "rus")
SHARES = (0.5, 0.4, 0.3, 0.2, 0.1, 0.05, 0.04, 0.03, 0.02, 0.01)
N_NEIGHBORS = 3
N_FOLDS = 5
RESAMPLING_SEED = 42
IML_CANDIDATES = 100


class Candidate(NamedTuple):
    """A setting to try."""

    printed: str  # as the authors' program prints it: decides between equal scores
    params: dict[str, Any]


class Split(NamedTuple):
    """Rows to learn from and to test on, and the folds within the former."""

    train: NDArray
    test: NDArray
    folds: list[tuple[NDArray, NDArray]]  # places within train


def make_split(y: NDArray, split: int, test_size: float) -> Split:
    """Split number ``split``: one RandomState serves the split and then the folds."""
    rng = np.random.RandomState(split)
    train, test = train_test_split(
        np.arange(len(y)), stratify=y, shuffle=True, test_size=test_size, random_state=rng
    )
    folds = StratifiedKFold(N_FOLDS, shuffle=True, random_state=rng)
    return Split(train, test, list(folds.split(train, y[train])))


def prepare(
    X: NDArray, y: NDArray, X_test: NDArray, resampling: str
) -> tuple[NDArray, NDArray, NDArray]:
    """Resample what is learned from, then standardise by it."""
    X, y = resample(X, y, resampling)
    scaler = StandardScaler().fit(X)
    return scaler.transform(X), y, scaler.transform(X_test)


def resample(X: NDArray, y: NDArray, resampling: str) -> tuple[NDArray, NDArray]:
    """The training part, over- or under-sampled until both classes have the same size."""
    if resampling == "none":
        return X, y
    from imblearn.over_sampling import SMOTE
    from imblearn.under_sampling import RandomUnderSampler

    if resampling == "rus":
        return RandomUnderSampler(random_state=RESAMPLING_SEED).fit_resample(X, y)
    n_minority = int(np.bincount(y).min())
    if n_minority < 2:
        raise ValueError(
            f"SMOTE needs two minority examples to draw a line between; there is {n_minority}."
        )
    smote = SMOTE(random_state=RESAMPLING_SEED, k_neighbors=min(5, n_minority - 1))
    return smote.fit_resample(X, y)


def candidates(kind: str, split: int) -> list[Candidate]:
    """The paper's candidates for a kind of learner, in the order of split number ``split``."""
    shares = [float(share) for share in np.arange(0, 1.01, 0.05)]
    if kind == "Euclidean":
        return [Candidate("{'None': None}", {})]
    if kind == "LMNN":
        return [Candidate(str({"mu": mu}), {"push_weight": mu}) for mu in shares]
    if kind == "GMML":
        return [Candidate(str({"t": t}), {"t": t}) for t in shares]
    if kind == "ITML":  # see the Notes of ITML: the program's gamma divides the bounds
        gammas = [2.0**power if power < 0 else 2**power for power in range(-10, 11)]
        return [Candidate(str({"gamma": g}), {"bound_scale": 1 / g}) for g in gammas]
    grid = [
        Candidate(
            str({"m": m, "Lambda": lam, "a": a}),
            {"margin": float(m), "regularization": float(lam), "similar_weight": min(a, 1.0)},
        )
        for m in (1, 10, 100, 1000, 10000)
        for lam in (0, 0.01, 0.1, 1, 10)
        for a in shares
    ]
    random.Random(split).shuffle(grid)
    return grid[:IML_CANDIDATES]


def grid_candidates(grid: dict[str, list], n_candidates: int | None, split: int) -> list[Candidate]:
    """Candidates of a user's own grid; some of them, drawn by the split's number, if so wished."""
    chosen = [Candidate(str(params), params) for params in ParameterGrid(grid)]
    if n_candidates is not None and n_candidates < len(chosen):
        random.Random(split).shuffle(chosen)
        chosen = chosen[:n_candidates]
    return chosen


def winner(tried: Sequence[Candidate], scores: Sequence[float]) -> int:
    """Place of the candidate with the highest score; of equals the last by its printed form."""
    return max(range(len(tried)), key=lambda i: (scores[i], tried[i].printed))
