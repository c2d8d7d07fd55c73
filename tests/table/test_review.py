"""Evidence for decisions, alerts to review, and the rows that a review labels."""

import csv
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.special import logit
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.inspection import permutation_importance
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from raremetric.table import TableError, fit_table
from raremetric.table.explanation import explain_row, importances_of_file, show_value
from raremetric.table.predictions import guard, unguard
from raremetric.table.review import (
    labeled_rows,
    read_verdicts,
    review_file,
    with_reviewed_rows,
)
from raremetric.table.review_page import review_page
from tests.table.conftest import make_table


@pytest.fixture(scope="module")
def logistic(models):
    """A model without neighbors."""
    model = models["plain"]
    fitted = make_pipeline(StandardScaler(), LogisticRegression()).fit(model.X, model.y)
    return replace(model, pipeline=make_pipeline(model.encoder, fitted), radius=None)


def moves(evidence):
    return {each["column"]: each["contribution"] for each in evidence.columns}


def test_a_linear_model_has_exact_contributions_of_the_original_columns(logistic, path):
    found = explain_row(logistic, path, 10)
    scaler, last = logistic.classifier
    parts = last.coef_[0] * (scaler.transform(logistic.X)[9])  # standardized: the means are 0
    expected = {"size": parts[0], "weight": parts[1], "color": parts[2:6].sum(), "new": parts[6]}
    assert moves(found) == pytest.approx(expected)
    assert (found.columns_exact, found.scale, found.examples) == (True, "log-odds", [])
    assert found.threshold == 0.5
    assert found.probability == logistic.classifier.predict_proba(logistic.X[[9]])[0, 1]
    assert found.predicted == ("ill" if found.probability >= 0.5 else "well")
    sizes = [abs(each["contribution"]) for each in found.columns]
    assert sizes == sorted(sizes, reverse=True)


def test_the_values_are_those_of_the_file(models, path):
    frame = make_table()
    for row in (4, 6):  # with a missing number and missing text
        found = explain_row(models["iml"], path, row)
        values = {each["column"]: each["value"] for each in found.columns}
        for name, value in values.items():
            raw = frame[name].iloc[row - 1]
            assert value is None if pd.isna(raw) else value == raw
        assert found.id == f"r{row - 1}"
        nearest = found.examples[0]
        assert (nearest["id"], nearest["values"]) == (found.id, values)
    assert [show_value(each) for each in (None, 102521.0, 0.1 + 0.2, "0017")] == [
        *("(missing)", "102521", "0.3", "0017")
    ]


def test_a_model_that_compares_the_classes_shows_both(models, path):
    model = models["rare"]
    found = explain_row(model, path, 10)
    assert found.threshold == model.classifier.threshold_
    assert {each["class"] for each in found.examples} == {"ill", "well"}
    reason = model.classifier.explain(model.X[[9]])[0][model.classifier.ensemble_.main_member]
    nearest = {kind: model.ids[reason[kind]["rows"][0]] for kind in ("positive", "negative")}
    assert nearest["positive"] in [e["id"] for e in found.examples if e["class"] == "ill"]
    assert nearest["negative"] in [e["id"] for e in found.examples if e["class"] == "well"]
    log_odds = logit(model.classifier.predict_proba(model.X)[:, 1])
    assert found.scale == "log-odds"
    # Four columns: exact, for a background of 50 of the 120 rows.
    assert found.columns_exact
    assert sum(moves(found).values()) == pytest.approx(log_odds[9] - log_odds.mean(), abs=0.5)
    with pytest.raises(TableError, match="there is no row 121; the file has 120 rows"):
        explain_row(model, path, 121)


def test_importances_of_the_original_columns(models, path, tmp_path):
    model = models["plain"]
    boosted = HistGradientBoostingClassifier(max_iter=20).fit(model.X, model.y)
    new = tmp_path / "new.csv"
    make_table(seed=1, n=200).rename(columns={"state": "truth"}).to_csv(new, index=False)
    pipeline = make_pipeline(model.encoder, boosted)
    found = importances_of_file(replace(model, pipeline=pipeline), new, "truth")
    frame = make_table(seed=1, n=200)
    X = model.encoder.transform(frame)
    expected = permutation_importance(
        boosted, X, frame["state"] == "ill", scoring="average_precision", random_state=0
    )
    by_name = {each["column"]: each["importance"] for each in found.columns}
    assert by_name["size"] == pytest.approx(expected.importances_mean[0], abs=0.05)
    assert by_name["new"] == pytest.approx(expected.importances_mean[6], abs=0.02)
    assert found.columns[0]["column"] == "size"
    assert (found.n_rows, found.optimistic) == (200, False)
    assert importances_of_file(model, path).optimistic
    with pytest.raises(
        TableError, match=r"no column 'state' for .* `--target`\)\. The columns are"
    ):
        importances_of_file(model, new)


