import numpy as np
import pytest
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from raremetric import BalancedDiscriminant, Euclidean
from raremetric.rare import evaluation
from raremetric.rare.candidates import MetricSpec, with_readings
from raremetric.rare.evaluation import out_of_fold_scores, score_folds
from raremetric.selection import check_aim
from raremetric.voting import READINGS, Reading
from tests.conftest import make_problem
from tests.oracles.votes import nearness
from tests.rare.conftest import tuning_set

HALVES = np.arange(300), np.arange(300, 600)
F1 = check_aim("f1")
SCALED = (StandardScaler(),)
METRICS = [
    MetricSpec("linear", "plain", SCALED, Euclidean()),
    MetricSpec("linear", "plain", SCALED, BalancedDiscriminant()),
]


@pytest.fixture
def rounds(monkeypatch):
    """What is scored: the metrics, the tuning set and the folds of each round."""
    found, original = [], evaluation.score_folds

    def remember(metrics, tuned, folds, *others):
        found.append((metrics, tuned, folds))
        return original(metrics, tuned, folds, *others)

    monkeypatch.setattr(evaluation, "score_folds", remember)
    return found


def test_a_table_of_which_all_rows_are_examples_is_not_copied_and_judged_as_it_is():
    X, y = make_problem(0, n_samples=40)
    tuned = tuning_set(X, y)
    assert np.shares_memory(tuned.features, X)
    assert tuned.with_more_validated() is tuned
    assert not np.shares_memory(tuning_set(X, y, max_samples=30).features, X)


@pytest.mark.parametrize("weighted", [False, True])
def test_scores_come_from_examples_of_other_folds_in_the_order_of_the_candidates(weighted):
    X, y = make_problem(0, n_samples=40)
    weights = np.random.default_rng(0).uniform(0.1, 5.0, size=40) if weighted else None
    tuned = tuning_set(X, y, weights=weights)
    repeats = tuned.repeats
    assert not np.array_equal(repeats[0][0][1], repeats[1][0][1])
    metrics, scores = out_of_fold_scores(METRICS, tuned, F1)
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


@pytest.mark.parametrize(("n_positive", "n_tried"), [(60, 2), (40, 3), (20, 5), (8, 5)])
def test_a_first_round_on_a_sample_has_more_folds_if_positives_are_few(n_positive, n_tried, rounds):
    y = (np.arange(1200) < n_positive).astype(int)
    tuned = tuning_set(np.random.default_rng(0).normal(size=(1200, 2)) + 3 * y[:, None], y, cv=5)
    out_of_fold_scores(METRICS, tuned, F1, first_rows=500)
    sizes = [(len(tuned.rows), len(folds)) for _, tuned, folds in rounds]
    assert sizes == [(500, n_tried), (1200, 5)]


def two_rings(n_samples, share, seed=0):
    """A rare ring within a common one, and a column of noise."""
    rng = np.random.default_rng(seed)
    y = (rng.uniform(size=n_samples) < share).astype(int)
    radius = np.where(y == 1, 1.0, 3.0) + 0.6 * rng.normal(size=n_samples)
    angle = rng.uniform(0, 2 * np.pi, size=n_samples)
    circle = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
    return np.column_stack([circle, rng.normal(size=n_samples)]), y


def test_the_best_metrics_of_each_group_go_on_after_a_first_round_on_a_sample(rounds):
    X, y = two_rings(2500, 0.1)
    noise = (FunctionTransformer(lambda X: X[:, 2:]),)
    learners = (Euclidean(), *(BalancedDiscriminant(stretch=g) for g in (1.0, 3.0, 10.0)))
    metrics = [
        *(MetricSpec("importance, laplacian", "good", SCALED, each) for each in learners),
        *(MetricSpec("importance, laplacian", "noise", noise, each) for each in learners),
        MetricSpec("linear", "noise", noise, Euclidean()),
    ]
    tuned, done = tuning_set(X, y, cv=5), []
    kept, scores = out_of_fold_scores(metrics, tuned, F1, on_step=done.append, first_rows=1000)
    assert {(metric.group, metric.branch) for metric in kept} == {
        ("importance, laplacian", "good"),
        ("linear", "noise"),
    }
    sizes = [(len(metrics), len(tuned.rows), len(folds)) for metrics, tuned, folds in rounds]
    assert sizes == [(9, 1000, 2), (len(kept), 2500, 5)]
    assert sum(done) == 9 * 5
    assert np.isfinite(scores).all()
    again = score_folds(kept, tuned, tuned.repeats[0]).astype(scores.dtype)
    np.testing.assert_array_equal(scores[:, 0], again)


def check_represents(part, y):
    """Counts of the tuning set, times what each row represents, are those of the table."""
    np.testing.assert_allclose(part.sample.stands_for * part.sample.counts, np.bincount(y))
    positive = part.sample.positive
    predicted = np.random.default_rng(1).uniform(size=len(positive)) < 0.5
    counts = [
        np.sum((positive == c) & (predicted == p)) * part.sample.stands_for[c]
        for c, p in ((0, False), (0, True), (1, False), (1, True))
    ]
    expected = 2 * counts[3] / (2 * counts[3] + counts[1] + counts[2])
    assert F1.value(predicted, part.sample) == pytest.approx(expected)


