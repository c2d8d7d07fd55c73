"""The examples in docstrings, README and guide run as they stand."""

import doctest
import re
from pathlib import Path

import pytest

import raremetric

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


@pytest.mark.parametrize("page", ["README.md", "docs/guide.md"])
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
