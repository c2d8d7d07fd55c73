"""A column of text with many levels: fit, save, predict, explain, review."""

import numpy as np
import pandas as pd
import pytest

from raremetric.table import fit_table, load_model, save_model
from raremetric.table.explanation import explain_rows, importances_of_file
from raremetric.table.review import review_file

pytestmark = pytest.mark.filterwarnings("ignore:Column '.*' has .* levels")

SHOPS = [f"{kind} {city}" for kind in ("bakery", "garage") for city in "ABCDEFGHIJKLMNOP"]


def make_shops(seed=0, n=200):
    rng = np.random.default_rng(seed)
    shop = rng.choice(SHOPS, n)
    risk = np.where(np.char.startswith(shop.astype(str), "garage"), 0.4, 0.02)
    return pd.DataFrame(
        {
            "id": [f"r{i}" for i in range(n)],
            "shop": shop,
            "size": rng.normal(size=n).round(3),
            "kind": np.where(rng.random(n) < risk, "late", "on time"),
        }
    )


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("shops") / "shops.csv"
    make_shops().to_csv(path, index=False)
    return path


@pytest.fixture(scope="module", params=["iml", "logistic"])
def model(request, path):
    return fit_table(path, "kind", method=request.param, row_names="id")


def test_saved_and_loaded(model, path, tmp_path):
    save_model(model, tmp_path / "model.skops")
    loaded = load_model(tmp_path / "model.skops")
    pd.testing.assert_frame_equal(loaded.predict_table(path), model.predict_table(path))
    assert loaded.encoder.kinds_ == ["ngrams", "number"]


def test_words_in_common_are_used(model):
    """Levels that are not in the training data are judged by their words."""
    new = make_shops().assign(shop=["garage Z", "bakery Z"] * 100, size=0.0)
    found = model.predict_table(new)
    assert found["probability"][0] > found["probability"][1]
    assert (found["unlike_training"].str.contains("shop")).all()
    assert not model.predict_table(make_shops())["unlike_training"].str.contains("shop").any()


def test_values_are_shown_as_they_were(model, path):
    rows = make_shops().set_index("id")
    (evidence,) = explain_rows(model, make_shops().head(1))
    values = {each["column"]: each["value"] for each in evidence.columns}
    assert values["shop"] == rows["shop"].iloc[0]
    for example in evidence.examples:
        shop, size, _ = rows.loc[example["id"]]
        assert example["values"] == {"shop": shop, "size": pytest.approx(size)}
    assert importances_of_file(model, path).columns[0]["column"] == "shop"
    for alert in review_file(model, path, top=2).alerts:
        values = {each["column"]: each["value"] for each in alert.columns}
        assert values["shop"] == rows.loc[alert.id, "shop"]
