"""What a user chooses: the method, the aim, the threshold, and the number of alerts."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import fbeta_score

from raremetric import TableEncoder
from raremetric.contenders import find_contender, scored
from raremetric.table import METHODS, compare_table, fit_table, load_model, save_model
from raremetric.table.aims import describe_scoring, parse_scoring
from raremetric.table.card import card_markdown
from raremetric.table.fitting import fit_method
from raremetric.table.predictions import write_predictions
from tests.table.conftest import make_table

WITHOUT_NEIGHBORS = ["logistic", "boosting", "forest", "svm"]


@pytest.mark.parametrize("name", METHODS)
def test_every_method_predicts(name, models, path):
    model = models[name]
    found = model.predict_table(path)
    assert ((found["class"] == "ill") == (model.classifier.predict(model.X) == 1)).all()
    p = model.classifier.predict_proba(model.X)[:, 1]
    np.testing.assert_allclose(found["probability"], p)
    has_neighbors = name not in WITHOUT_NEIGHBORS
    assert ("neighbor_1" in found.columns) == model.has_neighbors == has_neighbors
    assert model.training["rows"] == model.training["rows_used"] == 120
    assert model.training["chosen"]
    assert 0 < model.training["score"] <= 1
    assert 0 < model.training["score_std"] < 0.5
    assert model.training["validation"]["f1"] == pytest.approx(model.training["score"])


@pytest.fixture
def few(monkeypatch):
    monkeypatch.setattr(scored.Scored, "n_for_table", 2)


def fit(path, **options):
    return fit_table(path, "state", ignore=["id"], method="logistic", **options)


def test_a_method_chooses_how_many_levels_become_columns(few):
    pytest.importorskip("xgboost")
    rng = np.random.default_rng(0)
    shop, y = rng.integers(0, 30, 400), rng.random(400) < 0.1
    frame = pd.DataFrame({"shop": [f"s{i}" for i in shop], "x": rng.normal(size=400) + y})
    frame["state"] = np.where(y | (shop == 7), "ill", "well")
    model = fit_table(frame, "state", method="boosting")
    assert model.X.shape == (400, 31)
    with pytest.warns(UserWarning, match="'shop' has 30 levels, more than 20"):
        assert fit_table(frame, "state", method="logistic").X.shape == (400, 11)
    found = compare_table(frame, "state", methods=["boosting"], n_folds=2).entries()["boosting"][0]
    train = np.setdiff1d(np.arange(400), found.test)
    encoder = TableEncoder(max_levels=100).fit(model.data.iloc[train])
    X, queries = (encoder.transform(model.data.iloc[rows]) for rows in (train, found.test))
    own = fit_method("boosting", X, model.y[train]).answer(queries)
    np.testing.assert_array_equal(found.predicted, own.predicted)


def test_the_aim_moves_the_threshold(path, few):
    costs = fit(path, scoring="cost:fp=1,fn=20")
    assert costs.scoring == [[0.0, 1.0], [20.0, 0.0]]
    thresholds = [
        costs.threshold,
        *(fit(path, scoring=each).threshold for each in ("f2", "f1", "f0.5")),
        fit(path, scoring=[[0, 20], [1, 0]]).threshold,
    ]
    assert thresholds == sorted(thresholds)
    assert thresholds[0] < thresholds[-1]
    assert thresholds[0] == pytest.approx(1 / 21, abs=0.05)  # calibrated: fp / (fp + fn)
    assert thresholds[-1] == pytest.approx(20 / 21, abs=0.05)
    assert -5 < costs.training["score"] < 0  # per row
    model = fit(path, scoring="f2")
    predicted = model.predict_table(path)["class"] == "ill"
    assert fbeta_score(model.y, predicted, beta=2) > 0.6


def test_a_fixed_threshold(path, few, models):
    model = fit(path, threshold=0.9)
    free = fit(path)
    found, best = model.predict_table(path), free.predict_table(path)
    assert model.threshold == 0.9
    assert ((found["class"] == "ill") == (found["probability"] >= 0.9)).all()
    assert (found["probability"] == best["probability"]).all()
    again = free.predict_table(path, threshold=0.9)
    pd.testing.assert_frame_equal(again, found)
    assert ((best["class"] == "ill") == (best["probability"] >= free.threshold)).all()
    votes = models["plain"].predict_table(path, threshold=1 / 3)
    assert ((votes["class"] == "ill") == (votes["probability"] >= 1 / 3)).all()
    with pytest.raises(ValueError, match="threshold == 2"):
        free.predict_table(path, threshold=2)
    with pytest.raises(ValueError, match="threshold == -1"):
        fit(path, threshold=-1)


@pytest.mark.parametrize("top", [0, 1, 7, 119, 500])
def test_a_number_of_alerts(path, models, tmp_path, top):
    model, out = models["plain"], tmp_path / "out.csv"
    pieces = []
    counts = write_predictions(model, path, out, on_result=pieces.append, top=top, block_bytes=1000)
    assert len(pieces) > 3
    found = pd.read_csv(out)
    expected = model.predict_table(path)
    assert found["row"].tolist() == list(range(1, 121))
    assert found["id"].tolist() == expected["id"].tolist()
    # Votes of three neighbors have many ties, which go to the first rows.
    order = sorted(range(120), key=lambda i: (-expected["probability"][i], i))
    assert set(np.flatnonzero(found["class"] == "ill")) == set(order[:top])
    assert counts.positive == min(top, 120)
    assert (model.predict_table(path, top=top)["class"] == found["class"]).all()


@pytest.mark.parametrize("threshold", [0, 0.3, 1])
def test_a_number_of_alerts_from_a_threshold_on(path, models, threshold):
    likely = models["plain"].predict_table(path)["probability"]
    for top in (0, 5, 60, 500):
        found = models["plain"].predict_table(path, top=top, threshold=threshold)
        order = sorted(np.flatnonzero(likely >= threshold), key=lambda i: (-likely[i], i))
        assert set(np.flatnonzero(found["class"] == "ill")) == set(order[:top])
    with pytest.raises(ValueError, match="threshold"):
        models["plain"].predict_table(path, top=5, threshold=2)


def test_rows_that_are_drawn(tmp_path, few):
    path = tmp_path / "long.csv"
    make_table(n=400).to_csv(path, index=False)
    model = fit(path, max_samples=100)
    assert (model.training["rows"], model.training["rows_used"]) == (400, 100)
    whole = fit(path)
    difference = model.predict_table(path)["probability"] - whole.predict_table(path)["probability"]
    assert difference.abs().mean() < 0.1  # corrected for the draw


def test_a_limit_on_the_rows_is_said_before_the_fit():
    rng = np.random.default_rng(0)
    n_rows = find_contender("gmml").default_max_samples + 100
    table = pd.DataFrame(rng.normal(size=(n_rows, 2)), columns=["a", "b"])
    table["state"] = np.where(table["a"] + rng.normal(size=n_rows) > 2, "ill", "well")
    said = []
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = lambda message, *_: said.append(str(message))
        model = fit_table(
            table,
            "state",
            method="sklearn.preprocessing:StandardScaler",
            on_progress=lambda *_: said.append("step"),
        )
    assert said[0].startswith(f"StandardScaler learns from 10000 of {n_rows} rows, drawn with")
    assert said[0].endswith("For another number, use `max_samples` (`--max-rows`).")
    assert set(said[1:]) == {"step"}
    assert model.training["rows_used"] == n_rows - 100


@pytest.mark.usefixtures("few_candidates")
@pytest.mark.parametrize("method", ["rare", "gmml", "iml"])
def test_a_selection_of_features_is_said(path, tmp_path, method):
    match = f"^{method} selects 2 of the 7 features, those .* in each fold again\\.$"
    with pytest.warns(UserWarning, match=match):
        model = fit_table(path, "state", method=method, ignore=["id"], max_features=2)
    save_model(model, tmp_path / "model.skops")
    found = model.predict_table(make_table())
    pd.testing.assert_frame_equal(
        load_model(tmp_path / "model.skops").predict_table(make_table()), found
    )


@pytest.mark.filterwarnings("ignore:The model is no better than chance")
def test_features_are_selected_in_each_fold_again():
    """Of many features without a meaning, some fit the classes of all rows by chance."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(120, 301))).add_prefix("c")
    table["state"] = rng.choice(["ill", "well"], 120, p=[0.3, 0.7])
    own = "sklearn.preprocessing:StandardScaler"
    match = "^StandardScaler selects 300 of the 301 features.*to save time.*--max-features"
    with pytest.warns(UserWarning, match=match):
        fit_table(table, "state", method=own)
    with pytest.warns(UserWarning, match="selects 5 of the 301"):
        model = fit_table(table, "state", method=own, max_features=5)
    assert model.training["validation"]["average_precision"] < 0.4
    found = compare_table(table, "state", methods=["plain", own], n_folds=2)
    (note,) = [each for each in found.notes if "selects" in each]
    assert note.startswith("StandardScaler selects 300 of the 301 features, those whose")
    with pytest.raises(ValueError, match=r"model with max_features must be one of .*'rare'"):
        fit_table(table, "state", method="plain", max_features=2)


