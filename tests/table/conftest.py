"""A small table with numbers, text, missing values and names of rows; models fitted on it once."""

import numpy as np
import pandas as pd
import pytest
from joblib.externals.loky import get_reusable_executor

from raremetric.contenders import scored
from raremetric.table import fit_table

# A transformer outside the package: all distances double, so that the neighbors stay the same.
DOUBLED = """
import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin

class Doubled(TransformerMixin, BaseEstimator):
    def __init__(self, factor=2.0):
        self.factor = factor

    def fit(self, X, y=None):
        self.n_features_in_ = X.shape[1]
        return self

    def transform(self, X):
        return self.factor * np.asarray(X)
"""


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
def models(path):
    """One model per method, fitted when it is first used."""

    class Models(dict):
        def __missing__(self, name):
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(scored.Scored, "n_for_table", 2)  # they are slow
                self[name] = fit_table(path, "state", method=name, row_names="id")
            return self[name]

    return Models()


@pytest.fixture
def model(models):
    return models["iml"]


@pytest.fixture
def doubled(tmp_path, monkeypatch):
    """Import path of a class outside the package."""
    (tmp_path / "doubled_learner.py").write_text(DOUBLED)
    monkeypatch.syspath_prepend(tmp_path)
    get_reusable_executor().shutdown()  # processes of earlier tests do not know the new path
    return "doubled_learner:Doubled"
