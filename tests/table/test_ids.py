"""Names of rows are text: they are the same in the output as in the files."""

import numpy as np
import pandas as pd
import pytest

from raremetric.table import explain_row, fit_table
from raremetric.table.predictions import unguard, write_predictions
from tests.table.conftest import make_table

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


@pytest.mark.parametrize("sep", [",", ";"])
def test_csv(tmp_path, sep):
    path = tmp_path / "mine.csv"
    ids = IDS if sep == "," else [*IDS, "1,50"]
    decimal = "." if sep == "," else ","
    with_ids(ids).to_csv(path, index=False, sep=sep, decimal=decimal)
    model, found = predict(path, tmp_path)
    expected = [ids[i % len(ids)] for i in range(120)]
    assert found["id"].tolist() == expected
    assert model.ids.tolist() == expected
    assert set(found["neighbor_1"]) <= set(ids)
    assert [each["id"] in ids for each in explain_row(model, path, row=3).examples] == [True] * 3


def test_parquet(tmp_path):
    path = tmp_path / "mine.parquet"
    numbers = [102521, 7, 9007199254740993, -3]
    with_ids(numbers).to_parquet(path)
    _, found = predict(path, tmp_path)
    assert found["id"].tolist() == [str(numbers[i % 4]) for i in range(120)]
    frame = with_ids(numbers[:2])
    frame.loc[5, "id"] = np.nan  # now a column of floats
    frame.to_parquet(path)
    _, found = predict(path, tmp_path)
    assert found["id"].tolist()[:5] == ["102521", "7", "102521", "7", "102521"]
    assert found["id"].isna().sum() == 1


@pytest.mark.parametrize("name", ["class", "row", "probability", "neighbor_1", "unlike_training"])
def test_a_column_of_ids_keeps_its_name(tmp_path, name):
    path = tmp_path / "mine.csv"
    with_ids(IDS, name).to_csv(path, index=False)
    _, found = predict(path, tmp_path, name)
    assert found[name].tolist() == [IDS[i % 6] for i in range(120)]
    assert f"raremetric_{name}" in found.columns
    assert found.shape[1] == 11
    assert found.columns.is_unique


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
