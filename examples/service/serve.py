"""A saved model behind HTTP, with nothing but the standard library.

    python serve.py model.skops --port 8000

    POST /predict   a JSON list of rows, each an object from every column to a value or null
    GET  /health    versions, columns, classes and threshold
    GET  /metrics   counters in the text format of Prometheus

Threads share one model. Each process has its own: run several, with a load balancer before them,
to use several cores.
"""

from __future__ import annotations

import argparse
import json
import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pandas as pd

from raremetric.table import TableModel, load_model

MAX_BYTES, MAX_ROWS = 10_000_000, 10_000


class ModelServer(ThreadingHTTPServer):
    """Answers requests with one model, and counts what it has seen."""

    def __init__(self, model: TableModel, address: tuple[str, int]):
        super().__init__(address, Handler)
        self.model = model
        self.counts: Counter[str] = Counter()
        self._lock = threading.Lock()

    def predict(self, rows: list[dict]) -> list[dict]:
        """What `raremetric predict` writes, for each row."""
        self.check_columns(rows)
        found = self.model.predict_table(pd.DataFrame(rows))
        unlike = found["unlike_training"].fillna("")
        with self._lock:
            self.counts["rows"] += len(found)
            self.counts["alerts"] += int((found["probability"] >= self.model.threshold).sum())
            self.counts["unlike_training"] += int((unlike != "").sum())
            self.counts["probability_sum"] += float(found["probability"].sum())
        return json.loads(found.to_json(orient="records"))

    def check_columns(self, rows: list[dict]) -> None:
        """Refuse a row without all columns, or with others than the class and the id."""
        columns = [*map(str, self.model.encoder.feature_names_in_)]
        known = {*columns, self.model.target_name, self.model.id_name}
        for number, row in enumerate(rows, 1):
            lacking = [name for name in columns if name not in row]
            unknown = [name for name in row if name not in known]
            wrong = [
                f"{verb} {'column' if len(names) == 1 else 'columns'} {', '.join(map(repr, names))}"
                for verb, names in (("lacks the", lacking), ("has the unknown", unknown))
                if names
            ]
            if wrong:
                raise ValueError(
                    f"Row {number} {' and '.join(wrong)}; send every column of GET /health, null "
                    "for a missing value."
                )

    def health(self) -> dict:
        """What the service is."""
        model = self.model
        return {
            "versions": model.versions,
            "columns": [*map(str, model.encoder.feature_names_in_)],
            "classes": model.class_names,
            "threshold": model.threshold,
        }

    def metrics(self) -> str:
        """The counters, one per line."""
        names = ("rows", "alerts", "unlike_training", "probability_sum", "errors")
        with self._lock:
            return "".join(f"raremetric_{name} {self.counts[name]}\n" for name in names)

    def count_error(self) -> None:
        """Count a request that was refused."""
        with self._lock:
            self.counts["errors"] += 1


class Handler(BaseHTTPRequestHandler):
    """One request."""

    server: ModelServer

    def do_GET(self) -> None:
        """Say what the service is, or what it has seen."""
        if self.path == "/health":
            self.answer(200, json.dumps(self.server.health()))
        elif self.path == "/metrics":
            self.answer(200, self.server.metrics(), "text/plain; version=0.0.4")
        else:
            self.refuse(404, "Known are GET /health, GET /metrics and POST /predict.")

    def do_POST(self) -> None:
        """Classify the rows of a request."""
        if self.path != "/predict":
            return self.refuse(404, "Known are GET /health, GET /metrics and POST /predict.")
        size = int(self.headers.get("Content-Length", 0))
        if not 0 < size <= MAX_BYTES:
            return self.refuse(413, f"A request has 1 to {MAX_BYTES} bytes and a Content-Length.")
        try:
            rows = json.loads(self.rfile.read(size))
        except ValueError as error:
            return self.refuse(400, f"The request is not JSON: {error}")
        if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
            return self.refuse(400, "The request is not a list of objects.")
        if not 1 <= len(rows) <= MAX_ROWS:
            return self.refuse(
                400, f"The request has {len(rows)} rows; 1 to {MAX_ROWS} can be sent."
            )
        try:
            return self.answer(200, json.dumps(self.server.predict(rows)))
        except ValueError as error:  # a value that the training data cannot have
            return self.refuse(400, str(error))

    def refuse(self, status: int, message: str) -> None:
        """Answer with an error."""
        self.server.count_error()
        self.answer(status, json.dumps({"error": message}))

    def answer(self, status: int, text: str, kind: str = "application/json") -> None:
        """Send a text of this type."""
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--check", action="store_true", help="load the model, and end")
    options = parser.parse_args()
    model = load_model(options.model)  # also classifies a row, which compiles what is missing
    if not options.check:
        ModelServer(model, (options.host, options.port)).serve_forever()


if __name__ == "__main__":
    main()
