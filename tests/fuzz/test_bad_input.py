"""Bad input: a ValueError or a TypeError that says in a sentence what is wrong."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from raremetric import BoostedLeaves, KernelLandmarks, RareClassifier
from tests.estimators import ESTIMATORS
from tests.fuzz.cases import n_cases
from tests.fuzz.properties import assert_one_sentence, strict_warnings

X = np.random.RandomState(0).normal(size=(12, 2))
Y = np.arange(12) % 3
WEIGHTS = np.ones(12)


def with_value(array, value):
    changed = np.array(array, dtype=object if isinstance(value, str) else float)
    changed[tuple(np.zeros(changed.ndim, int))] = value
    return changed


ONE_ROW = X[:1]
MISSING = with_value(X, np.nan)
WORD = with_value(X, "word")
BAD_X = [
    MISSING,
    with_value(X, np.inf),
    with_value(X, -np.inf),
    with_value(X, 1e200),
    WORD,
    X[0],
    X[:, :0],
    X[:0],
    ONE_ROW,
    X[:5],
    X[np.newaxis],
    X + 1j,
    sparse.csr_matrix((12, 2**28)),
    [[1.0, 2.0], [3.0]],
    5,
    "words",
    None,
]
BAD_Y = [
    Y[:-1],
    np.append(Y, 0),
    np.zeros(12),
    np.full(12, "one"),
    Y + 0.5,
    with_value(Y, np.nan),
    with_value(Y, np.inf),
    np.column_stack([Y, Y]),
    [None, *Y[1:]],
    [],
    7,
    "word",
    None,
]
BAD_WEIGHTS = [
    -WEIGHTS,
    0 * WEIGHTS,
    with_value(WEIGHTS, np.nan),
    with_value(WEIGHTS, np.inf),
    with_value(WEIGHTS, 1e-200),
    WEIGHTS[1:],
    np.column_stack([WEIGHTS, WEIGHTS]),
    "balanced",
    {0: 1.0},
]
BAD_VALUES = [-1, -0.5, np.nan, np.inf, -np.inf, "word", [], (1, 2, 3), {}, object(), b"word"]
# Any value is a seed, a number of threads, a boolean or a word for scikit-learn or NumPy to judge.
NOT_OURS = {"random_state", "n_jobs", "halving", "cv", "scoring"}


def taken_by(estimator):
    """What is no bad input for an estimator: missing values for trees, any column for encoders."""
    if isinstance(estimator, RareClassifier) and not hasattr(estimator, "classes_"):
        return [MISSING, WORD]
    return [MISSING] if isinstance(estimator, BoostedLeaves) else []


def is_refused(call):
    with strict_warnings():
        try:
            call()
        except Exception as error:
            assert_one_sentence(error)
            return True
    return False


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda estimator: type(estimator).__name__)
class TestRefused:
    @pytest.mark.parametrize("number", range(len(BAD_X)))
    def test_tables(self, estimator, number):
        rows = BAD_X[number]
        if any(rows is each for each in taken_by(estimator)):
            return
        n_labels = 1 if rows is ONE_ROW else 12
        assert is_refused(lambda: clone(estimator).fit(rows, Y[:n_labels]))

    @pytest.mark.parametrize("number", range(len(BAD_Y)))
    def test_labels(self, estimator, number):
        labels = BAD_Y[number]
        if isinstance(estimator, KernelLandmarks):
            labels = Y[:-1]  # labels are optional, and one class is enough
        assert is_refused(lambda: clone(estimator).fit(X, labels))

    @pytest.mark.parametrize("number", range(len(BAD_WEIGHTS)))
    def test_weights(self, estimator, number):
        if has_fit_parameter(estimator, "sample_weight"):
            weights = BAD_WEIGHTS[number]
            assert is_refused(lambda: clone(estimator).fit(X, Y, sample_weight=weights))

    @pytest.mark.usefixtures("few_candidates")
    def test_queries(self, estimator):
        fitted = clone(estimator).fit(X, Y)
        ask = fitted.predict if hasattr(fitted, "predict") else fitted.transform
        taken = taken_by(fitted)
        for rows in [*BAD_X[:8], *BAD_X[10:], np.hstack([X, X]), X[:, :1]]:
            if any(rows is each for each in taken):
                continue
            assert is_refused(lambda rows=rows: ask(rows))

    def test_parameters(self, estimator, few_candidates):
        """Any value of any parameter is used, or refused in a sentence."""
        names = sorted(set(estimator.get_params(deep=False)) - NOT_OURS)
        if not names:
            return

        @n_cases(30, nightly=2000)
        @given(st.sampled_from(names), st.sampled_from(BAD_VALUES))
        def run(name, value):
            is_refused(lambda: clone(estimator).set_params(**{name: value}).fit(X, Y))

        run()
