"""Losses over a sample of the anchors: IML, IMLCV and LMNN with ``max_samples``."""

import numpy as np
import pytest
from sklearn.metrics import f1_score
from sklearn.model_selection import StratifiedKFold

from raremetric import IML, IMLCV, LMNN, Euclidean, MetricKNNClassifier
from raremetric.learners import iml
from raremetric.learners.problem import LossParameters
from raremetric.losses.large_margin import find_targets, make_large_margin_loss
from raremetric.pairs import draw_anchors
from raremetric.validation import check_labels
from tests.conftest import make_problem
from tests.oracles.large_margin import lmnn_loss
from tests.oracles.neighbors import similar_lists
from tests.oracles.pair_sets import iml_loss

METRIC = np.array([[1.0, 0.2, 0.0], [0.0, 0.7, 0.3], [0.1, 0.0, 1.3]])


def make_rare_problem(n_samples=60, n_rare=5, seed=0):
    rng = np.random.RandomState(seed)
    y = rng.permutation(np.arange(n_samples) < n_rare).astype(int)
    return rng.normal(size=(n_samples, 3)) + y[:, np.newaxis], y


def sampled_loss(X, y, w, *, m=5.0, a=0.3, lam=0.1, **parameters):
    problem = iml.make_problem(IML(**parameters), X, check_labels(y, "test"), w)
    return problem.loss(LossParameters(m, a, lam)).value(METRIC)


def anchor_rows(learner, kind="similar"):
    return {
        label: np.unique(getattr(pairs, kind)[:, 0]) for label, pairs in learner.pair_sets_.items()
    }


def test_classes_share_the_anchors():
    y = np.repeat([0, 1, 2], [100, 3, 40])
    shares = draw_anchors(check_labels(y, "test"), np.ones(len(y)), 33, 0).shares
    np.testing.assert_array_equal(shares * [100, 3, 40], [15, 3, 15])


def test_chances_are_proportional_to_weights_and_at_most_one():
    w, labels = np.array([0.0, 1, 2, 3, 30, 1, 1, 1]), check_labels(np.array([0] * 5 + [1] * 3), "")
    counts, totals = np.zeros(len(w)), []
    for seed in range(3000):
        anchors = draw_anchors(labels, w, 5, seed)
        counts[anchors.rows] += 1
        totals.append(anchors.weights[:5].sum())
    np.testing.assert_allclose(totals, 36)
    # Three draws from the first class: the row of weight 30 would have a chance of 3 · 30/36, so it
    # is certain; then that of weight 3 has 2 · 3/6; the third draw falls on the rows of 1 and 2.
    expected = [0, 1 / 3, 2 / 3, 1, 1, 2 / 3, 2 / 3, 2 / 3]
    np.testing.assert_allclose(counts / 3000, expected, atol=0.04)


@pytest.mark.parametrize("refreshed", [True, False])
@pytest.mark.parametrize("scheme", ["balanced", "uniform", "inverse"])
def test_the_sampled_loss_is_that_of_weighted_anchors(scheme, refreshed):
    """Rows that are not drawn have weight zero in the loss of all rows."""
    X, y = make_rare_problem()
    w, labels = np.random.RandomState(2).uniform(0.1, 2, len(y)), check_labels(y, "test")
    weights = draw_anchors(labels, w, 20, 3).weights
    assert np.count_nonzero(weights) == 20
    dissimilar = "refreshed" if refreshed else "fixed"
    found = sampled_loss(
        X, y, w, dissimilar=dissimilar, set_weights=scheme, max_samples=20, random_state=3
    )
    expected = iml_loss(
        METRIC, X, y, k=3, m=5.0, a=0.3, lam=0.1, refreshed=refreshed, scheme=scheme,
        sample_weight=weights,
    )  # fmt: skip
    assert found == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("scheme", ["balanced", "uniform", "inverse"])
def test_the_expectation_over_samples_is_the_full_loss(scheme):
    X, y = make_rare_problem()
    w = np.random.RandomState(2).uniform(0.1, 2, len(y))
    full = iml_loss(
        METRIC, X, y, k=3, m=5.0, a=0.3, lam=0.1, refreshed=True, scheme=scheme, sample_weight=w
    )
    values = [
        sampled_loss(X, y, w, set_weights=scheme, max_samples=12, random_state=seed)
        for seed in range(400)
    ]
    error = np.std(values, ddof=1) / np.sqrt(len(values))
    assert abs(np.mean(values) - full) < 3.5 * error < 0.1 * full


