"""RareClassifier tuned on a user's folds: splitters, lists, groups, rows that are not validated."""

import numpy as np
import pytest
from sklearn.model_selection import (
    GroupKFold,
    RepeatedStratifiedKFold,
    ShuffleSplit,
    StratifiedKFold,
    TimeSeriesSplit,
)

from raremetric import IMLCV, MetricKNNClassifier, RareClassifier
from raremetric.rare.policy import AVERAGING
from raremetric.selection import (
    Groups,
    best_threshold,
    check_aim,
    choose,
    decide,
    f_utility,
    make_folds,
    scored_rows,
)
from raremetric.validation import check_labels
from tests.conftest import make_problem
from tests.rare.conftest import tuning_set

pytestmark = pytest.mark.usefixtures("few_candidates")


@pytest.fixture(scope="module")
def data():
    rng = np.random.RandomState(0)
    y = (np.arange(120) % 4 == 0).astype(int)
    X = rng.normal(size=(120, 3))
    X[y == 1, 0] += 1.5
    return X, y


def outcome(model):
    return model.threshold_, model.best_score_, model.cv_results_["utility"].tolist()


def test_a_splitter_and_the_default_folds_are_their_lists_of_folds(data):
    X, y = data
    seed = np.random.RandomState(0).randint(2**31 - 1)
    default = [fold for repeat in make_folds(check_labels(y, "y"), seed) for fold in repeat]
    splitter = RepeatedStratifiedKFold(n_splits=3, n_repeats=2, random_state=1)
    listed = list(splitter.split(X, y))
    for n_repeats, *options in ((2, None, default), (1, splitter, listed, splitter.split(X, y))):
        models = [RareClassifier(cv=cv, random_state=0).fit(X, y) for cv in options]
        assert all(outcome(model) == outcome(models[0]) for model in models)
        assert [model.n_repeats_ for model in models] == [n_repeats] * len(options)
    assert RareClassifier(cv=3, random_state=0).fit(X, y).n_repeats_ == 1


def test_rows_that_no_fold_validates_do_not_count(data):
    """The rest of the classifier by hand, from the probabilities of the future alone."""
    X, y = data
    splitter = TimeSeriesSplit(3)
    tuned = tuning_set(X, y, cv=list(splitter.split(X)))
    scored = scored_rows(tuned.repeats[0])
    assert scored.tolist() == list(range(30, 120))
    scores, sample = X[np.newaxis, np.newaxis, 30:, 0], tuned.sample.take(scored)
    average = choose(scores, Groups.one(1), sample, check_aim("f1"), AVERAGING).average
    averaged = average(scores[0])
    selection = decide(averaged[np.newaxis], sample, check_aim("f1"))
    p = selection.calibration(averaged)
    assert selection.threshold == pytest.approx(best_threshold(p, f_utility(1.0)))
    np.testing.assert_array_equal(selection.predicted[0], p >= selection.threshold)
    model = RareClassifier(cv=splitter, random_state=0).fit(X, y)
    assert 0 < model.best_score_ < 1
    assert len(model.ensemble_.rows) == 120  # all rows are learned from in the end


@pytest.fixture(scope="module")
def leaking():
    """The features identify the group, and the class is drawn at random for each group."""
    rng = np.random.RandomState(0)
    groups = np.repeat(np.arange(60), 5)
    y = (rng.permutation(60) < 18).astype(int)[groups]
    X = rng.normal(size=(60, 4))[groups] + 0.01 * rng.normal(size=(300, 4))
    return X, y, groups


def test_groups_that_leak(leaking):
    X, y, groups = leaking
    naive = RareClassifier(random_state=0).fit(X, y)
    honest = RareClassifier(random_state=0).fit(X, y, groups=groups)
    by_splitter = RareClassifier(cv=GroupKFold(5), random_state=0).fit(X, y, groups=groups)
    assert naive.validation_["average_precision"] > 0.95
    for model in (honest, by_splitter):
        assert model.validation_["average_precision"] < 0.55
        assert model.best_score_ < naive.best_score_ - 0.3
    texts = np.array([f"g{group}" for group in groups], dtype=object)
    assert outcome(RareClassifier(random_state=0).fit(X, y, groups=texts)) == outcome(honest)


