"""Use an installed raremetric as its documentation says: run by tools/dist.py, not by hand.

It is copied out of the repository and run as `python wheel_checks.py EXTRA` in an environment that
has the wheel with that extra and nothing else. Each check raises an error if something is wrong.
"""

from __future__ import annotations

import json
import os
import runpy
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed

import raremetric

COMMAND = str(Path(sys.executable).with_name("raremetric"))


def run(*arguments: str, code: int = 0) -> subprocess.CompletedProcess[str]:
    """Run the command `raremetric`, which must end with the given exit code."""
    done = subprocess.run([COMMAND, *arguments], capture_output=True, text=True)
    assert done.returncode == code, f"raremetric {' '.join(arguments)}: {done.stdout}{done.stderr}"
    return done


def small_problem() -> tuple[np.ndarray, np.ndarray]:
    """Forty points, ten of them in the rare class."""
    X = np.random.RandomState(0).normal(size=(40, 3))
    y = np.repeat([0, 1], [30, 10])
    return X + 2 * y[:, None], y


def check_library() -> None:
    """The library alone: learners, classifiers, and one sentence from the command."""
    X, y = small_problem()
    model = raremetric.MetricKNNClassifier(raremetric.IML()).fit(X, y)
    assert model.predict(X).shape == (40,)
    assert raremetric.RareClassifier(budget=1e-6, random_state=0).fit(X, y).predict(X).any()
    assert 'pip install ".[study]" in a clone' in run(code=2).stderr


def check_datasets() -> None:
    """The data sets by name, from both packages that contain them, and files."""
    from raremetric.datasets import list_datasets, load_dataset
    from raremetric.table import read_table

    for collection in ("paper", "keel"):
        X, y = load_dataset(sorted(list_datasets(collection))[0], return_X_y=True)
        assert len(X) == len(y)
    Path("table.csv").write_text("a,b,kind\n" + "1,x,yes\n2,y,no\n3,x,no\n" * 5)
    assert len(read_table("table.csv", target="kind").target) == 15


def check_study() -> None:
    """The command line, the reports, the studies and the service."""
    assert run("--version").stdout.strip() == version("raremetric")
    assert "compare" in run("--help").stdout
    run("datasets", "wine", "--export", "wine.csv")
    target = Path("wine.csv").read_text().splitlines()[0].split(",")[-1]
    options = ("--target", target)
    run(*("compare", "wine.csv", *options, "--methods", "plain,gmml,boosting", "--folds", "2"))
    run("fit", "wine.csv", *options, "--model", "iml", "-o", "model.skops")
    run("predict", "model.skops", "wine.csv", "-o", "found.csv")
    run("explain", "model.skops", "wine.csv", "--row", "1")
    run("review", "model.skops", "wine.csv", "--top", "2", "-o", "review.html")
    run("info", "model.skops")
    chosen = ("--datasets", "wine,glass", "--learners", "Euclidean,GMML", "--splits", "1")
    Path("mine.toml").write_text(
        'datasets = ["wine", "glass", "yeast"]\n[learners.Euclidean]\n'
        "[learners.GMML]\n[learners.IML]\n"
    )
    run("study", "run", "mine.toml", *chosen)
    files = json.loads(run("study", "report", "--out", "report", "--json").stdout)["files"]
    pages = ["comparison.html", "review.html", *(file for file in files if file.endswith("html"))]
    assert len(pages) == 3
    for page in pages:
        assert "<style" in Path(page).read_text()
    sys.argv = ["serve.py", "model.skops", "--check"]
    runpy.run_path("service/serve.py", run_name="__main__")


def check_onnx() -> None:
    """The exported model predicts the same as the model."""
    import onnxruntime

    from raremetric.export import to_onnx

    X, y = small_problem()
    model = raremetric.MetricKNNClassifier(raremetric.GMML(random_state=0)).fit(X, y)
    session = onnxruntime.InferenceSession(to_onnx(model))
    assert (session.run(["label"], {"X": X})[0] == model.predict(X)).all()


def check_container() -> None:
    """Without a place for compiled functions, all works, and each command says so in one note.

    For a user without a home who cannot write to the installed package; see confinement.py.
    """
    X, y = small_problem()
    model = raremetric.MetricKNNClassifier(raremetric.Euclidean()).fit(X, y)
    Parallel(n_jobs=2)(delayed(model.predict)(X) for _ in range(2))  # processes, without notes
    assert "compare" in run("--help").stdout
    np.savetxt("table.csv", np.c_[X, y], delimiter=",", header="a,b,c,kind", comments="")
    fit = ("fit", "table.csv", "--target", "kind", "--model", "plain", "-o", "model.skops")
    predict = ("predict", "model.skops", "table.csv", "-o", "found.csv")
    for words in (fit, predict):
        assert run(*words).stderr.count("NUMBA_CACHE_DIR") == 1, words
    for name, value in (("NUMBA_CACHE_DIR", "cache"), ("NUMBA_DISABLE_JIT", "1")):
        os.environ[name] = value
        assert run("info", "model.skops").stderr == ""
        del os.environ[name]
    assert list(Path("cache").rglob("*.nbc"))


CHECKS = {
    "library": check_library,
    "datasets": check_datasets,
    "study": check_study,
    "onnx": check_onnx,
    "container": check_container,
}

if __name__ == "__main__":
    assert Path(raremetric.__file__).is_relative_to(sys.prefix), raremetric.__file__
    assert raremetric.__version__ == version("raremetric")
    CHECKS[sys.argv[1]]()
