"""Rows that are unlike the training data are counted and marked."""

import numpy as np
import pandas as pd
import pytest

from raremetric.table.doubts import find_doubts, summarize_columns
from raremetric.table.predictions import write_predictions
from tests.table.conftest import make_table


@pytest.fixture
def predict(model, tmp_path):
    def predict(frame):
        path, out = tmp_path / "new.csv", tmp_path / "out.csv"
        frame.to_csv(path, index=False)
        counts = write_predictions(model, path, out)
        return counts, model.predict_table(path)

    return predict


def test_what_the_training_data_holds(model):
    size, weight, color, new = model.columns
    frame = make_table()
    assert (size["min"], size["max"]) == (frame["size"].min(), frame["size"].max())
    assert (size["missing"], weight["missing"]) == (0, 1 / 120)
    assert (color["levels"], new["levels"]) == (["blue", "green", "red"], ["no", "yes"])


def test_the_training_data_itself_has_no_unlike_columns(predict):
    counts, found = predict(make_table())
    assert set(found["unlike_training"]) == {""}
    assert (counts.unlike, counts.sentences()) == (0, [])


def test_a_new_level_a_missing_value_and_a_large_one(predict):
    frame = make_table()
    frame.loc[[0, 1], "color"] = "violet"
    frame.loc[1, "size"] = np.nan
    frame.loc[2, "weight"] = 1e5
    frame.loc[3, "color"] = np.nan  # also missing in the training data
    counts, found = predict(frame)
    unlike = [
        text.removesuffix("; (far from all examples)") for text in found["unlike_training"][:3]
    ]
    assert unlike == ["color", "size; color", "weight"]
    assert found["unlike_training"][2].endswith("(far from all examples)")
    assert "color" not in found["unlike_training"][3]
    assert counts.unlike == (found["unlike_training"] != "").sum()
    sentences = counts.sentences()
    new = "2 of 120 rows: column 'color' has a level that the training data does not have."
    assert new in sentences
    assert "1 of 120 rows: column 'size' is missing (in the training data: never)." in sentences
    assert any("column 'weight' is far outside the range -377.2 to 275.6" in s for s in sentences)
    assert any("are farther from all training examples than 99%" in s for s in sentences)


def test_an_empty_column(predict):
    counts, found = predict(make_table().assign(weight=np.nan))
    assert found["unlike_training"].str.contains("weight").all()
    assert "120 of 120 rows: column 'weight' is missing (in the training data: 0.8%)." in (
        counts.sentences()
    )
    counts, found = predict(make_table().assign(weight=np.nan).head(1))
    assert counts.unlike == 0  # a missing value in one of 120 rows is no surprise


def test_chance_is_not_unlike():
    frame = make_table()
    frame.loc[:59, "weight"] = np.nan
    summaries = summarize_columns(frame)
    assert find_doubts(summaries, frame.head(5)) == {}
    assert [name for name, _ in find_doubts(summaries, frame.head(20))] == ["weight"]


def test_new_levels_of_a_column_with_many_levels():
    """They are marked unless the training data suggests that new levels are usual."""
    rng = np.random.default_rng(0)
    frequent = pd.DataFrame({"shop": [f"s{i % 150}" for i in range(600)]})
    summaries = summarize_columns(frequent)
    assert (len(summaries[0]["levels"]), summaries[0]["once"]) == (150, 0)
    new = pd.DataFrame({"shop": ["s3", "s999", "s4"]})
    (found,) = find_doubts(summaries, new).values()
    assert found.tolist() == [False, True, False]
    # A third of the names occur once: about a third of other rows have a new one.
    names = np.where(np.arange(600) % 3 == 0, [f"n{i}" for i in range(600)], frequent["shop"])
    summaries = summarize_columns(pd.DataFrame({"shop": names}))
    assert summaries[0]["once"] == pytest.approx(1 / 3)
    usual = [f"x{i}" if rng.random() < 1 / 3 else names[i] for i in range(100)]
    assert find_doubts(summaries, pd.DataFrame({"shop": usual})) == {}
    (found,) = find_doubts(
        summaries, pd.DataFrame({"shop": [f"x{i}" for i in range(100)]})
    ).values()
    assert found.all()


def test_the_range_is_extended_by_itself(predict):
    frame = make_table()
    low, high = frame["size"].min(), frame["size"].max()
    sizes = [2 * high - low, 2 * high - low + 0.01, 2 * low - high, 2 * low - high - 0.01]
    frame.loc[:3, "size"] = sizes
    _, found = predict(frame)
    assert found["unlike_training"].str.contains("size").tolist()[:4] == [False, True, False, True]


def test_the_radius_is_a_percentile(models):
    for name in ("plain", "iml", "rare"):
        model = models[name]
        distances, _ = model.classifier.kneighbors(model.X, 2)
        assert model.radius == pytest.approx(np.quantile(distances[:, 1], 0.99))
    assert models["logistic"].radius is None


def test_rows_far_from_all_examples(model, predict):
    frame = make_table()
    frame["weight"] *= 1.9  # within the extended range
    _, found = predict(frame)
    far = found["distance_1"] > model.radius
    assert far.any()
    assert (found["unlike_training"].str.contains("far from all examples") == far).all()
