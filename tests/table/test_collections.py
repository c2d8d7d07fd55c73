"""Tables of many files: the same results as for one file, in order, and resumed after a stop."""

import json

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from scipy.special import expit
from sklearn.metrics import f1_score

from raremetric.table import (
    TableError,
    fit_collection,
    fit_table,
    load_model,
    predict_collection,
    save_model,
)
from raremetric.table.aims import unmet_minimum
from raremetric.table.predictions import write_predictions
from raremetric.table.reading.files import collection_files

distributed = pytest.importorskip("dask.distributed")
SIZES = (700, 1, 0, 1200, 600)


@pytest.fixture(scope="module")
def scheduler():
    """The address of a cluster in this process."""
    settings = {"n_workers": 1, "threads_per_worker": 2, "dashboard_address": ":0"}
    with distributed.LocalCluster(processes=False, **settings) as cluster:
        yield cluster.scheduler_address


def make_table(n_rows, seed=0, shift=-3.0):
    rng = np.random.default_rng(seed)
    kind = rng.choice(["red", "green", "blue"], n_rows)
    size = rng.normal(size=n_rows).round(6)
    p = expit(2 * size + (kind == "red") + shift)
    label = np.where(rng.random(n_rows) < p, "yes", "no")
    return pd.DataFrame({"size": size, "kind": kind, "noise": rng.normal(size=n_rows), "y": label})


def write_files(folder, table, suffix, sizes=SIZES):
    folder.mkdir()
    for number, rows in enumerate(np.split(np.arange(len(table)), np.cumsum(sizes)[:-1])):
        part, path = table.iloc[rows], folder / f"{number}{suffix}"
        if suffix == ".parquet":
            part.to_parquet(path, index=False)
        else:
            part.to_csv(path, index=False)
    return folder


@pytest.fixture
def table():
    return make_table(sum(SIZES))


pytestmark = pytest.mark.usefixtures("few_candidates")


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".csv.gz"])
def test_files_that_fit_in_memory_give_the_model_of_one_file(tmp_path, table, suffix, scheduler):
    folder = write_files(tmp_path / "data", table, suffix)
    model = fit_collection(folder, "y", scheduler=scheduler)
    expected = fit_table(table, "y")
    assert model.training["rows"] == len(table)
    assert model.training["positive"] == (table["y"] == "yes").sum()
    assert model.class_names == ["no", "yes"]
    assert model.threshold == expected.threshold
    found, single = model.predict_table(table), expected.predict_table(table)
    pd.testing.assert_series_equal(found["probability"], single["probability"])
    names = [f"{i}{suffix}:{row}" for i, n in enumerate(SIZES) for row in range(1, n + 1)]
    assert model.ids.tolist() == names


def test_a_sample_is_calibrated_on_the_whole_table(tmp_path, scheduler):
    table = make_table(40_000, shift=-4.0)
    folder = write_files(tmp_path / "data", table, ".parquet", (15_000, 5000, 20_000))
    model = fit_collection(folder, "y", max_samples=1000, scheduler=scheduler)
    assert (model.training["rows"], model.training["rows_used"]) == (40_000, 1000)
    found, y = model.predict_table(table), (table["y"] == "yes").to_numpy()
    p = found["probability"].to_numpy()
    assert model.training["positive"] == y.sum()
    assert p.mean() == pytest.approx(y.mean(), rel=0.03)
    bins = np.array_split(np.argsort(p), 20)
    error = sum(len(rows) * abs(p[rows].mean() - y[rows].mean()) for rows in bins) / len(p)
    assert error < 0.1 * y.mean()
    f1 = f1_score(y, found["class"] == "yes")
    assert f1 > max(f1_score(y, p >= t) for t in np.linspace(0.05, 0.7, 40)) - 0.02
    assert model.training["score"] == pytest.approx(f1, abs=0.03)
    save_model(model, tmp_path / "model.skops")
    loaded = load_model(tmp_path / "model.skops")
    pd.testing.assert_frame_equal(loaded.predict_table(table[:50]), found[:50])
    # The examples are rows of the table, under their names.
    for name, label in zip(model.ids[:20], model.y[:20], strict=True):
        file, row = name.split(":")
        part = pq.read_table(folder / file).to_pandas()
        assert part["y"].iloc[int(row) - 1] == model.class_names[label]