def test_a_sample_of_all_rows_that_count_is_the_full_problem():
    X, y = make_problem(5, n_samples=90, n_classes=3)
    w = np.random.RandomState(0).randint(3, size=len(y)).astype(float)
    full = IML(max_samples=None, regularization=0.1).fit(X, y, sample_weight=w)
    sampled = IML(max_samples=np.count_nonzero(w), regularization=0.1).fit(X, y, sample_weight=w)
    assert sampled.objective_ == pytest.approx(full.objective_, rel=1e-4)
    assert sampled.objective_ - sampled.duality_gap_ <= full.objective_
    assert full.objective_ - full.duality_gap_ <= sampled.objective_
    rows = np.concatenate(list(anchor_rows(sampled).values()))
    np.testing.assert_array_equal(np.sort(rows), np.flatnonzero(w))


def test_max_samples_has_no_effect_on_fewer_examples():
    X, y = make_rare_problem()
    default, limited, unlimited = (
        IML(**parameters).fit(X, y).components_
        for parameters in ({}, {"max_samples": len(X)}, {"max_samples": None})
    )
    np.testing.assert_array_equal(default, limited)
    np.testing.assert_array_equal(default, unlimited)


@pytest.mark.parametrize("learner", [IML(max_samples=30), LMNN(max_samples=30)])
def test_the_seed_decides_and_threads_do_not(learner):
    X, y = make_rare_problem(400, 20)
    first, threaded, other = (
        learner.set_params(random_state=seed, n_jobs=n_jobs).fit(X, y).components_
        for seed, n_jobs in ((0, 1), (0, 2), (1, 1))
    )
    np.testing.assert_array_equal(first, threaded)
    assert not np.allclose(first, other)


@pytest.mark.parametrize("learner", [IML(max_samples=2), LMNN(max_samples=2)])
def test_every_class_needs_an_anchor(learner):
    X, y = make_problem(1, n_samples=60, n_classes=3)
    with pytest.raises(ValueError, match="max_samples == 2, but there are 3 classes"):
        learner.fit(X, y)


def test_imlcv_samples_the_anchors_of_each_fold():
    X, y = make_rare_problem(300, 30)
    candidates = [{"margin": 10.0}, {"margin": 1.0, "similar_weight": 0.8}]
    search = IMLCV(candidates, cv=2, max_samples=40, random_state=0).fit(X, y)
    again = IMLCV(candidates, cv=2, max_samples=40, random_state=0).fit(X, y)
    np.testing.assert_array_equal(search.components_, again.components_)
    rng = np.random.RandomState(0)
    folds = list(StratifiedKFold(2, shuffle=True, random_state=rng).split(X, y))
    seed = int(rng.randint(np.iinfo(np.int32).max))
    for f, (train, test) in enumerate(folds):
        scores = search.cv_results_[f"split{f}_test_score"]
        for candidate, found in zip(candidates, scores, strict=True):
            metric = IML(max_samples=40, random_state=seed, **candidate).fit(X[train], y[train])
            knn = MetricKNNClassifier(Euclidean(), 3).fit(metric.transform(X[train]), y[train])
            predicted = knn.predict(metric.transform(X[test]))
            assert found == pytest.approx(f1_score(y[test], predicted))
    assert "max_samples" not in search.best_params_
    assert search.best_learner_.max_samples == 40


@pytest.mark.parametrize("weighted", [False, True])
def test_lmnn_estimates_the_full_loss_without_bias(weighted):
    X, y = make_rare_problem(30, 4)
    w = np.resize([1.0, 2.0, 6.0], 30) / 3 if weighted else None
    labels, L = check_labels(y, "test"), METRIC / 2
    full, values = lmnn_loss(L, X, y, similar_lists(X, y, 2), 0.4, w), []
    for seed in range(300):
        anchors = draw_anchors(labels, np.ones(30) if w is None else w, 12, seed)
        targets = find_targets(X, labels, 2, anchors=anchors.rows)
        loss = make_large_margin_loss(X, labels, targets, anchors.weights, push_weight=0.4)
        value, _ = loss.value_and_gradient(L)
        values.append(value)
    error = np.std(values, ddof=1) / np.sqrt(len(values))
    assert abs(np.mean(values) - full) < 3.5 * error < 0.1 * full


def test_lmnn_reports_the_loss_of_its_anchors():
    X, y = make_rare_problem()
    learner = LMNN(max_samples=20, random_state=0).fit(X, y)
    is_anchor = (learner.target_neighbors_ >= 0).all(axis=1)
    assert np.all(is_anchor[y == 1])
    assert np.count_nonzero(is_anchor) == 20
    nearest = np.array(
        [row if known else [-1, -1, -1]
         for row, known in zip(similar_lists(X, y, 3), is_anchor, strict=True)]
    )  # fmt: skip
    np.testing.assert_array_equal(learner.target_neighbors_, nearest)
    rare, others = (np.where(y[:, np.newaxis] == c, nearest, -1) for c in (1, 0))
    expected = sum(
        factor * lmnn_loss(learner.components_, X, y, targets, 0.5)
        for factor, targets in ((1, rare), (55 / 15, others))
    )
    assert learner.objective_ == pytest.approx(expected, rel=1e-6)
