"""A model of a table: predictions and explanations."""

import numpy as np
import pytest
from sklearn.inspection import partial_dependence, permutation_importance
from sklearn.metrics import get_scorer, make_scorer, precision_score
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier

from raremetric.explain import feature_weights
from raremetric.rare.ensemble import Ensemble
from raremetric.table import (
    TableError,
    explain_row,
    fit_table,
    importances_of_file,
    read_table,
)
from raremetric.table.splitting import n_tuning_folds
from tests.table.conftest import make_table


def test_the_neighbors_of_the_plain_model_are_scikit_learns(models, path):
    table = read_table(path, "state", ignore=["id"])
    model = models["plain"]
    X = model.classifier.metric_[0].transform(table.encoder.transform(table.data))
    np.testing.assert_allclose(X.std(axis=0), 1, rtol=0.2)  # standardized in one of the folds
    knn = KNeighborsClassifier(3, algorithm="brute").fit(X, table.target)
    (found,) = model.predict_file(path)
    np.testing.assert_allclose(found.probability, model.classifier.predict_proba(model.X)[:, 1])
    np.testing.assert_array_equal(found.positive, found.probability >= model.threshold)
    np.testing.assert_allclose(found.distances, knn.kneighbors(X)[0], atol=1e-6)
    assert found.rows.tolist() == list(range(1, 121))
    assert found.names == [f"r{i}" for i in range(120)]


@pytest.mark.parametrize("method", ["iml", "rare", "logistic"])
def test_a_model_is_a_classifier_of_raw_columns(models, path, method):
    model, frame = models[method], make_table()
    found = model.predict_table(path)
    assert model.classes_.tolist() == ["well", "ill"]
    assert model.predict(frame).tolist() == model.predict(path).tolist() == found["class"].tolist()
    p = model.predict_proba(frame)
    np.testing.assert_array_equal(p[:, 1], found["probability"])
    np.testing.assert_array_equal(p.sum(axis=1), 1)
    precision = make_scorer(precision_score, pos_label="ill")
    for scoring in ("f1_macro", "neg_log_loss", precision):
        assert isinstance(get_scorer(scoring)(model, frame, frame["state"]), float)
    decided = model.pipeline.predict(model.data) == 1
    np.testing.assert_array_equal(decided, found["class"] == "ill")


def test_tools_of_scikit_learn_take_raw_columns(models):
    model = models["logistic"]
    pipeline, data, y = model.pipeline, model.data, model.y
    found = permutation_importance(
        pipeline, data, y, scoring="average_precision", n_repeats=5, random_state=0
    )
    own = {each["column"]: each for each in importances_of_file(model, make_table()).columns}
    assert [*data] == ["size", "weight", "color", "new"]
    for j, name in enumerate(data):
        assert own[name]["importance"] == found.importances_mean[j]
        assert own[name]["std"] == found.importances_std[j]
    curve = partial_dependence(pipeline, data, ["size"], kind="average")["average"][0]
    assert (np.diff(curve) > 0).all()  # the rare class is larger
    again = models["gmml"].pipeline
    assert cross_val_score(again, data, y, scoring="average_precision").mean() > y.mean()


def test_pieces_give_the_same_as_the_whole_file(model, path):
    (whole,) = model.predict_file(path)
    pieces = list(model.predict_file(path, block_bytes=1000))
    assert len(pieces) > 3
    for name in ("rows", "positive", "probability", "neighbors", "distances"):
        parts = np.concatenate([getattr(piece, name) for piece in pieces])
        np.testing.assert_array_equal(parts, getattr(whole, name))
    assert [name for piece in pieces for name in piece.names] == [f"r{i}" for i in range(120)]


