"""The examples in docstrings, README and guide run as they stand."""

import doctest
import re
from pathlib import Path

import pytest

import raremetric
from raremetric import explain, export
from raremetric.study.reading import read_study

ROOT = Path(__file__).parent.parent
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
# The examples fit defaults on whatever data they show; that is not what they are about.
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


@pytest.mark.parametrize("page", ["README.md", "docs/guide.md", "docs/table.md"])
def test_pages(page):
    result = doctest.testfile(str(ROOT / page), module_relative=False, optionflags=OPTIONS)
    assert result.attempted > 0
    assert result.failed == 0


def test_first_example_of_the_readme(capsys):
    code = re.search(r"```python\n(from .*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    exec(code.group(1), {})
    assert 0 <= float(capsys.readouterr().out) <= 1


def test_no_link_of_the_readme_leads_nowhere():
    text = (ROOT / "README.md").read_text()
    for target in re.findall(r"\]\(([^)#]+)\)", text):
        assert (ROOT / target).exists(), target


def test_the_study_on_its_page_can_be_read(tmp_path):
    text = (ROOT / "docs" / "study.md").read_text()
    path = tmp_path / "mine.toml"
    path.write_text(re.search(r"```toml\n(.*?)```", text, re.DOTALL).group(1))
    assert len(read_study(path).tasks()) == 3 * 5 * 2 * 2


def test_the_studies_among_the_examples_can_be_read():
    paths = list((ROOT / "examples" / "studies").glob("*.toml"))
    assert paths
    for path in paths:
        assert read_study(path).tasks()
