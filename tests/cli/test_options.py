"""Options that are given several times: lists accumulate, single values are refused."""

import json
from pathlib import Path

import pytest
from typer.main import get_command

from raremetric.cli import app
from raremetric.table.commands.options import choose_scoring

STUDY = Path(__file__).parents[2] / "paper/table2.toml"


def walk(command, path=()):
    """All options of a command and of its subcommands, with the words that lead to them."""
    for param in command.params:
        if param.param_type_name == "option":
            yield command, path, param
    for name, each in getattr(command, "commands", {}).items():
        yield from walk(each, (*path, name))


OPTIONS = [*walk(get_command(app))]
FLAGS, LISTS, SINGLES = (
    [
        pytest.param(*each, id=" ".join((*each[1], each[2].opts[0])))
        for each in OPTIONS
        if is_one(each[2])
    ]
    for is_one in (
        lambda option: option.is_flag,
        lambda option: option.multiple,
        lambda option: not (option.is_flag or option.multiple),
    )
)


def required_words(command, option):
    """The arguments and options that the command needs besides this option."""
    needed = [each for each in command.params if each.required and each is not option]
    is_option = [each.param_type_name == "option" for each in needed]
    pairs = zip(needed, is_option, strict=True)
    return [word for each, named in pairs for word in ([each.opts[0]] * named + ["x"])]


def test_all_kinds_of_options_are_found():
    names = {(*path, option.opts[0]) for _, path, option in OPTIONS}
    assert {("fit", "--target"), ("compare", "--ignore"), ("study", "run", "--datasets")} < names
    lists = {option.values[2].opts[0] for option in LISTS}
    assert {"--positive", "--method", "--methods", "--ignore", "--categorical"} < lists
    assert {"--datasets", "--learners"} < lists


@pytest.mark.parametrize(("command", "path", "option"), SINGLES)
def test_a_single_value_is_given_once_and_not_empty(
    run, tmp_path, monkeypatch, command, path, option
):
    monkeypatch.chdir(tmp_path)
    names, twice = " / ".join(option.opts), "takes one value, but has 2. Give it only once."
    wrong = {(option.opts[0], ""): "is empty. Give it a value, or leave it out."}
    for name in option.opts:
        wrong[option.opts[0], "x", f"{name}=x" if name.startswith("--") else f"{name}x"] = twice
    for words, sentence in wrong.items():
        result = run(*path, *words)
        assert (result.exit_code, result.stdout) == (2, "")
        assert result.stderr == f"Error: {names} {sentence}\n"
    assert [*tmp_path.iterdir()] == []


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["fit", "--threshold", "nan"], "--threshold must be a number from 0 to 1; got nan."),
        (["fit", "--min-precision", "nan"], "must be a number from 0 to 1; got nan."),
        (["compare", "--min-recall=NaN"], "must be a number from 0 to 1; got NaN."),
    ],
)
def test_sentences_say_what_is_needed(run, path, tmp_path, words, sentence):
    result = run(*words, path, "--target", "state", "-o", tmp_path / "out")
    assert result.exit_code == 2
    assert sentence in result.stderr


@pytest.mark.parametrize(("command", "path", "option"), LISTS)
def test_a_list_accumulates(command, path, option):
    (name,) = option.opts
    words = [*required_words(command, option), name, "a,b", f"{name}=c", name, ""]
    context = command.make_context(path[-1], words)
    assert [*context.params[option.name]] == ["a,b", "c", ""]


@pytest.mark.parametrize(("command", "path", "option"), FLAGS)
def test_a_flag_may_be_repeated_and_has_no_opposite(command, path, option):
    assert option.secondary_opts == []
    if path:  # not --version and the shell completion
        words = [*required_words(command, option), option.opts[0], option.opts[0]]
        assert command.make_context(path[-1], words).params[option.name] is True


def test_minima_are_aims():
    assert choose_scoring(None, 0.8, None) == "precision>=0.8"
    assert choose_scoring(None, None, 0.75) == "recall>=0.75"
    assert (choose_scoring("f2", None, None), choose_scoring(None, None, None)) == ("f2", "f1")


def test_options_cannot_be_abbreviated(run, path, tmp_path):
    result = run("fit", path, "--target", "state", "--ign", "id", "-o", tmp_path / "m.skops")
    assert result.exit_code == 2
    assert "No such option" in result.stderr


def test_columns_of_all_occurrences_are_left_out(run, path, tmp_path):
    words = ["fit", path, "--target", "state", "--model", "plain", "-o", tmp_path / "m", "--json"]
    words += ["--ignore", "id,new", "--ignore", "", "--ignore=weight"]
    words += ["--categorical", "size", "--categorical", ""]
    found = json.loads(run(*words).stdout)
    assert [each["name"] for each in found["columns"]] == ["size", "color"]
    assert found["features"] > 2  # the sizes are categories


def test_no_method_is_a_mistake(run, path, tmp_path):
    result = run("compare", path, "--target", "state", "--methods", "", "-o", tmp_path / "page")
    assert result.exit_code == 2
    assert result.stderr == (
        "Error: methods must contain at least one name; got none. Leave it out for the default.\n"
    )
    assert [*tmp_path.iterdir()] == []


@pytest.mark.parametrize("name", ["datasets", "learners"])
def test_an_empty_part_of_a_study_is_a_mistake(run, tmp_path, name):
    store = tmp_path / "study.sqlite"
    result = run("study", "run", STUDY, f"--{name}", ",", "--store", store)
    assert result.exit_code == 2
    assert result.stderr.startswith(f"Error: {name} must contain at least one name; got none.")
    assert not store.exists()
