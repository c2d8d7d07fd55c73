"""load_dataset, list_datasets, describe_dataset: data sets by name, verified as they are read."""

from __future__ import annotations

import hashlib
import re
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

from raremetric.datasets.parsers import Parsed, package_path
from raremetric.datasets.registry import LARGE, PAPER, REAL, DatasetInfo, Entry, keel_collection
from raremetric.extras import import_optional
from raremetric.validation import check_option

COLLECTIONS = ("paper", "keel", "large", "real", "real-choose", "real-report")


def list_datasets(collection: str | None = None) -> list[str]:
    """Names of the data sets that `load_dataset` can load.

    Parameters
    ----------
    collection : {"paper", "keel", "large", "real", "real-choose", "real-report"} or None, \
            default=None
        The paper's 22 data sets, KEEL's imbalanced collection, tables of 4,000 to 100,000 rows,
        real tables with columns of all types, the half of them for choosing methods and settings,
        the half to report results on, or all of them; ``pima`` belongs to the first two. Without
        the ``datasets`` extra, KEEL's collection cannot be listed.

    Returns
    -------
    list of str
        The paper's come first, then KEEL's, then the large tables, then the real ones.

    Examples
    --------
    >>> from raremetric.datasets import list_datasets
    >>> list_datasets("paper")[:3]
    ['abalone', 'australian', 'balance']
    """
    if collection is not None:
        check_option(collection, "collection", COLLECTIONS)
    names = list(PAPER) if collection in (None, "paper") else []
    if collection in (None, "keel"):
        names += [name for name in keel_collection() if name not in names]
    if collection in (None, "large"):
        names += LARGE
    halves = {name: entry.info.collection for name, entry in REAL.items()}
    names += [name for name, half in halves.items() if collection in (None, "real", half)]
    return names


def load_dataset(
    name: str,
    *,
    return_X_y: bool = False,
    as_frame: bool = False,
    original: bool = False,
) -> Bunch | tuple[Any, Any]:
    """Load one of the paper's 22 data sets, of KEEL's imbalanced collection, a large or real table.

    The data is read from installed packages; nothing is downloaded. It is compared with the known
    shape, number of positives and checksum, and an error says what differs.

    Parameters
    ----------
    name : str
        One of `list_datasets`.
    return_X_y : bool, default=False
        Whether to return ``(data, target)`` instead of a Bunch.
    as_frame : bool, default=False
        Whether to return the data as a pandas DataFrame and the target as a Series.
    original : bool, default=False
        Whether the target holds the original class labels (often more than two) instead of 1
        and 0.

    Returns
    -------
    Bunch or tuple
        With the attributes

        data : ndarray or DataFrame of shape (n_samples, n_features)
            Finite floats. Of a real table always a DataFrame, which may hold text, dates and
            missing values.
        target : ndarray of shape (n_samples,)
            1 for the positive class, 0 otherwise; the labels if `original`.
        feature_names : list of str
            Names of the columns of `data`.
        target_names : list
            The class that each value of `target` denotes, in increasing order of the values.
        positive : tuple
            The original labels that count as positive.
        groups : ndarray of shape (n_samples,) or None
            Of real tables: which rows belong together and should not be learned from and tested
            on; None if all are independent.
        source, license, DESCR : str
            Where the data comes from, its license, and a description in words.
        frame : DataFrame
            Data and target together; only if `as_frame`.

    Examples
    --------
    >>> from raremetric.datasets import load_dataset
    >>> X, y = load_dataset("wine", return_X_y=True)
    >>> X.shape, int(y.sum())
    ((178, 13), 59)
    """
    info, parsed = _read(_find_entry(name))
    is_positive = np.isin(parsed.labels, info.positive)
    bunch = Bunch(
        data=parsed.X,
        target=parsed.labels if original else is_positive.astype(np.int64),
        feature_names=parsed.feature_names,
        target_names=_target_names(parsed.labels, info.positive, original),
        positive=info.positive,
        groups=parsed.groups,
        source=info.source,
        license=info.license,
        DESCR=_description(info, parsed.n_dropped),
    )
    if as_frame:
        pandas = import_optional("pandas")
        bunch.data = pandas.DataFrame(parsed.X, columns=parsed.feature_names)
        bunch.target = pandas.Series(bunch.target, name="target")
        bunch.frame = bunch.data.assign(target=bunch.target)
    return (bunch.data, bunch.target) if return_X_y else bunch


