import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit

from raremetric.rare.candidates import prior_weights
from raremetric.selection import averaging
from raremetric.selection.averaging import weigh_groups


def simulate(n_rows, qualities, seed=0):
    """Standardized scores of rows, of which a tenth is positive; quality is the shift of these."""
    rng = np.random.default_rng(seed)
    positive = np.arange(n_rows) % 10 == 0
    scores = rng.normal(size=(len(qualities), n_rows)) + np.outer(qualities, positive)
    scores -= scores.mean(axis=1, keepdims=True)
    return scores / scores.std(axis=1, keepdims=True), positive


def test_weights_minimize_the_penalized_log_loss(monkeypatch):
    monkeypatch.setattr(averaging, "DROP_COST", 1e9)
    scores, positive = simulate(400, [2.0, 1.0])
    prior = np.array([1.0, 3.0])

    def objective(parameters):
        w, slope, intercept = np.exp(parameters[:2]), np.exp(parameters[2]), parameters[3]
        p = expit(slope * w @ scores + intercept)
        loss = -np.log(np.where(positive, p, 1 - p)).sum()
        return loss + 3 * np.sum((parameters[:2] - np.log(prior)) ** 2)

    found = weigh_groups(scores, positive, prior)
    best = minimize(objective, np.zeros(4), method="Nelder-Mead", options={"maxiter": 20000,
                    "maxfev": 20000, "xatol": 1e-9, "fatol": 1e-12})  # fmt: skip
    np.testing.assert_allclose(found, np.exp(best.x[:2]), rtol=1e-3)


def test_few_rows_leave_the_prior_and_many_move_it():
    prior = np.array([3.0, 2.0])
    few, many = (weigh_groups(*simulate(n, [1.5, 3.0]), prior) for n in (60, 4000))
    assert few[0] / few[1] == pytest.approx(1.5, rel=0.5)
    assert many[0] / many[1] < 0.7 * few[0] / few[1]


def test_scores_that_are_noise_are_dropped_only_if_there_is_evidence():
    prior = np.array([3.0, 2.0, 1.0])
    assert weigh_groups(*simulate(5000, [0.0, 0.0, 3.0]), prior)[:2].tolist() == [0, 0]
    assert (weigh_groups(*simulate(5000, [2.0, 2.0, 2.0]), prior) > 0).all()
    assert (weigh_groups(*simulate(30, [1.0, 1.0, 1.5]), prior) > 0).all()


def test_repeats_are_no_further_evidence():
    scores, positive = simulate(200, [2.0, 0.5])
    prior = np.array([1.0, 1.0])
    once = weigh_groups(scores, positive, prior)
    twice = weigh_groups(np.tile(scores, 2), np.tile(positive, 2), prior, n_repeats=2)
    np.testing.assert_allclose(once, twice, rtol=1e-4)


def test_separable_scores_and_one_group():
    scores, positive = simulate(100, [50.0, 50.0])
    found = weigh_groups(scores, positive, np.array([3.0, 2.0]))
    assert np.isfinite(found).all()
    assert weigh_groups(scores[:1], positive, np.array([7.0])).tolist() == [1.0]


def test_trees_count_little_with_few_positives():
    few, many = prior_weights(5)["trees"], prior_weights(5000)["trees"]
    assert few < 0.2
    assert many == pytest.approx(1.5, abs=0.02)
