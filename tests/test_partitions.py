"""Dask arrays and data frames: what is drawn, and models for the whole collection's classes."""

import os

import numpy as np
import pytest
from scipy.special import expit
from sklearn.metrics import f1_score

from raremetric import Euclidean, MetricKNNClassifier, RareClassifier
from raremetric.cluster import dask_client
from raremetric.partitions import (
    MAX_HELD_OUT,
    MIN_HELD_OUT,
    chosen_rows,
    draw_sample,
    plan_sample,
    sample_sizes,
)

da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
pd = pytest.importorskip("pandas")


def make_rare(n_rows, seed=0, shift=-4.0):
    """Rows whose class has known probabilities, on average about 4 %."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 3))
    p = expit(1.8 * X[:, 0] + shift)
    return X, (rng.random(n_rows) < p).astype(int), p


def test_a_plan_takes_no_row_twice_and_all_of_a_small_class():
    counts = np.array([[900, 3], [0, 0], [4100, 40], [5000, 7]])
    plan = plan_sample(counts, 500, 0)
    codes = [
        np.random.default_rng(i).permutation(np.repeat([0, 1], n)) for i, n in enumerate(counts)
    ]
    learned = [chosen_rows(c, ranks) for c, ranks in zip(codes, plan.learned, strict=True)]
    held_out = [chosen_rows(c, ranks) for c, ranks in zip(codes, plan.held_out, strict=True)]
    for ours, others in zip(learned, held_out, strict=True):
        assert len({*ours, *others}) == len(ours) + len(others)
    n_learned = sum(
        np.bincount(c[rows], minlength=2) for c, rows in zip(codes, learned, strict=True)
    )
    n_held = sum(np.bincount(c[rows], minlength=2) for c, rows in zip(codes, held_out, strict=True))
    assert n_learned.tolist() == [450, 50]
    assert n_held.tolist() == [9550, 0]
    np.testing.assert_allclose(plan.weights, [10_000 / 450, 1])
    np.testing.assert_allclose(plan.held_out_weights, [10_000 / 9550, 0])


def test_every_row_of_a_class_has_the_same_probability():
    counts = np.array([[10, 30], [40, 20], [0, 50]])
    chosen = np.zeros((2, 100))
    for seed in range(2000):
        plan = plan_sample(counts, 40, seed)
        starts = np.cumsum(counts, axis=0) - counts
        for part, start in zip(plan.learned, starts, strict=True):
            for c in range(2):
                chosen[c, start[c] + part[c]] += 1
    for c, total in enumerate(counts.sum(axis=0)):
        expected = 2000 * 20 / total
        spread = np.sqrt(expected * (1 - 20 / total))
        assert np.abs(chosen[c, :total] - expected).max() < 5 * spread
        assert not chosen[c, total:].any()


@pytest.mark.parametrize(
    ("totals", "limit", "learned", "held_out"),
    [
        ([600, 400], 1000, [600, 400], [0, 0]),  # all rows fit
        ([600, 400], None, [600, 400], [0, 0]),
        ([100_000, 400], 1000, [600, 400], [99_400, 0]),  # too few to hold some out
        ([100_000, 600], 2000, [1400, 480], [98_600, 120]),
        ([1_000_000, 5000], 1000, [500, 500], [MAX_HELD_OUT, 4500]),
    ],
)
def test_sizes_of_the_sample(totals, limit, learned, held_out):
    found = sample_sizes(np.array(totals), limit)
    assert [each.tolist() for each in found] == [learned, held_out]
    assert MIN_HELD_OUT == 100


def test_a_sample_has_the_rows_that_it_names():
    X, y, _ = make_rare(5000)
    chunks = (1000, 1, 2999, 1000)
    sample = draw_sample(da.from_array(X, chunks=(chunks, 2)), da.from_array(y, 700), 200, 0)
    assert len(np.unique(sample.rows)) == len(sample.rows) == 200
    np.testing.assert_array_equal(sample.X, X[sample.rows])
    np.testing.assert_array_equal(sample.y, y[sample.rows])
    np.testing.assert_array_equal(sample.counts, np.bincount(y))
    np.testing.assert_allclose(np.bincount(sample.y, sample.weights), np.bincount(y))


def as_frame(X, y, npartitions=4):
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(y=y)
    frame = dd.from_pandas(frame, npartitions=npartitions)
    return frame[["a", "b", "c"]], frame["y"]


@pytest.mark.usefixtures("few_candidates")
@pytest.mark.parametrize("kind", ["array", "frame", "labels in memory"])
def test_a_collection_that_fits_gives_the_model_of_the_rows_in_memory(kind):
    X, y, _ = make_rare(900, shift=-3.0)
    if kind == "frame":
        parts, table = as_frame(X, y), pd.DataFrame(X, columns=["a", "b", "c"])
    else:
        table = X
        parts = (da.from_array(X, chunks=(250, 3)), da.from_array(y, 250) if kind == "array" else y)
    model = RareClassifier(random_state=0).fit(*parts)
    expected = RareClassifier(random_state=0).fit(table, y)
    np.testing.assert_array_equal(model.predict_proba(table), expected.predict_proba(table))
    assert model.threshold_ == expected.threshold_
    np.testing.assert_array_equal(model.ensemble_.rows, np.arange(900))


def calibration_error(p, y, n_bins=20):
    """Mean difference between probability and share of positives, in bins of equal weight."""
    order = np.argsort(p)
    bins = np.array_split(order, n_bins)
    return sum(len(rows) * abs(p[rows].mean() - y[rows].mean()) for rows in bins) / len(p)


@pytest.mark.long
@pytest.mark.usefixtures("few_candidates")
def test_probabilities_and_threshold_are_those_of_the_whole_collection():
    X, y, truth = make_rare(60_000)
    model = RareClassifier(max_samples=1000, random_state=0)
    model.fit(da.from_array(X, chunks=(8000, 3)), da.from_array(y, 8000))
    assert len(model.ensemble_.rows) == 1000
    p = model.predict_proba(X)[:, 1]
    assert p.mean() == pytest.approx(y.mean(), rel=0.03)
    assert calibration_error(p, y) < 0.1 * y.mean()
    assert np.abs(p - truth).mean() < 0.5 * y.mean()
    best = max(f1_score(y, p >= t) for t in np.linspace(0.05, 0.6, 56))
    assert f1_score(y, model.predict(X)) > best - 0.015
    assert model.best_score_ == pytest.approx(f1_score(y, model.predict(X)), abs=0.02)
    assert model.validation_["alerts_per_1000"] == pytest.approx(
        1000 * model.predict(X).mean(), rel=0.05
    )
    _, rows = model.kneighbors(X[model.ensemble_.rows[:5]], 1)
    np.testing.assert_array_equal(rows[:, 0], model.ensemble_.rows[:5])


@pytest.mark.usefixtures("few_candidates")
def test_few_positives_are_all_learned_from_and_the_odds_are_corrected():
    X, y, _ = make_rare(20_000, shift=-7.0)
    assert y.sum() < 500
    model = RareClassifier(max_samples=1500, random_state=0).fit(*as_frame(X, y))
    assert y[model.ensemble_.rows].sum() == y.sum()
    p = model.predict_proba(pd.DataFrame(X, columns=["a", "b", "c"]))[:, 1]
    assert p.mean() == pytest.approx(y.mean(), rel=0.25)


@pytest.mark.long
@pytest.mark.usefixtures("few_candidates")
def test_three_classes_keep_their_shares():
    rng = np.random.default_rng(0)
    y = rng.choice(3, size=30_000, p=[0.9, 0.07, 0.03])
    X = rng.normal(size=(30_000, 2)) + 1.2 * np.eye(3)[y][:, :2]
    model = RareClassifier(max_samples=1200, random_state=0)
    model.fit(da.from_array(X, chunks=(7000, 2)), da.from_array(y, 7000))
    shares = np.bincount(y) / len(y)
    p = np.column_stack([each.predict_proba(X)[:, 1] for each in model.estimators_])
    np.testing.assert_allclose(p.mean(axis=0), shares, rtol=0.06)


@pytest.mark.parametrize("vote", ["majority", "adjusted", "score"])
def test_votes_are_for_the_whole_collection(vote, monkeypatch):
    monkeypatch.setattr("raremetric.voting.collections.MAX_SAMPLES", 1000)
    X, y, _ = make_rare(40_000)
    model = MetricKNNClassifier(Euclidean(), 15, vote=vote, random_state=0)
    model.fit(da.from_array(X, chunks=(9000, 3)), da.from_array(y, 9000))
    p = model.predict_proba(X)[:, 1]
    if vote == "majority":
        assert model.predict(X).mean() < 0.3  # half of the examples are positive
        return
    assert p.mean() == pytest.approx(y.mean(), rel=0.03)
    assert calibration_error(p, y) < 0.15 * y.mean()
    assert f1_score(y, model.predict(X)) > 0.25
    _, rows = model.kneighbors(X[:3])
    assert rows.max() > 1000


def test_majority_with_all_rows_is_the_same_as_in_memory():
    X, y, _ = make_rare(500, shift=-2.0)
    model = MetricKNNClassifier(Euclidean()).fit(
        da.from_array(X, chunks=(200, 3)), da.from_array(y, 200)
    )
    expected = MetricKNNClassifier(Euclidean()).fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(X), expected.predict_proba(X))


def test_what_cannot_be_used_with_a_collection():
    X, y, _ = make_rare(300, shift=-2.0)
    parts, labels = da.from_array(X, chunks=(100, 3)), da.from_array(y, 100)
    with pytest.raises(ValueError, match="sample_weight cannot be used with a Dask collection"):
        RareClassifier().fit(parts, labels, np.ones(300))
    with pytest.raises(ValueError, match="sample_weight cannot be used with a Dask collection"):
        MetricKNNClassifier().fit(parts, labels, np.ones(300))
    with pytest.raises(ValueError, match="A list of folds cannot be used as cv"):
        RareClassifier(cv=[(np.arange(200), np.arange(200, 300))]).fit(parts, labels)
    with pytest.raises(ValueError, match="X has 300 rows, but y has 299"):
        RareClassifier().fit(parts, labels[:299])
    frame, _ = as_frame(X, y)
    with pytest.raises(TypeError, match="y must be one with the same partitions; got ndarray"):
        RareClassifier().fit(frame, y)
    _, other = as_frame(X, y, npartitions=3)
    with pytest.raises(ValueError, match="X has 4 partitions, but y has 3"):
        RareClassifier().fit(frame, other)
    with pytest.raises(ValueError, match="two dimensions"):
        RareClassifier().fit(parts[:, 0], labels)


def test_local_workers_keep_freed_memory():
    with dask_client(None, 1) as client:
        (limit,) = client.run(os.environ.get, "MALLOC_TRIM_THRESHOLD_").values()
    assert int(limit) >= 1 << 24  # Dask's own setting is 64 KB
