"""Fits and predictions limit linear algebra to one thread and restore the limit afterwards."""

from concurrent.futures import ThreadPoolExecutor
from threading import Event

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification
from threadpoolctl import threadpool_info, threadpool_limits

import raremetric
from raremetric.performance import one_blas_thread
from tests.estimators import ESTIMATORS


def blas_threads():
    """Largest number of threads of all BLAS libraries; some are built for one thread."""
    return max(each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas")


class RecordingData:
    """Data that record the number of BLAS threads whenever they are converted to an array."""

    def __init__(self, values):
        self.values, self.shape, self.seen = values, values.shape, []

    def __len__(self):
        return len(self.values)

    def __array__(self, dtype=None, copy=None):
        self.seen.append(blas_threads())
        return np.array(self.values, dtype=dtype)


@pytest.fixture
def two_threads():
    with threadpool_limits(2, user_api="blas"):
        assert blas_threads() == 2
        yield


WITHOUT_PRODUCTS = (raremetric.Euclidean, raremetric.ImportanceWeights, raremetric.BoostedLeaves)


@pytest.mark.usefixtures("few_candidates")
@pytest.mark.filterwarnings("ignore")  # fits stop before they converge
@pytest.mark.parametrize(
    "estimator",
    [clone(each) for each in ESTIMATORS if not isinstance(each, WITHOUT_PRODUCTS)],
    ids=lambda each: type(each).__name__,
)
def test_a_fit_uses_one_thread_and_restores_the_limit(estimator, two_threads):
    X, y = make_classification(60, 4, random_state=0)
    X = RecordingData(X)
    estimator.fit(X, y)
    assert set(X.seen) == {1}
    assert blas_threads() == 2


def test_the_limit_is_restored_after_an_error(two_threads):
    @one_blas_thread
    def broken():
        """Raise an error."""
        assert blas_threads() == 1
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        broken()
    assert blas_threads() == 2
    assert (broken.__name__, broken.__doc__) == ("broken", "Raise an error.")


def test_the_limit_holds_until_the_last_thread_has_left(two_threads):
    entered, left = Event(), Event()

    @one_blas_thread
    def leaves_first():
        entered.set()
        assert left.wait(60)
        return blas_threads()

    @one_blas_thread
    def leaves_last():
        left.set()
        return first.result(), blas_threads()

    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(leaves_first)
        assert entered.wait(60)
        assert pool.submit(leaves_last).result() == (1, 1)
    assert blas_threads() == 2


@pytest.mark.usefixtures("few_candidates")
@pytest.mark.parametrize(
    "model",
    [
        raremetric.RareClassifier(budget=1e-3, random_state=0),
        raremetric.MetricKNNClassifier(raremetric.GMML(random_state=0), vote="score"),
    ],
    ids=lambda each: type(each).__name__,
)
def test_predictions_of_eight_threads_at_once_are_those_of_one(model, two_threads):
    X, y = make_classification(4000, 30, weights=[0.8], random_state=0)
    model.fit(X[:500], y[:500])
    parts = [X[start::8] for start in range(8)]
    with threadpool_limits(1, user_api="blas"):
        alone = [model.predict_proba(part) for part in parts]
    with ThreadPoolExecutor(8) as pool:
        at_once = list(pool.map(model.predict_proba, parts))
    np.testing.assert_array_equal(at_once, alone)
    assert blas_threads() == 2


@pytest.mark.parametrize(
    ("learner", "text"),
    [
        (raremetric.IML(max_iter=1), "max_iter"),
        (raremetric.LMNN(max_iter=1), "max_iter"),
        (raremetric.ITML(max_iter=1), "max_iter"),
        (raremetric.IML(n_neighbors=40), "n_neighbors"),
        (raremetric.LMNN(n_neighbors=40), "n_neighbors"),
        (raremetric.GMML(n_neighbors=40, pairs="neighbors"), "n_neighbors"),
    ],
    ids=str,
)
def test_warnings_point_at_the_line_that_calls_fit(learner, text):
    X, y = make_classification(60, 4, random_state=0)
    with pytest.warns(UserWarning, match=text) as caught:
        learner.fit(X, y)
    assert {each.filename for each in caught} == {__file__}