@pytest.mark.parametrize(
    ("text", "parsed", "words"),
    [
        ("f2", "f2", "f2"),
        ("precision>=0.8", "precision>=0.8", "recall with precision>=0.8"),
        ("recall>=0.9", "recall>=0.9", "precision with recall>=0.9"),
        (
            "cost: fn = 5.5",
            [[0, 1], [5.5, 0]],
            "negative cost per row (tn=0, fp=1, fn=5.5, tp=0)",
        ),
        (
            "cost:tn=1,fp=3,fn=4,tp=2",
            [[1, 3], [4, 2]],
            "negative cost per row (tn=1, fp=3, fn=4, tp=2)",
        ),
    ],
)
def test_aims_in_words(text, parsed, words):
    assert parse_scoring(text) == parsed
    assert describe_scoring(parsed) == words


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"scoring": "auc"}, r"'cost:fp=1,fn=20', or .* --min-precision 0.8 .*; got 'auc'\.$"),
        ({"scoring": "accuracy"}, r"scoring must be 'f1'.* For accuracy, give costs of 1 for each"),
        ({"scoring": "cost:fp"}, "Costs must be given like 'cost:fp=1,fn=20'; got 'cost:fp'"),
        ({"scoring": "cost:x=1"}, "Costs must be given like"),
        ({"scoring": "cost:fp=0"}, "a wrong prediction must cost more"),
    ],
)
def test_mistakes(path, options, sentence):
    with pytest.raises(ValueError, match=sentence):
        fit_table(path, "state", **options)