@pytest.mark.parametrize("minimum", [0.3, 0.7])
@pytest.mark.filterwarnings("ignore:No threshold")
def test_a_note_about_a_minimum_is_about_the_held_out_rows(tmp_path, scheduler, minimum):
    folder = write_files(tmp_path / "data", make_table(8000), ".parquet", (5000, 3000))
    scoring = f"precision>={minimum}"
    model = fit_collection(folder, "y", scoring=scoring, max_samples=400, scheduler=scheduler)
    notes = [each for each in model.training["notes"] if "minimum" in each]
    assert notes == unmet_minimum(scoring, model.training["validation"], "held-out")
    assert len(notes) == (model.training["validation"]["precision"] < minimum)


def test_labels_that_are_written_in_several_ways(tmp_path, table, scheduler):
    folder = write_files(tmp_path / "data", table[:0], ".csv", (0,))
    label = (table["y"] == "yes").astype(int)
    table[:1000].assign(y=label).to_csv(folder / "1.csv", index=False)
    table[1000:2000].assign(y=label.astype(float)).to_csv(folder / "2.csv", index=False)  # 1.0
    model = fit_collection(folder, "y", scheduler=scheduler)
    assert model.training["positive"] == model.y.sum() == label[:2000].sum()
    assert model.class_names == ["0", "1"]


def test_held_out_rows_are_no_copies_of_those_learned_from(tmp_path, scheduler):
    table = make_table(4000)
    table = table.loc[table.index.repeat(2)]
    folder = write_files(tmp_path / "data", table, ".parquet", (5000, 3000))
    model = fit_collection(folder, "y", max_samples=400, scheduler=scheduler)
    assert model.training["held_out"] == 8000 - 2 * len(np.unique(model.X, axis=0))


@pytest.mark.parametrize("role", [None, "group", "time"])
@pytest.mark.filterwarnings("ignore:Only")
def test_few_positives_are_cross_validated(tmp_path, scheduler, role):
    table = make_table(8000, shift=-6.5)
    n_positive = int((table["y"] == "yes").sum())
    assert 30 < n_positive < 500
    table["when"] = np.random.default_rng(0).permutation(8000) // 40
    folder = write_files(tmp_path / "data", table, ".parquet", (5000, 3000))
    roles = {} if role is None else {role: "when"}
    model = fit_collection(
        folder, "y", max_samples=400, ignore=["when"], scheduler=scheduler, **roles
    )
    assert model.y.sum() == n_positive  # all are learned from
    assert "held_out" not in model.training
    new = make_table(20_000, seed=1, shift=-6.5)
    found, y = model.predict_table(new), new["y"] == "yes"
    assert found["probability"].mean() == pytest.approx(y.mean(), rel=0.3)
    f1 = f1_score(y, found["class"] == "yes")
    assert model.training["score"] == pytest.approx(f1, abs=0.15)


def test_few_positives_are_calibrated_on_negatives_of_the_whole_table(tmp_path, scheduler):
    def draw(n_rows, seed):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(n_rows, 3))
        p = expit(2.2 * X[:, 0] + 1.2 * X[:, 1] - X[:, 2] ** 2 / 2 - 8.3)
        return pd.DataFrame(X, columns=list("abc")).assign(y=rng.random(n_rows) < p)

    folder = write_files(tmp_path / "data", draw(150_000, 0), ".parquet", (100_000, 50_000))
    model = fit_collection(folder, "y", "True", max_samples=1000, scheduler=scheduler)
    assert model.training["positive"] < 500
    new = draw(300_000, 1)
    found = model.predict_table(new)
    f1 = f1_score(new["y"], found["class"] == "True")
    assert model.training["score"] == pytest.approx(f1, abs=0.04)
    assert found["probability"].mean() == pytest.approx(new["y"].mean(), rel=0.2)


def test_names_of_rows_and_a_given_threshold_of_a_sample(tmp_path, scheduler):
    table = make_table(8000)
    table.insert(0, "id", [f"row {i}" for i in range(len(table))])
    folder = write_files(tmp_path / "data", table, ".parquet", (5000, 3000))
    options = {"row_names": "id", "max_samples": 400, "scheduler": scheduler}
    chosen, low = (
        fit_collection(f"{folder}/*.parquet", "y", threshold=each, **options)
        for each in (None, 0.02)
    )
    labels = table.set_index("id")["y"]
    assert (labels[low.ids] == np.array(low.class_names)[low.y]).all()
    assert low.threshold == 0.02
    recall, precision = (low.training["validation"][name] for name in ("recall", "precision"))
    assert recall > chosen.training["validation"]["recall"]
    assert precision < chosen.training["validation"]["precision"]
    found = low.predict_table(make_table(4000, seed=1))
    np.testing.assert_array_equal(found["class"] == "yes", found["probability"] >= 0.02)


