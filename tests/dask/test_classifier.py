"""DaskClassifier: a sample is learned from, and the decisions are for all data."""

import subprocess
import sys
import weakref

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from scipy.special import expit
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks
from xgboost import XGBClassifier

from raremetric import Euclidean, MetricKNNClassifier, RareClassifier
from raremetric.dask import DaskClassifier


def make_rare(n_rows, seed=0, shift=-4.0):
    """Rows whose class has known probabilities, on average about 6 %."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 3))
    p = expit(1.8 * X[:, 0] + shift)
    return X, (rng.random(n_rows) < p).astype(int), p


def as_arrays(X, y, rows=9000):
    return da.from_array(X, chunks=(rows, 2)), da.from_array(y, chunks=rows)


def as_frame(X, y, npartitions=4):
    frame = dd.from_pandas(pd.DataFrame(X, columns=["a", "b", "c"]).assign(y=y), npartitions)
    return frame[["a", "b", "c"]], frame["y"]


def logistic(max_samples=5000, **options):
    return DaskClassifier(LogisticRegression(), max_samples=max_samples, random_state=0, **options)


def calibration_error(p, y, n_bins=20):
    """Mean difference between probability and share of positives, in bins of equal weight."""
    bins = np.array_split(np.argsort(p), n_bins)
    return sum(len(rows) * abs(p[rows].mean() - y[rows].mean()) for rows in bins) / len(p)


CLASSIFIERS = [
    LogisticRegression(),
    pytest.param(RareClassifier(random_state=0), marks=pytest.mark.long),
    XGBClassifier(n_estimators=20, max_depth=2, n_jobs=1),
    MetricKNNClassifier(Euclidean(), 15, vote="score"),
    RandomForestClassifier(50, min_samples_leaf=10, random_state=0),
]
NAMES = ["logistic", "rare", "boosted", "neighbors", "forest"]


@pytest.mark.usefixtures("few_candidates")
@pytest.mark.parametrize("classifier", CLASSIFIERS, ids=NAMES)
def test_probabilities_and_threshold_are_those_of_all_data(classifier):
    X, y, truth = make_rare(60_000)
    parts, labels = as_arrays(X, y)
    model = DaskClassifier(classifier, max_samples=1000, random_state=0).fit(parts, labels)
    assert len(model.rows_) == 1000
    assert model.class_counts_.tolist() == np.bincount(y).tolist()
    lazy = model.predict_proba(parts)
    assert isinstance(lazy, da.Array)
    p = lazy.compute()[:, 1]
    assert p.mean() == pytest.approx(y.mean(), rel=0.03)
    assert calibration_error(p, y) < 0.15 * y.mean()
    assert np.abs(p - truth).mean() < 0.6 * y.mean()
    predicted = p >= model.threshold_
    best = max(f1_score(y, p >= t) for t in np.linspace(0.05, 0.6, 56))
    assert f1_score(y, predicted) > best - 0.015
    assert model.best_score_ == pytest.approx(f1_score(y, predicted), abs=0.02)
    assert model.validation_["alerts_per_1000"] == pytest.approx(1000 * predicted.mean(), rel=0.07)
    first = parts[:9000]  # one partition
    np.testing.assert_array_equal(model.predict(first).compute(), predicted[:9000])
    np.testing.assert_array_equal(model.decision_function(first).compute() >= 0, predicted[:9000])


@pytest.mark.parametrize("kind", ["many", "uneven", "frame", "unknown sizes", "memory"])
def test_the_partitions_make_no_difference(kind):
    X, y, _ = make_rare(6000)
    expected = logistic(500).fit(*as_arrays(X, y))
    if kind == "memory":
        parts, labels = X, y
    elif kind == "many":
        parts, labels = as_arrays(X, y, 131)
    elif kind == "uneven":
        parts, labels = da.from_array(X, chunks=((1, 2999, 3000), 1)), da.from_array(y, chunks=700)
    else:
        parts, labels = as_frame(X, y)
    if kind == "unknown sizes":
        parts, labels = parts.to_dask_array(), labels.to_dask_array()
    model = logistic(500).fit(parts, labels)
    np.testing.assert_array_equal(model.rows_, expected.rows_)
    np.testing.assert_array_equal(model.class_counts_, expected.class_counts_)
    np.testing.assert_array_equal(model.estimator_.coef_, expected.estimator_.coef_)
    assert model.threshold_ == expected.threshold_
    found = [model.predict(parts), expected.predict(X)]
    np.testing.assert_array_equal(*[np.asarray(each) for each in found])


def test_the_sample_has_the_rows_that_it_names():
    X, y, _ = make_rare(5000)
    neighbors = KNeighborsClassifier(1)
    model = DaskClassifier(neighbors, max_samples=200, random_state=0)
    model.fit(da.from_array(X, chunks=((1000, 1, 2999, 1000), 2)), da.from_array(y, chunks=700))
    assert len(np.unique(model.rows_)) == len(model.rows_) == 200
    assert np.bincount(y[model.rows_]).tolist() == [100, 100]
    distances, own = model.estimator_.kneighbors(X[model.rows_])
    assert not distances.any()
    np.testing.assert_array_equal(own[:, 0], np.arange(200))


def test_few_positives_are_all_learned_from_and_probabilities_are_for_all_data():
    X, y, _ = make_rare(40_000, shift=-7.0)
    assert y.sum() < 500
    model = logistic(1500).fit(*as_frame(X, y))
    assert y[model.rows_].sum() == y.sum()
    p = model.predict_proba(pd.DataFrame(X, columns=["a", "b", "c"]))[:, 1]
    assert p.mean() == pytest.approx(y.mean(), rel=0.1)


@pytest.mark.parametrize(
    ("labels", "dtype"),
    [
        ([False, True], bool),
        ([3, -1], np.int8),
        ([0.0, 1.5e9], float),
        (["ok", "fraud"], "<U5"),
        (["ok", "fraud"], object),
        (["ok", "fraud"], "category"),
    ],
)
def test_labels_come_out_as_they_went_in(labels, dtype):
    X, y, _ = make_rare(3000, shift=-2.5)
    given = pd.Series([labels[code] for code in y]).astype(dtype if dtype != "<U5" else object)
    if dtype == "category":
        parts, classes = as_frame(X, given)
        assert classes.dtype == "category"
    else:
        parts, classes = as_arrays(X, given.to_numpy(dtype=dtype), 1000)
    model = logistic(400).fit(parts, classes)
    assert model.pos_label_ == labels[1]
    assert model.classes_.dtype == (object if dtype == "category" else dtype)
    predicted = model.predict(parts)
    assert predicted.dtype == predicted.compute().dtype == model.classes_.dtype
    assert set(predicted.compute()) == {*labels}
    column = model.classes_.tolist().index(labels[1])
    p = model.predict_proba(parts)[:, column].compute()
    assert p.mean() == pytest.approx(y.mean(), rel=0.1)


def test_a_given_positive_class_and_other_measures():
    X, y, _ = make_rare(8000)
    parts, labels = as_arrays(X, y, 2000)
    rare, common = (logistic(600, pos_label=c, scoring="f2").fit(parts, labels) for c in (1, 0))
    assert common.validation_["recall"] > 0.99
    assert rare.validation_["recall"] < 0.95
    np.testing.assert_allclose(rare.predict_proba(X), common.predict_proba(X), atol=0.01)
    costs = logistic(600, scoring=[[0, 1], [9, 0]])
    assert costs.fit(parts, labels).threshold_ == pytest.approx(0.1, abs=0.01)
    with pytest.warns(
        UserWarning, match=r"No threshold for class 1 meets scoring='precision>=0.99"
    ):
        logistic(scoring="precision>=0.99").fit(parts, labels)


def test_empty_partitions():
    X, y, _ = make_rare(3000, shift=-2.5)
    X[:1200, 0] -= 100  # two of five partitions, the first one among them
    frame, labels = as_frame(X, y, npartitions=5)
    rows, parts, labels = X[:, 0] > -50, frame[frame["a"] > -50], labels[frame["a"] > -50]
    assert parts.map_partitions(len).compute().tolist() == [0, 0, 600, 600, 600]
    model = logistic(300).fit(parts, labels)
    assert model.classes_.dtype == y.dtype
    expected = clone(model).fit(pd.DataFrame(X[rows], columns=["a", "b", "c"]), y[rows])
    found = model.predict(parts).compute()
    np.testing.assert_array_equal(found, expected.predict(parts.compute()))
    none = parts[parts["a"] < -50]
    assert model.predict_proba(none).compute().shape == (0, 2)


def test_a_partition_at_a_time_is_in_memory():
    X, y, _ = make_rare(8000, shift=-2.0)
    alive, most = [0], [0]

    def load(block):
        rows = X[block[0, 0] : block[0, 0] + 500].copy()
        alive[0] += 1
        most[0] = max(most[0], alive[0])
        weakref.finalize(rows, lambda: alive.__setitem__(0, alive[0] - 1))
        return rows

    starts = da.from_array(np.arange(0, 8000, 500)[:, np.newaxis], chunks=1)
    parts = starts.map_blocks(load, chunks=((500,) * 16, 3), dtype=float)
    with dask.config.set(scheduler="synchronous"):
        model = logistic(500)
        model.fit(parts, da.from_array(y, chunks=500))
        model.predict(parts).compute()
    assert most[0] <= 2


def test_a_pipeline_of_columns_of_any_type():
    from sklearn.compose import make_column_transformer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    X, y, _ = make_rare(3000, shift=-2.5)
    frame = pd.DataFrame({"size": X[:, 0], "kind": np.where(X[:, 1] > 0, "red", "blue"), "y": y})
    lazy = dd.from_pandas(frame, npartitions=3)
    encoder = make_column_transformer((OneHotEncoder(), ["kind"]), remainder="passthrough")
    model = DaskClassifier(make_pipeline(encoder, LogisticRegression()), max_samples=500)
    model.fit(lazy[["size", "kind"]], lazy["y"])
    assert model.feature_names_in_.tolist() == ["size", "kind"]
    found = model.predict(lazy[["size", "kind"]]).compute()
    np.testing.assert_array_equal(found, model.predict(frame[["size", "kind"]]))


def test_mistakes():
    X, y, _ = make_rare(300, shift=-2.0)
    model = logistic()
    parts, labels = as_arrays(X, y, 100)
    one_class = (
        r"DaskClassifier needs examples of at least two classes, but y holds only one class: 0"
    )
    with pytest.raises(ValueError, match=one_class):
        model.fit(parts, da.zeros_like(labels))
    with pytest.raises(ValueError, match="X has 300 rows, but y has 299"):
        model.fit(parts, labels[:299])
    with pytest.raises(ValueError, match="X has 300 rows, but y has 299"):
        model.fit(X, y[:299])
    frame, series = as_frame(X, y)
    with pytest.raises(TypeError, match="y must be one with the same partitions; got ndarray"):
        model.fit(frame, y)
    _, other = as_frame(X, y, npartitions=3)
    with pytest.raises(ValueError, match="X has 4 partitions, but y has 3"):
        model.fit(frame, other)
    with pytest.raises(ValueError, match="two dimensions"):
        model.fit(parts[:, 0], labels)
    with pytest.raises(ValueError, match="missing labels"):
        model.fit(frame, series.astype("string").replace("1", None))
    with pytest.raises(ValueError, match="pos_label must be one of the classes"):
        logistic(pos_label=2).fit(parts, labels)
    with pytest.raises(ValueError, match=r"Only binary .* needs two classes; y has 3: make y"):
        logistic().fit(X, np.arange(300) % 3)
    with pytest.raises(ValueError, match="at least 2 examples of each class"):
        model.fit(X, (np.arange(300) == 7).astype(int))
    with pytest.raises(ValueError, match="scoring must be 'f1'"):
        logistic(scoring="f").fit(X, y)


def test_without_dask_the_error_names_the_extra():
    code = (
        "import sys; sys.modules['dask'] = None\n"
        "import raremetric.contenders, raremetric.rare, raremetric.tuning\n"
        "try: import raremetric.dask\nexcept ImportError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    sentence = "raremetric.dask needs dask, but it is not installed: pip install"
    assert done.stdout.strip() == f'{sentence} ".[dask]" in a clone of raremetric'


@parametrize_with_checks([logistic()])
def test_sklearn_checks(estimator, check):
    check(estimator)


def test_probabilities_of_zero_and_one_are_just_beyond_the_others():
    X, y, _ = make_rare(20_000)
    model = DaskClassifier(KNeighborsClassifier(5), max_samples=1000, random_state=0).fit(X, y)
    share, p = model.estimator_.predict_proba(X)[:, 1], model.predict_proba(X)[:, 1]
    levels = [p[share == value] for value in np.unique(share)]
    assert len(levels) == 6
    assert all(np.ptp(level) == 0 for level in levels)
    odds = np.log([level[0] / (1 - level[0]) for level in levels])
    assert np.all(np.diff(odds) > 0)
    assert np.diff(odds)[0] == pytest.approx(np.log(2) * np.diff(odds)[1] / np.log(8 / 3))


def test_all_rows_in_memory():
    X, y = make_classification(400, weights=[0.9], random_state=0)
    model = logistic().fit(X, y)
    assert not model.held_out_counts_.any()
    np.testing.assert_array_equal(model.rows_, np.arange(400))
    assert isinstance(model.predict(X), np.ndarray)
    assert model.predict(X.tolist()).tolist() == model.predict(X).tolist()
    sparse = clone(model).fit(csr_array(X), y)
    np.testing.assert_array_equal(sparse.predict(csr_array(X).tocoo()), model.predict(X))
    assert clone(model).get_params()["estimator__C"] == 1.0
