"""MetricKNNClassifier with vote="adjusted" and vote="score"."""

import warnings

import numpy as np
import pytest
from scipy.special import expit, logit
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import f1_score
from sklearn.model_selection import GroupKFold, KFold, StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier

from raremetric import IML, BalancedDiscriminant, Euclidean, MetricKNNClassifier
from raremetric.selection import best_threshold, f_utility, fit_sigmoid
from tests.conftest import make_problem
from tests.oracles.votes import adjusted_vote, nearness, winner


def rare_problem(seed=0, n_samples=60, n_positive=14, shift=1.2):
    rng = np.random.default_rng(seed)
    y = np.zeros(n_samples, dtype=int)
    y[:n_positive] = 1
    X = rng.normal(size=(n_samples, 3)) + shift * y[:, np.newaxis]
    order = rng.permutation(n_samples)
    return X[order], y[order]


def queries(n=40, seed=1):
    return np.random.default_rng(seed).normal(0.5, 1.5, size=(n, 3))


def adjusted(X, y, factors, k=3, **options):
    """A fitted adjusted vote with given factors in place of the tuned ones."""
    learner = options.pop("learner", Euclidean())
    model = MetricKNNClassifier(learner, k, vote="adjusted", random_state=0, **options).fit(X, y)
    model._vote = model._vote._replace(gamma=np.asarray(factors))
    return model


@pytest.mark.parametrize("gamma", [0.3, 0.8, 1.0, 2.5])
@pytest.mark.parametrize("swap", [False, True])
def test_two_classes_and_three_neighbors_compare_the_second_nearest(gamma, swap):
    X, y = rare_problem()
    y, rare = (1 - y, 0) if swap else (y, 1)
    factors, Q = np.where(np.arange(2) == rare, gamma, 1.0), queries()
    model = adjusted(X, y, factors)
    distances = np.linalg.norm(Q[:, np.newaxis] - X, axis=2)
    near = np.sort(distances[:, y == rare], axis=1)[:, 1]
    far = np.sort(distances[:, y != rare], axis=1)[:, 1]
    np.testing.assert_array_equal(model.predict(Q) == rare, gamma * near < far)
    voted = [int(np.argmax(adjusted_vote(X, y, q, factors, 3))) for q in Q]
    np.testing.assert_array_equal(model.predict(Q), voted)
    sign = 1 if rare == 1 else -1
    np.testing.assert_allclose(
        model.decision_function(Q), sign * (np.log(far) - np.log(gamma * near)), rtol=1e-9
    )


@pytest.mark.parametrize("k", [1, 2, 3, 4, 7])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_adjusted_vote_is_the_brute_force_one(k, n_classes):
    X, y = make_problem(0, n_samples=45, n_classes=n_classes)
    factors = np.array([0.7, 1.3, 1.0])[:n_classes]
    model = adjusted(X, y, factors, k)
    Q = queries()
    assert model.predict(Q).tolist() == [winner(X, y, q, factors, k) for q in Q]
    assert model.n_neighbors_ == k


def test_an_adjusted_vote_compares_the_smallest_distances():
    X, y = rare_problem()
    X[:4] = [[1e-5, 0, 0], [0, 1e-5, 0], [1e-6, 0, 0], [0, 1e-6, 0]]
    y[:4] = [0, 0, 1, 1]
    model = adjusted(X, y, [1.0, 1.0])
    assert model.predict(np.zeros((1, 3))).tolist() == [1]
    assert model.decision_function(np.zeros((1, 3))) == pytest.approx(np.log(10))


