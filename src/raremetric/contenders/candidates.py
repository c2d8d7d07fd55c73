"""Candidates of metric learners where no grid is given, as the authors of IML tried them; words."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import numpy as np

from raremetric.contenders.base import Candidate

N_IML_CANDIDATES = 100
FRACTIONS = [float(fraction) for fraction in np.arange(0, 1.01, 0.05)]


def euclidean_candidates(split: int) -> list[Candidate]:
    """The plain distance has nothing to tune."""
    return [Candidate("{'None': None}", {})]


def lmnn_candidates(split: int) -> list[Candidate]:
    """The weight of the push term."""
    return [Candidate(str({"mu": mu}), {"push_weight": mu}) for mu in FRACTIONS]


def gmml_candidates(split: int) -> list[Candidate]:
    """The position t on the geodesic."""
    return [Candidate(str({"t": t}), {"t": t}) for t in FRACTIONS]


def itml_candidates(split: int) -> list[Candidate]:
    """The program's gamma divides the bounds: see the Notes of `ITML`."""
    gammas = [2.0**power if power < 0 else 2**power for power in range(-10, 11)]
    return [Candidate(str({"gamma": g}), {"bound_scale": 1 / g}) for g in gammas]


def iml_candidates(split: int) -> list[Candidate]:
    """The first hundred of the grid of 525, shuffled by the number of the split."""
    grid = [
        Candidate(
            str({"m": m, "Lambda": lam, "a": a}),
            {"margin": float(m), "regularization": float(lam), "similar_weight": min(a, 1.0)},
        )
        for m in (1, 10, 100, 1000, 10000)
        for lam in (0, 0.01, 0.1, 1, 10)
        for a in FRACTIONS
    ]
    random.Random(split).shuffle(grid)
    return grid[:N_IML_CANDIDATES]


def describe_params(params: Mapping[str, Any]) -> str:
    """A setting in words."""
    shown = (
        f"{name}={value:g}" if isinstance(value, float) else f"{name}={value}"
        for name, value in params.items()
    )
    return ", ".join(shown) or "the default settings"
