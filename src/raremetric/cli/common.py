"""What all commands share: how they fail, print and show progress."""

from __future__ import annotations

import json
import os
import signal
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any, NoReturn, Protocol

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

SPEED_PERIOD = 600  # seconds that the expected time is estimated from
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
EXIT_CODES = (
    "Exit codes: 0 done; 1 a bug of raremetric, with a traceback; 2 a mistake in the command or in "
    "the data, told in one sentence; 130 stopped with Ctrl-C."
)


def fail(sentence: object) -> NoReturn:
    """End with one sentence on stderr and exit code 2."""
    typer.echo(f"Error: {' '.join(str(sentence).split())}", err=True)
    raise typer.Exit(2)


@contextmanager
def user_mistakes(stopped: str = "Stopped; nothing was written.") -> Iterator[None]:
    """Turn the errors that a user can mend into one sentence; any other is a bug and stays.

    Warnings become notes on stderr, and Ctrl-C the sentence `stopped` and exit code 130.
    """
    with warnings.catch_warnings(), remembered_interrupts():
        warnings.simplefilter("default", UserWarning)
        warnings.showwarning = _note
        try:
            yield
        except BrokenPipeError:  # whoever reads has read enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit from None
        except (ValueError, OSError, ImportError) as error:
            fail(error)
        except KeyboardInterrupt:
            typer.echo(stopped, err=True)
            raise typer.Exit(130) from None


_interrupts: list[int] = []  # those of the command that runs


@contextmanager
def remembered_interrupts() -> Iterator[None]:
    """Let the next step of a progress stop where the exception of a Ctrl-C was lost.

    Python drops exceptions that are raised in a finalizer or in a callback from C, and compilers
    have many of both.
    """

    def interrupt(number: int, _: Any) -> NoReturn:
        _interrupts.append(number)
        raise KeyboardInterrupt

    _interrupts.clear()
    before = signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def stop_if_interrupted() -> None:
    """Raise what Ctrl-C should have raised."""
    if _interrupts:
        raise KeyboardInterrupt


def note(sentence: object) -> None:
    """Something to know, on stderr."""
    typer.echo(f"Note: {' '.join(str(sentence).split())}", err=True)


def _note(message: Warning | str, *_: Any, **__: Any) -> None:
    note(message)


def print_json(value: Any) -> None:
    """JSON on stdout."""
    typer.echo(json.dumps(value, indent=2, ensure_ascii=False))


@contextmanager
def progress(total: int | None, description: str, *, counted: bool = True) -> Iterator[Step]:
    """A bar on a terminal; elsewhere a line for each step that has something to say.

    Parameters
    ----------
    total : int or None
        Number of steps; None where it is not known: the bar then shows that work goes on.
    description : str
        What is done.
    counted : bool
        Whether steps are something to count before a user.

    Yields
    ------
    Step
        To be called after each step.
    """
    console = Console(stderr=True)
    if not console.is_terminal:
        yield LineStep(total)
        return
    columns: list[ProgressColumn] = [
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        *([MofNCompleteColumn()] if counted else []),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    ]
    settings: Any = {"transient": True, "speed_estimate_period": SPEED_PERIOD}
    with Progress(*columns, console=console, **settings) as shown:
        yield BarStep(shown, shown.add_task(description, total=total))


class Step(Protocol):
    """What progress is told by."""

    def __call__(self, description: str | None = None, line: str | None = None) -> None:
        """One step is done: what to show beside the bar, and what to print where there is none."""

    def begin(self, total: int, description: str) -> None:
        """The number of steps is known now."""


class LineStep:
    """A line on stderr a step."""

    def __init__(self, total: int | None):
        self.total, self.done = total, 0

    def __call__(self, description: str | None = None, line: str | None = None) -> None:
        """Count, and print the line if there is one."""
        stop_if_interrupted()
        self.done += 1
        if line is not None:
            typer.echo(f"{self.done}/{self.total} {line}", err=True)

    def begin(self, total: int, description: str) -> None:
        """Keep the number."""
        self.total = total


class BarStep:
    """A bar that moves."""

    def __init__(self, shown: Progress, bar: TaskID):
        self.shown, self.bar = shown, bar

    def __call__(self, description: str | None = None, line: str | None = None) -> None:
        """Move on by one."""
        stop_if_interrupted()
        self.shown.update(self.bar, advance=1, description=description)

    def begin(self, total: int, description: str) -> None:
        """Show how far it will go."""
        self.shown.update(self.bar, total=total, description=description)
