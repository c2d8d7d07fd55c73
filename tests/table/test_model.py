"""A model of a table: predictions and explanations."""

import numpy as np
import pandas as pd
import pytest
from sklearn.inspection import partial_dependence, permutation_importance
from sklearn.metrics import f1_score, get_scorer, make_scorer, precision_score
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier

from raremetric.table import (
    TableError,
    fit_table,
    importances_of_file,
    load_model,
    read_table,
    recalibrate,
    save_model,
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
        assert own[name]["importance"] == pytest.approx(found.importances_mean[j], abs=0.1)
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


@pytest.mark.parametrize("method", ["rare", "logistic"])
@pytest.mark.filterwarnings("ignore:No threshold")
def test_probabilities_fit_another_share_after_recalibration(models, method, tmp_path):
    model, frame = models[method], make_table(seed=1, n=2000)
    rare = frame["state"] == "ill"
    frame = pd.concat([frame[rare][:60], frame[~rare]], ignore_index=True)  # 3.6 instead of 20 %
    new = recalibrate(model, frame[::2])
    before, after = (each.predict_table(frame[1::2]) for each in (model, new))
    share = (frame["state"] == "ill").mean()
    assert before["probability"].mean() > 2 * share
    assert after["probability"].mean() == pytest.approx(share, rel=0.4)
    assert (np.argsort(before["probability"]) == np.argsort(after["probability"])).mean() > 0.99
    validation = new.training["validation"]
    y, predicted = frame["state"][::2] == "ill", new.predict_table(frame[::2])["class"] == "ill"
    assert validation["f1"] == new.training["score"] == pytest.approx(f1_score(y, predicted))
    assert new.training["held_out"] == len(frame[::2])
    save_model(new, tmp_path / "new.skops")
    again = load_model(tmp_path / "new.skops").predict_table(frame[1::2])
    pd.testing.assert_frame_equal(again, after)
    assert model.training["rows"] == new.training["rows"]
    with pytest.raises(TableError, match="at least 10 rows of each class are needed"):
        recalibrate(model, make_table())  # the training data
