"""The same rows in any form have the same scores, or they are refused or marked."""

import csv
import gzip
import io
import warnings
from functools import cache
from typing import NamedTuple

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from raremetric.table import TableError, fit_table
from tests.fuzz.cases import n_cases
from tests.fuzz.mutations import check_sentence

pytestmark = pytest.mark.long

N_TRAINING = 80
DAYS = {"Y-M-D": "%Y-%m-%d", "D.M.Y": "%d.%m.%Y", "M/D/Y": "%m/%d/%Y", "D/M/Y": "%d/%m/%Y"}
FLAGS = {"True": ("False", "True"), "TRUE": ("FALSE", "TRUE"), "1": ("0", "1")}
ZONE = "+00:00"


class Form(NamedTuple):
    """How a text file is written."""

    delimiter: str = ","
    decimal: str = "."
    groups: str = ""  # between thousands; "mark" for the mark that is not that of decimals
    percent: bool = False
    days: str = "Y-M-D"
    zone: bool = False
    flags: str = "True"
    missing: str = ""
    encoding: str = "utf-8"
    blank: str = ""
    newline: str = "\n"
    quoting: int = csv.QUOTE_MINIMAL
    packed: bool = False


def make_rows(seed, n):
    """Rows with a number of each kind, a date, a flag and a category."""
    rng = np.random.RandomState(seed)
    return pd.DataFrame(
        {
            "amount": rng.randint(1, 10**7, size=n) / 100,
            "weight": rng.randint(1, 10**5, size=n) / 1000,  # three decimals
            "count": rng.randint(0, 10**5, size=n),
            "share": np.where(rng.rand(n) < 0.1, np.nan, rng.randint(0, 1000, size=n) / 10),
            "day": pd.Timestamp("2023-01-01") + pd.to_timedelta(rng.randint(700, size=n), "D"),
            "seen": pd.Timestamp("2024-03-01")
            + pd.to_timedelta(rng.randint(2 * 10**5, size=n), "m"),
            "flag": rng.rand(n) < 0.5,
            "color": rng.choice(["red", "green", "blé"], size=n),
        }
    )


def write_number(value, form, decimals):
    if np.isnan(value):
        return form.missing
    separator = {"mark": "," if form.decimal == "." else "."}.get(form.groups, form.groups)
    return f"{value:,.{decimals}f}".translate({ord("."): form.decimal, ord(","): separator})


def write_csv(frame, path, form):
    """Write rows as text, and return the path."""
    rows = pd.DataFrame(index=frame.index)
    decimals = {"amount": 2, "weight": 3, "count": 0, "share": 1}
    for name, column in frame.items():
        if name in decimals:
            texts = [write_number(value, form, decimals[name]) for value in column]
            signs = " %" if form.percent and name == "share" else ""
            rows[name] = [text + signs if text != form.missing else text for text in texts]
        elif name == "day":
            rows[name] = column.dt.strftime(DAYS[form.days])
        elif name == "seen":
            rows[name] = column.dt.strftime(DAYS[form.days] + " %H:%M") + ZONE * form.zone
        elif name == "flag":
            rows[name] = [FLAGS[form.flags][value] for value in column]
        else:
            rows[name] = column
    stream = io.StringIO()
    rows.to_csv(stream, index=False, sep=form.delimiter, quoting=form.quoting)
    content = (form.blank + stream.getvalue()).replace("\n", form.newline).encode(form.encoding)
    path = path.with_suffix(".csv.gz" if form.packed else ".csv")
    path.write_bytes(gzip.compress(content) if form.packed else content)
    return path


def in_memory(frame, kind, zone):
    """The rows as a table of some library."""
    if zone:
        frame = frame.assign(seen=frame["seen"].dt.tz_localize("UTC"))
    if kind == "pandas":
        return frame
    if kind == "nullable":
        return frame.convert_dtypes()
    if kind == "categories":
        return frame.astype({"color": "category"})
    if kind == "objects":
        return frame.astype({"color": object, "flag": object})
    if kind == "polars":
        return pl.from_pandas(frame)
    return pa.Table.from_pandas(frame, preserve_index=False)


def meaning(form):
    """What must agree with the training data; everything else is detected."""
    return form.decimal, form.groups == "mark", form.percent, form.days, form.zone