@pytest.fixture(scope="module")
def fitted():
    return fit_table(make_table(sum(SIZES)), "y", method="gmml")


def test_parts_are_those_of_single_files_in_order(tmp_path, table, fitted, scheduler):
    folder, out = write_files(tmp_path / "data", table, ".csv"), tmp_path / "new" / "out"
    steps = []
    counts = predict_collection(
        fitted, folder, out, scheduler=scheduler, on_part=lambda: steps.append(1)
    )
    assert len(steps) == len(SIZES)
    assert counts.rows == len(table)
    single = tmp_path / "single.csv"
    for number in range(len(SIZES)):
        write_predictions(fitted, folder / f"{number}.csv", single)
        assert (out / f"part-{number:05d}.csv").read_bytes() == single.read_bytes()
    parts = [pd.read_csv(path)["probability"] for path in sorted(out.glob("part-*"))]
    whole, found = fitted.predict_table(table), np.concatenate(parts).astype(float)
    np.testing.assert_allclose(found, whole["probability"].to_numpy(), rtol=1e-11)
    assert counts.positive == (whole["class"] == "yes").sum()


def test_parquet_stays_parquet(tmp_path, table, fitted, scheduler):
    folder, out = write_files(tmp_path / "data", table, ".parquet"), tmp_path / "out"
    predict_collection(fitted, folder, out, threshold=0.2, scheduler=scheduler)
    parts = [pq.read_table(path).to_pandas() for path in sorted(out.glob("part-*.parquet"))]
    assert [len(part) for part in parts] == list(SIZES)
    expected = fitted.predict_table(table, threshold=0.2)
    found = pd.concat(parts, ignore_index=True).drop(columns="row")
    pd.testing.assert_frame_equal(found, expected.drop(columns="row"), check_dtype=False)


def test_only_what_is_missing_is_computed_again(tmp_path, table, scheduler):
    folder, out = write_files(tmp_path / "data", table, ".csv"), tmp_path / "out"
    fitted = fit_table(table, "y", max_samples=400)
    first = predict_collection(fitted, folder, out, scheduler=scheduler)
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    (out / "part-00001.csv").unlink()  # not written yet
    (out / "part-00003.csv").write_bytes(b"row,")  # not ours: another size
    manifest = json.loads(before["raremetric.json"])
    del manifest["done"]["part-00000.csv"]  # written, but stopped before that was recorded
    (out / "raremetric.json").write_text(json.dumps(manifest))
    kept = (out / "part-00004.csv").stat().st_mtime_ns
    (out / "mine.txt").write_text("precious")  # stays
    started = []
    save_model(fitted, tmp_path / "model.skops")
    again = predict_collection(
        load_model(tmp_path / "model.skops"), folder, out, scheduler=scheduler,
        on_start=lambda *numbers: started.append(numbers),
    )  # fmt: skip
    assert started == [(2, 5)]
    assert (out / "part-00004.csv").stat().st_mtime_ns == kept
    after = {path.name: path.read_bytes() for path in out.iterdir()}
    assert after.pop("mine.txt") == b"precious"
    assert {**after, "raremetric.json": b""} == {**before, "raremetric.json": b""}
    assert again == first


def test_other_output_is_not_touched(tmp_path, table, fitted, scheduler):
    folder, out = write_files(tmp_path / "data", table, ".csv"), tmp_path / "out"
    with pytest.raises(ValueError, match="contains something other than predictions"):
        predict_collection(fitted, folder, folder, scheduler=scheduler)
    predict_collection(fitted, folder, out, scheduler=scheduler)
    with pytest.raises(ValueError, match="of another model, for other files or with other options"):
        predict_collection(fitted, folder, out, threshold=0.1, scheduler=scheduler)
    (folder / "5.csv").write_bytes((folder / "4.csv").read_bytes())
    with pytest.raises(ValueError, match="of another model, for other files or with other options"):
        predict_collection(fitted, folder, out, scheduler=scheduler)
    manifest = json.loads((out / "raremetric.json").read_text())
    for version in ({"version": "0.0.9", "format": 5}, {}):
        written = {"made_by": manifest["made_by"], **version}
        (out / "raremetric.json").write_text(json.dumps(written))
        words = "0.0.9, in format 5" if version else r"\(an earlier version\), in format 3"
        with pytest.raises(ValueError, match=rf"written by raremetric {words}; this version \("):
            predict_collection(fitted, folder, out, scheduler=scheduler)
    with pytest.raises(NotADirectoryError, match="is a file"):
        predict_collection(fitted, folder, folder / "0.csv", scheduler=scheduler)
    with pytest.raises(NotADirectoryError, match="is the name of a file"):
        predict_collection(fitted, folder, tmp_path / "new.csv", scheduler=scheduler)
    assert not (tmp_path / "new.csv").exists()


