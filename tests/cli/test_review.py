"""The commands explain and review."""

import json
import re

from raremetric.table import fit_table, save_model
from tests.table.conftest import make_table


def test_explain_a_row(run, path, saved):
    result = run("explain", saved, path, "--row", "7")
    assert result.exit_code == 0, result.output
    text = " ".join(result.stdout.split())
    assert "Row 7 (r6) of" in text
    assert "threshold: 0." in text
    assert "How much each column moves the log-odds of 'ill' (exact)" in text
    assert "The nearest training examples of each class, sorted by distance" in text
    assert "stretch" not in result.output
    found = json.loads(run("explain", saved, path, "--row", "7", "--json").stdout)
    assert found["id"] == "r6"
    assert {each["class"] for each in found["examples"]} == {"ill", "well"}
    assert [*found["columns"][0]] == ["column", "value", "contribution", "std_error"]
    assert found["columns_exact"]


def test_the_settings_are_counted_as_in_fit(run, tmp_path):
    model, file = tmp_path / "model.skops", tmp_path / "table.csv"
    make_table(seed=2, n=200).to_csv(file, index=False)
    fitted = fit_table(file, "state", method="iml", ignore="id")
    save_model(fitted, model)
    kept = int(re.match(r"an average of (\d+) of the", fitted.training["chosen"])[1])
    metrics = {id(each.metric) for each in fitted.classifier.ensemble_.members}
    assert len(metrics) != kept  # of several folds
    text = " ".join(run("explain", model, file, "--row", "7").stdout.split())
    assert f"The prediction averages {kept} settings." in text


def test_long_ids_are_not_cut(run, tmp_path):
    model, long = tmp_path / "model.skops", "customer-" + "0123456789" * 9
    frame = make_table()
    frame["id"] = [f"{long}-{i}" for i in range(len(frame))]
    frame.to_csv(tmp_path / "long.csv", index=False)
    words = ["--target", "state", "--id", "id", "--model", "plain", "-o", model]
    assert run("fit", tmp_path / "long.csv", *words).exit_code == 0
    result = run("explain", model, tmp_path / "long.csv", "--row", "3")
    assert f"{long}-2" in result.stdout
    assert "…" not in result.stdout


def test_importances(run, path, saved, tmp_path):
    words = ["explain", saved, path, "--importance"]
    result = run(*words)
    assert result.exit_code == 0, result.output
    assert "100% of the rows" in result.stderr
    assert "the importances are optimistic" in result.stderr
    assert "Decrease of the average precision" in result.stdout
    new = tmp_path / "new.csv"
    make_table(seed=3).to_csv(new, index=False)
    result = run("explain", saved, new, "--importance", "--target", "state", "--json")
    assert "optimistic" not in result.stderr
    found = json.loads(result.stdout)
    assert found["columns"][0]["column"] == "size"
    assert not found["optimistic"]
    assert run(*words, "--row", "1").exit_code == 2


def test_review(run, path, saved, tmp_path):
    out = tmp_path / "review.html"
    result = run("review", saved, path, "--top", "4", "-o", out)
    assert result.exit_code == 0, result.output
    assert "4 of 120 rows to review" in result.stdout
    assert out.read_text().count("<article") == 4
    found = json.loads(run("review", saved, path, "--top", "4", "-o", out, "--json").stdout)
    assert len(found["alerts"]) == 4
    assert found["file"] == str(out)


def test_fit_with_a_review(run, path, tmp_path):
    new, review, out = (tmp_path / name for name in ("new.csv", "review.csv", "model.skops"))
    make_table(seed=5, n=30).drop(columns="state").to_csv(new, index=False)
    review.write_text(
        "row,id,probability,verdict,label,note\n2,r1,.9,yes,ill,\n9,r8,.8,no,well,\n3,r2,.7,unsure,,\n"
    )
    words = ["fit", path, "--target", "state", "--id", "id", "--model", "plain", "--json"]
    words += ["-o", out]
    before = json.loads(run(*words).stdout)
    result = run(*words, "--reviewed", review, "--reviewed-from", new)
    assert result.exit_code == 0, result.output
    about, rows = json.loads(result.stdout), before["training"]
    expected = (122, rows["positive"] + 1)
    assert (about["training"]["rows"], about["training"]["positive"]) == expected
    assert about["features"] == before["features"]
    assert "must be given together" in run(*words, "--reviewed", review).stderr
