"""Names of rows are text: no value is changed or taken for a missing one, in any format."""

import csv
import datetime
from decimal import Decimal

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from raremetric.table import fit_table, iter_table, read_table
from raremetric.table.predictions import write_predictions

NAMES = ["NA", "null", "N/A", "nan", "None", "?", "<NA>", " padded ", "  ", "1e5", "007", "+7"]
NAMES += ["TRUE", "true", "9007199254740993", "12.50", "1,234", "12%", "2024-03-01", "01.03.2024"]
NAMES += ["2024-03-01 12:30", "a,b", "ünï", "-3", "0x1F", "1_000"]


def make_frame(names=NAMES):
    n = len(names)
    return pd.DataFrame(
        {
            "key": names,
            "size": [float(i % 7) for i in range(n)],
            "color": ["red", "blue"] * (n // 2) + ["red"] * (n % 2),
            "kind": ["yes" if i % 4 == 0 else "no" for i in range(n)],
        }
    )


def sources(frame, folder):
    """The same table in all formats."""
    frame.to_csv(folder / "comma.csv", index=False)
    frame.to_csv(folder / "semicolon.csv", index=False, sep=";")
    frame.to_csv(folder / "quoted.csv", index=False, quoting=csv.QUOTE_ALL)
    frame.to_parquet(folder / "file.parquet")
    table = pa.Table.from_pandas(frame, preserve_index=False)
    encoded = table.set_column(0, "key", table["key"].dictionary_encode())
    files = [folder / name for name in ("comma.csv", "semicolon.csv", "quoted.csv", "file.parquet")]
    frames = [frame, frame.astype({"key": "category"}), frame.astype({"key": "string"})]
    return [*files, *frames, table, encoded, pl.from_pandas(frame)]


@pytest.mark.filterwarnings("ignore:Only 7 rows")
def test_output_of_predict(tmp_path):
    frame, out, fitted = make_frame(), tmp_path / "out.csv", None
    for source in sources(frame, tmp_path):
        model = fit_table(source, "kind", method="plain", row_names="key")
        assert model.ids.tolist() == NAMES
        with out.open("wb") as stream:
            write_predictions(model, source, stream)
        with out.open(encoding="utf-8", newline="") as stream:
            rows = list(csv.DictReader(stream))
        assert [row["key"] for row in rows] == NAMES
        assert {row["neighbor_1"] for row in rows} <= {*NAMES}
        fitted = fitted or model  # on one format, for all
        assert fitted.predict_table(source)["key"].tolist() == NAMES


def test_missing_names_are_empty(tmp_path):
    frame = make_frame([None, "NA", "b", "c"])
    for source in sources(frame, tmp_path):
        assert read_table(source, "kind", row_names="key").row_names == ["", "NA", "b", "c"]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([9007199254740993, 7], ["9007199254740993", "7"]),
        (pd.array([9007199254740993, None], "Int64"), ["9007199254740993", ""]),
        ([7.0, None], ["7", ""]),
        ([7.5, 1e300], ["7.5", "1e+300"]),
        ([True, False], ["True", "False"]),
        ([Decimal("12.50"), Decimal("1E+5")], ["12.50", "100000"]),
        ([datetime.date(2024, 3, 1), None], ["2024-03-01", ""]),
        ([pd.Timestamp("2024-03-01 12:30"), pd.NaT], ["2024-03-01 12:30:00", ""]),
        (["A7", 7], ["A7", "7"]),  # as spreadsheets are read
        ([b"A7", b"B8"], ["A7", "B8"]),
    ],
)
def test_names_of_other_types(values, expected):
    frame = pd.DataFrame({"key": values, "size": [1.0, 2.0], "kind": ["u", "v"]})
    table = read_table(frame, "kind", row_names="key")
    assert table.row_names == expected
    (piece,) = iter_table(frame, table.encoder, row_names="key")
    assert piece.index.tolist() == expected


def test_missing_values_of_other_columns_stay_missing(tmp_path):
    frame = make_frame(["NA", "b", "c", "d"]).assign(
        size=["1", "NA", " null ", "3"], color=["red", "N/A", "?", "blue"], seen=["", "x", "x", "x"]
    )
    for source in sources(frame, tmp_path):
        table = read_table(source, "kind", row_names="key")
        assert table.data.isna().to_numpy().tolist() == [
            [False, False, True],
            [True, True, False],
            [True, True, False],
            [False, False, False],
        ]
        (piece,) = iter_table(source, table.encoder, row_names="key")
        assert piece.isna().to_numpy().tolist() == table.data.isna().to_numpy().tolist()
