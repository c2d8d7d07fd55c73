"""Figures that a user reads must hold on new rows: copies, dates, thresholds, names of classes."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import average_precision_score
from sklearn.model_selection import StratifiedKFold

from raremetric.contenders import scored
from raremetric.table import compare_table, fit_table
from tests.table.conftest import make_table


@pytest.fixture
def tripled():
    """300 rows of noise: each of 100 different ones is there three times, with its label."""
    rng = np.random.default_rng(0)
    noise = pd.DataFrame(rng.normal(size=(100, 3)), columns=list("abc"))
    noise["state"] = np.where(np.arange(100) % 4 == 0, "ill", "well")
    return pd.concat([noise] * 3, ignore_index=True)


@pytest.mark.filterwarnings("ignore:The model is no better than chance")
@pytest.mark.parametrize("n_times", [1, 7])
@pytest.mark.parametrize("method", ["plain", "logistic", "boosting", "iml"])
def test_the_score_of_fit_does_not_come_from_copies(tripled, method, n_times, monkeypatch):
    monkeypatch.setattr(scored.Scored, "n_for_table", 2)
    model = fit_table(pd.concat([tripled] * n_times), "state", method=method)
    # Calling every row ill has an F1 of 0.4.
    assert model.training["score"] < 0.6
    assert model.training["folds"] == "copies of a row stay together"
    n_repeats = 300 * n_times - 100
    assert model.training["notes"][0].startswith(f"{n_repeats} rows repeat the values of an")


@pytest.mark.parametrize("n_times", [2, 12])
def test_the_scores_of_a_comparison_do_not_come_from_copies(tripled, tmp_path, n_times):
    text = np.arange(300) % 100  # each level is in copies of one row only
    rows = pd.concat([tripled.assign(text=[f"t{i}" for i in text])] * n_times)
    rows.to_csv(tmp_path / "t.csv", index=False)
    found = compare_table(tmp_path / "t.csv", "state", methods=["plain", "logistic"], n_folds=4)
    assert all(each["F1"]["mean"] < 0.5 for each in found.summary())
    note, of_groups, of_reading = found.notes
    assert of_groups.endswith("the results are honest with --group text only.")
    assert of_reading.startswith("Column 'text' has 100 levels, more than 20")
    assert note.startswith(
        f"{300 * n_times - 100} rows repeat the values of an earlier row. Copies"
    )


def test_equal_rows_of_a_table_of_categories_are_different_examples(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.choice(["a", "b", "c"], (400, 2)), columns=["p", "q"])
    frame["dose"] = rng.integers(1, 4, 400)
    frame["state"] = np.where((frame["p"] == "a") & (rng.random(400) < 0.5), "ill", "well")
    frame.to_csv(tmp_path / "t.csv", index=False)
    found = compare_table(tmp_path / "t.csv", "state", methods=["plain"], n_folds=4)
    (sentence,) = (note for note in found.notes if "repeat" in note)
    assert sentence.startswith("373 rows repeat the values of an earlier row. The table has few")
    model = fit_table(frame, "state", method="plain")
    assert sentence in model.training["notes"]
    assert model.training["folds"] == "stratified"
    (folds,) = found.entries().values()
    labels = (frame["state"] == "ill").to_numpy().astype(int)
    theirs = StratifiedKFold(4, shuffle=True, random_state=0).split(labels, labels)
    for each, (_, test) in zip(folds, theirs, strict=True):
        np.testing.assert_array_equal(each.test, test)


@pytest.mark.parametrize(
    "ids",
    [
        [f"k{i}" for i in range(300)],
        ["k1", None, *(f"k{i}" for i in range(1, 299))],
        range(300),
        [None, *range(299)],
        [3, *range(299)],
        np.random.default_rng(0).choice(10**7, 300, replace=False),
    ],
    ids=["texts", "flawed texts", "numbers", "one blank", "one twice", "gaps"],
)
def test_copies_are_found_despite_an_identifier(tripled, tmp_path, ids):
    tripled.insert(0, "id", ids)
    tripled.to_csv(tmp_path / "t.csv", index=False)
    found = compare_table(tmp_path / "t.csv", "state", methods=["plain"], n_folds=4)
    assert found.summary()[0]["F1"]["mean"] < 0.5
    assert found.notes[0].startswith("200 rows repeat the values of an earlier row. Copies")
    assert found.notes[0].endswith("Columns that identify rows were not compared: 'id'.")


def test_the_expected_quality_is_that_of_the_threshold_that_decides(path, monkeypatch):
    monkeypatch.setattr(scored.Scored, "n_for_table", 1)
    found = [
        fit_table(path, "state", method="logistic", ignore=["id"], threshold=each)
        for each in (0.02, 0.98)
    ]
    low, high = (model.training["validation"]["recall"] for model in found)
    assert low > 0.9 > high


@pytest.mark.parametrize("seed", [0, 3])
def test_a_model_of_noise_says_so_and_does_not_reverse_its_scores(seed):
    rng = np.random.default_rng(seed)
    noise = pd.DataFrame(rng.normal(size=(300, 5)), columns=list("abcde"))
    noise["y"] = (np.arange(300) < 18).astype(int)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = fit_table(noise, "y", method="logistic")
    found = model.training["validation"]["average_precision"]
    warned = any("no better than chance" in str(each.message) for each in caught)
    y = noise["y"].to_numpy()
    chance = np.mean([average_precision_score(y, rng.random(300)) for _ in range(1000)])
    assert abs(found - chance) > 0.003  # else this test would say nothing
    assert warned == (found <= chance)
    assert model.classifier.decision_.calibration.slope >= 0


@pytest.mark.parametrize("seed", [0, 2])
def test_a_model_of_six_positives_says_if_it_is_no_better_than_chance(seed, monkeypatch):
    monkeypatch.setattr(scored.Scored, "n_for_table", 2)
    rng = np.random.default_rng(seed)
    noise = pd.DataFrame(rng.normal(size=(120, 3)), columns=list("abc"))
    noise["y"] = y = (np.arange(120) < 6).astype(int)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        figures = fit_table(noise, "y", method="plain").training["validation"]
    chance = np.mean([average_precision_score(y, rng.random(120)) for _ in range(1000)])
    warned = any("no better than chance" in str(each.message) for each in caught)
    assert warned == (figures["average_precision"] <= chance or figures["recall"] == 0)


def test_dates_far_from_the_training_data_are_marked():
    frame = make_table().drop(columns="id")
    frame["day"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(len(frame)), unit="D")
    model = fit_table(frame, "state", method="plain")
    later = frame.head(2).assign(day=[pd.Timestamp("2090-01-01"), frame["day"][1]])
    assert model.predict_table(later)["unlike_training"].tolist()[0].split("; ")[0] == "day"
    assert "day" not in model.predict_table(later)["unlike_training"].tolist()[1]
