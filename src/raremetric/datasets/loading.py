"""load_dataset, list_datasets, describe_dataset: data sets by name, checked as they are read."""

from __future__ import annotations

import difflib
import hashlib
from dataclasses import asdict, dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

from raremetric.datasets.parsers import Parsed, package_path
from raremetric.datasets.registry import PAPER, Row, keel_collection
from raremetric.extras import import_optional
from raremetric.validation import check_option

COLLECTIONS = ("paper", "keel")


@dataclass(frozen=True)
class DatasetInfo:
    """A data set in one line.

    Attributes
    ----------
    name, collection : str
        What `load_dataset` takes, and ``"paper"`` or ``"keel"``.
    n_samples, n_features, n_positive : int
        Counts of the parsed arrays: n, d and n⁺.
    share : float
        n⁺ / n.
    positive : tuple
        The original labels that count as positive.
    paper_order : bool
        Whether the rows stand in the paper's order, so that its splits can be repeated.
    source, licence, note : str
        Where the data comes from, under which terms, and what to know.
    """

    name: str
    collection: str
    n_samples: int
    n_features: int
    n_positive: int
    share: float
    positive: tuple[str | int, ...]
    paper_order: bool
    source: str
    licence: str
    note: str

    def to_dict(self) -> dict[str, Any]:
        """The fields as a plain dictionary, for JSON."""
        return asdict(self)


def list_datasets(collection: str | None = None) -> list[str]:
    """Names of the data sets that `load_dataset` serves.

    Parameters
    ----------
    collection : {"paper", "keel"} or None, default=None
        The paper's 22, KEEL's imbalanced collection (which shares ``pima`` with the paper's), or
        both. Without the ``datasets`` extra, only the paper's can be listed.

    Returns
    -------
    list of str
        In alphabetical order; for None the paper's first.

    Examples
    --------
    >>> from raremetric.datasets import list_datasets
    >>> list_datasets("paper")[:3]
    ['abalone', 'australian', 'balance']
    """
    if collection is not None:
        check_option(collection, "collection", COLLECTIONS)
    names = list(PAPER) if collection != "keel" else []
    if collection != "paper":
        names += [name for name in keel_collection() if name not in names]
    return names


def load_dataset(
    name: str, *, return_X_y: bool = False, as_frame: bool = False, original: bool = False
) -> Bunch | tuple[Any, Any]:
    """Load one of the paper's 22 data sets, or one of KEEL's imbalanced collection.

    The data is read from installed packages; nothing is downloaded. What was read is checked
    against what is known of the data set, and an error says what differs.

    Parameters
    ----------
    name : str
        One of `list_datasets`.
    return_X_y : bool, default=False
        Return ``(data, target)`` instead of a Bunch.
    as_frame : bool, default=False
        Data as a pandas DataFrame and target as a Series.
    original : bool, default=False
        Target as the original class labels, often more than two, instead of 1 and 0.

    Returns
    -------
    Bunch or tuple
        With the attributes

        data : ndarray of shape (n_samples, n_features)
            Finite floats.
        target : ndarray of shape (n_samples,)
            1 for the positive class, 0 otherwise; the labels if `original`.
        feature_names : list of str
            Names of the columns of `data`.
        target_names : list
            What the values of `target` stand for, in increasing order.
        positive : tuple
            The original labels that count as positive.
        source, licence, DESCR : str
            Where it comes from, what one may do with it, and both in words.
        frame : DataFrame
            Data and target together, only if `as_frame`.

    Examples
    --------
    >>> from raremetric.datasets import load_dataset
    >>> X, y = load_dataset("wine", return_X_y=True)
    >>> X.shape, int(y.sum())
    ((178, 13), 59)
    """
    row, parsed = _read(find_row(name))
    is_positive = np.isin(parsed.labels, row.positive)
    target = parsed.labels if original else is_positive.astype(np.int64)
    bunch = Bunch(
        data=parsed.X,
        target=target,
        feature_names=parsed.feature_names,
        target_names=_target_names(parsed.labels, row.positive, original),
        positive=row.positive,
        source=row.source,
        licence=row.licence,
        DESCR=_description(_info(row, parsed), parsed.n_dropped),
    )
    if as_frame:
        _to_frame(bunch)
    return (bunch.data, bunch.target) if return_X_y else bunch


