"""The target column: classes, the positive one, and columns that are no classes."""

from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from raremetric.table import TableError, fit_table, read_table


def test_positive(write):
    path = write("a,y\n1,1\n2,2\n3,3\n4,1.0\n5,3\n")  # 1 and 1.0 are one class
    assert read_table(path, target="y").positive == (2,)
    assert read_table(path, target="y", positive="1").target.tolist() == [1, 0, 0, 1, 0]
    several = read_table(path, target="y", positive=[2, 3])
    assert several.target.tolist() == [0, 1, 1, 0, 1]
    assert several.target_names == ["1", "2, 3"]
    assert read_table(path, target="y", positive=3).target_names == ["not 3", "3"]
    assert several.classes == [1, 2, 3]
    with pytest.raises(TableError, match=r"no value '9'. Its classes: 1 \(2\), 2 \(1\), 3 \(2\)"):
        read_table(path, target="y", positive="9")
    with pytest.raises(TableError, match="would have no negative class"):
        read_table(path, target="y", positive=[1, 2, 3])
    path = write("a,y\n1,yes\n2,Yes\n3,no\n")
    assert read_table(path, target="y", positive=["Yes", "yes"]).positive == ("Yes", "yes")
    with pytest.raises(TableError, match="no value 'YES'"):
        read_table(path, target="y", positive="YES")


@pytest.mark.parametrize(
    ("labels", "positive", "found"),
    [
        (
            ["Yes", "yes", "yes", "no", "no", " no"],
            None,
            r"'Yes' \(in 1 of 6 rows\) and 'yes' \(2\)",
        ),
        (["Yes", "yes", "yes", "no", "no"], "yes", r"'yes' \(in 2 of 5 rows\) and 'Yes' \(1\)"),
        (["a", "b", "b", "B"], ["b"], r"'b' \(in 2 of 4 rows\) and 'B' \(1\)"),
    ],
)
def test_spellings_of_one_class_are_not_two_classes(labels, positive, found):
    frame = pd.DataFrame({"a": range(len(labels)), "y": labels})
    with pytest.raises(TableError, match=f"holds {found}, which differ only in case: write"):
        read_table(frame, target="y", positive=positive)


def test_spellings_that_are_on_one_side_are_allowed():
    frame = pd.DataFrame({"a": range(7), "y": ["No", "No", "no", "no", "yes", "yes", "Yes"]})
    assert read_table(frame, target="y", positive=["yes", "Yes"]).target.sum() == 3


BIG = [9007199254740992, 9007199254740993, 9007199254740993]


@pytest.mark.parametrize(
    "labels",
    [
        BIG,
        [str(label) for label in BIG],
        [f"{label}.0" for label in BIG],
        [Decimal(label) for label in BIG],
    ],
)
@pytest.mark.parametrize("target", ["y", -1])
def test_large_integer_labels_are_different_classes(tmp_path, labels, target):
    frame = pd.DataFrame({"a": [1, 2, 3], "y": labels})
    frame.to_csv(tmp_path / "file.csv", index=False)
    frame.to_parquet(tmp_path / "file.parquet")
    for name in ("file.csv", "file.parquet"):
        table = read_table(tmp_path / name, target=target)
        assert table.classes == BIG[:2]
        assert table.target.tolist() == [1, 0, 0]


def test_labels_of_twenty_digits_stay_text(tmp_path):
    labels = ["12345678901234567890", "12345678901234567891", "12345678901234567891"]
    frame = pd.DataFrame({"a": [1, 2, 3], "y": labels})
    frame.to_csv(tmp_path / "file.csv", index=False)
    frame.assign(y=frame["y"].astype("uint64")).to_parquet(tmp_path / "file.parquet")
    for name in ("file.csv", "file.parquet"):
        table = read_table(tmp_path / name, target="y")
        assert table.classes == labels[:2]
        assert table.target.tolist() == [1, 0, 0]


def test_a_target_that_is_not_a_class(write):
    numbers = write("a,y\n" + "".join(f"{i % 7},{i * i}\n" for i in range(60)))
    words = r"'y' looks continuous: it holds 60 different numbers in 60 rows, such as 0\."
    with pytest.raises(TableError, match=words):
        read_table(numbers, target="y")
    assert read_table(numbers, target="y", positive="49").target.sum() == 1
    texts = write("a,y\n" + "".join(f"{i % 7},n{i}\n" for i in range(60)))
    with pytest.raises(TableError, match=r"60 different texts .* it looks like an identifier"):
        read_table(texts, target="y")


@pytest.mark.parametrize("spelling", ["true", "TRUE", "True", True, np.True_])
def test_truth_values_as_labels(tmp_path, spelling):
    frame = pd.DataFrame({"a": [1, 2, 3], "y": [True, False, False]})
    frame.to_parquet(tmp_path / "file.parquet")
    frame.to_csv(tmp_path / "upper.csv", index=False)
    (tmp_path / "lower.csv").write_text("a,y\n1,true\n2,false\n3,false\n")
    files = [tmp_path / name for name in ("file.parquet", "upper.csv", "lower.csv")]
    frames = [frame, pa.Table.from_pandas(frame), pl.from_pandas(frame)]
    for source in [*files, *frames]:
        table = read_table(source, target="y", positive=spelling)
        assert table.target.tolist() == [1, 0, 0]
        assert table.positive[0].lower() == "true"
        assert read_table(source, target="y", positive="false").target.tolist() == [0, 1, 1]


