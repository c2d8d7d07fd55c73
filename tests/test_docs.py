"""The examples in docstrings, in the README and in the documentation run."""

import csv
import doctest
import re
import shlex
import sys
import tomllib
from collections import Counter
from importlib import import_module
from pathlib import Path
from pkgutil import resolve_name

import pandas as pd
import pytest
from sklearn.datasets import make_classification
from sklearn.metrics import f1_score
from sklearn.model_selection import StratifiedKFold
from sklearn.utils.estimator_checks import check_estimator

import raremetric
from raremetric import datasets
from raremetric.datasets import parsers
from raremetric.study.reading import read_study

ROOT = Path(__file__).parent.parent
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
# Some examples use the default parameters on data for which these need more iterations.
pytestmark = pytest.mark.filterwarnings("ignore:IML stopped after")

PROMPT = re.compile(r"^ *>>> ", re.MULTILINE)  # of one example
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
PAGES = [path for path in PAGES if not {"_build", "generated"} & {*path.parts}]
# All files with examples are found, so that none can be forgotten.
PAGES_WITH_EXAMPLES = [path for path in PAGES if PROMPT.search(path.read_text("utf-8"))]
MODULES_WITH_EXAMPLES = sorted(
    path for path in (ROOT / "src").rglob("*.py") if PROMPT.search(path.read_text("utf-8"))
)


