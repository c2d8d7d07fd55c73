"""The HTTP service of examples/service answers as the model does."""

import json
import re
import threading
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from examples.service.serve import MAX_ROWS, ModelServer
from raremetric.table import fit_table, load_model, save_model

ROW = {"amount": 1.0, "age": 30, "country": "far"}
FOLDER = Path(__file__).parent.parent / "examples" / "service"


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    y = np.arange(200) < 40
    return pd.DataFrame(
        {
            "amount": rng.normal(size=200) + 2 * y,
            "age": rng.integers(18, 80, size=200),
            "country": np.where(rng.random(200) < 0.3 + 0.5 * y, "far", "near"),
            "fraud": np.where(y, "yes", "no"),
        }
    )


@pytest.fixture(scope="module")
def server(frame, tmp_path_factory):
    path = tmp_path_factory.mktemp("service") / "model.skops"
    save_model(fit_table(frame, "fraud", method="iml"), path)
    server = ModelServer(load_model(path), ("127.0.0.1", 0))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


def request(server, path, body=None):
    """The status and the text of an answer."""
    data = None if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{server.server_port}{path}", data) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def rows_of(frame):
    return json.loads(frame.drop(columns="fraud").to_json(orient="records"))


def test_predictions_are_those_of_the_model(server, frame):
    status, text = request(server, "/predict", rows_of(frame.head(5)))
    expected = server.model.predict_table(frame.head(5))
    assert status == 200
    found = pd.DataFrame(json.loads(text))
    assert found.columns.tolist() == expected.columns.tolist()
    assert found["class"].tolist() == expected["class"].tolist()
    np.testing.assert_allclose(found["probability"], expected["probability"], atol=1e-9)


def test_threads_share_one_model(server, frame):
    parts = [frame.iloc[i : i + 20] for i in range(0, 200, 20)]
    with ThreadPoolExecutor(4) as pool:
        answers = [*pool.map(lambda part: request(server, "/predict", rows_of(part)), parts)]
    for part, (status, text) in zip(parts, answers, strict=True):
        assert status == 200
        probabilities = [row["probability"] for row in json.loads(text)]
        expected = server.model.predict_table(part)["probability"]
        np.testing.assert_allclose(probabilities, expected, atol=1e-9)


def test_what_was_seen_is_counted(server, frame):
    def counts():
        lines = request(server, "/metrics")[1].splitlines()
        return {name: float(value) for name, value in (line.split() for line in lines)}

    before = counts()
    row = rows_of(frame)[0]
    strange = [{**row, "country": "elsewhere"}, {"amount": 1e6, "age": None, "country": None}]
    status, text = request(server, "/predict", strange)
    assert status == 200
    assert "country" in json.loads(text)[0]["unlike_training"]
    after = counts()
    assert after["raremetric_rows"] - before["raremetric_rows"] == 2
    assert after["raremetric_unlike_training"] - before["raremetric_unlike_training"] == 2


def test_the_state_of_the_service(server):
    status, text = request(server, "/health")
    assert status == 200
    found = json.loads(text)
    assert found["columns"] == ["amount", "age", "country"]
    assert found["threshold"] == server.model.threshold


@pytest.mark.parametrize(
    ("path", "body", "status", "message"),
    [
        ("/other", None, 404, "Known are"),
        ("/predict", b"{", 400, "not JSON"),
        ("/predict", {"amount": 1}, 400, "not a list"),
        ("/predict", [], 400, "0 rows"),
        ("/predict", [{}] * (MAX_ROWS + 1), 400, f"{MAX_ROWS + 1} rows"),
        ("/predict", [{**ROW, "amount": "many"}], 400, "amount"),
        ("/predict", [ROW, {}], 400, "Row 2 lacks the columns 'amount', 'age', 'country'"),
        ("/predict", [{"amount": 1, "age": 20}], 400, "Row 1 lacks the column 'country'"),
        ("/predict", [{**ROW, "land": "far"}], 400, "Row 1 has the unknown column 'land'"),
        (
            "/predict",
            [{"amount": 1, "age": 20, "land": "far"}],
            400,
            "Row 1 lacks the column 'country' and has the unknown column 'land'",
        ),
    ],
)
def test_bad_requests_get_one_sentence(server, path, body, status, message):
    found, text = request(server, path, body)
    assert found == status
    assert message in json.loads(text)["error"]


def test_the_class_of_a_row_may_be_sent(server):
    status, text = request(server, "/predict", [ROW])
    assert status == 200
    assert request(server, "/predict", [{**ROW, "fraud": "no"}]) == (status, text)


def test_the_container_file_copies_files_that_exist():
    """It is not built here: that needs a container engine and the network."""
    text = (FOLDER / "Containerfile").read_text()
    copied = re.findall(r"^COPY (?:--\S+ )?(.*) \S+$", text, re.MULTILINE)
    names = [name for line in copied for name in line.split()]
    assert names == ["dist/*.whl", "examples/service/serve.py", "model.skops"]
    assert "serve.py model.skops --check" in text
