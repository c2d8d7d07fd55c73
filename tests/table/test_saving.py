"""Saved models: the same predictions in another process; unknown types are never loaded."""

import copy
import json
import subprocess
import sys
import warnings
from contextlib import contextmanager
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import raremetric
from raremetric.table import METHODS, ModelFileError, contents, fit_table, load_model, save_model
from raremetric.table.files import CARD, FORMAT, pack_rows, unpack_rows

skops = pytest.importorskip("skops.io")

PACKED = [f"raremetric.table.files.{name}" for name in ("PackedColumn", "PackedTexts")]

PREDICT = """
import sys
from pathlib import Path
import numpy as np
from raremetric.table import load_model
for path in Path(sys.argv[1]).glob("*.skops"):
    (found,) = load_model(path).predict_file(sys.argv[2])
    parts = [np.asarray(part) for part in found[:-1]]
    parts = [part.astype(str) if part.dtype == object else part for part in parts]
    np.savez(path.with_suffix(".npz"), *parts)
"""


@pytest.fixture
def saved(model, tmp_path):
    path = tmp_path / "model.skops"
    save_model(model, path)
    return path


def write_unchecked(model, path, versions=None):
    """Save a model as an attacker could, without the checks of save_model."""
    if isinstance(model.data, pd.DataFrame):
        model = replace(model, data=pack_rows(model.data))
    skops.dump(model, path)
    with ZipFile(path, "a") as archive:
        archive.writestr(
            CARD, json.dumps({"format": FORMAT, "versions": versions or model.versions})
        )


@contextmanager
def members_of(path):
    """The members of a file, which are written again after changes."""
    with ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    yield parts
    with ZipFile(path, "w", ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)


def change_card(path, **changes):
    """The same file with another card."""
    with members_of(path) as parts:
        card = json.loads(parts[CARD])
        for name, value in changes.items():
            (card["versions"] if name in card["versions"] else card)[name] = value
        parts[CARD] = json.dumps(card).encode()


@pytest.fixture(scope="module")
def predicted(models, path, tmp_path_factory):
    """Folder with the predictions of all models by another process."""
    folder = tmp_path_factory.mktemp("models")
    for name in METHODS:
        save_model(models[name], folder / f"{name}.skops")
    subprocess.run([sys.executable, "-c", PREDICT, str(folder), str(path)], check=True)
    return folder


@pytest.mark.parametrize("method", METHODS)
def test_another_process_predicts_the_same_bits(method, models, path, predicted):
    (expected,) = models[method].predict_file(path)
    with np.load(predicted / f"{method}.npz") as found:
        for name, part in zip(found.files, expected[:-1], strict=True):
            part = np.asarray(part)
            part = part.astype(str) if part.dtype == object else part
            assert found[name].dtype == part.dtype
            assert found[name].tobytes() == part.tobytes()


def test_all_parts_come_back(model, saved):
    again = load_model(saved)
    assert again.class_names == ["well", "ill"]
    assert again.target_name == "state"
    assert again.versions == model.versions
    assert again.ids.tolist() == [f"r{i}" for i in range(120)]
    assert again.encoder.kinds_ == model.encoder.kinds_
    pd.testing.assert_frame_equal(again.data, model.data)
    assert again.data["weight"].isna()[3]
    assert again.data["color"].isna()[5]
    assert again.X.tobytes() == model.X.tobytes()


def test_rows_of_all_types_come_back():
    frame = pd.DataFrame(
        {
            "__loader__": [1.5, np.nan, -0.0],
            "whole": np.array([1, 2, 2**53 + 1]),
            "small": np.array([1, 2, 3], dtype=np.int8),
            "text": pd.Categorical(["ü", None, "\ud800"], categories=["more", "ü", "\ud800"]),
            "day": pd.to_datetime(["2026-01-31 12:30", None, "1901-01-01 00:00"]).astype("M8[us]"),
            "zoned": pd.to_datetime(["2026-01-31", None, "1901-01-01"], utc=True).astype(
                "datetime64[us, UTC]"
            ),
        }
    )
    packed = skops.loads(skops.dumps(pack_rows(frame)), trusted=PACKED)
    found = unpack_rows(packed)
    expected = frame.assign(text=frame["text"].cat.remove_unused_categories())
    pd.testing.assert_frame_equal(found, expected)
    assert np.signbit(found["__loader__"][2])


