"""What holds for every estimator and every table."""

import pickle
import re
import traceback
import warnings
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import numpy as np
import sklearn
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from raremetric.validation import SmallClassWarning, accepted_weights

SKLEARN = str(sklearn.__path__[0])


@contextmanager
def strict_warnings():
    """The only warnings allowed are of a solver that stops early, and of small classes."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", SmallClassWarning)
        warnings.filterwarnings("ignore", "The least populated class in y", UserWarning)
        yield


def assert_one_sentence(error):
    """A refusal is a ValueError or a TypeError, and says something: in a sentence if it is ours."""
    assert type(error) in (ValueError, TypeError), repr(error)
    message = str(error)
    assert message
    last = traceback.extract_tb(error.__traceback__)[-1].filename
    if last.startswith(SKLEARN):
        return  # the words of scikit-learn
    assert "raremetric" in last, f"raised in {last}: {message}"
    assert re.search(r"[.?]$", message), message
    assert len(message) < 500, message


def fit(estimator, case):
    """Fit a copy; None if the data are refused, in one sentence."""
    weights = accepted_weights(estimator, case.weights)
    with strict_warnings():
        try:
            return clone(estimator).fit(case.X, case.y, **weights)
        except (ValueError, TypeError) as error:
            assert_one_sentence(error)
            return None


def answers(fitted, X):
    """Everything that a fitted estimator says about some rows, as arrays."""
    found = {}
    with strict_warnings():
        for name in ("transform", "predict", "predict_proba", "decision_function"):
            if hasattr(fitted, name):
                found[name] = np.asarray(getattr(fitted, name)(X))
    for name in ("components_", "objective_", "weights_", "threshold_", "gamma_", "best_score_"):
        if hasattr(fitted, name):
            found[name] = np.asarray(getattr(fitted, name))
    return found


def assert_same(found, expected):
    assert found.keys() == expected.keys()
    for name, value in found.items():
        np.testing.assert_array_equal(value, expected[name], err_msg=name)


def assert_finite(fitted, case):
    """All answers are finite, M is PSD, probabilities sum to one, the certificate is a number."""
    found = answers(fitted, case.X)
    for name, value in found.items():
        if name != "predict":
            assert np.isfinite(value).all(), name
    if "predict" in found:
        assert np.isin(found["predict"], fitted.classes_).all()
        p = found["predict_proba"]
        assert ((p >= 0) & (p <= 1)).all()
        np.testing.assert_allclose(p.sum(axis=1), 1, atol=1e-12)
    if hasattr(fitted, "get_mahalanobis_matrix"):
        M = fitted.get_mahalanobis_matrix()
        assert np.isfinite(M).all()
        values = np.linalg.eigvalsh(M)
        assert values[0] >= -1e-10 * max(values[-1], 0)
    if getattr(fitted, "regularization", 0) > 0:
        assert 0 <= fitted.duality_gap_ < np.inf
    return found


def check(estimator, case, extra):
    """Finite or refused, deterministic, no input is changed, and one of the properties below."""
    before = [None if part is None else part.copy() for part in case[:3]]
    fitted = fit(estimator, case)
    if fitted is None:
        assert fit(estimator, case) is None
    else:
        found = assert_finite(fitted, case)
        if extra not in IMPLY_DETERMINISM:
            assert_same(answers(fit(estimator, case), case.X), found)
        extra(fitted, estimator, case, found)
    for part, copy in zip(case[:3], before, strict=True):
        if part is not None:
            np.testing.assert_array_equal(part, copy)


def saved_is_loaded(fitted, estimator, case, found):
    assert_same(answers(pickle.loads(pickle.dumps(fitted)), case.X), found)


def saved_by_skops_is_loaded(fitted, estimator, case, found):
    import skops.io

    data = skops.io.dumps(fitted)
    loaded = skops.io.loads(data, trusted=skops.io.get_untrusted_types(data=data))
    assert_same(answers(loaded, case.X), found)


def threads_are_as_alone(fitted, estimator, case, found):
    # The switch of warnings is global: they are not caught in threads.
    with ThreadPoolExecutor(2) as pool, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        weights = accepted_weights(estimator, case.weights)
        both = [pool.submit(clone(estimator).fit, case.X, case.y, **weights) for _ in range(2)]
        models = [each.result() for each in both]
    for model in models:
        assert_same(answers(model, case.X), found)


def layout_does_not_matter(fitted, estimator, case, found):
    for X in (np.asfortranarray(case.X), np.ascontiguousarray(case.X, dtype=np.float64)):
        other = fit(estimator, case._replace(X=X))
        assert_same(answers(other, X), found)


def names_do_not_matter(fitted, estimator, case, found):
    """Other names in the same order give the same bits."""
    classes, codes = np.unique(case.y, return_inverse=True)
    names = np.array([f"name {c}" for c in range(len(classes))])
    other = fit(estimator, case._replace(y=names[codes]))
    expected = dict(found)
    if "predict" in found:
        positions = np.searchsorted(classes, found["predict"])
        expected["predict"] = names[positions]
    assert_same(answers(other, case.X), expected)


def order_does_not_matter(fitted, estimator, case, found):
    """Rows in another order, and classes too, have the same objective, or the same metric."""
    if not case.generic or getattr(estimator, "random_state", None) is not None:
        return
    order = np.arange(len(case.X))[::-1]
    weights = None if case.weights is None else case.weights[order]
    other = fit(estimator, case._replace(X=case.X[order], y=case.y[order], weights=weights))
    assert other is not None
    if hasattr(fitted, "objective_"):
        size = max(abs(fitted.objective_), 1e-12)
        assert abs(other.objective_ - fitted.objective_) <= 0.02 * size
    elif hasattr(fitted, "components_"):
        M, N = (each.get_mahalanobis_matrix() for each in (fitted, other))
        np.testing.assert_allclose(N, M, rtol=1e-6, atol=1e-9 * np.abs(M).max())


EXTRA = [
    saved_is_loaded,
    saved_by_skops_is_loaded,
    threads_are_as_alone,
    layout_does_not_matter,
    names_do_not_matter,
    order_does_not_matter,
]
# They fit again, and compare all bits.
IMPLY_DETERMINISM = [threads_are_as_alone, layout_does_not_matter, names_do_not_matter]
