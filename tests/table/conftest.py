"""A small table with numbers, text, missing values and names of rows."""

import numpy as np
import pandas as pd
import pytest

from raremetric.table import fit_table


def make_table(seed=0, n=120):
    rng = np.random.default_rng(seed)
    rare = rng.random(n) < 0.2
    frame = pd.DataFrame(
        {
            "id": [f"r{i}" for i in range(n)],
            "size": rng.normal(size=n).round(3) + 2 * rare,
            "weight": (100 * rng.normal(size=n)).round(1),
            "color": rng.choice(["red", "green", "blue"], n),
            "new": rng.choice(["yes", "no"], n),
            "state": np.where(rare, "ill", "well"),
        }
    )
    frame.loc[3, "weight"] = np.nan
    frame.loc[5, "color"] = np.nan
    return frame


@pytest.fixture(scope="session")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("table") / "mine.csv"
    make_table().to_csv(path, index=False)
    return path


@pytest.fixture(scope="session")
def model(path):
    return fit_table(path, "state", method="iml", row_names="id")
