"""The examples in docstrings, in the README and in the documentation run."""

import doctest
import re
import sys
from pathlib import Path
from pkgutil import resolve_name

import pytest
from sklearn.datasets import make_classification
from sklearn.metrics import f1_score
from sklearn.model_selection import StratifiedKFold
from sklearn.utils.estimator_checks import check_estimator

import raremetric
from raremetric import explain, export
from raremetric.study.reading import read_study

ROOT = Path(__file__).parent.parent
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
# Some examples use the default parameters on data for which these need more iterations.
pytestmark = pytest.mark.filterwarnings("ignore:IML stopped after")


@pytest.mark.parametrize("name", [name for name in raremetric.__all__ if name[0].isupper()])
def test_docstrings(name):
    finder = doctest.DocTestFinder(recurse=False)
    runner = doctest.DocTestRunner(optionflags=OPTIONS)
    tests = finder.find(getattr(raremetric, name), name)
    assert sum(len(test.examples) for test in tests) > 0
    for test in tests:
        assert runner.run(test).failed == 0


@pytest.mark.parametrize(
    "function",
    [
        explain.column_contributions,
        explain.column_importances,
        explain.distance_contributions,
        explain.feature_weights,
        explain.counterfactual_changes,
        export.to_onnx,
    ],
)
def test_docstrings_of_functions(function):
    tests = doctest.DocTestFinder(recurse=False).find(function)
    assert sum(len(test.examples) for test in tests) > 0
    for test in tests:
        assert doctest.DocTestRunner(optionflags=OPTIONS).run(test).failed == 0


@pytest.mark.parametrize("page", ["README.md", "docs/guide.md", "docs/rare.md", "docs/table.md"])
def test_pages(page):
    result = doctest.testfile(str(ROOT / page), module_relative=False, optionflags=OPTIONS)
    assert result.attempted > 0
    assert result.failed == 0


def test_first_example_of_the_readme(capsys):
    code = re.search(r"```python\n(from .*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    exec(code.group(1), {})
    assert 0 <= float(capsys.readouterr().out) <= 1


@pytest.fixture
def added_learner(tmp_path, monkeypatch):
    """The import path of the class on the page "Add a learner", in a module outside the package."""
    text = (ROOT / "docs" / "add-a-learner.md").read_text()
    code = re.search(r"```python\n(.*?)```", text, re.DOTALL)
    (tmp_path / "added_learner.py").write_text(code.group(1))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "added_learner", raising=False)
    return "added_learner:VarianceRatio"


def test_the_learner_of_its_page(added_learner):
    learner = resolve_name(added_learner)
    check_estimator(learner())
    result = doctest.testfile(
        str(ROOT / "docs" / "add-a-learner.md"),
        module_relative=False,
        optionflags=OPTIONS,
        extraglobs={"VarianceRatio": learner},
    )
    assert result.attempted > 0
    assert result.failed == 0


def test_the_learner_of_its_page_can_be_compared(added_learner):
    contenders = pytest.importorskip("raremetric.contenders")
    X, y = make_classification(90, 5, weights=[0.8], class_sep=2, random_state=0)
    contender = contenders.make_contender(added_learner, "ratio", grid={"power": [0.0, 1.0, 2.0]})
    folds = list(StratifiedKFold(3).split(X[:60], y[:60]))
    tuned = contender.fit(contender.candidates(1), X[:60], y[:60], folds=folds, seed=0)
    assert set(tuned.chosen) == {"power"}
    assert f1_score(y[60:], tuned.answer(X[60:]).predicted) > 0.5


def test_links_of_the_readme_lead_to_files():
    text = (ROOT / "README.md").read_text()
    for target in re.findall(r"\]\(([^)#]+)\)", text):
        assert (ROOT / target).exists(), target


def test_the_study_of_its_page_can_be_read(tmp_path):
    text = (ROOT / "docs" / "study.md").read_text()
    path = tmp_path / "mine.toml"
    path.write_text(re.search(r"```toml\n(.*?)```", text, re.DOTALL).group(1))
    assert len(read_study(path).tasks()) == 3 * 5 * 2 * 2


def test_studies_of_the_examples_can_be_read():
    paths = list((ROOT / "examples" / "studies").glob("*.toml"))
    assert paths
    for path in paths:
        assert read_study(path).tasks()