def test_large_integer_labels_of_frames():
    for labels in (pl.Series(BIG), pl.Series(BIG, dtype=pl.UInt64)):
        table = read_table(pl.DataFrame({"a": [1, 2, 3], "y": labels}), target="y")
        assert table.classes == BIG[:2]
    frame = pd.DataFrame({"a": [1, 2, 3], "y": pd.array(BIG, "Int64")})
    assert read_table(frame, target="y", positive=BIG[0]).target.tolist() == [1, 0, 0]
    assert read_table(frame, target="y", positive=str(BIG[1])).target.tolist() == [0, 1, 1]


@pytest.mark.parametrize(
    "labels", [[0.25 * i for i in range(60)], [Decimal(i) / 4 for i in range(60)]]
)
def test_a_continuous_target_of_a_frame(labels):
    frame = pd.DataFrame({"a": range(60), "y": labels})
    words = "The table: The target column 'y' looks continuous: it holds 60 different numbers"
    for source in (frame, pl.from_pandas(frame), pa.Table.from_pandas(frame)):
        with pytest.raises(TableError, match=words):
            read_table(source, target="y")


def test_missing_labels_of_a_frame():
    """NaN is a missing value in Arrow and polars, too."""
    for label in (None, float("nan")):
        with pytest.warns(UserWarning, match="in 1 of 3 rows, which are left out"):
            table = read_table(pl.DataFrame({"a": [1, 2, 3], "y": [1.0, label, 0.0]}), target="y")
        assert (table.data["a"].tolist(), table.target.tolist()) == ([1, 3], [0, 1])
        assert table.rows.tolist() == [1, 3]


def write_all(frame, folder):
    """The same table as a CSV and Parquet file and in memory."""
    frame.to_csv(folder / "file.csv", index=False)
    frame.to_parquet(folder / "file.parquet")
    return [folder / "file.csv", folder / "file.parquet", frame, pl.from_pandas(frame)]


@pytest.mark.parametrize("word", ["NA", "n/a", "nan", "NULL", "None"])
@pytest.mark.parametrize("target", ["y", -1])
def test_a_word_for_missing_values_as_a_class(tmp_path, word, target):
    frame = pd.DataFrame({"a": range(5), "y": [word, "ill", word, word, "ill"]})
    for source in write_all(frame, tmp_path):
        assert read_table(source, target=target).target.tolist() == [0, 1, 0, 0, 1]
        table = read_table(source, target=target, positive=word)
        assert table.target.tolist() == [1, 0, 1, 1, 0]
        assert table.positive == (word,)


def test_the_most_common_class_may_be_called_none(tmp_path):
    frame = pd.DataFrame({"a": range(6), "y": ["none", "none", "burn", "fall", "burn", "none"]})
    for source in write_all(frame, tmp_path):
        with pytest.warns(UserWarning, match=r"'none' .* the most common label \(3 of 6 rows\)"):
            table = read_table(source, target="y")
        assert table.classes == ["burn", "fall", "none"]
        assert table.positive == ("fall",)


@pytest.mark.parametrize(
    "labels", [["yes", "no", "no", "NA"], ["1", "0", "NA", "NA", "NA"], ["b", "a", "NA", "a"]]
)
def test_a_word_for_missing_values_besides_two_classes(tmp_path, labels):
    frame = pd.DataFrame({"a": range(len(labels)), "y": labels})
    known = [i for i, label in enumerate(labels) if label != "NA"]
    words = f"empty or 'NA' in {len(labels) - len(known)} of {len(labels)} rows, which are left out"
    for source in write_all(frame, tmp_path):
        with pytest.warns(UserWarning, match=words):
            table = read_table(source, target="y")
        assert table.data["a"].tolist() == known
        assert len(table.classes) == 2


@pytest.mark.filterwarnings("ignore:Only 10 rows", "ignore:The model is no better than chance")
@pytest.mark.parametrize("cell", ["", "?", " ", "<null>"])
def test_rows_without_a_label_are_left_out(tmp_path, cell):
    """Neighbors keep the numbers of their rows in the file."""
    frame = pd.DataFrame({"a": range(40), "y": ["ill", "none", "none", cell] * 10})
    for source in write_all(frame, tmp_path):
        with pytest.warns(UserWarning, match="is empty in 10 of 40 rows, which are left out"):
            model = fit_table(source, "y", "ill", method="plain")
        assert model.ids.tolist() == [i + 1 for i in range(40) if i % 4 != 3]
        assert model.data["a"].tolist() == [i for i in range(40) if i % 4 != 3]


def test_none_is_a_level_of_text_and_a_missing_number(tmp_path):
    columns = {"a": ["1", "none", "3"] * 2, "b": ["x", "none", ""] * 2, "y": [*"uvuuvv"]}
    frame = pd.DataFrame(columns)
    for source in write_all(frame, tmp_path):
        table = read_table(source, target="y")
        names = ["a", "b=(missing)", "b=none", "b=x"]
        assert table.encoder.get_feature_names_out().tolist() == names
        assert table.data["a"].isna().tolist() == [False, True, False] * 2
