import numpy as np
import pytest
from sklearn.metrics import average_precision_score
from sklearn.metrics import log_loss as sklearn_log_loss

from raremetric.validation import check_labels
from raremetric.voting import (
    Evaluation,
    average_precision,
    best_threshold,
    evaluate,
    f_utility,
    fit_sigmoid,
    log_loss,
    rank,
    stratified_folds,
)

RNG = np.random.default_rng(0)
POSITIVE = RNG.random(50) < 0.3
SCORES = RNG.normal(size=(3, 2, 50)) + POSITIVE


def test_average_precision_is_scikit_learns():
    ours = average_precision(SCORES, POSITIVE)
    for i in range(3):
        for j in range(2):
            theirs = average_precision_score(POSITIVE, SCORES[i, j])
            assert ours[i, j] == pytest.approx(theirs)


@pytest.mark.parametrize("n_levels", [1, 3])
def test_average_precision_does_not_depend_on_the_order_of_equal_scores(n_levels):
    scores = RNG.integers(n_levels, size=50).astype(float)
    theirs = average_precision_score(POSITIVE, scores)
    assert average_precision(scores, POSITIVE) == pytest.approx(theirs)
    order = RNG.permutation(50)
    assert average_precision(scores[order], POSITIVE[order]) == pytest.approx(theirs)


def test_log_loss_is_scikit_learns():
    p = RNG.random((2, 50))
    expected = [sklearn_log_loss(POSITIVE, row) for row in p]
    np.testing.assert_allclose(log_loss(p, POSITIVE), expected)
    assert np.isfinite(log_loss(np.zeros(50), POSITIVE))


def test_repeats_are_pooled():
    verdict = evaluate(SCORES, POSITIVE, f_utility(1.0))
    truth = np.tile(POSITIVE, 2)
    for i in range(3):
        pooled = SCORES[i].reshape(-1)
        p = fit_sigmoid(pooled, truth)(pooled)
        called = p >= best_threshold(p, f_utility(1.0))
        hits = np.sum(called & truth)
        assert verdict.utility[i] == pytest.approx(2 * hits / (called.sum() + truth.sum()))
        assert verdict.log_loss[i] == pytest.approx(sklearn_log_loss(truth, p))
        precision = [average_precision_score(POSITIVE, row) for row in SCORES[i]]
        assert verdict.average_precision[i] == pytest.approx(np.mean(precision))


def test_rank_sums_within_groups_by_hand():
    judged = Evaluation(
        utility=np.array([0.9, 0.8, 0.7, 0.1]),
        log_loss=np.array([0.3, 0.1, 0.2, 0.9]),
        average_precision=np.array([0.5, 0.9, 0.6, 0.2]),
    )
    # of the first three: ranks 1+3+3, 2+1+1, 3+2+2; of the two sevens the first
    groups = ["a", "a", "a", "b"]
    assert rank(judged, groups, threshold_free=False).tolist() == [2, 1, 3, 1]
    assert rank(judged, groups, threshold_free=True).tolist() == [3, 1, 2, 1]


def test_folds_are_no_more_than_the_rarest_class_has_examples():
    labels = check_labels(np.repeat([0, 1], [20, 3]), "A test")
    folds = stratified_folds(labels, 5, 0)
    assert len(folds) == 3
    for train, test in folds:
        assert labels.codes[test].sum() == 1
        assert sorted([*train, *test]) == list(range(23))