def describe_dataset(name: str) -> DatasetInfo:
    """Number of examples, share of positives and source of a data set.

    Parameters
    ----------
    name : str
        One of `list_datasets`.

    Returns
    -------
    DatasetInfo
        Taken from the registry for the paper's data sets; KEEL's files are read, once.
    """
    return _describe(_find_entry(name))


def dataset_origin(name: str) -> str:
    """The data that a data set was made from: "ecoli" for `ecoli1` and for `ecoli-0_vs_1`.

    Data sets of one origin share rows or a publisher, so that results on them are not independent.
    The origin of a real table is its source. A name of none of the collections is its own origin.
    """
    if name in REAL:
        return REAL[name].info.source
    if name in PAPER or not (name in LARGE or name in keel_collection()):
        return name
    return re.findall("kr-vs-k|new-thyroid|page-blocks|[a-z]+", name)[0]


def _find_entry(name: str) -> Entry:
    check_dataset_name(name)
    return (PAPER | LARGE | REAL).get(name) or keel_collection()[name]


def check_dataset_name(name: str) -> str:
    """The name of a data set of `list_datasets`, or an error that suggests similar names."""
    if not isinstance(name, str):
        raise TypeError(f"The name of a data set must be a string such as 'wine'; got {name!r}.")
    # These names are known even where the packages with the files are not installed.
    known = name in PAPER | LARGE | REAL
    return name if known else check_option(name, "data set", list_datasets())


def checksum(X: NDArray[np.float64], labels: NDArray) -> str:
    """First 16 hexadecimal digits of the SHA-256 of the numbers, row by row, and the labels."""
    digest = hashlib.sha256(np.ascontiguousarray(X, dtype="<f8").tobytes())
    digest.update("\n".join(map(str, labels.tolist())).encode())
    return digest.hexdigest()[:16]


def file_checksum(path: Path) -> str:
    """First 16 hexadecimal digits of the SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:16]


@cache
def _describe(entry: Entry) -> DatasetInfo:
    return entry.info if entry.checksum else _read(entry)[0]


def _read(entry: Entry) -> tuple[DatasetInfo, Parsed]:
    """The data of a file, compared with what the registry says, or described if it says nothing."""
    path, info = package_path(entry.file), entry.info
    parsed = entry.recipe(path)
    is_array = isinstance(parsed.X, np.ndarray)
    if not info.positive:
        # KEEL labels the rarer class "positive", except in ecoli-0_vs_1, where it is "negative".
        classes, counts = np.unique(parsed.labels, return_counts=True)
        rarer = classes[np.argmin(counts)].item()
        note = info.note if rarer == "positive" else f"The file labels the rarer class {rarer!r}."
        info = replace(info, positive=(rarer,), note=note)
    (n, d), n_positive = parsed.X.shape, int(np.isin(parsed.labels, info.positive).sum())
    problems = []
    if entry.checksum:
        read = checksum(parsed.X, parsed.labels) if is_array else file_checksum(path)
        found = (n, d, n_positive, read)
        known = (info.n_samples, info.n_features, info.n_positive, entry.checksum)
        for what, have, want in zip(("n", "d", "n⁺", "checksum"), found, known, strict=True):
            if have != want:
                problems.append(f"{what} is {have}, expected {want}")
    if is_array and not np.isfinite(parsed.X).all():
        problems.append("some values are not finite")
    if n_positive in (0, n):
        problems.append("it does not contain two classes")
    if problems:
        raise OSError(
            f"The data set {info.name!r}, read from {entry.file}, is not as expected: "
            f"{'; '.join(problems)}. Is another version of the package installed?"
        )
    return replace(info, n_samples=n, n_features=d, n_positive=n_positive), parsed


def _target_names(labels: NDArray, positive: tuple, original: bool) -> list:
    classes = np.unique(labels).tolist()
    if original:
        return classes
    rest = [label for label in classes if label not in positive]
    return [
        ", ".join(map(str, rest)) if len(rest) <= 3 else "rest",
        ", ".join(map(str, positive)),
    ]


def _description(info: DatasetInfo, n_dropped: int) -> str:
    lines = [
        f"{info.name}: {info.n_samples} examples, {info.n_features} features, "
        f"{info.n_positive} positive ({info.share:.2%}).",
        f"Positive: {', '.join(map(str, info.positive))}.",
        info.note,
        f"{n_dropped} rows of the file were dropped." if n_dropped else "",
        "" if info.paper_order else "The rows are not in the paper's order.",
        f"Source: {info.source}. License: {info.license}.",
    ]
    return "\n".join(line for line in lines if line)