def describe_dataset(name: str) -> DatasetInfo:
    """Counts, share and source of a data set.

    Parameters
    ----------
    name : str
        One of `list_datasets`.

    Returns
    -------
    DatasetInfo
        The paper's from the registry; KEEL's are read, and remembered.
    """
    return _describe(find_row(name))


def find_row(name: str) -> Row:
    """The registry's row of a name, or an error with the nearest names."""
    if not isinstance(name, str):
        raise TypeError(f"name must be a string such as 'wine'; got {name!r}.")
    if name in PAPER:
        return PAPER[name]
    if name in (collection := keel_collection()):
        return collection[name]
    near = difflib.get_close_matches(name, {**PAPER, **collection}, n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(map(repr, near))}?" if near else "see list_datasets()."
    raise ValueError(f"There is no data set named {name!r}: {hint}")


def checksum(X: NDArray[np.float64], labels: NDArray) -> str:
    """First 16 hexadecimal digits of the SHA-256 of the numbers, row by row, and the labels."""
    digest = hashlib.sha256(np.ascontiguousarray(X, dtype="<f8").tobytes())
    digest.update("\n".join(map(str, labels.tolist())).encode())
    return digest.hexdigest()[:16]


@cache
def _describe(row: Row) -> DatasetInfo:
    if row.n_samples is not None:
        return _info(row, None)
    return _info(*_read(row))


def _read(row: Row) -> tuple[Row, Parsed]:
    parsed = row.recipe(package_path(row.file))
    if not row.positive:
        row = _with_rarer_positive(row, parsed)
    _verify(row, parsed)
    return row, parsed


def _with_rarer_positive(row: Row, parsed: Parsed) -> Row:
    """KEEL calls the rarer class positive, but in ecoli-0_vs_1 it is the other way round."""
    classes, counts = np.unique(parsed.labels, return_counts=True)
    label = classes[np.argmin(counts)].item()
    note = row.note if label == "positive" else f"The rarer class is called {label!r} in the file."
    return replace(row, positive=(label,), note=note)


def _verify(row: Row, parsed: Parsed) -> None:
    """Refuse arrays that are not what the registry says."""
    is_positive = np.isin(parsed.labels, row.positive)
    problems = []
    if row.checksum is not None:
        found = (*parsed.X.shape, int(is_positive.sum()), checksum(parsed.X, parsed.labels))
        known = (row.n_samples, row.n_features, row.n_positive, row.checksum)
        for what, have, want in zip(("n", "d", "n⁺", "checksum"), found, known, strict=True):
            if have != want:
                problems.append(f"{what} is {have}, expected {want}")
    if not np.isfinite(parsed.X).all():
        problems.append("some values are not finite")
    if is_positive.all() or not is_positive.any():
        problems.append("it does not hold two classes")
    if problems:
        raise OSError(
            f"The data set {row.name!r} read from {row.file} is not the one known here: "
            f"{'; '.join(problems)}. Is another version of the package installed?"
        )


def _info(row: Row, parsed: Parsed | None) -> DatasetInfo:
    if parsed is None:
        n, d, n_positive = row.n_samples or 0, row.n_features or 0, row.n_positive or 0
    else:
        n, d = parsed.X.shape
        n_positive = int(np.isin(parsed.labels, row.positive).sum())
    return DatasetInfo(
        name=row.name,
        collection=row.collection,
        n_samples=n,
        n_features=d,
        n_positive=n_positive,
        share=n_positive / n,
        positive=row.positive,
        paper_order=row.paper_order,
        source=row.source,
        licence=row.licence,
        note=row.note,
    )


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
        f"{n_dropped} rows of the file are left out." if n_dropped else "",
        "" if info.paper_order else "The rows stand in another order than the paper's.",
        f"Source: {info.source}. Licence: {info.licence}.",
    ]
    return "\n".join(line for line in lines if line)


def _to_frame(bunch: Bunch) -> None:
    pandas = import_optional("pandas")
    bunch.data = pandas.DataFrame(bunch.data, columns=bunch.feature_names)
    bunch.target = pandas.Series(bunch.target, name="target")
    bunch.frame = bunch.data.assign(target=bunch.target)
