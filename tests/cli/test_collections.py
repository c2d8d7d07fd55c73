"""The commands on a directory of files."""

import json
import signal

import pandas as pd
import pytest

from tests.table.test_collections import make_table, scheduler, write_files  # noqa: F401

pytestmark = pytest.mark.usefixtures("few_candidates")


def test_fit_and_predict_a_directory(run, tmp_path, scheduler):  # noqa: F811
    table = make_table(6000)
    folder = write_files(tmp_path / "data", table, ".csv", (1000, 3000, 2000))
    model, out = tmp_path / "model.skops", tmp_path / "out"
    where = ("--scheduler", scheduler)
    result = run("fit", folder, "--target", "y", "--max-rows", 500, "-o", model, *where)
    assert result.exit_code == 0, result.output
    n_positive = (table["y"] == "yes").sum()
    assert f"6000 rows, {n_positive} positive" in result.stdout
    assert "500 rows can be neighbors" in result.stdout
    assert "Held-out F1: " in result.stdout
    result = run("predict", model, f"{folder}/*.csv", "-o", out, "--json", *where)
    assert result.exit_code == 0, result.output
    about = json.loads(result.stdout)
    parts = [pd.read_csv(path) for path in sorted(out.glob("part-*.csv"))]
    assert [len(part) for part in parts] == [1000, 3000, 2000]
    assert about["rows"] == 6000
    assert about["positive"] == sum((part["class"] == "yes").sum() for part in parts)
    result = run("predict", model, f"{folder}/*.csv", "-o", out, *where)
    assert "3 of 3 parts" in result.stderr
    assert f"6000 rows, {about['positive']} predicted as 'yes'" in result.stdout


def test_files_without_rows_are_named(run, path, saved, tmp_path, scheduler):  # noqa: F811
    folder, header = tmp_path / "data", path.read_text().splitlines()[0]
    folder.mkdir()
    for name in ("a", "c"):
        (folder / f"{name}.csv").write_text(path.read_text())
    (folder / "b.csv").write_text(f"{header}\n")
    where = ("--scheduler", scheduler)
    out = f"{tmp_path}/out/"  # a directory may end in a slash
    result = run("predict", saved, folder, "-o", out, *where)
    assert result.exit_code == 0, result.output
    assert f"Note: {folder / 'b.csv'} has no rows of data.\n" in result.stderr
    (folder / "d.csv").write_text(f"{header}\n")
    result = run("predict", saved, folder, "-o", tmp_path / "other", *where)
    names = f"{folder / 'b.csv'}, {folder / 'd.csv'}"
    assert f"Note: 2 files have no rows of data: {names}.\n" in result.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("fit", "{}/*.parquet", "--target", "y", "-o", "m.skops"), "No file matches the pattern"),
        (("fit", "{}", "-o", "m.skops", "--target", "y", "--weight", "size"), "--weight and"),
        (("predict", "m.skops", "{}"), "give a directory with --out"),
        (("predict", "m.skops", "{}", "-o", "out", "--top", "3"), "and not --top"),
    ],
)
def test_mistakes(run, tmp_path, monkeypatch, words, message):
    monkeypatch.chdir(tmp_path)
    folder = write_files(tmp_path / "data", make_table(100), ".csv", (50, 50))
    result = run(*(word.format(folder) for word in words))
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())
    assert result.stderr.startswith("Error: ")


@pytest.mark.filterwarnings("default")
def test_no_scheduler(run, tmp_path, monkeypatch):
    monkeypatch.setattr("raremetric.dask.cluster.DASK_TIMEOUT", 1)
    folder = write_files(tmp_path / "data", make_table(100), ".csv", (50, 50))
    words = ("--target", "y", "-o", tmp_path / "m.skops", "--scheduler", "tcp://127.0.0.1:9")
    result = run("fit", folder, *words)
    assert result.exit_code == 2
    assert "No Dask scheduler answers at 'tcp://127.0.0.1:9'" in " ".join(result.stderr.split())


def test_a_stopped_prediction_says_what_is_kept(run, tmp_path, monkeypatch):
    folder = write_files(tmp_path / "data", make_table(300), ".csv", (200, 100))
    model, out = tmp_path / "model.skops", tmp_path / "out"
    words = ("--target", "y", "-o", model, "--model", "plain")
    assert run("fit", folder / "0.csv", *words).exit_code == 0

    def stop(*_, **__):
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr("raremetric.table.predict_collection", stop)
    result = run("predict", model, folder, "-o", out)
    assert result.exit_code == 130
    expected = f"Stopped. The finished parts in {out} are kept; the same command continues."
    assert result.stderr.splitlines()[-1] == expected
    assert "nothing was written" not in result.stderr
