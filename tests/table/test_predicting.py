"""Predictions on disk: their columns, their order, and what a large file takes."""

import io
import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from raremetric.table import save_model
from raremetric.table.predicting import prediction_rows, write_predictions
from tests.datasets.test_memory import write_table


def test_the_file_says_what_the_model_says(model, path, tmp_path):
    out, pieces = tmp_path / "out.csv", []
    counts = write_predictions(model, path, out, pieces.append)
    (found,) = pieces
    table = pd.read_csv(out, float_precision="round_trip")
    assert counts == {"rows": 120, "positive": int(found.positive.sum())}
    assert table.columns.tolist() == [
        *("row", "id", "class", "probability"),
        *("neighbor_1", "distance_1", "neighbor_2", "distance_2", "neighbor_3", "distance_3"),
    ]
    assert table["row"].tolist() == list(range(1, 121))
    assert table["id"].tolist() == [f"r{i}" for i in range(120)]
    assert (table["class"] == "ill").tolist() == found.positive.tolist()
    np.testing.assert_array_equal(table["probability"], found.probability)
    np.testing.assert_array_equal(table["distance_2"], found.distances[:, 1])
    assert table["neighbor_3"].tolist() == model.ids[found.neighbors[:, 2]].tolist()
    rows = list(prediction_rows(model, found))
    assert json.loads(json.dumps(rows)) == table.to_dict("records")


def test_to_a_stream(model, path):
    stream = io.BytesIO()
    write_predictions(model, path, stream)
    assert stream.getvalue().count(b"\n") == 121


def test_a_failure_leaves_what_was_there(model, path, tmp_path):
    bad, out = tmp_path / "bad.csv", tmp_path / "out.csv"
    lines = path.read_text().splitlines()
    lines[100] = lines[100].replace(lines[100].split(",")[1], "heavy", 1)
    bad.write_text("\n".join(lines))
    out.write_text("before")
    with pytest.raises(ValueError, match=r"'size' must hold numbers, but data row 100 holds"):
        write_predictions(model, bad, out)
    assert out.read_text() == "before"
    assert sorted(each.name for each in tmp_path.iterdir()) == ["bad.csv", "out.csv"]


MEASURE = """
import resource, sys
from raremetric.table import load_model
from raremetric.table.predicting import write_predictions

print(write_predictions(load_model(sys.argv[1]), sys.argv[2], sys.argv[3])["rows"])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)
"""


@pytest.mark.slow
def test_memory_does_not_grow_with_the_file(tmp_path):
    """The whole of it, 2 GB, is measured by `python benchmarks/large_prediction.py`."""
    pytest.importorskip("resource")
    from raremetric.table import fit_table

    small, large = tmp_path / "small.csv", tmp_path / "large.csv"
    write_table(large, 3 * 10**8)
    with large.open() as stream:
        small.write_text("".join(line for _, line in zip(range(501), stream, strict=False)))
    save_model(fit_table(small, "y", method="plain"), tmp_path / "model.skops")
    try:
        arguments = [tmp_path / "model.skops", large, tmp_path / "out.csv"]
        done = subprocess.run(
            [sys.executable, "-c", MEASURE, *map(str, arguments)],
            capture_output=True,
            text=True,
            check=True,
        )
    finally:
        large.unlink()
    rows, peak = map(int, done.stdout.split())
    assert rows > 10**6
    assert peak < 10**9