@pytest.fixture(scope="module")
def drawn(path, tmp_path_factory):
    """A model that learned from some of the rows, and its file."""
    model = fit_table(path, "state", method="gmml", ignore=["id"], max_samples=60)
    file = tmp_path_factory.mktemp("drawn") / "model.skops"
    save_model(model, file)
    return model, file


def test_a_model_that_learned_from_some_of_the_rows_is_saved(drawn, path):
    model, file = drawn
    pd.testing.assert_frame_equal(load_model(file).predict_table(path), model.predict_table(path))


def test_a_file_contains_types_of_the_package_and_trusted_ones_of_scikit_learn(predicted, drawn):
    files = [*predicted.glob("*.skops"), drawn[1]]
    found = [contents.read_contents(each.read_bytes()) for each in files]
    types = {name for each in found for name in each.types}
    assert {name for name in types if name.startswith("sklearn.")} == contents.SKLEARN_TYPES
    assert not any(each.untrusted for each in found)
    for file in files:
        untrusted = skops.get_untrusted_types(file=file)
        assert all(name.startswith("raremetric.") for name in untrusted)
    boosted = ("BoostedTrees", "raremetric.features.trees.")
    assert not any("Tree" in name and not any(map(name.count, boosted)) for name in types)


def test_classes_outside_the_package(path, doubled, tmp_path):
    file = tmp_path / "model.skops"
    method = "sklearn.linear_model:LogisticRegression"
    logistic = fit_table(path, "state", method=method, ignore=["id"])
    save_model(logistic, file)
    (found,), (expected,) = (each.predict_file(path) for each in (load_model(file), logistic))
    np.testing.assert_array_equal(found.probability, expected.probability)
    naive = fit_table(path, "state", method="sklearn.naive_bayes:GaussianNB", ignore=["id"])
    with pytest.raises(ModelFileError, match=r"GaussianNB cannot be saved"):
        save_model(naive, file)
    own = fit_table(path, "state", method=doubled, ignore=["id"])
    assert own.predict_table(path)["class"].isin(["ill", "well"]).all()
    with pytest.raises(ModelFileError, match=r"doubled_learner.Doubled cannot be saved"):
        save_model(own, tmp_path / "own.skops")
    assert not (tmp_path / "own.skops").exists()


class Marker:
    """An object that writes a file when it is loaded or called."""

    def __init__(self, path):
        self.path = path

    def __setstate__(self, state):
        Path(state["path"]).write_text("run")

    def __call__(self, X):
        Path(self.path).write_text("run")
        return X


def refused(model, path, step, match):
    """Check that a model with this step before its classifier is neither saved nor loaded."""
    evil = make_pipeline(step, model.classifier)
    model = replace(model, pipeline=make_pipeline(model.encoder, evil))
    with pytest.raises(ModelFileError, match="cannot be saved: a model file contains only"):
        save_model(model, path)
    write_unchecked(model, path)
    with pytest.raises(ModelFileError, match=match):
        load_model(path)


@pytest.mark.parametrize("disguise", [lambda marker: marker, FunctionTransformer])
def test_a_tampered_file_is_refused_and_not_run(model, tmp_path, disguise):
    marker, path = tmp_path / "marker", tmp_path / "model.skops"
    step = disguise(Marker(str(marker)))
    refused(model, path, step, r"Marker. It was not loaded, and nothing in it")
    assert not marker.exists()
    # It would run if the file were trusted.
    skops.load(path, trusted=skops.get_untrusted_types(file=path))
    assert marker.exists()


def test_functions_of_the_package_are_not_trusted(model, tmp_path):
    step = FunctionTransformer(fit_table)
    refused(model, tmp_path / "model.skops", step, r"raremetric.table.fitting.fit_table")