def is_hidden(frame, form, training):
    """Whether no day shows that day and month have changed places: nothing can tell."""
    days = pd.concat([frame["day"], frame["seen"]]).dt.day
    return {form.days, training.days} == {"M/D/Y", "D/M/Y"} and days.max() <= 12


TRAINING = {
    "pandas": None,
    "plain": Form(),
    "grouped": Form(groups="mark", days="M/D/Y"),
    "percent": Form("\t", percent=True, days="D/M/Y"),
    "zone": Form("|", days="D.M.Y", zone=True, missing="-nan"),
    "apostrophes": Form(groups="'", missing="NA"),
    "comma": Form(";", ",", days="D.M.Y"),
    "comma, spaces": Form(";", ",", groups="\u00a0", percent=True),
    "comma, grouped": Form(";", ",", groups="mark", days="D/M/Y"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("forms")


@cache
def fitted(name, folder):
    """A model of a file that is written in some way, and whether its times have a zone."""
    form, frame = TRAINING[name], make_rows(0, N_TRAINING)
    frame["class"] = np.where(
        frame["amount"] + 500 * frame["day"].dt.day + 3e4 * frame["flag"] > 8e4, "bad", "good"
    )
    source = frame if form is None else write_csv(frame, folder / f"train {name}", form)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return fit_table(source, "class", "bad", method="logistic"), bool(form and form.zone)


forms = st.builds(
    Form,
    st.sampled_from(",;\t|"),
    st.sampled_from(".,"),
    st.sampled_from(["", "mark", " ", "\u00a0", "'", "\u2019"]),
    st.booleans(),
    st.sampled_from(sorted(DAYS)),
    st.booleans(),
    st.sampled_from(sorted(FLAGS)),
    st.sampled_from(["", "NA", "nan", "-nan"]),
    st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "cp1252"]),
    st.sampled_from(["", "\n", " \n", "\n\n"]),
    st.sampled_from(["\n", "\r\n"]),
    st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC]),
    st.booleans(),
)
kinds = st.sampled_from(["pandas", "nullable", "categories", "objects", "polars", "arrow"])


def answer(model, source, block_bytes=1 << 22):
    """Probabilities and marks of the rows of a source."""
    found = list(model.predict_file(source, block_bytes=block_bytes))
    return (
        np.concatenate([getattr(each, name) for each in found])
        for name in ("probability", "unlike")
    )


@cache
def expected(name, seed, n, folder):
    """What a model says of rows in memory."""
    model, zone = fitted(name, folder)
    return tuple(answer(model, in_memory(make_rows(seed, n), "pandas", zone)))


@pytest.mark.parametrize("name", TRAINING)
@n_cases(40, nightly=1500)
@given(st.data())
def test_new_rows_mean_the_same_in_every_form(folder, name, data):
    """10,000 cases in the nightly run, over all ways to write the training data."""
    model, zone = fitted(name, folder)
    seed, n = data.draw(st.integers(1, 20)), data.draw(st.integers(1, 12))
    rows = data.draw(st.permutations(range(n)))[: data.draw(st.integers(1, n))]
    frame = make_rows(seed, n).iloc[rows]
    columns = data.draw(st.permutations(list(frame.columns)))
    frame = frame[columns]
    if data.draw(st.integers(0, 4)) == 0:
        kind, other_zone = data.draw(kinds), data.draw(st.booleans())
        source, is_same = in_memory(frame, kind, other_zone), other_zone == zone
        if data.draw(st.booleans()):
            source = pa.table(source) if not isinstance(source, pa.Table) else source
            pq.write_table(source, folder / "new.parquet")
            source = folder / "new.parquet"
    else:
        form = data.draw(forms | st.just(TRAINING[name] or Form()))
        assume(not is_hidden(frame, form, TRAINING[name] or Form()))
        source = write_csv(frame, folder / "new", form)
        is_same = meaning(form) == meaning(TRAINING[name] or Form())
    probability, unlike = expected(name, seed, n, folder)
    block_bytes = data.draw(st.sampled_from([100, 1000, 1 << 22]))
    try:
        found, marks = answer(model, source, block_bytes)
    except TableError as error:
        check_sentence(error)
        if is_same:
            raise
        return
    same = np.isclose(found, probability[rows], rtol=1e-9, atol=0)
    assert (same | ((marks != "") & (unlike[rows] == ""))).all()