def test_columns_are_found_by_name(model, path, tmp_path):
    frame = make_table()
    shuffled = tmp_path / "shuffled.csv"
    frame[["new", "weight", "state", "size", "color"]].assign(more=1).to_csv(shuffled, index=False)
    (expected,) = model.predict_file(path)
    (found,) = model.predict_file(shuffled)
    np.testing.assert_array_equal(found.probability, expected.probability)
    assert found.names is None
    assert model.unused_columns(shuffled) == ["more"]
    assert model.unused_columns(path) == []
    frame.drop(columns=["color", "size"]).to_csv(shuffled, index=False)
    with pytest.raises(TableError, match=r"2 of the 4 columns.*'size', 'color'"):
        list(model.predict_file(shuffled))


def test_parts_sum_to_the_distance_of_each_example(model, path):
    found = explain_row(model, path, 10)
    assert found.parts_exact
    own = {each["column"]: each["value"] for each in found.columns}
    distances, nearest = model.classifier.kneighbors(model.X[[9]], 120)
    by_name = dict(zip(model.ids[nearest[0]], distances[0], strict=True))
    for each in found.examples:
        distance = by_name[each["id"]]
        assert each["distance"] == distance
        assert [*each["parts"]] == [*each["values"]] == ["size", "weight", "color", "new"]
        assert sum(each["parts"].values()) == pytest.approx(distance**2, abs=1e-10)
        for name, value in own.items():  # equal columns add nothing
            assert value != each["values"][name] or each["parts"][name] == 0


def test_a_metric_without_an_exact_split(models, path, monkeypatch):
    model = models["rare"]
    ensemble = model.classifier.ensemble_
    curved = next(i for i, each in enumerate(ensemble.members) if "laplacian" in each.name)
    monkeypatch.setattr(Ensemble, "main_member", curved)  # whichever has the largest weight
    found = explain_row(model, path, 10)
    assert not found.parts_exact
    assert model.weights() == {}
    assert model.n_metrics > 1
    nearest = model.X[[int(each["id"][1:]) for each in found.examples]]
    equal = nearest.copy()
    equal[:, 2:6] = model.X[9, 2:6]  # the 0/1 columns of color
    z = model.metric.transform(np.vstack([model.X[[9]], nearest, equal]))
    d2 = ((z[0] - z[1:]) ** 2).sum(axis=1)
    n = len(nearest)
    np.testing.assert_allclose(
        [each["distance"] ** 2 for each in found.examples], d2[:n], atol=1e-9
    )
    changes = [each["parts"]["color"] for each in found.examples]
    np.testing.assert_allclose(changes, d2[n:] - d2[:n], atol=1e-9)
    (predicted,) = model.predict_file(path)
    np.testing.assert_array_equal(predicted.positive, model.classifier.predict(model.X) == 1)


def test_weights_by_name(model):
    weights = model.weights()
    assert set(weights) == {*model.encoder.get_feature_names_out()}
    assert list(weights.values()) == sorted(weights.values(), reverse=True)
    np.testing.assert_allclose(
        [weights[name] for name in model.encoder.get_feature_names_out()],
        feature_weights(model.classifier),
    )
    assert sum(weights.values()) == pytest.approx(1)


def test_several_other_classes_have_a_name():
    frame = make_table()
    frame["state"] = np.where(np.arange(120) % 3 == 0, "odd", frame["state"])
    with pytest.warns(UserWarning, match=r"(Only \d+ rows are of class 'ill'|3 classes. They are)"):
        model = fit_table(frame, "state", "ill", method="plain", ignore=["id"])
    assert model.class_names == ["not ill", "ill"]


def test_mistakes(path):
    with pytest.raises(ValueError, match=r"model must be one of .*'forest'.*; got 'forrest'"):
        fit_table(path, "state", method="forrest")
    with pytest.raises(TableError, match="no column 'name'"):
        fit_table(path, "state", method="plain", row_names="name")
    with pytest.raises(ValueError, match="The rare class has 3 examples; at least 4"):
        n_tuning_folds(np.array([0] * 20 + [1] * 3))
    assert n_tuning_folds(np.array([0] * 20 + [1] * 5)) == 2
    assert n_tuning_folds(np.array([0] * 20 + [1] * 50)) == 5
