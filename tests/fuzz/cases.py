"""Small tables of every kind: scales, ties, constant columns, rare classes, types, weights."""

import math
import os
from typing import NamedTuple

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

EXPONENTS = [0, 0, 0, 0, -300, -160, -145, -139, -100, -39, -12, -6, 6, 12, 39, 100, 139, 145, 300]
VALUES = ["normal", "normal", "integers", "duplicates", "constant", "collinear", "equal"]
LABELS = ["integers", "words", "objects", "booleans", "negative", "floats"]
FORMS = ["C", "C", "Fortran", "float32", "integers", "strided"]
WEIGHTS = [None, None, "ordinary", "zeros", "tiny", "small", "huge"]


def n_cases(default: int, nightly: int = 10_000) -> settings:
    """The number of cases in the default profile and in the nightly one; a sixth in "quick"."""
    profile = os.environ.get("HYPOTHESIS_PROFILE", "default")
    numbers = {"default": default, "nightly": nightly, "quick": math.ceil(default / 6)}
    return settings(max_examples=numbers[profile])


class Case(NamedTuple):
    """A table, its labels and weights, and whether all distances differ."""

    X: np.ndarray
    y: np.ndarray
    weights: np.ndarray | None
    generic: bool


def make_values(rng, n, d, kind):
    """Standard normal values, integers, few different rows, or columns without information."""
    X = rng.normal(size=(n, d))
    if kind == "integers":
        return rng.randint(-2, 3, size=(n, d)).astype(float)
    if kind == "duplicates":
        return X[rng.randint(max(1, n // 3), size=n)]
    if kind == "constant":
        X[:, rng.randint(d)] = rng.choice([0.0, 1.0, -1e5])
    if kind == "collinear":
        X[:, -1] = 2 * X[:, 0]
    if kind == "equal":
        X[:] = X[0]
    return X


def make_codes(rng, n, n_classes, rare):
    """Classes of about the same size; or the last one has a single example."""
    codes = np.arange(n) % n_classes
    if rare:
        codes[codes == n_classes - 1] = 0
        codes[-1] = n_classes - 1
    return rng.permutation(codes)


def make_labels(codes, kind):
    """Labels of some type in place of codes from 0 to 4."""
    names = {
        "integers": np.arange(5),
        "words": np.array([f"class {c}" for c in range(5)]),
        "objects": np.array([f"[{c}]" for c in range(5)], dtype=object),
        "booleans": np.array([False, True, True, True, True]),
        "negative": 10**15 * (np.arange(5) - 2),
        "floats": np.arange(5) - 1.0,
    }
    return names[kind][codes]


def make_weights(rng, n, kind):
    """Weights of one kind, or None."""
    if kind is None:
        return None
    weights = rng.uniform(0.1, 3, size=n)
    if kind == "zeros":
        weights[rng.randint(n)] = 0.0
    return weights * {"tiny": 5e-324, "small": 1e-150, "huge": 5e307}.get(kind, 1.0)


def in_form(X, form):
    """The same table with another type or another order in memory."""
    if form == "Fortran":
        return np.asfortranarray(X)
    if form == "float32":
        return np.clip(X, -1e38, 1e38).astype(np.float32)
    if form == "integers":
        return np.clip(10 * X, -1e15, 1e15).astype(np.int64)
    return np.repeat(X, 2, axis=0)[::2] if form == "strided" else X


@st.composite
def cases(draw, max_rows=20):
    """A small table; numbers are drawn by NumPy, choices between kinds by Hypothesis."""
    rng = np.random.RandomState(draw(st.integers(0, 10**6)))
    n, d = draw(st.integers(4, max_rows)), draw(st.integers(1, 4))
    codes = make_codes(rng, n, min(draw(st.integers(2, 5)), n // 2), draw(st.booleans()))
    values, form = draw(st.sampled_from(VALUES)), draw(st.sampled_from(FORMS))
    X = make_values(rng, n, d, values)
    if draw(st.booleans()):  # classes that are apart
        X = X + 3 * (codes == 1)[:, np.newaxis]
    scaled = slice(None) if draw(st.booleans()) else 0  # all columns, or the first
    X[:, scaled] *= 10.0 ** draw(st.sampled_from(EXPONENTS))
    y = make_labels(codes, draw(st.sampled_from(LABELS)))
    weights = make_weights(rng, n, draw(st.sampled_from(WEIGHTS)))
    generic = values == "normal" and form in ("C", "Fortran")
    return Case(in_form(X, form), y, weights, generic)
