"""Predictions in a file: columns, order, names of rows, and the memory for a large file."""

import io
import json
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest

from benchmarks.large_prediction import measure
from raremetric.table import fit_table
from raremetric.table.predictions import output_tables, unguard, write_predictions
from tests.table.conftest import make_table


def test_the_file_contains_the_predictions_of_the_model(model, path, tmp_path):
    out, pieces = tmp_path / "out.csv", []
    counts = write_predictions(model, path, out, on_result=pieces.append)
    (found,) = pieces
    table = pd.read_csv(out, float_precision="round_trip", keep_default_na=False)
    assert (counts.rows, counts.positive) == (120, found.positive.sum())
    assert table.columns.tolist() == [
        *("row", "id", "class", "probability", "unlike_training"),
        *("neighbor_1", "class_1", "distance_1", "neighbor_2", "class_2", "distance_2"),
        *("neighbor_3", "class_3", "distance_3"),
    ]
    assert table["row"].tolist() == list(range(1, 121))
    assert table["id"].tolist() == [f"r{i}" for i in range(120)]
    assert (table["class"] == "ill").tolist() == found.positive.tolist()
    np.testing.assert_array_equal(table["probability"], found.probability)
    np.testing.assert_array_equal(table["distance_2"], found.distances[:, 1])
    assert table["neighbor_3"].tolist() == model.ids[found.neighbors[:, 2]].tolist()
    state = pd.read_csv(path).set_index("id")["state"]
    for rank in (1, 2, 3):
        assert table[f"class_{rank}"].tolist() == state[table[f"neighbor_{rank}"]].tolist()
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


def test_other_targets_hold_the_same(model, path, tmp_path):
    stream, out = io.BytesIO(), tmp_path / "out.parquet"
    write_predictions(model, path, stream)
    assert stream.getvalue().count(b"\n") == 121
    write_predictions(model, path, out)
    pd.testing.assert_frame_equal(pd.read_parquet(out), model.predict_table(path))


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


# Names of rows are text: they are the same in the output as in the files.

IDS = ["102521", "007", "9007199254740993", "1e5", "12.50", "-3"]


def with_ids(ids, name="id", n=120):
    frame = make_table(n=n).drop(columns="id")
    frame.insert(0, name, [ids[i % len(ids)] for i in range(n)])
    return frame


def predict(path, tmp_path, id_name="id"):
    model = fit_table(path, "state", method="plain", row_names=id_name)
    out = tmp_path / "out.csv"
    write_predictions(model, path, out)
    return model, pd.read_csv(out, dtype=str)


@pytest.mark.parametrize(
    "name", ["class", "row", "probability", "neighbor_1", "class_1", "unlike_training"]
)
def test_a_column_of_ids_keeps_its_name(tmp_path, name):
    path = tmp_path / "mine.csv"
    with_ids(IDS, name).to_csv(path, index=False)
    model, found = predict(path, tmp_path, name)
    assert found[name].tolist() == [IDS[i % 6] for i in range(120)]
    assert f"raremetric_{name}" in found.columns
    assert found.shape[1] == 14
    assert found.columns.is_unique
    unnamed = model.predict_table(make_table().drop(columns="id"))
    assert unnamed.columns.tolist() == [each for each in found.columns if each != name]


FORMULAS = ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "'=1", "plain", "a=b"]


@pytest.mark.parametrize("name", ["id", "=id"])
def test_formulas_are_guarded_on_request(tmp_path, name):
    path, out = tmp_path / "mine.csv", tmp_path / "out.csv"
    frame = with_ids(FORMULAS, name)
    frame["state"] = frame["state"].replace("ill", "=ill")
    frame.to_csv(path, index=False)
    model = fit_table(path, "state", "=ill", method="plain", row_names=name)
    write_predictions(model, path, out)
    plain = pd.read_csv(out, dtype=str)
    assert plain[name].tolist() == [FORMULAS[i % 8] for i in range(120)]  # as in the file
    write_predictions(model, path, out, spreadsheet_safe=True)
    safe = pd.read_csv(out, dtype=str)
    header, *_ = out.read_text().splitlines()
    assert ("'=id" in header) == (name == "=id")
    texts = safe.drop(columns=["row", "probability", "distance_1", "distance_2", "distance_3"])
    assert not any(
        str(cell).startswith(("=", "+", "-", "@", "\t")) for cell in texts.to_numpy().flat
    )
    for ours, theirs in zip(safe, plain, strict=True):
        assert unguard(ours) == theirs
        assert [unguard(each) for each in safe[ours].fillna("")] == plain[theirs].fillna(
            ""
        ).tolist()


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
