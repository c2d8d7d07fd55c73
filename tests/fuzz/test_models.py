"""Damaged model files, stores and exported results: refused in one sentence, or read."""

import gzip
import io
import json
import os
import sys
import warnings
from zipfile import ZipFile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from raremetric.study.store import Store, StoreError
from raremetric.study.text import export_results, import_results
from raremetric.table import ModelFileError, fit_table, load_model, save_model
from raremetric.table.files import CARD, FORMAT
from tests.fuzz.cases import n_cases
from tests.fuzz.mutations import check_sentence, damaged, limited_time
from tests.study.test_text import STUDY
from tests.study.test_text import store as make_store
from tests.table.conftest import make_table

pytestmark = pytest.mark.long

# What would run if a file could start a program, import a module or open a connection.
FORBIDDEN = (
    "os.system",
    "subprocess.Popen",
    "os.exec",
    "os.posix_spawn",
    "socket.connect",
    "os.remove",
)
watched: list[str] = []
listening = False


def listen(event, arguments):
    if listening and event in FORBIDDEN:
        watched.append(event)


sys.addaudithook(listen)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("fuzz")


@pytest.fixture(scope="module")
def table(folder):
    make_table().to_csv(folder / "mine.csv", index=False)
    return folder / "mine.csv"


@pytest.fixture(scope="module")
def saved(folder, table):
    """The bytes of a model, and its predictions."""
    model = fit_table(table, "state", method="plain", row_names="id")
    save_model(model, folder / "model.skops")
    load_model(folder / "model.skops")  # imports what is needed
    return (folder / "model.skops").read_bytes(), model.predict_table(table)


def try_to_load(path):
    """A model, or None if it is refused; no code of the file runs in either case."""
    global listening
    with limited_time(), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        listening = True
        try:
            return load_model(path)
        except ModelFileError as error:
            check_sentence(error)
            return None
        finally:
            listening = False
            assert watched == []


@n_cases(300)
@given(data=st.data())
def test_damaged_models(folder, table, saved, data):
    content, expected = saved
    path = folder / "damaged.skops"
    path.write_bytes(data.draw(damaged(content)))
    if (model := try_to_load(path)) is not None:  # only parts without a meaning were changed
        assert model.predict_table(table).equals(expected)


def parts_of(content):
    with ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def pack(path, parts):
    with ZipFile(path, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=6,
)


@n_cases(300)
@given(card=json_values | st.dictionaries(st.sampled_from(["format", "versions"]), json_values))
def test_cards_of_any_content(folder, saved, card):
    path = folder / "card.skops"
    pack(path, parts_of(saved[0]) | {CARD: json.dumps(card).encode()})
    model = try_to_load(path)
    assert model is None or card["format"] == FORMAT


@n_cases(300)
@given(data=st.data())
def test_edited_schemas(folder, saved, data):
    """A value in the description of the objects is replaced: another type, class or number."""
    parts = parts_of(saved[0])
    schema = json.loads(parts["schema.json"])
    node = schema
    while True:
        key = data.draw(
            st.sampled_from(sorted(node) if isinstance(node, dict) else range(len(node)))
        )
        if not isinstance(node[key], dict | list) or not node[key] or data.draw(st.booleans()):
            break
        node = node[key]
    names = ["os", "system", "builtins", "eval", "subprocess", "Popen", "__reduce__", "raremetric"]
    node[key] = data.draw(st.sampled_from(names) | json_values)
    path = folder / "schema.skops"
    pack(path, parts | {"schema.json": json.dumps(schema).encode()})
    try_to_load(path)


@n_cases(300)
@given(st.integers(2**30, 2**32 - 2))
def test_files_that_declare_too_much(folder, saved, n_bytes):
    path = folder / "bomb.skops"
    pack(path, parts_of(saved[0]))
    content = bytearray(path.read_bytes())
    with ZipFile(path) as archive:
        info = archive.getinfo(CARD)
    # The directory declares more than there is: nothing is unpacked before the sizes are checked.
    start = content.rindex(b"PK\x01\x02", 0, content.rindex(CARD.encode()))
    assert int.from_bytes(content[start + 24 : start + 28], "little") == info.file_size
    content[start + 24 : start + 28] = n_bytes.to_bytes(4, "little")
    path.write_bytes(bytes(content))
    assert try_to_load(path) is None


# Studies


@pytest.fixture(scope="module")
def study_files(folder):
    """The bytes of a store and of its exported results."""
    (folder / "whole").mkdir()
    store = make_store.__wrapped__(folder / "whole")
    export_results(store, folder / "whole" / "results.csv.gz")
    store.close()
    return store.path.read_bytes(), (folder / "whole" / "results.csv.gz").read_bytes()


def use_store(store, folder):
    """Everything that reads a store."""
    store.statuses()
    store.missing(STUDY.tasks())
    store.seconds_left(STUDY.tasks())
    store.failures(STUDY.tasks())
    store.results()
    store.details()
    export_results(store, folder / "again.csv.gz")


@n_cases(300)
@given(data=st.data())
def test_damaged_stores(folder, study_files, data):
    path = folder / "damaged.sqlite"
    content = data.draw(damaged(study_files[0]))
    path.write_bytes(content)
    with limited_time():
        try:
            store = Store(path)
        except StoreError as error:
            check_sentence(error)
        else:
            try:
                use_store(store, folder)
            except ValueError as error:
                check_sentence(error)
            finally:
                store.close()
    assert path.read_bytes() == content  # reading changes nothing


def try_to_import(path, folder):
    new = folder / "new.sqlite"
    new.unlink(missing_ok=True)
    with limited_time():
        try:
            import_results(path, new)
        except StoreError as error:
            check_sentence(error)
            assert not new.exists()
            return
    store = Store(new)
    use_store(store, folder)
    store.close()


@n_cases(300)
@given(data=st.data(), inside=st.booleans())
def test_damaged_results(folder, study_files, data, inside):
    path, content = folder / "damaged.csv.gz", study_files[1]
    if inside:
        content = gzip.compress(data.draw(damaged(gzip.decompress(content))), compresslevel=1)
    else:
        content = data.draw(damaged(content))
    path.write_bytes(content)
    try_to_import(path, folder)


@n_cases(300)
@given(data=st.data())
def test_edited_definitions(folder, study_files, data):
    """A value of a study is replaced."""
    head, rest = gzip.decompress(study_files[1]).split(b"\n", 1)
    values = json.loads(head)
    study = values["studies"][0]
    field = data.draw(st.sampled_from([*study, "leader", "few_positives", "splits"]))
    study[field] = data.draw(json_values)
    text = json.dumps(values).encode() + b"\n" + rest
    (folder / "edited.csv.gz").write_bytes(gzip.compress(text, compresslevel=1))
    try_to_import(folder / "edited.csv.gz", folder)


def test_the_watch_sees_what_runs():
    global listening
    listening = True
    try:
        os.system("true")
    finally:
        listening = False
    assert watched.pop() == "os.system"