@pytest.mark.parametrize(
    ("number", "words"), [(FORMAT + 1, "a newer"), (FORMAT - 1, "an older"), (None, "an older")]
)
def test_another_format_is_refused(saved, number, words):
    change_card(saved, format=number, raremetric="9.9")
    sentence = rf"saved with {words} raremetric \(9.9\), in format {number}; .* format {FORMAT}"
    with pytest.raises(ModelFileError, match=sentence):
        load_model(saved)


def test_another_version_is_a_warning(saved):
    change_card(saved, raremetric="0.0.1")
    words = (
        rf"saved with raremetric 0.0.1 \(installed: {raremetric.__version__}\): its predictions may"
    )
    with pytest.warns(UserWarning, match=words):
        load_model(saved)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        change_card(saved, raremetric=raremetric.__version__)
        load_model(saved)


def with_card(text):
    buffer = BytesIO()
    with ZipFile(buffer, "w") as archive:
        archive.writestr(CARD, text)
    return buffer.getvalue()


NO_MODELS = [b"", b"row,class\n1,2\n", b"PK\x03\x04 and nothing more"]
CARDS = ["[]", "null", "3", '{"versions": []}', "[" * 100_000 + "]" * 100_000, "{"]


@pytest.mark.parametrize("content", [*NO_MODELS, *map(with_card, CARDS)])
def test_other_files_are_not_models(tmp_path, content):
    path = tmp_path / "model.skops"
    path.write_bytes(content)
    with pytest.raises(ModelFileError, match=r"is not a model saved by raremetric. Create"):
        load_model(path)


@pytest.mark.parametrize(
    ("start", "number", "sentence"),
    [
        (6, (99).to_bytes(2, "little"), r"is not a model saved by raremetric. Create"),  # version
        (24, (2**31).to_bytes(4, "little"), r"would unpack to 2.0 GB, which is too much"),  # size
    ],
)
def test_strange_numbers_in_the_directory_of_a_file(saved, start, number, sentence):
    data = bytearray(saved.read_bytes())
    start += data.rindex(b"PK\x01\x02")  # the entry of the card
    data[start : start + len(number)] = number
    saved.write_bytes(bytes(data))
    with pytest.raises(ModelFileError, match=sentence):
        load_model(saved)


def test_a_library_that_quotes_the_file_at_length(saved):
    data = bytearray(saved.read_bytes())
    data[26:28] = (3000).to_bytes(2, "little")  # the length of the name in the first header
    saved.write_bytes(bytes(data))
    with pytest.raises(
        ModelFileError, match=r"is damaged .* File name in directory .* …"
    ) as caught:
        load_model(saved)
    assert len(str(caught.value)) < 500


def test_an_incomplete_file_and_another_object(saved, tmp_path):
    other = tmp_path / "other.skops"
    skops.dump([1, 2], other)
    with members_of(saved) as parts, ZipFile(other, "a") as archive:
        archive.writestr(CARD, parts[CARD])
        parts.pop(next(name for name in parts if name.endswith(".npy")))
    with pytest.raises(ModelFileError, match="is damaged"):
        load_model(saved)
    with pytest.raises(ModelFileError, match="contains a list, not a model"):
        load_model(other)
    with pytest.raises(FileNotFoundError, match="There is no file"):
        load_model(tmp_path / "none.skops")


@pytest.mark.parametrize("attribute", ["ensemble_", "classes_"])
def test_an_incompatible_model_is_a_clear_error(model, tmp_path, attribute):
    path, other = tmp_path / "model.skops", copy.deepcopy(model)
    delattr(other.classifier, attribute)
    save_model(other, path)
    with pytest.raises(ModelFileError, match=r"cannot classify its first.*Fit the model again"):
        load_model(path)


def test_only_models_of_tables_are_saved(tmp_path):
    with pytest.raises(TypeError, match=r"got RareClassifier. Save .* with joblib or skops"):
        save_model(raremetric.RareClassifier(), tmp_path / "model.skops")