def test_a_restricted_tuning_set_represents_the_same_table():
    X, y = two_rings(900, 0.1)
    tuned = tuning_set(X, y, max_samples=600, cv=5)
    rows = np.sort(np.random.default_rng(0).permutation(600)[:300])
    part = tuned.restricted(rows)
    np.testing.assert_array_equal(part.features, X[part.rows])
    np.testing.assert_array_equal(part.sample.positive, y[part.rows])
    check_represents(part, y)
    for_trees = part.rows_for_trees(part.repeats[0][0][1])
    assert (len(tuned.others), len(for_trees.X)) == (300, 150)
    assert np.isin(for_trees.X, X[tuned.others]).all()
    for (train, test), (all_train, all_test) in zip(part.repeats[0], tuned.repeats[0], strict=True):
        assert set(rows[train]) == set(all_train) & set(rows)
        assert set(rows[test]) == set(all_test) & set(rows)


def numbers_of(rows, X):
    """Row numbers in X, whose rows are all different."""
    number = {tuple(row): i for i, row in enumerate(X)}
    return [number[tuple(row)] for row in rows]


@pytest.mark.parametrize(("max_samples", "n_left"), [(60, 240), (400, 0)])
def test_more_rows_are_validated_than_can_be_neighbors(max_samples, n_left):
    X, y = two_rings(900, 0.1)
    tuned = tuning_set(X, y, max_samples=max_samples)
    judged = tuned.with_more_validated()
    assert len(judged.rows) == 900 - n_left
    assert judged.n_examples == max_samples
    check_represents(judged, y)
    np.testing.assert_array_equal(judged.sample.positive, y[judged.rows])
    for folds, same in zip(judged.repeats, tuned.repeats, strict=True):
        validated = np.concatenate([validation for _, validation in folds])
        np.testing.assert_array_equal(np.sort(validated), np.arange(len(judged.rows)))
        for (train, validation), (examples, _) in zip(folds, same, strict=True):
            np.testing.assert_array_equal(train, examples)
            for_trees = judged.rows_for_trees(validation)
            parts = [judged.features[train], judged.features[validation], for_trees.X]
            found = np.concatenate([numbers_of(part, X) for part in parts])
            np.testing.assert_array_equal(np.sort(found), np.arange(900))
            np.testing.assert_array_equal(for_trees.y, y[numbers_of(for_trees.X, X)])


def test_a_first_round_validates_some_of_these_rows_and_leaves_the_others_to_trees(rounds):
    X, y = two_rings(900, 0.1)
    judged = tuning_set(X, y, max_samples=500, cv=5).with_more_validated()
    out_of_fold_scores(METRICS, judged, F1, first_rows=100)
    sample, all_rows = (tuned for _, tuned, _ in rounds)
    assert all_rows is judged
    assert (sample.n_examples, len(sample.rows)) == (100, 200)
    check_represents(sample, y)
    validation = sample.repeats[0][0][1]
    for_trees = numbers_of(sample.rows_for_trees(validation).X, X)
    n_left = 400 - np.sum(validation >= 100)  # neither examples nor validated
    assert len(for_trees) == pytest.approx(n_left * 100 / 500, abs=1)
    examples = sample.rows[: sample.n_examples]
    assert not {*for_trees} & {*sample.rows[validation], *examples}


def test_weights_of_rows_that_are_validated_too():
    X, y = two_rings(900, 0.1)
    weights = np.random.default_rng(0).uniform(0.1, 5.0, size=900)
    judged = tuning_set(X, y, max_samples=60, weights=weights).with_more_validated()
    ratios = judged.sample.weights / weights[judged.rows]
    np.testing.assert_allclose(ratios, ratios[0])
    np.testing.assert_allclose(
        judged.sample.stands_for
        * np.bincount(judged.sample.positive, judged.sample.weights)
        / ratios[0],
        np.bincount(y, weights),
    )
    for_trees = judged.rows_for_trees(judged.repeats[0][0][1])
    np.testing.assert_allclose(for_trees.weights, ratios[0] * weights[numbers_of(for_trees.X, X)])


@pytest.mark.parametrize("given", [{"groups": np.arange(600) // 2}, {"cv": [HALVES]}, {}])
def test_rows_that_were_not_sampled_are_for_trees_unless_folds_or_groups_are_given(given):
    X, y = two_rings(600, 0.1)
    tuned = tuning_set(X, y, max_samples=200, **given)
    assert tuned.sample.counts.tolist() == [200 - y.sum(), y.sum()]
    assert len(tuned.rows) == 200
    if given:
        assert tuned.rows_for_trees() is None
    else:
        more = tuned.rows_for_trees()
        together = np.concatenate([tuned.features, more.X])
        np.testing.assert_array_equal(np.sort(together, axis=0), np.sort(X, axis=0))
        assert (more.y == 0).all()
