"""What all commands share: errors, output and progress bars."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

import typer

from raremetric.files import FULL
from raremetric.terminal.interrupts import stop_if_interrupted, stopping, was_interrupted

if TYPE_CHECKING:
    from rich.markdown import Markdown
    from rich.progress import Progress, TaskID
    from rich.table import Table

STANDARD_INPUT = "standard input"
DEFAULT_WIDTH, MIN_WIDTH = 80, 20  # of the terminal, in characters
MAX_MESSAGE, MAX_WORD = 2000, 200  # characters; longer words are shortened in long messages
SPEED_PERIOD = 600  # seconds of progress from which the remaining time is estimated


def fail(message: object) -> NoReturn:
    """Print an error message on stderr and exit with code 2."""
    typer.echo(f"Error: {_one_line(message)}", err=True)
    raise typer.Exit(2)


@contextmanager
def user_mistakes(stopped: str = "Stopped; nothing was written.") -> Iterator[None]:
    """Turn errors that a user can correct into a message; any other error is a bug.

    Warnings are printed as notes on stderr. Ctrl-C prints `stopped` and exits with code 130.
    """
    with warnings.catch_warnings(), stopping(stopped):
        warnings.simplefilter("default", UserWarning)
        warnings.showwarning = _show_warning
        try:
            yield
        except (ValueError, OSError, ImportError) as error:
            if isinstance(error, BrokenPipeError) or (
                isinstance(error, OSError) and is_unnamed(error)
            ):
                raise  # see Commands
            if was_interrupted():  # an import that is stopped can end in an ImportError
                raise
            fail(error)


def is_unnamed(error: OSError) -> bool:
    """Whether there is no space left, but not for one of the files that the user named."""
    return error.errno in FULL and error.filename is None


@contextmanager
def table_file(file: str) -> Iterator[str]:
    """The path of a file to read; ``-`` is standard input, which is copied to a temporary file.

    Errors name standard input instead of that file.
    """
    if file != "-":
        yield file
        return
    from raremetric.files import copied_to_file

    if sys.stdin is None:
        raise ValueError("Standard input is closed. Give the name of a file instead of '-'.")
    with copied_to_file(sys.stdin.buffer, ".csv") as copied:
        try:
            yield copied
        except (ValueError, OSError) as error:
            if copied not in str(error):
                raise
            raise ValueError(str(error).replace(copied, STANDARD_INPUT)) from error


def source_name(file: str) -> str:
    """A file in messages and on pages."""
    return STANDARD_INPUT if file == "-" else file


def note(message: object) -> None:
    """Print a note on stderr."""
    typer.echo(f"Note: {_one_line(message)}", err=True)


def _one_line(message: object) -> str:
    """A message that may quote anything from a file, without line breaks and shortened."""
    words = str(message).split()
    if sum(map(len, words)) > MAX_MESSAGE:
        words = [f"{word[:MAX_WORD]}…" if len(word) > MAX_WORD else word for word in words]
    line = " ".join(words)
    return line if len(line) <= MAX_MESSAGE else f"{line[:MAX_MESSAGE]} …"


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    note(message)


def print_json(value: Any, indent: int | None = 2) -> None:
    """Print JSON on stdout; characters that its encoding does not have are escaped."""
    text = json.dumps(value, indent=indent, ensure_ascii=False)
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        text = json.dumps(value, indent=indent)
    typer.echo(text)


def print_rendered(what: Table | Markdown) -> None:
    """Print a table or a text on stdout; text from the user is not interpreted as markup.

    A console of rich would end the program with an error if stdout is closed.
    """
    from rich.console import Console

    console = Console(markup=False, emoji=False)
    if console.width < MIN_WIDTH:  # such as COLUMNS=0
        console.width = DEFAULT_WIDTH
    with console.capture() as captured:
        console.print(what)
    typer.echo(captured.get(), nl=False)


@contextmanager
def progress(
    total: int | None, description: str, *, counted: bool = True, shown: bool = True
) -> Iterator[Step]:
    """Show a progress bar on a terminal; otherwise, print a line per step that has one.

    Parameters
    ----------
    total : int or None
        Number of steps; None if it is not known.
    description : str
        Shown beside the bar.
    counted : bool
        Whether to show the number of steps.
    shown : bool
        False to show no bar: for example, if the results are printed on the same terminal.

    Yields
    ------
    Step
        Call it after each step.
    """
    from rich.console import Console

    console = Console(stderr=True)
    if not (shown and console.is_terminal):
        yield LineStep(total)
        return
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        ProgressColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns: list[ProgressColumn] = [
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        *([MofNCompleteColumn()] if counted else []),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    ]
    settings: Any = {"transient": True, "speed_estimate_period": SPEED_PERIOD}
    with Progress(*columns, console=console, **settings) as bars:
        yield BarStep(bars, bars.add_task(description, total=total))


class Step(Protocol):
    """Reports progress."""

    def __call__(self, description: str | None = None, line: str | None = None) -> None:
        """Report a finished step: a description beside the bar, a line if there is no bar."""

    def begin(self, total: int, description: str) -> None:
        """Set the number of steps."""

    def reach(self, n_done: int, n_steps: int) -> None:
        """Report how many steps of all are finished."""


class LineStep:
    """Prints a line on stderr for each step."""

    def __init__(self, total: int | None):
        self.total, self.done = total, 0

    def __call__(self, description: str | None = None, line: str | None = None) -> None:
        """Count the step and print its line, if it has one."""
        stop_if_interrupted()
        self.done += 1
        if line is not None:
            typer.echo(f"{self.done}/{self.total} {line}", err=True)

    def begin(self, total: int, description: str) -> None:
        """Set the number of steps."""
        self.total = total

    def reach(self, n_done: int, n_steps: int) -> None:
        """Stop after an interruption; there is nothing to show."""
        stop_if_interrupted()


class BarStep:
    """Advances a progress bar."""

    def __init__(self, shown: Progress, bar: TaskID):
        self.shown, self.bar = shown, bar

    def __call__(self, description: str | None = None, line: str | None = None) -> None:
        """Advance by one step."""
        stop_if_interrupted()
        self.shown.update(self.bar, advance=1, description=description)

    def begin(self, total: int, description: str) -> None:
        """Set the number of steps."""
        self.shown.update(self.bar, total=total, description=description)

    def reach(self, n_done: int, n_steps: int) -> None:
        """Set the number of finished steps and of all steps."""
        stop_if_interrupted()
        self.shown.update(self.bar, completed=n_done, total=n_steps)
