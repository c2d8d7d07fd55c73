"""Contenders that learn from some of the rows: all positives, and results for the whole table."""

import numpy as np
import pytest
from sklearn.metrics import f1_score

from raremetric.contenders import find_contender
from raremetric.contenders.averaged import AveragedClassifier
from raremetric.contenders.base import BLOCK
from raremetric.contenders.families import LogisticRegressions
from raremetric.selection import draw_rows

N, N_POSITIVE, N_DRAWN = 3000, 60, 180


@pytest.fixture(scope="module")
def data():
    rng = np.random.RandomState(0)
    y = (np.arange(2 * N) % (N // N_POSITIVE) == 0).astype(int)
    X = rng.normal(size=(2 * N, 3))
    X[y == 1, 0] += 2.0
    return X[:N], y[:N], X[N:], y[N:]


def test_all_positives_are_drawn_up_to_half():
    y = (np.arange(1000) % 20 == 0).astype(int)
    for max_samples, n_positive in ((300, 50), (100, 50), (60, 30)):
        rows = draw_rows(y == 1, max_samples, 0)
        assert len(rows) == len(set(rows)) == max_samples
        assert y[rows].sum() == n_positive
    np.testing.assert_array_equal(draw_rows(y == 1, None, 0), np.arange(1000))
    np.testing.assert_array_equal(draw_rows(y == 1, 1000, 0), np.arange(1000))


def test_probabilities_and_threshold_are_those_of_the_whole_table(data):
    X, y, queries, truth = data
    drawn, whole = (
        AveragedClassifier(
            LogisticRegressions(), [{"C": 1.0}], max_samples=limit, random_state=0
        ).fit(X, y)
        for limit in (N_DRAWN, None)
    )
    p = drawn.predict_proba(queries)[:, 1]
    assert p.mean() == pytest.approx(N_POSITIVE / N, rel=0.3)  # 1/3 without the correction
    assert drawn.predict(queries).sum() < 2 * whole.predict(queries).sum()
    f1 = [f1_score(truth, model.predict(queries)) for model in (drawn, whole)]
    assert f1[0] > 0.85 * f1[1]


@pytest.mark.usefixtures("few_candidates")
@pytest.mark.parametrize("name", ["rare", "iml"])
def test_rare_learns_from_all_positives_and_corrects_the_draw(name, data):
    X, y, queries, _ = data
    contender = find_contender(name)
    tuned = contender.fit(
        contender.candidates(0)[:1], X, y, folds=[], seed=0, scoring="f2", max_samples=N_DRAWN
    )
    rows = tuned.model.ensemble_.rows
    assert len(rows) == N_DRAWN
    assert y[rows].sum() == N_POSITIVE
    assert tuned.model.scoring == "f2"
    assert tuned.n_candidates == len(tuned.model.cv_results_["weight"]) > 1
    p = tuned.model.predict_proba(queries)[:, 1]
    assert p.mean() == pytest.approx(N_POSITIVE / N, rel=0.5)


def test_queries_in_blocks_have_the_same_answers(data):
    X, y, queries, _ = data
    contender = find_contender("logistic")
    tuned = contender.fit(contender.candidates(0)[:1], X, y, folds=[], seed=0)
    whole = tuned.answer(queries[:50])
    blocks = tuned.answer(np.tile(queries[:50], (1 + BLOCK // 40, 1)))
    assert len(blocks.predicted) > BLOCK
    np.testing.assert_array_equal(blocks.predicted[-50:], whole.predicted)
    np.testing.assert_allclose(blocks.scores[-50:], whole.scores)
