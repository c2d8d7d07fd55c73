"""Predictions in a file: columns, order, and the memory for a large file."""

import io
import json
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest

from benchmarks.large_prediction import measure
from raremetric.table.predictions import output_tables, write_predictions


def test_the_file_contains_the_predictions_of_the_model(model, path, tmp_path):
    out, pieces = tmp_path / "out.csv", []
    counts = write_predictions(model, path, out, on_result=pieces.append)
    (found,) = pieces
    table = pd.read_csv(out, float_precision="round_trip", keep_default_na=False)
    assert (counts.rows, counts.positive) == (120, found.positive.sum())
    assert table.columns.tolist() == [
        *("row", "id", "class", "probability", "unlike_training"),
        *("neighbor_1", "distance_1", "neighbor_2", "distance_2", "neighbor_3", "distance_3"),
    ]
    assert table["row"].tolist() == list(range(1, 121))
    assert table["id"].tolist() == [f"r{i}" for i in range(120)]
    assert (table["class"] == "ill").tolist() == found.positive.tolist()
    np.testing.assert_array_equal(table["probability"], found.probability)
    np.testing.assert_array_equal(table["distance_2"], found.distances[:, 1])
    assert table["neighbor_3"].tolist() == model.ids[found.neighbors[:, 2]].tolist()
    (whole,) = output_tables(model, path)
    assert json.loads(json.dumps(whole.to_pylist())) == table.to_dict("records")


@pytest.mark.parametrize("method", ["rare", "iml", "logistic"])
def test_eight_threads_at_once(models, path, method):
    table = pd.concat([pd.read_csv(path)] * 8, ignore_index=True)
    parts = [table.iloc[start : start + 100 + start] for start in range(8)]
    alone = [models[method].predict_table(part) for part in parts]
    with ThreadPoolExecutor(8) as pool:
        at_once = list(pool.map(models[method].predict_table, parts))
    for found, expected in zip(at_once, alone, strict=True):
        pd.testing.assert_frame_equal(found, expected, check_exact=True)


def test_to_a_stream(model, path):
    stream = io.BytesIO()
    write_predictions(model, path, stream)
    assert stream.getvalue().count(b"\n") == 121


def test_a_failure_leaves_an_existing_file_unchanged(model, path, tmp_path):
    bad, out = tmp_path / "bad.csv", tmp_path / "out.csv"
    lines = path.read_text().splitlines()
    lines[100] = lines[100].replace(lines[100].split(",")[1], "heavy", 1)
    bad.write_text("\n".join(lines))
    out.write_text("before")
    with pytest.raises(ValueError, match=r"'size' must hold numbers, but data row 100 holds"):
        write_predictions(model, bad, out)
    assert out.read_text() == "before"
    assert sorted(each.name for each in tmp_path.iterdir()) == ["bad.csv", "out.csv"]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The model is no better than chance")
def test_memory_does_not_grow_with_the_file(tmp_path):
    """`python benchmarks/large_prediction.py` measures a file of 2 GB."""
    pytest.importorskip("resource")
    small, large = (measure(tmp_path, size, "plain") for size in (10**8, 3 * 10**8))
    assert large["rows"] > 2 * small["rows"]
    assert large["peak"] < 1.25 * small["peak"]
    assert large["peak"] < 10**9


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The model is no better than chance")
def test_memory_of_rare_classifier(tmp_path):
    """It maps each piece with several kernels, which needs more time and memory."""
    pytest.importorskip("resource")
    found = measure(tmp_path, 10**7, "rare")
    assert found["rows"] == 10**5
    assert found["peak"] < 10**9
