"""The examples in docstrings, in the README and in the documentation run."""

import doctest
import re
import shlex
import sys
from collections import Counter
from importlib import import_module
from pathlib import Path
from pkgutil import resolve_name

import pytest
from sklearn.datasets import make_classification
from sklearn.metrics import f1_score
from sklearn.model_selection import StratifiedKFold
from sklearn.utils.estimator_checks import check_estimator
from typer.main import get_command

import raremetric
from docs._ext.site_config import GALLERY, read_inventories, site_links
from docs._ext.site_config import PAGES as ROOT_PAGES
from examples.gallery import two_losses
from raremetric.cli import app
from raremetric.study.reading import read_study
from tools.inventories import inventory_lines
from tools.links import dead_links, read_page

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


@pytest.mark.parametrize("name", [name for name in API if name != "internals"])
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
    known = {"VarianceRatio": resolve_name(added_learner)} if path.stem == "add-a-learner" else {}
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
        "README.md",
        "docs/add-a-learner.md",  # the class
        "docs/baselines.md",
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


def test_first_example_of_the_readme(capsys):
    text = (ROOT / "README.md").read_text()
    code = re.search(r"```python\n(from .*?)```", text, re.DOTALL).group(1)
    exec(code, {})
    exec(code.replace("import IML,", "import Euclidean,").replace("IML()", "Euclidean()"), {})
    learned, plain = capsys.readouterr().out.split()
    assert (
        f"This prints {learned}. With `Euclidean()` in place of `IML()`, it prints {plain}." in text
    )


def test_computation_on_the_page_of_results(capsys, monkeypatch):
    monkeypatch.chdir(ROOT)
    text = (ROOT / "docs" / "results" / "README.md").read_text()
    exec(re.search(r"```python\n(.*?)```", text, re.DOTALL).group(1), {})
    printed = capsys.readouterr().out
    for name, value in re.findall(r"^(\S+)  +([\d.]+)$", printed, re.MULTILINE):
        if name in ("RareClassifier-thorough", "SVM-laplacian", "SVM-laplacian-thorough"):
            assert value in text
    leads = [re.findall(r"[\d.]+", line) for line in printed.splitlines()[-2:]]
    for mean, error in zip(*leads, strict=True):
        assert f"{float(mean):.2f} ± {float(error):.2f}" in text


def test_means_in_the_readme_are_those_of_the_report():
    table = (ROOT / "docs" / "results" / "table2.md").read_text()
    names = re.search(r"^\| Data set \| Splits \| (.*) \|$", table, re.MULTILINE).group(1)
    means = re.search(r"^\| Mean over 22 data sets[^|]*\|[^|]*\| (.*) \|$", table, re.MULTILINE)
    texts = [text.split(" ± ")[0] for text in means.group(1).split(" | ")]
    reported = dict(zip(names.split(" | "), texts, strict=True))
    readme = (ROOT / "README.md").read_text()
    known = re.search(r"^\| \| (Euclidean \| LMNN .*) \|\n\|.*\n\| here \| (.*) \|$", readme, re.M)
    shown = dict(zip(*(group.split(" | ") for group in known.groups()), strict=True))
    assert shown == {name: reported[name] for name in shown}


def test_computation_on_the_page_of_baselines(capsys, monkeypatch):
    monkeypatch.chdir(ROOT)
    text = (ROOT / "docs" / "baselines.md").read_text()
    exec(re.search(r"```python\n(.*?)```", text, re.DOTALL).group(1), {})
    lines = capsys.readouterr().out.replace("-", "−").splitlines()
    rows = [line.split() for line in lines if re.search(r"\d$", line)]
    assert len(rows) == 9 + 5  # eight and four data sets, and their means
    for name, *values in rows[:9]:
        assert f"| {name} | {' | '.join(values)} |" in text
    assert rows[-1][0] == "mean"
    assert f"the correlation of IML is {rows[-1][1]} in the mean" in text


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
    check_estimator(resolve_name(added_learner)())


def test_the_learner_of_its_page_can_be_compared(added_learner):
    contenders = pytest.importorskip("raremetric.contenders")
    X, y = make_classification(90, 5, weights=[0.8], class_sep=2, random_state=0)
    contender = contenders.make_contender(added_learner, "ratio", grid={"power": [0.0, 1.0, 2.0]})
    folds = list(StratifiedKFold(3).split(X[:60], y[:60]))
    tuned = contender.fit(contender.candidates(1), X[:60], y[:60], folds=folds, seed=0)
    assert set(tuned.chosen) == {"power"}
    assert f1_score(y[60:], tuned.answer(X[60:]).predicted) > 0.5


def test_the_example_of_the_two_losses_draws_a_picture(tmp_path):
    two_losses.draw().savefig(tmp_path / "losses.png")
    assert (tmp_path / "losses.png").read_bytes().startswith(b"\x89PNG")


def anchors(path):
    """The fragments that GitHub gives to the headings of a page."""
    shown = re.match(r"The text of this page is \[[\w.]+\]\((.+)\)", path.read_text())
    if shown:  # see docs/_ext/site_pages.py
        path = path.parent / shown.group(1)
    headings = re.findall(r"^#+ (.*)$", path.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("path", PAGES, ids=relative)
def test_links_lead_to_files_and_headings(path):
    text = re.sub(r"^```.*?^```", "", path.read_text(), flags=re.DOTALL | re.MULTILINE)
    for target, fragment in re.findall(r"\]\(([^)#\s]*)#?([^)\s]*)\)", text):
        if target.startswith(("https:", "http:", "mailto:")):
            continue
        file = path.parent / target if target else path
        if (
            target.endswith(".rst") and "gallery" in target
        ):  # written when the documentation is built
            script = Path(target).with_suffix(".py").name
            assert script == "index.py" or (ROOT / "examples" / "gallery" / script).exists(), target
            continue
        assert file.exists(), target
        assert not fragment or fragment in anchors(file), f"{target}#{fragment}"


def test_dead_links_of_built_pages_are_found(tmp_path):
    (tmp_path / "other.html").write_text('<p id="here">')
    page = '<a href="{}">'
    for link in ("other.html", "other.html#here", "#", "https://example.org/none"):
        (tmp_path / "page.html").write_text(page.format(link))
        read_page.cache_clear()
        assert dead_links(tmp_path) == []
    for link in ("none.html", "other.html#there", "#there", "../other.html", "/other.html"):
        (tmp_path / "page.html").write_text(page.format(link))
        read_page.cache_clear()
        assert len(dead_links(tmp_path)) == 1


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


def test_gallery_is_listed_in_order():
    scripts = {path.name for path in (ROOT / "examples" / "gallery").glob("*.py")}
    assert sorted(GALLERY) == sorted(scripts)


def test_inventories_are_written_and_read(tmp_path):
    mapping = read_inventories(ROOT / "docs" / "inventories", tmp_path)
    address, path = mapping["sklearn"]
    name = "sklearn.neighbors.KNeighborsClassifier"
    assert address.startswith("https:")
    assert inventory_lines(Path(path))[name].split()[:2] == [name, "py:class"]


def test_links_of_root_files_on_the_site():
    text = "[a](docs/study.md#x) [b](CHANGELOG.md) [c](Makefile) [d](https://a.org) [e](#here)"
    shown = "[a](study.md#x) [b](whats-new.md) [c](../Makefile) [d](https://a.org) [e](#here)"
    assert site_links(text) == shown
    for page, file in ROOT_PAGES.items():
        assert (ROOT / file).exists()
        assert (ROOT / "docs" / f"{page}.md").exists()
