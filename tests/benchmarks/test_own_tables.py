"""The ten files of benchmarks/own_tables, and how results on them are judged."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import average_precision_score, f1_score

from benchmarks.own_tables.measuring import (
    agreement,
    draw_units,
    measure_file,
    measure_methods,
    weighted_f1,
)
from benchmarks.own_tables.tables import TABLES, make_parts, units_of, write_table
from raremetric.table import fit_table

pytestmark = pytest.mark.long
RNG = np.random.default_rng(0)
FITTED = {"fit_f1": 0.5, "fit_cpu": 0}


@pytest.mark.parametrize("name", TABLES)
def test_nothing_that_was_set_aside_is_in_the_rest(name):
    rest, held_out = make_parts(name)
    table = TABLES[name]
    assert len(rest) == pytest.approx(table.n_rest, rel=0.02)
    if table.time is not None:
        last, first = (
            pd.to_datetime(part[table.time], format=table.layout) for part in (rest, held_out)
        )
        assert last.max() <= first.min()
        return
    units = units_of(pd.concat([rest, held_out], ignore_index=True), table)
    assert not set(units[: len(rest)]) & set(units[len(rest) :])


def test_weighted_f1_is_scikit_learns():
    y, predicted = RNG.integers(0, 2, (2, 60))
    weights = RNG.integers(0, 4, (5, 60))
    expected = [f1_score(y, predicted, sample_weight=each) for each in weights]
    np.testing.assert_allclose(weighted_f1(y, predicted, weights), expected)
    assert weighted_f1(np.zeros(3, int), np.zeros(3, int), weights[:, :3]).tolist() == [0] * 5


def test_units_are_drawn_together():
    units = np.array([5, 5, 2, 9, 9, 9])
    drawn = draw_units(units, 4000)
    assert (drawn[:, 0] == drawn[:, 1]).all()
    assert (drawn[:, 3] == drawn[:, 3:].T).all()
    assert (drawn[:, [0, 2, 3]].sum(axis=1) == 3).all()
    np.testing.assert_allclose(drawn.mean(axis=0), 1, atol=0.05)


def test_the_standard_error_is_that_of_repeated_samples():
    """On 200 new samples, the difference varies as the bootstrap of one sample says."""

    def sample(seed):
        rng = np.random.default_rng(seed)
        y = (rng.random(1500) < 0.1).astype(int)
        scores = {"good": y + rng.normal(0, 0.5, 1500), "bad": y + rng.normal(0, 0.8, 1500)}
        return y, {
            name: {"predicted": (score > 0.9).astype(int), "score": score, **FITTED}
            for name, score in scores.items()
        }

    y, answers = sample(0)
    found = measure_methods(y, answers, np.arange(1500))
    assert (found["good"]["f1_behind"], found["good"]["f1_behind_error"]) == (0, 0)
    assert found["bad"]["ap"] == average_precision_score(y, answers["bad"]["score"])
    differences = []
    for seed in range(1, 201):
        y, answers = sample(seed)
        good, bad = (f1_score(y, answers[name]["predicted"]) for name in ("good", "bad"))
        differences.append(good - bad)
    error = np.std(differences)
    assert found["bad"]["f1_behind_error"] == pytest.approx(error, rel=0.25)
    assert found["bad"]["f1_behind"] == pytest.approx(np.mean(differences), abs=3 * error)


def test_agreement():
    rows = pd.DataFrame(
        {
            "method": ["a", "b", "c"],
            "compare_f1": [0.5, 0.4, 0.1],
            "f1": [0.5, 0.6, 0.3],
            "f1_behind": [0.1, 0.0, 0.3],
            "f1_behind_error": [0.02, 0.0, 0.05],
        }
    )
    found = agreement(rows)
    assert (found["first"], found["best"]) == ("a", "b")
    assert (found["loss"], found["error"]) == (0.1, 0.02)
    assert found["mean_loss"] == pytest.approx(0.4 / 3)
    assert found["correlation"] == pytest.approx(0.5)  # ranks 1, 2, 3 and 2, 1, 3


@pytest.mark.filterwarnings("ignore:The model is no better than chance")
def test_one_file_from_start_to_end(tmp_path):
    (row,) = measure_file("wine", 0.2, ["plain"])
    table = TABLES["wine"]
    rest, held_out = make_parts("wine", 0.2)
    model = fit_table(
        write_table(rest, table, tmp_path / "rest"), "class", "prämiert", method="plain"
    )
    found = model.predict_table(write_table(held_out, table, tmp_path / "held-out"))
    y = held_out["class"] == "prämiert"
    assert row["f1"] == f1_score(y, found["class"] == "prämiert")
    assert row["ap"] == average_precision_score(y, found["probability"])
    assert (row["rows"], row["held_out_positives"]) == (len(rest), y.sum())
    assert (row["marked"], row["f1_behind"], row["fit_f1"]) == (True, 0, model.training["score"])
