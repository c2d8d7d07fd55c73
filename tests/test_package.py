"""What the package promises as a whole."""

import inspect
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pandas as pd
import pytest
import yaml
from packaging.requirements import Requirement
from packaging.version import Version

import raremetric
from raremetric import IMLCV
from raremetric.extras import import_optional
from raremetric.learners.base import MetricLearner
from tests.conftest import make_problem
from tools import versions

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
TESTED_EXTRAS = ("dask", "datasets", "trees", "study", "onnx", "test")


def test_public_names():
    for name in raremetric.__all__:
        assert getattr(raremetric, name) is not None
    with pytest.raises(AttributeError, match=r"no attribute 'NotThere'"):
        raremetric.NotThere  # noqa: B018


def test_importing_does_not_import_numba_or_the_extras():
    code = (
        "import sys, raremetric; "
        "heavy = {'numba', 'matplotlib', 'imblearn', 'typer', 'raremetric.datasets'}; "
        "print(sorted(heavy & set(sys.modules)))"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "[]"


def public_estimators():
    return [
        value for name in raremetric.__all__ if inspect.isclass(value := getattr(raremetric, name))
    ]


@pytest.mark.parametrize(
    "line",
    [
        "raise ImportError('no symbol')",
        "raise OSError('libgomp.so.1: missing')",
        "import a_package_that_it_needs",
    ],
)
def test_a_package_that_cannot_be_imported_is_not_said_to_be_missing(line, tmp_path, monkeypatch):
    (tmp_path / "broken_package.py").write_text(line)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ImportError, match=r"Drawing needs broken_package, but it cannot be .*: "):
        import_optional("broken_package", "Drawing")


@pytest.mark.usefixtures("few_candidates")
@pytest.mark.parametrize("estimator", public_estimators())
def test_every_parameter_and_attribute_is_documented(estimator):
    document = inspect.getdoc(estimator)
    for parameter in inspect.signature(estimator).parameters:
        assert f"\n{parameter} : " in document, f"{estimator.__name__}: {parameter}"
    X, y = make_problem(0, n_samples=40)
    takes_frames = estimator is raremetric.TableEncoder
    fitted = estimator().fit(pd.DataFrame(X, columns=[*"abc"]) if takes_frames else X, y)
    public = [name for name in vars(fitted) if name.endswith("_") and not name.startswith("_")]
    for attribute in public:
        listed = rf"^(\w+, )*{attribute}(, \w+)* : "
        assert re.search(listed, document, re.MULTILINE), f"{estimator.__name__}: {attribute}"
    if issubclass(estimator, MetricLearner):
        assert {"components_", "n_features_in_", "classes_"} <= set(public)
        assert ("n_iter_" in public) == ("max_iter" in fitted.get_params() or estimator is IMLCV)


def test_the_version_is_that_of_the_newest_release_in_the_changelog():
    releases = re.findall(r"^## (.*)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert releases[0] == "Unreleased"
    newest = re.fullmatch(r"(\S+) \(\d{4}-\d\d-\d\d\)", releases[1]).group(1)
    assert Version(raremetric.__version__) >= Version(newest)
    assert Version(raremetric.__version__).base_version == newest or (
        Version(raremetric.__version__).is_prerelease
    )


def lower_bounds():
    """The lower bound of each dependency that the tests use, by its name."""
    extras = PROJECT["optional-dependencies"]
    texts = [*PROJECT["dependencies"], *(text for name in TESTED_EXTRAS for text in extras[name])]
    bounds = {}
    for requirement in map(Requirement, texts):
        lower = [each.version for each in requirement.specifier if each.operator == ">="]
        if lower:
            bounds[requirement.name] = Version(lower[0])
    # macOS has the same versions under another name.
    assert bounds.pop("xgboost") == bounds["xgboost-cpu"]
    return bounds


def test_lower_bounds_are_the_oldest_versions_that_are_tested():
    lines = (ROOT / "requirements" / "oldest.txt").read_text().splitlines()
    pins = [Requirement(line) for line in lines if not line.startswith("#")]
    oldest = {pin.name: Version(str(pin.specifier).removeprefix("==")) for pin in pins}
    assert oldest == lower_bounds()


def test_every_dependency_of_the_package_has_a_lower_bound_or_an_exact_version():
    groups = [PROJECT["dependencies"], *PROJECT["optional-dependencies"].values()]
    for requirement in (Requirement(text) for group in groups for text in group):
        operators = {each.operator for each in requirement.specifier}
        assert requirement.name == "raremetric" or operators & {">=", "=="}, str(requirement)


def make_targets():
    text = (ROOT / "Makefile").read_text().replace("\\\n", " ")
    phony = re.search(r"^\.PHONY: (.*)$", text, re.MULTILINE).group(1).split()
    defined = re.findall(r"^([a-z-]+):.*##", text, re.MULTILINE)
    assert sorted(phony) == sorted(defined)
    return set(defined)


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_call_existing_targets(path):
    workflow = yaml.safe_load(path.read_text())
    assert workflow["permissions"] == {"contents": "read"}
    steps = [step for job in workflow["jobs"].values() for step in job["steps"]]
    called = re.findall(r"\bmake ([a-z-]+)", "\n".join(step.get("run", "") for step in steps))
    assert called
    assert set(called) <= make_targets()
    for step in steps:  # no step needs the token of the checkout
        if step.get("uses", "").startswith("actions/checkout@"):
            assert step["with"] == {"persist-credentials": False}


def test_workflows_call_every_target_that_checks():
    text = "".join(path.read_text() for path in WORKFLOWS)
    called = set(re.findall(r"\bmake ([a-z-]+)", text))
    assert called >= {"test", "test-browser", "test-versions", "docs", "dist", "fuzz", "audit"}


def test_the_matrix_has_all_versions():
    jobs = [
        job
        for path in WORKFLOWS
        for job in yaml.safe_load(path.read_text())["jobs"].values()
        if "matrix" in job.get("strategy", {})
    ]
    (matrix,) = [job["strategy"]["matrix"] for job in jobs]
    classifiers = re.findall(r"Python :: (3\.\d+)", " ".join(PROJECT["classifiers"]))
    assert matrix["python"] == classifiers
    assert set(matrix["set"]) == set(versions.OPTIONS)


def test_names_that_are_imported_on_first_use_are_completed():
    code = (
        "import raremetric, raremetric.study, raremetric.table\n"
        "for package in (raremetric, raremetric.study, raremetric.table):\n"
        "    assert {*package.__all__} <= {*dir(package)}, package"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_calls_that_contributing_lists_exist():
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    words = re.findall(r"`([^`\s]+)`", text.partition("Four paths")[2].partition("\n## ")[0])
    package = Path(raremetric.__file__).parent
    sources = [path.read_text("utf-8") for path in package.rglob("*.py")]
    for word in words:
        if word.endswith(".py"):
            assert (package / word).exists(), word
        elif re.fullmatch(r"([A-Za-z]+\.)?[a-z]*_[a-z_]+", word):  # a function, or a method
            name = word.rpartition(".")[2]
            assert any(f"def {name}(" in source for source in sources), word
