"""Compare exported models in onnxruntime with ``predict_proba``: difference and CPU time.

    python benchmarks/export.py

Both sides run in one thread, one after the other, on the same rows. A ratio is the CPU seconds of
onnxruntime divided by those of ``RareClassifier.predict_proba``, the median of five.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import onnxruntime
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split

from raremetric import RareClassifier
from raremetric.datasets import load_dataset
from raremetric.export import to_onnx

DATA = ("wine", "pima", "abalone")
BATCHES = (1, 100, 1000)


def main() -> None:
    batches = " | ".join(f"ratio, {size} row{'s' * (size > 1)}" for size in BATCHES)
    print(f"| data set | examples | file in MB | largest difference | {batches} |")
    print("|---" * (4 + len(BATCHES)) + "|")
    for name in DATA:
        X, y = load_dataset(name, return_X_y=True)
        X, X_test, y, _ = train_test_split(X, y, test_size=0.3, stratify=y, random_state=0)
        model = RareClassifier(1e-3, random_state=0).fit(X, y)
        content = to_onnx(model)
        exported = one_thread(content)
        _, p = exported(X_test)
        difference = np.abs(p - model.predict_proba(X_test)).max()
        ratios = []
        for size in BATCHES:
            rows = np.resize(X_test, (size, X.shape[1]))
            ratios.append(seconds(exported, rows) / seconds(model.predict_proba, rows))
        cells = [name, len(X), f"{len(content) / 1e6:.1f}", f"{difference:.0e}"]
        print("|", " | ".join(map(str, [*cells, *(f"{each:.1f}" for each in ratios)])), "|")


def one_thread(content: bytes) -> Callable[[NDArray], list[NDArray]]:
    """The exported model as a function."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(content, options)
    return lambda X: session.run(None, {"X": X})


def seconds(function: Callable, rows: NDArray) -> float:
    """CPU seconds of calls for about 1000 rows, after a first one."""
    function(rows)
    times = []
    for _ in range(5):
        start = time.process_time()
        for _ in range(1000 // len(rows)):
            function(rows)
        times.append(time.process_time() - start)
    return float(np.median(times))


if __name__ == "__main__":
    main()