def relative(path):
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("path", MODULES_WITH_EXAMPLES, ids=relative)
def test_docstrings(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    name = ".".join(path.relative_to(ROOT / "src").with_suffix("").parts)
    module = import_module(name.removesuffix(".__init__"))
    runner = doctest.DocTestRunner(optionflags=OPTIONS)
    for test in doctest.DocTestFinder(exclude_empty=True).find(module):
        runner.run(test)
    assert runner.summarize().failed == 0
    assert runner.tries == len(PROMPT.findall(path.read_text("utf-8")))  # none was overlooked


API = re.findall(r"^   ([A-Za-z_.]+)$", (ROOT / "docs" / "api.rst").read_text(), re.MULTILINE)


def test_the_reference_lists_all_public_names():
    assert {*raremetric.__all__} - {"__version__"} <= {name.split(".")[-1] for name in API}


@pytest.mark.parametrize("name", [name for name in API if name != "learner-interface"])
def test_public_names_have_examples(name):
    """In their docstring, or in code with prompts on a page."""
    if PROMPT.search(resolve_name(f"raremetric.{name}").__doc__):
        return
    lines = [line for path in PAGES_WITH_EXAMPLES for line in path.read_text("utf-8").splitlines()]
    used = re.compile(rf"^(>>>|\.\.\.) .*\b{name.split('.')[-1]}\b")
    assert any(used.search(line) for line in lines)


@pytest.mark.parametrize("path", PAGES_WITH_EXAMPLES, ids=relative)
def test_pages(path, added_learner, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = path.read_text("utf-8")
    without_fences = re.sub(r"^```.*$", "", text, flags=re.MULTILINE)  # they would end the output
    known = {"VarianceRatio": resolve_name(added_learner)} if path.stem == "extend" else {}
    test = doctest.DocTestParser().get_doctest(without_fences, known, path.stem, str(path), 0)
    runner = doctest.DocTestRunner(optionflags=OPTIONS)
    runner.run(test)
    assert runner.summarize().failed == 0
    assert runner.tries == len(PROMPT.findall(text))  # none was overlooked


BLOCK = re.compile(r"^(?:<!-- not run: (.+) -->\n)?```(\w*)\n(.*?)^```", re.DOTALL | re.MULTILINE)


def test_python_on_pages_is_run_by_a_test():
    """Code without prompts is run by one of the tests below, or a comment says why it is not."""
    found = []
    for path in PAGES:
        for reason, language, code in BLOCK.findall(path.read_text()):
            if language == "python" and not PROMPT.search(code) and not reason:
                found.append(relative(path))
    assert sorted(found) == [
        "docs/contribute/extend.md",  # the class
        "docs/experiments/baselines.md",
        "docs/results/README.md",
    ]


def test_blocks_with_prompts_are_python():
    """So that they are highlighted, and their prompts are not copied."""
    for path in PAGES:
        for _, language, code in BLOCK.findall(path.read_text()):
            assert language == "python" or not PROMPT.search(code), relative(path)


def shell_commands():
    """The commands in blocks without a language, with the page that they are on."""
    for path in PAGES:
        for _, language, code in BLOCK.findall(path.read_text()):
            if language:
                continue
            for line in code.replace("\\\n", " ").splitlines():
                if re.match(r"(raremetric|make|python) ", line):
                    yield relative(path), shlex.split(line, comments=True)


def options_of(words):
    """The names of the options that the command has, following its subcommands."""
    from typer.main import get_command

    from raremetric.cli import app

    command, rest = get_command(app), words[1:]
    while rest and rest[0] in getattr(command, "commands", ()):
        command, rest = command.commands[rest[0]], rest[1:]
    known = {name for option in command.params for name in (*option.opts, *option.secondary_opts)}
    return known | {"--help"}


def test_commands_on_pages_exist():
    """Commands in a terminal are not run: some take hours. Their names and options are checked."""
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    checked = Counter()
    for page, words in shell_commands():
        name = words[0]
        checked[name] += 1
        if name == "raremetric":
            used = {word.split("=")[0] for word in words if re.match(r"--?[a-z]", word)}
            assert used <= options_of(words), (page, words)
        elif name == "make":
            used = [word for word in words[1:] if "=" not in word]
            assert {*used} <= {*targets}, (page, words)
        elif words[1] not in ("-m", "-c"):
            assert (ROOT / words[1]).exists(), (page, words)
    assert checked["raremetric"] > 30


@pytest.fixture
def added_learner(tmp_path, monkeypatch):
    """The import path of the class on the page "Extend the package", in a module of its own."""
    text = (ROOT / "docs" / "contribute" / "extend.md").read_text()
    code = re.search(r"```python\n(.*?)```", text, re.DOTALL)
    (tmp_path / "added_learner.py").write_text(code.group(1))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "added_learner", raising=False)
    return "added_learner:VarianceRatio"


def test_the_learner_of_its_page(added_learner):
    learner = resolve_name(added_learner)
    check_estimator(learner())
    fitted = learner().fit(pd.DataFrame({"a": [0.0, 2.0, 10.0, 12.0]}), [0, 0, 1, 1])
    for name in [name for name in vars(fitted) if name.endswith("_")]:
        assert f"\n    {name} : " in learner.__doc__  # as `tests/test_package.py` requires


def test_the_data_set_of_its_page():
    """The file exists, and the counts are those of the page."""
    text = (ROOT / "docs" / "contribute" / "extend.md").read_text()
    header = Path(datasets.__file__).with_name("registry.csv").read_text().splitlines()[0]
    (row,) = csv.DictReader([header, re.search(r"^large,.*$", text, re.MULTILINE).group()])
    parsed = parsers.keel(parsers.package_path(row["file"]))
    found = (*parsed.X.shape, sum(parsed.labels.astype(str) == row["positive"]))
    assert found == tuple(int(row[f"n_{name}"]) for name in ("samples", "features", "positive"))


def test_packages_are_drawn_in_the_order_of_their_imports():
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    layers = [line.split(" | ") for line in reversed(contracts["contracts"][0]["layers"])]
    level = {name: i for i, names in enumerate(layers) for name in names}
    drawing = (ROOT / "docs" / "images" / "layers.svg").read_text()
    drawn = re.findall(r'font-weight="bold">([a-z, |]+)<', drawing)
    names = [name for box in drawn for name in re.split(r", | \| ", box)]
    assert len(names) > 15
    assert [level[name] for name in names] == sorted(level[name] for name in names)
    packages = {path.parent.name for path in (ROOT / "src" / "raremetric").glob("*/__init__.py")}
    assert packages <= {*names}
    text = (ROOT / "docs" / "contribute.md").read_text()
    described = re.search(r"from top to bottom: (.*?)\.\]", text, re.DOTALL).group(1)
    assert re.split(r",\s|\sand\s", described) == names


def test_functions_that_the_mathematics_names_exist():
    named = {
        name
        for path in (ROOT / "docs" / "math").glob("*.md")
        for name in re.findall(r"`(raremetric\.[\w.]+)`", path.read_text("utf-8"))
    }
    assert len(named) > 10
    for name in named:
        resolve_name(name)


def test_the_learner_of_its_page_can_be_compared(added_learner):
    contenders = pytest.importorskip("raremetric.contenders")
    X, y = make_classification(90, 5, weights=[0.8], class_sep=2, random_state=0)
    contender = contenders.make_contender(added_learner, "ratio", grid={"power": [0.0, 1.0, 2.0]})
    folds = list(StratifiedKFold(3).split(X[:60], y[:60]))
    tuned = contender.fit(contender.candidates(1), X[:60], y[:60], folds=folds, seed=0)
    assert set(tuned.chosen) == {"power"}
    assert f1_score(y[60:], tuned.answer(X[60:]).predicted) > 0.5


def test_the_study_of_its_page_can_be_read(tmp_path):
    text = (ROOT / "docs" / "evidence" / "studies.md").read_text()
    path = tmp_path / "mine.toml"
    path.write_text(re.search(r"```toml\n(.*?)```", text, re.DOTALL).group(1))
    assert len(read_study(path).tasks()) == 3 * 5 * 2 * 3


def test_studies_of_the_examples_can_be_read():
    paths = list((ROOT / "examples" / "studies").glob("*.toml"))
    assert paths
    for path in paths:
        assert read_study(path).tasks()
