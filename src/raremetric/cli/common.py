"""What all commands share: how they fail, print and show progress."""

from __future__ import annotations

import json
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated, Any, NoReturn

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

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
    with warnings.catch_warnings():
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


def note(sentence: object) -> None:
    """Something to know, on stderr."""
    typer.echo(f"Note: {' '.join(str(sentence).split())}", err=True)


def _note(message: Warning | str, *_: Any, **__: Any) -> None:
    note(message)


def print_json(value: Any) -> None:
    """JSON on stdout."""
    typer.echo(json.dumps(value, indent=2, ensure_ascii=False))


@contextmanager
def progress(
    total: int | None, description: str = "", *, counted: bool = True
) -> Iterator[Callable[..., None]]:
    """A bar on a terminal; elsewhere a line for each step that has something to say.

    Parameters
    ----------
    total : int or None
        Number of steps; None where it is not known: the bar then only shows that work goes on.
    description : str
        What is done.
    counted : bool
        Whether steps are something to count before a user.

    Yields
    ------
    callable (description=None, line=None)
        To be called after each step: what comes next, and what to print where there is no bar.
    """
    console = Console(stderr=True)
    done = 0
    if not console.is_terminal:

        def tell_line(description: str | None = None, line: str | None = None) -> None:
            nonlocal done
            done += 1
            if line is not None:
                typer.echo(f"{done}/{total} {line}", err=True)

        yield tell_line
        return
    columns: list[ProgressColumn] = [
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        *([MofNCompleteColumn()] if total is not None and counted else []),
        TimeElapsedColumn() if total is None else TimeRemainingColumn(elapsed_when_finished=True),
    ]
    with Progress(*columns, console=console, transient=True) as shown:
        bar = shown.add_task(description, total=total)

        def tell_bar(description: str | None = None, line: str | None = None) -> None:
            shown.update(bar, advance=1, description=description)

        yield tell_bar
