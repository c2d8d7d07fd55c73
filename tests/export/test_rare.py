"""An exported RareClassifier has the same probabilities and labels."""

import json
from itertools import cycle

import numpy as np
import onnx
import pytest
from sklearn.model_selection import train_test_split
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from raremetric import IML, RareClassifier
from raremetric.contenders.rare import GivenMetrics
from raremetric.datasets import load_dataset
from raremetric.export import to_onnx
from raremetric.rare.candidates import default_metrics
from raremetric.rare.ensemble import Average, Ensemble, Member
from raremetric.rare.fitting import fit_metrics
from raremetric.selection import Sigmoid
from raremetric.validation import check_labels
from raremetric.voting import READINGS
from tests.conftest import make_problem
from tests.export.conftest import assert_same, run
from tests.rare.test_frames import make_frame

SOON = 1e-3  # seconds: one repeat of the cross-validation


@pytest.mark.parametrize("name", ["wine", "newthyroid", "glass"])
def test_data_sets_of_the_paper(name):
    X, y = load_dataset(name, return_X_y=True)
    X, X_test, y, _ = train_test_split(X, y, test_size=0.4, stratify=y, random_state=0)
    model = RareClassifier(SOON, random_state=0).fit(X, y)
    label, _ = assert_same(model, X_test)
    assert len(set(label.tolist())) == 2
    assert_same(model, X)  # at distance zero


def test_all_kinds_of_metrics_with_every_reading(few_candidates):
    """Whatever the cross-validation chooses; `test_maps` has every metric by itself."""
    X, y = make_problem(4, n_samples=260, n_features=4)
    y = np.where(np.cumsum(y) > 30, 0, y)  # 30 positives, fewer than the largest reading
    model = RareClassifier(SOON, random_state=0).fit(X[:200], y[:200])
    labels = check_labels(y[:200], "the test")
    readings, tried = cycle(READINGS), default_metrics()
    specs = [spec for i, spec in enumerate(tried) if i % 4 == 0 or not spec.readings]
    assert {spec.branch for spec in specs} == {spec.branch for spec in tried}
    members = [
        Member("", 0.0, metric, None if metric.search is None else next(readings))
        for metric in fit_metrics(specs, X[:200], labels, seed=0)
        for _ in range(2)
    ]
    assert {member.reading for member in members} == {*READINGS, None}
    rng = np.random.default_rng(0)
    scores, _ = Ensemble(members, *[None] * 3)._scores(X)
    average = Average(rng.dirichlet(np.ones(len(members))), scores.mean(axis=1), scores.std(axis=1))
    calibration = Sigmoid(np.array(2.0), np.array(-0.5))
    model.ensemble_ = Ensemble(members, average, calibration, np.arange(200))
    label, _ = assert_same(model, X)
    assert len(set(label.tolist())) == 2


@pytest.mark.parametrize("pos_label", ["common", "rare"])
def test_labels_weights_and_sampled_rows(few_candidates, pos_label):
    X, y = make_problem(6, n_samples=300, n_features=4)
    words, weights = np.array(["common", "rare"])[y], 1.0 + np.arange(200) % 3
    model = make_pipeline(
        StandardScaler(), RareClassifier(SOON, pos_label=pos_label, max_samples=90, random_state=0)
    )
    model.fit(X[:200], words[:200], rareclassifier__sample_weight=weights)
    label, _ = assert_same(model, X[200:])
    assert set(label.tolist()) == {"common", "rare"}


def test_three_classes(few_candidates):
    X, y = make_problem(8, n_samples=200, n_classes=3)
    model = RareClassifier(SOON, random_state=0).fit(X[:120], y[:120])
    label, p = assert_same(model, X[120:])
    assert set(label.tolist()) == {0, 1, 2}
    assert p.shape == (80, 3)


def test_copies_in_both_classes(few_candidates):
    """Distances of zero, and scores of zero."""
    X, y = make_problem(9, n_samples=60)
    X, y = np.vstack([X, X]), np.concatenate([y, 1 - y])
    assert_same(RareClassifier(SOON, random_state=0).fit(X, y), X)


def test_a_subclass_with_other_metrics():
    X, y = make_problem(2, n_samples=80)
    model = GivenMetrics([IML(margin=10.0), IML(margin=1.0)], SOON, random_state=0).fit(X, y)
    assert_same(model, X)


def test_small_probabilities_have_the_same_digits(few_candidates):
    X, y = make_problem(10, n_samples=200)
    model = RareClassifier(SOON, random_state=0).fit(X, y)
    slope, intercept = model.ensemble_.calibration
    model.ensemble_ = model.ensemble_._replace(calibration=Sigmoid(slope, intercept - 20))
    _, p = assert_same(model, X)
    expected = model.predict_proba(X)[:, 1]
    assert expected.max() < 1e-6
    np.testing.assert_allclose(p[:, 1], expected, rtol=1e-9)


def test_a_model_of_a_data_frame_takes_encoded_rows(few_candidates):
    frame, y = make_frame()
    model = RareClassifier(budget=1e-6, random_state=0).fit(frame, y)
    rows = model.encoder_.transform(frame)
    _, p = run(model, rows)
    np.testing.assert_allclose(p, model.predict_proba(frame), atol=1e-9)
    names = {each.key: each.value for each in onnx.load_from_string(to_onnx(model)).metadata_props}
    assert json.loads(names["feature_names"]) == model.encoder_.get_feature_names_out().tolist()
    with pytest.raises(ValueError, match="cannot be exported after other steps"):
        to_onnx(Pipeline([("scaler", StandardScaler().fit(rows)), ("model", model)]))