def test_a_transductive_method_does_not_see_the_rows_to_be_predicted(path):
    own = "tests.contenders.test_queries:Watching"
    found = compare_table(path, "state", methods=["plain", own], n_folds=2, ignore=["id"])
    assert found.failures == []
    model = fit_table(path, "state", method=own, ignore=["id"])
    alone = model.predict_table(make_table().head(1))
    first = model.predict_table(make_table()).head(1)  # does not depend on the other rows
    pd.testing.assert_frame_equal(alone, first)


@pytest.mark.parametrize("method", ["plain", "logistic"])
def test_the_score_for_average_precision_is_not_f1(path, method):
    options = {"method": method, "row_names": "id", "scoring": "average_precision"}
    training = fit_table(path, "state", **options).training
    assert training["score"] == training["validation"]["average_precision"]
    assert training["score"] != training["validation"]["f1"]
    assert training["score_std"] is None


def test_the_note_about_a_minimum_is_in_the_model_card(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(300, 3)), columns=list("abc"))
    frame["state"] = np.where(frame["a"] + 2 * rng.normal(size=300) > 3, "ill", "well")
    with pytest.warns(UserWarning, match="No threshold for class 'ill' meets"):
        model = fit_table(frame, "state", method="logistic", scoring="precision>=0.9")
    assert "below the minimum of 0.9" in model.training["notes"][-1]
    assert f"- Note: {model.training['notes'][-1]}" in card_markdown(model)
