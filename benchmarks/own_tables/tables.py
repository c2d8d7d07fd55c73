"""The ten files: how a user would call `compare` on each, and which rows are set aside."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.random import Generator, default_rng
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split

from benchmarks.own_tables import makers


@dataclass(frozen=True)
class OwnTable:
    """One of the files.

    Parameters
    ----------
    make : callable (rng) -> DataFrame
        The whole table, as it is written.
    target, positive : str
    n_rest, n_held_out : int
        Rows to compare methods on, and rows to set aside for the test, at most.
    time, group : str or None
        Options of `compare`. They also decide how rows are set aside: the latest ones, or all rows
        of some groups.
    layout : str
        How the times are written.
    row_id : str or None
        A column that identifies the rows, which is not used as a feature.
    ignore : sequence of str
        Other columns that a user would not use as features.
    suffix : str
        Format of the file.
    options : dict
        How the CSV file is written.
    """

    make: Callable[[Generator], pd.DataFrame]
    target: str
    positive: str
    n_rest: int
    n_held_out: int
    time: str | None = None
    layout: str = "%Y-%m-%d %H:%M"
    group: str | None = None
    row_id: str | None = None
    ignore: tuple[str, ...] = ()
    suffix: str = ".csv"
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def not_features(self) -> list[str]:
        """Columns that are not features, apart from the target, the time and the group."""
        return [*([] if self.row_id is None else [self.row_id]), *self.ignore]


TABLES: dict[str, OwnTable] = {
    "stroke": OwnTable(makers.make_stroke, "stroke", "yes", 2500, 2481, row_id="patient"),
    "thyroid": OwnTable(makers.make_thyroid, "class", "hypothyroid", 1600, 1563, suffix=".parquet"),
    "wine": OwnTable(
        makers.make_wine,
        "class",
        "prämiert",
        3000,
        3497,
        options={"sep": ";", "decimal": ",", "encoding": "cp1252"},
    ),
    "blocks": OwnTable(makers.make_blocks, "class", "picture", 2700, 2773),
    "crashes": OwnTable(makers.make_crashes, "injury", "incapacitating", 2500, 6000),
    "claims": OwnTable(makers.make_claims, "ejected", "True", 3000, 6000, ignore=("nr",)),
    "telescope": OwnTable(makers.make_telescope, "class", "hadron", 3000, 4000, time="taken"),
    "spam": OwnTable(
        makers.make_spam, "class", "spam", 1800, 1294, time="received", layout="%d.%m.%Y %H:%M"
    ),
    "customers": OwnTable(
        makers.make_customers, "top_income", "True", 2500, 6000, group="customer"
    ),
    "letters": OwnTable(makers.make_letters, "class", "H", 500, 6000),
}


def make_parts(name: str, scale: float = 1) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The rows to compare methods on, and those that are set aside; both in random order.

    Parameters
    ----------
    name : str
        A key of `TABLES`.
    scale : float, default=1
        Share of the rows to use; at least 500 to compare on.
    """
    table = TABLES[name]
    rng = default_rng([list(TABLES).index(name), 17])
    frame = table.make(rng)
    sizes = max(round(scale * table.n_rest), 500), round(scale * table.n_held_out)
    rest, held_out = set_aside(frame, table, *sizes, rng)
    return frame.iloc[rest].reset_index(drop=True), frame.iloc[held_out].reset_index(drop=True)


def set_aside(
    frame: pd.DataFrame, table: OwnTable, n_rest: int, n_held_out: int, rng: Generator
) -> tuple[NDArray, NDArray]:
    """Row numbers of both parts: the latest rows, whole groups, or random rows are set aside."""
    if table.time is not None:
        drawn = rng.choice(len(frame), min(len(frame), n_rest + n_held_out), replace=False)
        times = pd.to_datetime(frame[table.time], format=table.layout).to_numpy()
        drawn = drawn[np.argsort(times[drawn], kind="stable")]
        return rng.permutation(drawn[:n_rest]), rng.permutation(drawn[n_rest:])
    units = units_of(frame, table)
    _, first = np.unique(units, return_index=True)
    labels = frame[table.target].to_numpy()[first]
    share = n_rest / len(frame)
    seed = int(rng.integers(2**31))
    rest, held_out = train_test_split(first, train_size=share, stratify=labels, random_state=seed)
    parts = [np.flatnonzero(np.isin(units, units[part])) for part in (rest, held_out)]
    return rng.permutation(parts[0]), rng.permutation(parts[1])[:n_held_out]


def units_of(frame: pd.DataFrame, table: OwnTable) -> NDArray[np.int64]:
    """A number for each row; rows of one group, or copies of one row, have the same number."""
    if table.group is not None:
        return pd.factorize(frame[table.group])[0]
    features = frame.drop(columns=[table.target, *table.not_features])
    return pd.factorize(pd.util.hash_pandas_object(features.astype(str), index=False))[0]


def write_table(frame: pd.DataFrame, table: OwnTable, path: Path) -> Path:
    """Write one part in the format of the table; returns the path with its suffix."""
    path = path.with_suffix(table.suffix)
    if table.suffix == ".parquet":
        frame.to_parquet(path)
    else:
        frame.to_csv(path, index=False, **table.options)
    return path
