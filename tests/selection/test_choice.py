import numpy as np
import pytest
from scipy.special import expit, logit
from sklearn.metrics import f1_score

from raremetric.rare.policy import AVERAGING
from raremetric.selection import Sample, check_aim, select


def test_a_selection_reports_the_utility_of_its_own_decisions():
    rng = np.random.default_rng(1)
    positive = np.arange(80) % 4 == 0
    scores = rng.normal(size=(6, 2, 80)) + positive
    selection = select(scores, ["a"] * 6, Sample(positive), check_aim("f1"), {"a": 1.0}, AVERAGING)
    p = expit(selection.log_odds(scores[selection.kept].reshape(5, -1)))
    truth = np.tile(positive, 2)
    assert selection.score == pytest.approx(f1_score(truth, p >= selection.threshold))
    rarer = select(
        scores,
        ["a"] * 6,
        Sample(positive, stands_for=(10.0, 1.0)),
        check_aim("f1"),
        {"a": 1.0},
        AVERAGING,
    )
    q = expit(rarer.log_odds(scores[selection.kept].reshape(5, -1)))
    np.testing.assert_allclose(logit(q), logit(p) + np.log(0.1))
    weights = np.where(truth, 1.0, 10.0)
    found = f1_score(truth, q >= rarer.threshold, sample_weight=weights)
    assert rarer.score == pytest.approx(found)
