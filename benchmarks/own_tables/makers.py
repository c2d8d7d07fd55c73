"""How the ten tables are made: public data, disturbed as in the exports that people have."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.random import Generator

from benchmarks.own_tables import disorder, sources


def make_stroke(rng: Generator) -> pd.DataFrame:
    found = sources.stroke()
    found["smoking_status"] = found["smoking_status"].replace("Unknown", None)
    for name in ("hypertension", "heart_disease", "stroke"):
        found[name] = found[name].map({0: "no", 1: "yes"})
    numbers = ["avg_glucose_level", "bmi"]
    found[numbers] = disorder.with_holes(found[numbers], 0.06, rng)
    visit = disorder.dates(rng.integers(0, 900, len(found)), "%m/%d/%Y")
    found.insert(0, "visit", visit)
    found.insert(0, "patient", disorder.numbers_as_ids(len(found), "", rng))
    return found


def make_thyroid(rng: Generator) -> pd.DataFrame:
    """Booleans with holes, integers with holes, and dates, with the types of Parquet."""
    found = sources.thyroid()
    for name in found.columns[3:14]:
        found[name] = found[name].map({"t": True, "f": False}).astype("boolean")
    found = found.drop(columns=[name for name in found if name.endswith("_measured")])
    with np.errstate(over="ignore"):  # NumPy sometimes reports one where nothing can overflow
        born = pd.Timestamp("1987-01-01") - pd.to_timedelta(found["age"] * 365.25, unit="D")
    found["born"] = born.dt.round("D")
    found["tt4"] = found["tt4"].round().astype("Int64")
    flags = found.columns[2:13]
    found[flags] = disorder.with_holes(found[flags], 0.02, rng)
    return found.drop(columns="age")


def make_wine(rng: Generator) -> pd.DataFrame:
    """As exported in Germany. About a sixth of the wines are in the table several times."""
    found = sources.wine()
    found["class"] = np.where(found.pop("quality") >= 8, "prämiert", "übrige")
    found = found.iloc[rng.permutation(len(found))].reset_index(drop=True)
    found["alcohol"] = disorder.comma_percentages(found["alcohol"])
    return found.rename(columns={"fixed acidity": "Säure", "alcohol": "Alkohol", "color": "Farbe"})


def make_blocks(rng: Generator) -> pd.DataFrame:
    found = sources.page_blocks()
    names = {1: "text", 2: "horizontal line", 3: "graphic", 4: "vertical line", 5: "picture"}
    found["class"] = found["class"].map(names)
    for name in ("area", "pixels", "pixels_smoothed"):
        found[name] = disorder.thousands(found[name])
    for name in ("black", "black_smoothed"):
        found[name] = disorder.percentages(found[name])
    columns = ["elongation", "run", "changes"]
    found[columns] = disorder.with_holes(found[columns], 0.03, rng)
    found.insert(0, "scanner", rng.choice(["A", "B", "C"], len(found)))
    return found


def make_crashes(rng: Generator) -> pd.DataFrame:
    """How badly somebody was hurt; without the columns that are filled in for the dead."""
    found = sources.crashes().sample(20_000, random_state=rng)
    found = found.drop(columns=["hispanic_origin", "race", "taken_to_hospital"])
    names = {
        "No_Injury": "no injury",
        "Possible_Injury": "possible",
        "Nonincapaciting_Evident_Injury": "evident",
        "Incapaciting_Injury": "incapacitating",
        "Fatal_Injury": "fatal",
    }
    found["injury"] = found.pop("injury_severity").map(names)
    found = found[found["injury"].notna()].reset_index(drop=True)
    found = found.replace({"Unknown": None, "Not_Reported": None, "Not_reported": None})
    rare = (found["injury"] == "incapacitating").to_numpy()
    return disorder.thin(found, rare, 0.08, rng)


def make_claims(rng: Generator) -> pd.DataFrame:
    """Who was ejected: seat, belt and air bag are one code with hundreds of levels."""
    found = sources.crashes().sample(20_000, random_state=rng)
    found["ejected"] = found.pop("ejection").isin(["Totally_Ejected", "Partially_Ejected"])
    found = disorder.thin(found, found["ejected"].to_numpy(), 0.05, rng)
    parts = ["seating_position", "restraint_system_use", "air_bag_availability/deployment"]
    codes = [pd.factorize(found[name], sort=True)[0] for name in (*parts, "alcohol_test_type")]
    kept = ["case_state", "age", "sex", "person_type", "extrication", "alcohol_test_result"]
    kept += ["drug_test_results_(1_of_3)", "police_reported_alcohol_involvement", "ejected"]
    found = found[kept]
    found.insert(
        0, "cover", ["{:02d}-{:02d}-{:02d}/{}".format(*code) for code in np.transpose(codes)]
    )
    found.insert(0, "reported", disorder.dates(rng.integers(0, 365, len(found)), "%d.%m.%Y"))
    found = disorder.with_copies(found, 0.15, rng)
    found.insert(0, "nr", np.arange(1, len(found) + 1))
    return found


def make_telescope(rng: Generator) -> pd.DataFrame:
    """Hadrons become more frequent over the nights, and the camera slowly loses sensitivity."""
    found = sources.telescope()
    rare = (found["class"] == "h").to_numpy()
    found = disorder.thin(found, rare, 0.08, rng)
    rare = (found["class"] == "h").to_numpy()
    night = np.where(rare, rng.beta(1.6, 1, len(found)), rng.random(len(found)))  # 0 to 1
    for name in ("length", "width", "asym", "m3long"):
        found[name] = (found[name] * (1 - 0.25 * night)).round(4)
    found["size"] = (found["size"] - 0.15 * night).round(4)
    found.insert(0, "taken", disorder.dates(300 * night, "%Y-%m-%d %H:%M"))
    found["class"] = np.where(rare, "hadron", "gamma")
    return found


def make_spam(rng: Generator) -> pd.DataFrame:
    """The wording of spam changes over time: mails about money come first, free offers later."""
    found = sources.spam()
    found = disorder.thin(found, (found["class"] == 1).to_numpy(), 0.1, rng)
    wording = found["free"].rank() - found["money"].rank() + rng.normal(0, 1500, len(found))
    order = wording.rank(pct=True).to_numpy()
    received = np.where(found["class"] == 1, order, rng.random(len(found)))
    words = list(found.columns[:54])
    found[words] = (found[words] / 100).apply(disorder.percentages, decimals=2)
    found["capitals_total"] = disorder.thousands(found["capitals_total"])
    found.insert(0, "received", disorder.dates(400 * received, "%d.%m.%Y %H:%M"))
    found["class"] = found["class"].map({0: "ham", 1: "spam"})
    return found


def make_customers(rng: Generator) -> pd.DataFrame:
    """Several months per customer, whose answers hardly change; the customer decides the class."""
    found = sources.marketing()
    found["top_income"] = (found.pop("income") == 9).map({True: "True", False: "False"})
    texts = {
        "sex": ["male", "female"],
        "occupation": [
            "professional", "sales", "laborer", "clerical", "home", "student", "military",
            "retired", "unemployed",
        ],
        "home": ["house", "condominium", "apartment", "mobile home", "other"],
        "household_status": ["own", "rent", "with parents"],
    }  # fmt: skip
    for name, levels in texts.items():
        found[name] = found[name].map(dict(enumerate(levels, start=1)))
    found.insert(0, "customer", disorder.numbers_as_ids(len(found), "C-", rng))
    months = found.loc[found.index.repeat(rng.integers(1, 6, len(found)))].reset_index(drop=True)
    answers = months.columns[1:-1]
    months[answers] = disorder.with_holes(months[answers], 0.05, rng)
    spent = rng.lognormal(6 + 0.1 * months["age"].fillna(4), 0.6)
    months.insert(1, "spent", disorder.thousands(pd.Series(spent), 2))
    return months.iloc[rng.permutation(len(months))].reset_index(drop=True)


def make_letters(rng: Generator) -> pd.DataFrame:
    """Ten examples of the letter H among 500."""
    found = sources.letters()
    found = disorder.thin(found, (found["class"] == "H").to_numpy(), 0.02, rng)
    found["class"] = np.where(found["class"] == "H", "H", "other")
    found["font"] = rng.choice(["serif", "sans", "script", None], len(found))
    return found