@pytest.mark.parametrize("share", [0.02, 0.7])
def test_importances_of_a_sample(logistic, share):
    frame = make_table(seed=1, n=3000)
    ill = np.random.default_rng(0).random(3000) < share
    frame["state"] = np.where(ill, "ill", "well")
    frame.loc[ill, "size"] += 1.5
    found = importances_of_file(logistic, frame)
    X = logistic.encoder.transform(frame)
    scores = logistic.classifier.predict_proba(X)[:, 1]
    assert found.baseline == average_precision_score(ill, scores)
    assert (found.n_rows, found.n_measured) == (3000, 2250)
    assert found.n_measured_positive == min(ill.sum(), max(1125, 2250 - (~ill).sum()))
    expected = permutation_importance(
        logistic.classifier, X, ill, scoring="average_precision", random_state=0
    )
    size = next(each for each in found.columns if each["column"] == "size")
    assert size["importance"] == pytest.approx(expected.importances_mean[0], abs=0.03)


def test_a_file_of_other_classes(models, tmp_path):
    new = tmp_path / "new.csv"
    make_table().replace({"state": {"ill": "sick"}}).to_csv(new, index=False)
    with pytest.raises(TableError, match=r"0 of 120 rows have the class 'ill' in column 'state'"):
        importances_of_file(models["plain"], new)


def test_alerts_are_the_most_likely_rows(models, path, monkeypatch):
    model = models["rare"]
    whole = review_file(model, path, 7)
    p = model.classifier.predict_proba(model.X)[:, 1]
    order = np.lexsort((np.arange(120), -p))[:7]
    assert [each.row for each in whole.alerts] == (order + 1).tolist()
    assert [each.id for each in whole.alerts] == [f"r{i}" for i in order]
    np.testing.assert_allclose([each.probability for each in whole.alerts], p[order])
    assert whole.n_rows == 120
    assert whole.n_positive == int(model.classifier.predict(model.X).sum())
    from raremetric.table import review

    read = review.iter_table

    def read_small(*args, **settings):
        return read(*args, **{**settings, "block_bytes": 1000})

    monkeypatch.setattr(review, "iter_table", read_small)
    assert [e.row for e in review_file(model, path, 7).alerts] == [e.row for e in whole.alerts]


@pytest.mark.parametrize(("n_columns", "exact"), [(6, True), (7, False)])
def test_a_review_shows_the_contributions_of_explain(tmp_path, n_columns, exact):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, n_columns))
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(n_columns)])
    frame.assign(ill=X[:, 0] > 0.3).to_csv(tmp_path / "wide.csv", index=False)
    model = fit_table(tmp_path / "wide.csv", "ill", method="plain")
    (alert,) = review_file(model, tmp_path / "wide.csv", top=1).alerts
    assert alert.columns_exact == exact
    assert alert == explain_row(model, tmp_path / "wide.csv", alert.row)


def test_what_is_unlike_the_training_data_is_named(logistic, tmp_path):
    frame = make_table().drop(columns="state").head(3)
    frame["color"] = frame["color"].astype(object)
    frame.loc[1, ["size", "color"]] = 1e5, "purple"
    frame.to_csv(tmp_path / "new.csv", index=False)
    assert explain_row(logistic, tmp_path / "new.csv", 2).unlike == "size; color"
    review = review_file(logistic, tmp_path / "new.csv")
    assert {each.row: each.unlike for each in review.alerts} == {1: "", 2: "size; color", 3: ""}
    page = review_page(review)
    assert page.count("Unlike the training data: size, color.") == 1
    assert page.count("Unlike the training data") == 1


