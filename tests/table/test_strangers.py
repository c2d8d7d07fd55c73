"""Models that somebody has changed: refused in one sentence when they are loaded."""

import copy
import io
import json
import os
import tracemalloc
from contextlib import contextmanager

import numpy as np
import pandas as pd
import pytest
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from raremetric import TableEncoder
from raremetric.features import BoostedLeaves
from raremetric.study.store import Store
from raremetric.table import METHODS, ModelFileError, contents, fit_table, load_model, save_model
from raremetric.table.card import card_markdown, model_card
from tests.table.conftest import make_table
from tests.table.test_saving import members_of, write_unchecked

skops = pytest.importorskip("skops.io")


def changed(model, **fields):
    other = copy.copy(model)
    for name, value in fields.items():
        setattr(other, name, value)
    return other


def edit_schema(path, edit, **members):
    """Change the description of the objects in a file, and add members."""
    with members_of(path) as parts:
        schema = json.loads(parts[contents.SCHEMA])
        edit(schema)
        parts |= {contents.SCHEMA: json.dumps(schema).encode(), **members}


@contextmanager
def memory_below(limit):
    """Check how much memory Python allocates."""
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < limit
    finally:
        tracemalloc.stop()


ROWS = make_table()[["size", "weight", "color", "new"]].astype(
    {"color": "category", "new": "category"}
)
FIELDS = {
    "class_names": [["x"], [1, None], None],
    "ids": [None, np.array(["a"]), np.arange(3), np.arange(120.0)],
    "radius": ["far"],
    "training": [[1], {"rows": "x"}, {}, None],
    "versions": [[1]],
    "scoring": [{"a": 1}, "best", None, [1, 2], [["a", "b"], ["c", "d"]]],
    "fixed_threshold": ["x", float("nan"), 2],
    "target_name": [None, 3],
    "pipeline": [None, "x", make_pipeline(LogisticRegression()), make_pipeline(TableEncoder())],
    "data": [
        *(None, np.array(["/etc/passwd"]), np.zeros((0, 5)), {}),
        *(ROWS.head(0), ROWS.drop(columns="size"), ROWS.iloc[:, ::-1]),
        ROWS.assign(weight=pd.Categorical(["heavy"] * 120)),
    ],
    "y": [None, np.array([7]), np.full(120, 7), np.zeros(120)],
}


@pytest.mark.parametrize(
    ("field", "value"), [(field, value) for field, values in FIELDS.items() for value in values]
)
def test_changed_fields(model, tmp_path, field, value):
    path = tmp_path / "model.skops"
    write_unchecked(changed(model, **{field: value}), path, model.versions)
    with pytest.raises(ModelFileError, match="is damaged"):
        load_model(path)


def test_every_method_passes_the_checks(models, tmp_path):
    for model in map(models.__getitem__, METHODS):
        save_model(model, tmp_path / "model.skops")
        again = load_model(tmp_path / "model.skops")
        assert card_markdown(again) == card_markdown(model)
        assert model_card(again) == model_card(model)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_dates_weights_and_many_levels_pass_the_checks(tmp_path):
    frame, rng = make_table(n=300).drop(columns="id"), np.random.default_rng(0)
    frame["day"] = pd.date_range("2026-01-01", periods=300).strftime("%Y-%m-%d")
    frame["place"] = [f"{name} {i}" for i, name in enumerate(rng.choice(["a", "bc"], 300))]
    frame["__loader__"] = rng.normal(size=300)
    frame["share"] = 1.0
    model = fit_table(
        frame, "state", method="logistic", weight="share", threshold=0.3, scoring="precision>=0.2"
    )
    assert {"date", "text", "number"} == {each["kind"] for each in model.columns}
    save_model(model, tmp_path / "model.skops")
    again = load_model(tmp_path / "model.skops")
    pd.testing.assert_frame_equal(again.predict_table(frame), model.predict_table(frame))


def test_an_estimator_that_opens_files(model, tmp_path):
    secret, path = tmp_path / "secret", tmp_path / "model.skops"
    os.mkfifo(secret)  # whoever opens it waits forever
    reader = HashingVectorizer(input="filename", n_features=4, norm=None)
    last = LogisticRegression().fit(np.eye(4), [0, 1, 0, 1])
    rows = np.array([str(secret)])
    pipeline = make_pipeline(model.encoder, make_pipeline(reader, last))
    write_unchecked(changed(model, pipeline=pipeline, y=rows), path)
    with pytest.raises(ModelFileError, match=r"no model .* needs: .*HashingVectorizer"):
        load_model(path)