@pytest.mark.parametrize("weighted", [False, True])
def test_auto_gamma_has_the_best_f1_on_the_folds(weighted):
    X, y = rare_problem(11, shift=0.7)  # without weights, two factors are equally good here
    weights = np.random.default_rng(2).uniform(0.2, 4.0, size=len(y)) if weighted else None
    folds = list(StratifiedKFold(4).split(X, y))
    distances = np.linalg.norm(X[:, np.newaxis] - X, axis=2)
    second = np.empty((2, len(y)))  # of the three nearest two are a majority
    for train, test in folds:
        for c in range(2):
            own = train[y[train] == c]
            second[c, test] = np.sort(distances[np.ix_(test, own)], axis=1)[:, 1]

    def held_out_f1(gamma):
        return f1_score(y, gamma * second[1] < second[0], sample_weight=weights)

    model = MetricKNNClassifier(Euclidean(), vote="adjusted", cv=folds)
    model.fit(X, y, sample_weight=weights)
    grid = np.geomspace(0.1, 10, 41)
    values = [held_out_f1(g) for g in grid]
    assert model.gamma_[0] == 1
    assert held_out_f1(model.gamma_[1]) == pytest.approx(max(values))
    equal = grid[np.isclose(values, max(values))]
    assert len(equal) > 1 or weighted
    assert abs(np.log(model.gamma_[1])) == pytest.approx(np.abs(np.log(equal)).min())
    assert max(values) > held_out_f1(1.0)  # otherwise this test could not fail
    if weighted:
        assert held_out_f1(clone(model).fit(X, y).gamma_[1]) < max(values)


def test_auto_gamma_of_three_classes_does_not_lose_to_the_plain_vote_on_the_folds():
    X, y = make_problem(5, n_samples=60, n_classes=3)
    keep = (y != 2) | (np.cumsum(y == 2) <= 8)
    X, y = X[keep], y[keep]
    folds = list(StratifiedKFold(4).split(X, y))

    def macro(gamma):
        predicted = np.zeros(len(y), dtype=int)
        for train, test in folds:
            predicted[test] = [winner(X[train], y[train], q, gamma, 3) for q in X[test]]
        return f1_score(y, predicted, average="macro")

    model = MetricKNNClassifier(Euclidean(), vote="adjusted", cv=folds).fit(X, y)
    counts = np.bincount(y)
    assert counts.max() in counts[model.gamma_ == 1]  # only ratios matter: one class stays
    assert macro(model.gamma_) > macro(np.ones(3))


@pytest.mark.parametrize(("k", "weighted"), [(3, False), (5, False), (3, True)])
def test_score_calibration_and_threshold_are_as_documented(k, weighted):
    X, y = rare_problem(4)
    weights = np.random.default_rng(0).uniform(0.2, 4.0, size=len(y)) if weighted else None
    folds = list(StratifiedKFold(5, shuffle=True, random_state=7).split(X, y))
    m = (k + 1) // 2
    held_out = np.empty(len(y))
    for train, test in folds:
        held_out[test] = [nearness(X[train], y[train], q, [1, 1], m)[1] for q in X[test]]
    sigmoid = fit_sigmoid(held_out, y == 1, weights)
    threshold = best_threshold(sigmoid(held_out), f_utility(1.0), weights)
    model = MetricKNNClassifier(Euclidean(), k, vote="score", random_state=7)
    model.fit(X, y, sample_weight=weights)
    Q = queries()
    scores = np.array([nearness(X, y, q, [1, 1], m)[1] for q in Q])
    log_odds = sigmoid.slope * scores + sigmoid.intercept
    assert model.threshold_ == pytest.approx(threshold)
    np.testing.assert_allclose(model.predict_proba(Q)[:, 1], expit(log_odds), rtol=1e-6)
    np.testing.assert_allclose(
        model.decision_function(Q), log_odds - logit(threshold), rtol=1e-5, atol=1e-9
    )
    np.testing.assert_array_equal(model.predict(Q) == 1, model.predict_proba(Q)[:, 1] >= threshold)


def test_score_of_three_classes_takes_the_farthest_above_its_threshold():
    X, y = make_problem(1, n_samples=60, n_classes=3)
    labels = np.array(["a", "b", "c"])[y]
    folds = list(StratifiedKFold(3).split(X, y))
    held_out = np.empty((len(y), 3))
    for train, test in folds:
        held_out[test] = [nearness(X[train], y[train], q, [1, 1, 1], 2) for q in X[test]]
    model = MetricKNNClassifier(Euclidean(), vote="score", cv=folds).fit(X, labels)
    Q = queries()
    scores = np.array([nearness(X, y, q, [1, 1, 1], 2) for q in Q])
    p, above = np.empty((40, 3)), np.empty((40, 3))
    for c in range(3):
        sigmoid = fit_sigmoid(held_out[:, c], y == c)
        threshold = best_threshold(sigmoid(held_out[:, c]), f_utility(1.0))
        log_odds = sigmoid.slope * scores[:, c] + sigmoid.intercept
        p[:, c], above[:, c] = expit(log_odds), log_odds - logit(threshold)
        assert model.threshold_[c] == pytest.approx(threshold)
    np.testing.assert_allclose(model.decision_function(Q), above, rtol=1e-5, atol=1e-9)
    np.testing.assert_allclose(model.predict_proba(Q), p / p.sum(axis=1, keepdims=True), rtol=1e-6)
    assert model.predict(Q).tolist() == ["abc"[c] for c in above.argmax(axis=1)]


