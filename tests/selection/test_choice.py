import numpy as np
import pytest
from scipy.special import expit, logit
from sklearn.metrics import f1_score

from raremetric.selection import check_aim, select


def test_a_selection_reports_the_utility_of_its_own_decisions():
    rng = np.random.default_rng(1)
    positive = np.arange(80) % 4 == 0
    scores = rng.normal(size=(6, 2, 80)) + positive
    selection = select(scores, ["a"] * 6, positive, check_aim("f1"), {"a": 1.0})
    p = expit(selection.log_odds(scores[selection.kept].reshape(5, -1)))
    truth = np.tile(positive, 2)
    assert selection.score == pytest.approx(f1_score(truth, p >= selection.threshold))
    rarer = selection.with_odds(0.1)
    q = expit(rarer.log_odds(scores[selection.kept].reshape(5, -1)))
    np.testing.assert_allclose(logit(q), logit(p) + np.log(0.1))
    np.testing.assert_array_equal(q >= rarer.threshold, p >= selection.threshold)