RESULT = {"rows": 700, "positive": 1, "unlike": 0, "doubts": [], "bytes": 9}


@pytest.mark.parametrize(
    "done",
    [
        {"part-00000.csv": 5},
        {"part-00000.csv": {}},
        {"part-00000.csv": {**RESULT, "bytes": "x"}},
        {"part-00000.csv": {**RESULT, "doubts": [["size", "is missing"]]}},
        ["part-00000.csv"],
        None,
    ],
)
def test_a_damaged_list_of_finished_parts(tmp_path, table, fitted, scheduler, done):
    folder, out = write_files(tmp_path / "data", table, ".csv"), tmp_path / "out"
    predict_collection(fitted, folder, out, scheduler=scheduler)
    manifest = json.loads((out / "raremetric.json").read_text())
    (out / "raremetric.json").write_text(json.dumps({**manifest, "done": done}))
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    with pytest.raises(ValueError, match=r"raremetric\.json is damaged\. Give the name of a new"):
        predict_collection(fitted, folder, out, scheduler=scheduler)
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before


def test_which_files_a_source_has(tmp_path, table):
    folder = write_files(tmp_path / "data", table, ".csv", (2400, 101))
    (folder / "_SUCCESS").touch()
    (folder / ".hidden.csv").touch()
    (folder / "notes.md").touch()
    assert [path.name for path in collection_files(folder)] == ["0.csv", "1.csv"]
    assert [path.name for path in collection_files(f"{folder}/1*")] == ["1.csv"]
    assert collection_files(folder / "0.csv") == collection_files(table) == []
    assert collection_files("-") == []
    with pytest.raises(FileNotFoundError, match=r"No file matches the pattern '.*\*\.parquet'"):
        collection_files(f"{folder}/*.parquet")
    (folder / "2.parquet").touch()
    with pytest.raises(ValueError, match=r"files of several formats: \.csv, \.parquet"):
        collection_files(folder)
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileNotFoundError, match="contains no table"):
        collection_files(tmp_path / "empty")


OTHERS = {  # a third file, and what is wrong with it
    r"2\.csv has no column 'noise', which .*0\.csv has": lambda rows: rows.drop(columns="noise"),
    r"2\.csv has a column 'more', which .*0\.csv does not": lambda rows: rows.assign(more=1),
    r"2\.csv: .* is empty in 1 of 9 rows, first in data row 9": lambda rows: rows.assign(
        y=["yes"] * 8 + [None]
    ),
}


def test_files_that_do_not_fit_together(tmp_path, table, scheduler):
    folder = write_files(tmp_path / "data", table, ".csv", (1500, 1001))
    with pytest.raises(TableError, match=r"0\.csv: There is no column 'z' for the target"):
        fit_collection(folder, "z", scheduler=scheduler)
    for sentence, change in OTHERS.items():
        change(table[:9]).to_csv(folder / "2.csv", index=False)
        with pytest.raises(TableError, match=sentence):
            fit_collection(folder, "y", scheduler=scheduler)
    (folder / "2.csv").unlink()
    with pytest.raises(ValueError, match="model for several files must be one of"):
        fit_collection(folder, "y", method="forest", scheduler=scheduler)
    with pytest.raises(FileNotFoundError, match="There is no directory"):
        fit_collection(tmp_path / "absent", "y", scheduler=scheduler)


def test_a_file_that_cannot_be_read(tmp_path, table, fitted, scheduler):
    folder = write_files(tmp_path / "data", table, ".parquet")
    (folder / "3.parquet").write_bytes(b"not Parquet")
    with pytest.raises(TableError, match=r"3\.parquet: It cannot be read as a Parquet file"):
        fit_collection(folder, "y", scheduler=scheduler)
    with pytest.raises(TableError, match=r"3\.parquet: It cannot be read as a Parquet file"):
        predict_collection(fitted, folder, tmp_path / "out", scheduler=scheduler)


def test_text_among_numbers_of_held_out_rows_is_found_with_its_row(tmp_path, scheduler):
    table = make_table(3000)
    folder = write_files(tmp_path / "data", table, ".csv", (1500, 1500))
    lines = (folder / "1.csv").read_text().splitlines()
    lines[1201] = "big," + lines[1201].partition(",")[2]
    (folder / "1.csv").write_text("\n".join(lines))
    with pytest.raises(TableError, match=r"(row 1201|'big')"):
        fit_collection(folder, "y", max_samples=300, scheduler=scheduler)