def test_rows_of_a_frame_are_explained_as_those_of_a_file(model, path):
    frame = pd.read_csv(path, float_precision="round_trip")
    assert explain_row(model, frame, 7) == explain_row(model, path, 7)
    assert importances_of_file(model, frame) == importances_of_file(model, path)
    with pytest.raises(TableError, match=r"^The table: there is no row 121; it has 120 rows"):
        explain_row(model, frame, 121)
    with pytest.raises(TableError, match=r"^The table: There is no column 'kind' for the target"):
        importances_of_file(model, frame, "kind")


def test_a_model_without_neighbors_can_be_reviewed(logistic, path):
    found = review_file(logistic, path, 3)
    page = review_page(found)
    assert all(each.examples == [] and each.columns_exact for each in found.alerts)
    assert "exact Shapley values" in page
    assert "nearest training examples" not in page


def keys(page):
    return re.findall(r'<article id="\w+" data-key="([\w-]+)" data-row="(\d+)"', page)


def test_verdicts_belong_to_the_values_of_a_row(models, logistic, path, tmp_path):
    """A browser finds them again with another model or more rows, but not for other values."""
    first = {row: key for key, row in keys(review_page(review_file(models["plain"], path, 120)))}
    again = {row: key for key, row in keys(review_page(review_file(logistic, path, 30)))}
    assert len(first) == 120
    assert len({*first.values()}) == 120
    assert again.items() <= first.items()
    changed = tmp_path / "mine.csv"
    make_table().assign(size=1.5).to_csv(changed, index=False)
    other = {row: key for key, row in keys(review_page(review_file(logistic, changed, 30)))}
    assert not other.items() & first.items()


def test_text_of_the_user_is_escaped(models, tmp_path):
    path, evil = tmp_path / "evil.csv", "</script><script>alert(1)</script>"
    frame = make_table()
    frame["color"] = evil
    frame["id"] = [f'"><img src=x onerror=alert({i})>' for i in range(len(frame))]
    frame.to_csv(path, index=False)
    page = review_page(review_file(models["plain"], path, 2), command=f"raremetric {evil}")
    assert "<img" not in page
    assert evil not in page
    assert "&lt;img src=x onerror=alert" in page


def export(path, lines):
    with path.open("w", newline="", encoding="utf-8-sig") as stream:
        csv.writer(stream).writerows(
            [["row", "id", "probability", "verdict", "label", "note"], *lines]
        )


def test_labeled_rows(path, tmp_path):
    review = tmp_path / "review.csv"
    lines = [
        ["9", "r8", "0.9", "no", "well", "'=1+1"],
        ["3", "r2", "0.8", "yes", "ill", ""],
        ["5", "r4", "0.7", "unsure", "", "ask"],
        ["7", "r6", "0.6", "", "", "later"],
    ]
    export(review, lines)
    found = labeled_rows(review, path, "state", row_names="id")
    assert found.index.tolist() == [3, 9]
    assert found["state"].tolist() == ["ill", "well"]
    frame = make_table()
    assert found["id"].tolist() == frame["id"].iloc[[2, 8]].tolist()
    assert found["size"].tolist() == frame["size"].iloc[[2, 8]].tolist()
    assert labeled_rows(review, path, "checked")["checked"].tolist() == ["ill", "well"]
    assert read_verdicts(review)[9]["note"] == "=1+1"


def test_a_fit_with_reviewed_rows(path, tmp_path):
    review, new = tmp_path / "review.csv", tmp_path / "new.csv"
    fresh = make_table(seed=5, n=30).drop(columns="state")
    fresh["id"] = [f"00{i}" for i in range(30)]
    fresh.assign(more=1).to_csv(new, index=False)
    export(review, [["2", "001", "", "yes", "ill", ""], ["9", "008", "", "no", "well", ""]])
    found = with_reviewed_rows(path, "state", review, new, row_names="id")
    expected = pd.concat([make_table(), fresh.iloc[[1, 8]].assign(state=["ill", "well"])])
    pd.testing.assert_frame_equal(
        found.astype(object), expected.reset_index(drop=True).astype(object)
    )
    found.to_csv(tmp_path / "all.csv", index=False)
    model = fit_table(tmp_path / "all.csv", "state", method="plain", row_names="id")
    assert model.y[-2:].tolist() == [1, 0]
    assert len(model.y) == 122
    fresh.drop(columns="color").to_csv(new, index=False)
    with pytest.raises(TableError, match=r"lacks columns of .*: 'color'"):
        with_reviewed_rows(path, "state", review, new, row_names="id")