@pytest.mark.parametrize("loader", ["TypeNode", "ConstructorFromReduceNode", "ObjectNode"])
def test_classes_of_the_package_that_open_files(model, tmp_path, loader):
    path = tmp_path / "model.skops"
    write_unchecked(model, path)
    node = {"__class__": "Store", "__module__": Store.__module__, "__loader__": loader}

    def edit(schema):
        fields = schema["content"]["content"]
        fields["method"] = {**node, "content": fields["method"]}

    edit_schema(path, edit)
    with pytest.raises(ModelFileError, match=r"no model .* needs: raremetric.study.store.Store"):
        load_model(path)


def big_arrays(n_nodes, same_id):
    """An edit that adds nodes which refer to the same member."""
    node = {"__class__": "ndarray", "__module__": "numpy", "__loader__": "NdArrayNode"}
    nodes = [
        {**node, "type": "numpy", "file": "big.npy", "__id__": 1 if same_id else -i}
        for i in range(n_nodes)
    ]

    def edit(schema):
        fields = schema["content"]["content"]
        kind = {"__class__": "list", "__module__": "builtins", "__loader__": "ListNode"}
        fields["more"] = {**kind, "content": nodes, "__id__": 5}

    return edit


@pytest.mark.parametrize("same_id", [False, True])
def test_many_references_to_one_member(model, tmp_path, same_id):
    path, buffer = tmp_path / "model.skops", io.BytesIO()
    save_model(model, path)
    np.save(buffer, np.zeros(5_000_000))
    edit_schema(path, big_arrays(40, same_id), **{"big.npy": buffer.getvalue()})
    if same_id:  # one array
        load_model(path)
        return
    sentence = r"would unpack to 1\.5 GB, which is too much"
    with memory_below(100e6), pytest.raises(ModelFileError, match=sentence):
        load_model(path)


def test_a_long_name_of_a_row(tmp_path):
    frame = make_table()
    frame.loc[7, "id"] = "ü" * 1_000_000
    frame.loc[8, "id"] = ""
    with memory_below(100e6):  # 480 MB with a fixed width
        model = fit_table(frame, "state", method="plain", row_names="id")
        save_model(model, tmp_path / "model.skops")
        again = load_model(tmp_path / "model.skops")
    assert again.ids.tolist() == model.ids.tolist() == frame["id"].tolist()
    assert (
        again.predict_table(frame)["neighbor_1"].tolist()
        == model.predict_table(frame)["neighbor_1"].tolist()
    )


def test_names_of_rows_that_do_not_fit_together(model, tmp_path):
    path = tmp_path / "model.skops"
    save_model(model, path)

    def edit(schema):
        ids = schema["content"]["content"]["ids"]["content"]
        ids[1] = ids[0]

    edit_schema(path, edit)
    with pytest.raises(ModelFileError, match="is damaged"):
        load_model(path)


def test_a_long_class_name_among_many(tmp_path):
    frame = make_table(n=2000)
    frame["state"] = [f"{state}{i % 10}" for i, state in enumerate(frame["state"])]
    frame.loc[0, "state"] = "x" * 1_000_000
    with memory_below(60e6), pytest.warns(UserWarning, match="21 classes"):  # 84 MB, fixed width
        fit_table(frame, "state", "ill1", method="plain", ignore=["id"])


def boosted_leaves(model):
    pipelines = [each.pipeline for each in model.classifier.ensemble_.metrics]
    steps = [step for pipeline in pipelines for _, step in pipeline.steps]
    return next(step for step in steps if isinstance(step, BoostedLeaves))


@pytest.mark.parametrize(
    ("field", "number"),
    [("root", 10**9), ("root", -1), ("left", 10**9), ("left", 0), ("feature", 10**6)],
)
def test_trees_whose_numbers_lead_out_of_their_arrays(models, tmp_path, field, number):
    """Compiled code would read what is there, or never end."""
    pytest.importorskip("xgboost")
    model, path = copy.deepcopy(models["rare"]), tmp_path / "model.skops"
    leaves = boosted_leaves(model)
    wrong = np.full_like(getattr(leaves.trees_, field), number)
    leaves.trees_ = leaves.trees_._replace(**{field: wrong})
    save_model(model, path)
    with pytest.raises(ModelFileError, match="the nodes of its trees do not fit together"):
        load_model(path)


@pytest.mark.parametrize("name", ["vectors_", "coefficients_", "intercepts_", "scaler_"])
def test_support_vectors_that_do_not_fit_together(models, tmp_path, name):
    model, path = copy.deepcopy(models["svm"]), tmp_path / "model.skops"
    setattr(model.classifier.families_[0], name, np.zeros((1, 3)))
    save_model(model, path)
    with pytest.raises(ModelFileError, match="it cannot classify its first training example"):
        load_model(path)
