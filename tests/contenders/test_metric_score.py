"""Metrics with calibrated scores and a threshold, for one's own table."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from scipy.spatial.distance import cdist
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.metrics import log_loss
from sklearn.preprocessing import StandardScaler

from raremetric import IML, MetricKNNClassifier
from raremetric.contenders import find_contender
from raremetric.contenders.rare import GivenMetrics
from raremetric.contenders.registry import custom_contender
from tests.conftest import make_problem


@pytest.fixture(scope="module")
def data():
    rng = np.random.RandomState(0)
    y = (np.arange(1200) % 8 == 0).astype(int)
    X = rng.normal(size=(1200, 3))
    X[y == 1, 0] += 1.5
    return X[:600], y[:600], X[600:], y[600:]


@pytest.mark.parametrize("name", ["plain", "gmml", "itml", "lmnn", "iml"])
def test_every_metric_gives_calibrated_probabilities(data, name):
    X, y, queries, truth = data
    contender = find_contender(name)
    tuned = contender.fit(contender.candidates(1)[:2], X, y, seed=1, scoring="f1")
    p = tuned.model.predict_proba(queries)[:, 1]
    assert log_loss(truth, p) < log_loss(truth, np.full(len(p), y.mean()))
    assert p.mean() == pytest.approx(truth.mean(), rel=0.3)
    np.testing.assert_array_equal(tuned.model.predict(queries), p >= tuned.model.threshold_)
    assert tuned.quality.score == tuned.validation["average"]


def test_the_plain_distance_is_that_of_standardized_features(data):
    X, y, queries, _ = data
    contender = find_contender("plain")
    model = contender.fit(contender.candidates(1), X, y, seed=1).model
    distances, _ = model.kneighbors(queries, 3)
    scaler = model.metric_[0]
    np.testing.assert_allclose(scaler.scale_, StandardScaler().fit(X).scale_, rtol=0.2)
    expected = np.sort(cdist(scaler.transform(queries), scaler.transform(X)))[:, :3]
    np.testing.assert_allclose(distances, expected)


def test_candidates_become_metrics_with_settings_and_seed():
    contender = find_contender("iml")
    X, y = make_problem(0, n_samples=60)
    tried = contender.candidates(3)
    assert len(tried) == 10
    model = contender.fit(tried[:3], X, y, seed=5).model
    assert [learner.margin for learner in model.learners] == [
        each.params["margin"] for each in tried[:3]
    ]
    assert {learner.random_state for learner in model.learners} == {5}


class Mapped(TransformerMixin, BaseEstimator):
    """A user's transformer whose output has no distances."""

    def __init__(self, output="zeros"):
        self.output = output

    def fit(self, X, y):
        self.fitted_ = True
        return self

    def transform(self, X):
        return OUTPUTS[self.output](X)


OUTPUTS = {
    "zeros": lambda X: np.zeros((len(X), 2)),
    "sparse": csr_matrix,
    "missing": lambda X: np.full(X.shape, np.nan),
    "one column": lambda X: X[:, 0],
    "fewer rows": lambda X: X[1:],
}


@pytest.mark.parametrize(
    ("output", "sentence"),
    [
        ("zeros", "Mapped maps all training rows to the same point: all distances are zero"),
        ("sparse", r"Mapped.transform returned a sparse matrix, but .* the matrix's toarray\(\)"),
        ("missing", "Mapped.transform returned values that are missing or infinite"),
        ("one column", r"returned an array of shape \((\d+),\) for \1 rows; expected \(\1, n_comp"),
        (
            "fewer rows",
            r"returned an array of shape \(\d+, 3\) for \d+ rows; expected \(\d+, n_comp",
        ),
    ],
)
def test_a_users_transformer_that_has_no_distances(data, output, sentence):
    X, y, *_ = data
    own = custom_contender(f"{__name__}:Mapped", for_table=True, settings={"output": output})
    with pytest.raises(ValueError, match=sentence):
        own.fit(own.candidates(1), X, y, seed=1)
    if output not in ("zeros", "missing"):  # the same in studies and in one's own code
        with pytest.raises(ValueError, match=sentence):
            MetricKNNClassifier(Mapped(output)).fit(X, y)


def test_what_it_cannot_do_is_said(data):
    X, y, *_ = data
    sentence = find_contender(f"{__name__}:Mapped").ignores_weights
    assert sentence.startswith("Mapped cannot take weights: its metric is learned without them")
    with pytest.raises(ValueError, match="MLFP measures distances to one class only"):
        find_contender("raremetric:MLFP")
    plain = find_contender("plain")
    with pytest.raises(ValueError, match="chooses a threshold instead of resampling"):
        plain.fit(plain.candidates(1), X, y, seed=1, resampling="smote")


def test_features_are_selected_before_a_metric_is_learned():
    rng = np.random.RandomState(0)
    X, y = rng.normal(size=(80, 12)), (np.arange(80) % 5 == 0).astype(int)
    X[y == 1, 3] += 3.0
    model = GivenMetrics([IML(max_iter=5)], max_features=4, random_state=0).fit(X, y)
    assert model.metric_[0].get_support()[3]
    assert model.metric_[0].get_support().sum() == 4