@pytest.mark.parametrize(("n_rows", "n_different"), [(10, 10), (60, 3)])
def test_numbers_as_labels_and_equal_rows_of_few_possible_ones(tmp_path, n_rows, n_different):
    """Rows of a table with few possible ones are different examples, also if they are equal."""
    old, new, review = (tmp_path / f"{name}.csv" for name in ("old", "new", "review"))
    values = [i % n_different for i in range(n_rows)]
    old.write_text("a,kind\n" + "".join(f"{a},{i % 2}\n" for i, a in enumerate(values)))
    added = [15, 16] if n_different == n_rows else [0, 1]
    new.write_text("a\n" + "".join(f"{a}\n" for a in added))
    export(review, [["1", "", "", "yes", "1", ""], ["2", "", "", "no", "0", ""]])
    found = with_reviewed_rows(old, "kind", review, new)
    assert found["kind"].tolist() == [*["0", "1"] * (n_rows // 2), "1", "0"]
    assert found["a"].tolist() == values + added


@pytest.mark.parametrize("as_new_file", [False, True])
def test_a_verdict_about_a_training_row_replaces_its_class(path, tmp_path, as_new_file):
    review, source, frame = tmp_path / "review.csv", path, make_table()
    row = int(np.flatnonzero(frame["state"] == "well")[4])
    other = int(np.flatnonzero(frame["state"] == "ill")[2])
    if as_new_file:  # other columns, another order of the rows, and numbers with other types
        source = tmp_path / "new.csv"
        moved = frame.iloc[[other, row]].drop(columns="state")[
            ["color", "id", "new", "weight", "size"]
        ]
        moved.to_csv(source, index=False)
        export(review, [["2", "", "", "yes", "ill", ""], ["1", "", "", "no", "well", ""]])
    else:
        export(review, [[row + 1, "", "", "yes", "ill", ""], [other + 1, "", "", "no", "well", ""]])
    with pytest.warns(UserWarning, match=r"2 reviewed rows are in .* already. The class there"):
        found = with_reviewed_rows(path, "state", review, source)
    expected = frame.copy()
    expected.loc[[row, other], "state"] = ["ill", "well"]
    pd.testing.assert_frame_equal(found.astype(object), expected.astype(object))


def test_ids_are_compared_as_text(tmp_path):
    source, review = tmp_path / "new.csv", tmp_path / "review.csv"
    source.write_text("id,a\n007,1\n-5,2\n")
    export(review, [["1", "007", ".9", "yes", "x", ""], ["2", "'-5", ".9", "no", "'-1", ""]])
    found = labeled_rows(review, source, "kind", row_names="id")
    assert found["id"].tolist() == ["007", "-5"]
    assert found["kind"].tolist() == ["x", "-1"]


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        (["500", "r499", "0.9", "yes", "ill", ""], "row 500, but .* has 120 rows"),
        (["3", "r3", "0.9", "yes", "ill", ""], "Row 3 of .* has the id 'r2', but .* has 'r3'"),
        (["3", "r2", "0.9", "maybe", "", ""], "the verdict about row 3 is 'maybe'; it must be one"),
    ],
)
def test_a_review_that_does_not_fit(path, tmp_path, line, sentence):
    review = tmp_path / "review.csv"
    export(review, [line])
    with pytest.raises(TableError, match=sentence):
        labeled_rows(review, path, "state", row_names="id")
    with pytest.raises(
        TableError, match="is not a review: it has no column label, note, row, verdict"
    ):
        labeled_rows(path, path, "state")


@pytest.mark.parametrize(
    ("written", "text"),
    [
        *(("'=1", "=1"), ("'-a", "-a"), ("''=1", "'=1"), ("'tis", "'tis"), ("a=1", "a=1")),
        *(("", ""), ("'\n=1", "\n=1"), ("a\n=1", "a\n=1")),
    ],
)
def test_the_guard_is_added_and_removed(written, text):
    assert guard(text) == written
    assert unguard(written) == text