def test_sampled_rows_and_weights_keep_their_folds_and_groups(leaking):
    X, y, groups = leaking
    weights = np.where(np.arange(300) % 5 == 0, 0.0, 1.0 + np.arange(300) % 3)
    settings = {"max_samples": 120, "random_state": 0}
    kept = weights > 0
    model = RareClassifier(**settings).fit(X, y, weights, groups=groups)
    same = RareClassifier(**settings).fit(X[kept], y[kept], weights[kept], groups=groups[kept])
    assert outcome(model) == outcome(same)
    assert model.validation_["average_precision"] < 0.6
    folds = list(StratifiedKFold(3).split(X, y))
    left = RareClassifier(cv=folds, **settings).fit(X, y, weights)
    numbers = np.cumsum(kept) - 1
    moved = [tuple(numbers[part[kept[part]]] for part in fold) for fold in folds]
    assert outcome(left) == outcome(
        RareClassifier(cv=moved, **settings).fit(X[kept], y[kept], weights[kept])
    )


def test_three_classes_have_common_folds(leaking):
    X, y, groups = leaking
    y = y + (groups % 3 == 0)
    model = RareClassifier(cv=GroupKFold(4), random_state=0).fit(X, y, groups=groups)
    assert [each.n_repeats_ for each in model.estimators_] == [1, 1, 1]
    assert all(each.validation_["average_precision"] < 0.7 for each in model.estimators_)


def test_progress_is_counted_in_metrics_and_folds(data):
    X, y = data
    for n_jobs in (None, 2):
        seen = []
        model = RareClassifier(cv=3, random_state=0, n_jobs=n_jobs)
        model.fit(X, y, on_progress=lambda *step, seen=seen: seen.append(step))
        assert seen == [(i + 1, 9) for i in range(9)]  # three metrics, three folds
    seen.clear()
    model.fit(X, np.arange(120) % 3, on_progress=lambda *step: seen.append(step))
    assert seen == [(i + 1, 27) for i in range(27)]


@pytest.mark.parametrize(
    ("cv", "groups", "message"),
    [
        (1, None, "cv == 1"),
        (ShuffleSplit(4, random_state=0), None, "validation parts of cv must not overlap"),
        ([(np.arange(1, 4), np.arange(60, 120))], None, "leaves no example of the positive class"),
        (
            [(np.arange(60), np.arange(61, 64))],
            None,
            "No example of the positive class is in a validation part",
        ),
        (None, np.arange(3), "one entry per example; got 3 for 120 examples"),
        (None, np.arange(120) % 4, "All positive examples are in one group"),
    ],
)
def test_impossible_folds(data, cv, groups, message):
    X, y = data
    with pytest.raises(ValueError, match=message):
        RareClassifier(cv=cv, random_state=0).fit(X, y, groups=groups)


@pytest.mark.parametrize(
    ("cv", "message"),
    [
        ([], r"cv is an empty list"),
        ([(np.arange(60), np.arange(50, 90))], r"tests 10 of the rows that it learns from, .*50\."),
        ([(np.arange(60), np.arange(60, 91))], r"contains the row 90; with 90 .* from 0 to 89"),
        ([(np.arange(60), np.arange(-5, 0))], r"contains the row -5; with 90 examples"),
        ([(np.arange(60) / 2, np.arange(60, 90))], r"must contain row numbers; got float64"),
    ],
)
def test_lists_of_folds_are_checked(cv, message):
    X, y = make_problem(0, n_samples=90)
    for estimator in (RareClassifier(), IMLCV(), MetricKNNClassifier(vote="score")):
        with pytest.raises(ValueError, match=message):
            estimator.set_params(cv=cv).fit(X, y)
