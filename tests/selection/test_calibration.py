import numpy as np
import pytest
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss as sklearn_log_loss

from raremetric.selection.calibration import RIDGE, fit_sigmoid, log_loss

RNG = np.random.default_rng(0)
POSITIVE = RNG.random(50) < 0.3


def scored(seed=0, n=80, shift=1.0):
    rng = np.random.default_rng(seed)
    positive = rng.random(n) < 0.2
    return 3 * rng.normal(size=n) + shift * positive + 5, positive


def test_log_loss_is_scikit_learns():
    p = RNG.random((2, 50))
    expected = [sklearn_log_loss(POSITIVE, row) for row in p]
    np.testing.assert_allclose(log_loss(p, POSITIVE), expected)
    assert np.isfinite(log_loss(np.zeros(50), POSITIVE))


@pytest.mark.parametrize("shift", [0.5, 3.0, 30.0])  # 30: separable
def test_the_fit_is_scikit_learns_logistic_regression(shift):
    scores, positive = scored(shift=shift)
    Z = (scores - scores.mean()) / scores.std()
    theirs = LogisticRegression(C=1 / RIDGE, tol=1e-10, max_iter=10_000)
    theirs.fit(Z[:, np.newaxis], positive)
    sigmoid = fit_sigmoid(scores, positive)
    expected = theirs.predict_proba(Z[:, np.newaxis])[:, 1]
    np.testing.assert_allclose(sigmoid(scores), expected, rtol=1e-3, atol=1e-5)
    assert sigmoid.slope * scores.std() == pytest.approx(theirs.coef_[0, 0], rel=1e-3, abs=1e-4)


def test_scores_that_rank_worse_than_chance_are_not_reversed():
    scores, positive = scored(shift=-1.0)
    sigmoid = fit_sigmoid(scores, positive)
    assert sigmoid.slope == 0
    assert sigmoid(scores) == pytest.approx((positive.sum() + 1) / (len(positive) + 2))


def test_many_scores_at_once_are_fitted_as_each_alone():
    scores, positive = scored()
    table = np.stack([scores, -scores, scores**2]).reshape(3, 1, -1)
    together = fit_sigmoid(table, positive)
    assert together.slope.shape == (3, 1)
    for own, p in zip(table[:, 0], together(table)[:, 0], strict=True):
        np.testing.assert_allclose(p, fit_sigmoid(own, positive)(own), rtol=1e-9)


def test_probabilities_have_the_right_mean():
    scores, positive = scored()
    assert fit_sigmoid(scores, positive)(scores).mean() == pytest.approx(positive.mean(), rel=1e-6)


def test_scores_without_spread_give_the_share():
    positive = np.arange(20) < 5
    sigmoid = fit_sigmoid(np.full(20, 7.0), positive)
    np.testing.assert_allclose(sigmoid(np.full(3, 7.0)), 0.25, rtol=1e-6)


def test_units_of_the_score_do_not_matter():
    scores, positive = scored()
    moved = 100 * scores - 7
    np.testing.assert_allclose(
        fit_sigmoid(scores, positive)(scores), fit_sigmoid(moved, positive)(moved), rtol=1e-8
    )
    sigmoid = fit_sigmoid(scores, positive)
    by_hand = expit(sigmoid.slope * scores + sigmoid.intercept)
    np.testing.assert_array_equal(sigmoid(scores), by_hand)