@pytest.mark.parametrize("vote", ["adjusted", "score"])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("n_neighbors", [3, "auto"])
@pytest.mark.parametrize("multiclass", ["joint", "one_vs_rest"])
def test_decisions_probabilities_and_predictions_agree(vote, n_classes, n_neighbors, multiclass):
    X, y = make_problem(1, n_samples=60, n_classes=n_classes)
    options = {"vote": vote, "multiclass": multiclass, "random_state": 0}
    model = MetricKNNClassifier(BalancedDiscriminant(), n_neighbors, **options).fit(X, y)
    values, p = model.decision_function(queries()), model.predict_proba(queries())
    predicted = np.argmax(values, axis=1) if n_classes > 2 else (values > 0).astype(int)
    np.testing.assert_array_equal(model.predict(queries()), predicted)
    np.testing.assert_allclose(p.sum(axis=1), 1)
    assert (p > 0).all()
    parallel = clone(model).set_params(n_jobs=2).fit(X, y)
    np.testing.assert_array_equal(parallel.decision_function(queries()), values)
    assert model.kneighbors(X, label=0, return_distance=False).shape == (60, model.n_neighbors_)


def test_distances_to_a_class_are_those_of_its_own_metric():
    X, y = make_problem(1, n_samples=60, n_classes=3)
    options = {"learner": BalancedDiscriminant(), "multiclass": "one_vs_rest"}
    model = adjusted(X, y, [1.0, 1.0, 0.5], **options)
    for c, learner in enumerate(model.metrics_):
        Z, Q = learner.transform(X), learner.transform(queries())
        votes = [adjusted_vote(Z, y, q, [1, 1, 0.5], 3)[c] for q in Q]
        np.testing.assert_array_equal(np.rint(model.decision_function(queries())[:, c]), votes)


def test_a_frozen_metric_is_tuned_on_the_folds():
    X, y = rare_problem(6)
    metric = BalancedDiscriminant().fit(X, y)
    model = MetricKNNClassifier(FrozenEstimator(metric), vote="score", random_state=0).fit(X, y)
    assert model.metric_.estimator is metric
    Z, Q = metric.transform(X), metric.transform(queries())
    expected = MetricKNNClassifier(Euclidean(), vote="score", random_state=0).fit(Z, y)
    assert model.threshold_ == pytest.approx(expected.threshold_)
    np.testing.assert_allclose(model.predict_proba(queries()), expected.predict_proba(Q))


def test_auto_neighbors_of_the_plain_vote_have_the_best_f1_on_the_folds():
    X, y = rare_problem(8, shift=0.8)
    folds = list(StratifiedKFold(4).split(X, y))
    model = MetricKNNClassifier(Euclidean(), "auto", cv=folds).fit(X, y)
    f1 = {}
    for k in (3, 7, 15, 31):
        predicted = np.zeros(len(y), dtype=int)
        for train, test in folds:
            fixed = MetricKNNClassifier(Euclidean(), k).fit(X[train], y[train])
            predicted[test] = fixed.predict(X[test])
        f1[k] = f1_score(y, predicted, zero_division=0)
    assert model.n_neighbors_ == max(f1, key=f1.get)
    fixed = MetricKNNClassifier(Euclidean(), model.n_neighbors_).fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(queries()), fixed.predict_proba(queries()))


@pytest.mark.parametrize("vote", ["adjusted", "score"])
@pytest.mark.parametrize("n_neighbors", [9, "auto"])
@pytest.mark.parametrize("frozen", [False, True])
def test_fewer_examples_than_folds_and_neighbors(vote, n_neighbors, frozen):
    X, y = rare_problem(n_samples=20, n_positive=3)
    learner = FrozenEstimator(Euclidean().fit(X, y)) if frozen else Euclidean()
    model = MetricKNNClassifier(learner, n_neighbors, vote=vote, random_state=0).fit(X, y)
    assert np.isfinite(model.decision_function(queries())).all()
    if (vote, n_neighbors) == ("adjusted", 9):  # three can never be five of nine
        assert not model.predict(queries()).any()


