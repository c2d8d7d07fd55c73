import numpy as np
import pytest
from sklearn.preprocessing import StandardScaler

from raremetric import BalancedDiscriminant, Euclidean
from raremetric.rare.candidates import MetricSpec, with_readings
from raremetric.rare.evaluation import out_of_fold_scores, rounds_of, score_folds
from raremetric.rare.tuning_set import make_folds, make_tuning_set
from raremetric.validation import check_labels
from raremetric.voting import READINGS, Reading
from tests.conftest import make_problem
from tests.oracles.votes import nearness

SCALED = (StandardScaler(),)
METRICS = [
    MetricSpec("linear", "plain", SCALED, Euclidean()),
    MetricSpec("linear", "plain", SCALED, BalancedDiscriminant()),
]


@pytest.mark.parametrize(
    ("n_samples", "n_positive", "repeats", "n_folds"),
    [
        (500, 250, 2, 10),
        (501, 39, 2, 10),
        (2001, 39, 1, 5),
        (501, 40, 2, 5),
        (1000, 40, 2, 5),
        (1001, 40, 1, 5),
        (300, 4, 2, 4),
    ],
)
def test_more_folds_where_examples_are_few(n_samples, n_positive, repeats, n_folds):
    labels = check_labels(np.arange(n_samples) < n_positive, "A test")
    made = make_folds(labels, 0)
    assert [len(folds) for folds in made] == [n_folds] * repeats
    for folds in made:
        tested = np.sort(np.concatenate([test for _, test in folds]))
        np.testing.assert_array_equal(tested, np.arange(n_samples))
    thorough = make_folds(labels, 0, thorough=True)
    assert len(thorough) == 2 * repeats
    for folds, same in zip(made, thorough, strict=False):
        np.testing.assert_array_equal(folds[0][1], same[0][1])


def tuning_set(X, y, **options):
    given = {"scoring": "f1", "max_samples": None, "random_state": 0, "thorough": False}
    return make_tuning_set(X, check_labels(y, "A test"), **{**given, **options})


@pytest.mark.parametrize("weighted", [False, True])
def test_scores_come_from_examples_of_other_folds_in_the_order_of_the_candidates(weighted):
    X, y = make_problem(0, n_samples=40)
    weights = np.random.default_rng(0).uniform(0.1, 5.0, size=40) if weighted else None
    tuned = tuning_set(X, y, weights=weights)
    repeats = tuned.repeats
    assert not np.array_equal(repeats[0][0][1], repeats[1][0][1])
    metrics, scores = out_of_fold_scores(METRICS, tuned)
    assert metrics == METRICS
    assert scores.shape == (2 * len(READINGS), 2, 40)
    number = with_readings(METRICS).index((METRICS[1], Reading(2)))
    for repeat, folds in enumerate(repeats):
        for train, test in folds:
            own = {} if weights is None else {"sample_weight": weights[train]}
            scaler = StandardScaler().fit(X[train], **own)
            metric = BalancedDiscriminant().fit(scaler.transform(X[train]), y[train], **own)
            Z, Q = (metric.transform(scaler.transform(X[rows])) for rows in (train, test))
            expected = [nearness(Z, y[train], q, [1, 1], 2)[1] for q in Q]
            np.testing.assert_allclose(scores[number, repeat, test], expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("n_folds", "n_positive", "sizes"),
    [(5, 60, [2, 3]), (3, 60, [1, 2]), (2, 60, [1, 1]), (3, 50, [3])],
)
def test_the_first_round_is_two_folds_or_one_of_three(n_folds, n_positive, sizes):
    y = (np.arange(1200) < n_positive).astype(int)
    tuned = tuning_set(np.random.default_rng(0).normal(size=(1200, 2)), y, cv=n_folds)
    assert [len(folds) for folds in rounds_of(tuned.repeats[0], tuned)] == sizes


def test_threads_do_not_change_scores():
    tuned = tuning_set(*make_problem(0, n_samples=40))
    folds, _ = tuned.repeats
    np.testing.assert_array_equal(
        score_folds(METRICS, tuned, folds, n_jobs=1),
        score_folds(METRICS, tuned, folds, n_jobs=2),
    )