def test_a_fit_warns_of_small_classes_once():
    X, y = rare_problem(n_samples=30, n_positive=3)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        MetricKNNClassifier(IML(max_iter=500), vote="score", random_state=0).fit(X, y)
    assert [str(w.message)[:21] for w in caught] == ["IML uses n_neighbors="]


def test_the_majority_has_no_decision_function(problem):
    model = MetricKNNClassifier(Euclidean()).fit(*problem)
    assert not hasattr(model, "decision_function")
    assert hasattr(MetricKNNClassifier(vote="score"), "decision_function")


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"vote": "loud"}, r"vote must be one of 'adjusted', 'majority', 'score'; got 'loud'"),
        ({"cv": 1, "vote": "score"}, r"cv == 1, must be >= 2"),
        ({"cv": KFold(2), "vote": "score"}, r"A fold of cv .* one class"),
        ({"n_neighbors": 99, "vote": "score"}, r"n_neighbors=99 .* among 24 examples"),
        ({"n_neighbors": "many"}, r"n_neighbors must be an int or 'auto'; got 'many'"),
        ({"multiclass": "ovo"}, r"multiclass must be one of 'joint', 'one_vs_rest'"),
        ({"learner": "iml"}, r"learner must be a transformer .* got 'iml'"),
        ({"learner": KNeighborsClassifier()}, r"learner must be a transformer .* got KN"),
    ],
)
def test_invalid_parameters(parameters, message, problem):
    X, y = problem
    order = np.argsort(y)
    with pytest.raises((TypeError, ValueError), match=message):
        MetricKNNClassifier(**{"learner": Euclidean(), **parameters}).fit(X[order], y[order])


def test_a_fold_without_one_of_three_classes():
    X, y = make_problem(0, n_samples=30, n_classes=3)
    order = np.argsort(y)
    folds = list(GroupKFold(3).split(X, groups=y[order]))
    with pytest.raises(ValueError, match=r"A fold of cv leaves no example of class \d to learn"):
        MetricKNNClassifier(Euclidean(), vote="score", cv=folds).fit(X[order], y[order])


@pytest.mark.parametrize("parameters", [{"vote": "adjusted"}, {"vote": "score"}, {}])
def test_one_example_of_a_class(parameters):
    X, y = rare_problem(n_samples=20, n_positive=1)
    text = np.where(y == 1, "fraud", "fine")
    with pytest.raises(ValueError, match=r"at least 2 examples .* class 'fraud' has 1"):
        MetricKNNClassifier(Euclidean(), "auto", **parameters).fit(X, text)


@pytest.mark.parametrize("cv", [None, np.int64(3)])
def test_folds_by_default_and_by_a_numpy_integer_leave_rows_of_weight_zero_out(cv):
    X, y = make_problem(0, n_samples=120)
    kept = np.random.RandomState(0).uniform(size=120) < 0.7
    model = MetricKNNClassifier(Euclidean(), vote="score", cv=cv, random_state=0)
    weighted = clone(model).fit(X, y, sample_weight=kept.astype(float))
    assert weighted.threshold_ == clone(model).fit(X[kept], y[kept]).threshold_
    number = 5 if cv is None else 3
    assert clone(model).set_params(cv=number).fit(X, y).threshold_ == model.fit(X, y).threshold_


@pytest.mark.parametrize("vote", ["majority", "adjusted", "score"])
def test_huge_weights_count_by_their_ratios(vote):
    X, y = make_problem(0, n_samples=60)
    weights = np.random.RandomState(0).uniform(0.1, 1, size=60)
    weights /= weights.max()
    model = MetricKNNClassifier(Euclidean(), vote=vote, cv=2, random_state=0)
    expected = clone(model).fit(X, y, sample_weight=weights).predict_proba(X)
    found = clone(model).fit(X, y, sample_weight=1e300 * weights).predict_proba(X)
    np.testing.assert_allclose(found, expected, rtol=1e-6)
