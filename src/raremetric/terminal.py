"""What all commands share: their classes, options, errors, interrupts, output and progress."""

from __future__ import annotations

import atexit
import io
import json
import os
import signal
import sys
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any, NoReturn

import typer
from rich import progress as bars
from rich.console import Console, RenderableType
from typer.core import TyperCommand, TyperGroup

from raremetric.files import FULL

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]

EXIT_CODES = (
    "Exit codes: 0 success; 1 a bug in raremetric, with a traceback; 2 an error in the command or "
    "in the data, with a message; 130 stopped with Ctrl-C."
)
STANDARD_INPUT = "standard input"
DEFAULT_WIDTH, MIN_WIDTH = 80, 20  # of the terminal, in characters
MAX_MESSAGE, MAX_WORD = 2000, 200  # characters; longer words are shortened in long messages
SPEED_PERIOD = 600  # seconds of progress from which the remaining time is estimated

_interrupts: list[int] = []  # signals received by the running command


def split_names(texts: list[str] | None, default: Any = ()) -> Any:
    """Names separated by commas, from an option that may be repeated."""
    if texts is None:
        return default
    return [name.strip() for name in ",".join(texts).split(",") if name.strip()]


def _interrupt(number: int, _: Any) -> NoReturn:
    _interrupts.append(number)
    raise KeyboardInterrupt


@contextmanager
def stopping(sentence: str) -> Iterator[None]:
    """At Ctrl-C, print a sentence and exit with code 130.

    Every error after the signal counts as its consequence: compiled functions turn the exception of
    a signal into a SystemError, and imports turn it into an ImportError. Python drops exceptions
    that are raised in a finalizer or in a callback from C; they are not shown, and the command
    stops at its next step.
    """

    def show_dropped(dropped: Any) -> None:
        if not issubclass(dropped.exc_type, KeyboardInterrupt):
            show_before(dropped)

    show_before, before = sys.unraisablehook, signal.signal(signal.SIGINT, _interrupt)
    sys.unraisablehook = show_dropped
    try:
        yield
    except typer.Exit:
        raise
    except BaseException as error:
        if not (_interrupts or isinstance(error, KeyboardInterrupt)):
            raise
        typer.echo(sentence, err=True)
        raise typer.Exit(130) from None
    finally:
        sys.unraisablehook = show_before
        signal.signal(signal.SIGINT, before)
        if before is not _interrupt:  # this is the outermost block
            _interrupts.clear()


def stop_if_interrupted() -> None:
    """Raise the KeyboardInterrupt of an earlier signal."""
    if _interrupts:
        raise KeyboardInterrupt


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
        warnings.showwarning = lambda message, *_, **__: note(message)
        try:
            yield
        except (ValueError, OSError, ImportError) as error:
            if is_unnamed(error) or _interrupts:  # see Commands, and stopping
                raise
            fail(error)


def is_unnamed(error: BaseException) -> bool:
    """Whether an output other than the files that the user named is closed, or has no space."""
    is_full = isinstance(error, OSError) and error.errno in FULL and error.filename is None
    return is_full or isinstance(error, BrokenPipeError)


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


def print_json(value: Any, indent: int | None = 2) -> None:
    """Print JSON on stdout; characters that its encoding does not have are escaped."""
    text = json.dumps(value, indent=indent, ensure_ascii=False)
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        text = json.dumps(value, indent=indent)
    typer.echo(text)


def print_rendered(what: RenderableType) -> None:
    """Print a table or a text on stdout; text from the user is not interpreted as markup.

    A console of rich would end the program with an error if stdout is closed.
    """
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

    The number of steps may be unknown, and is not shown if the steps are not `counted`. No bar is
    `shown` if, for example, the results are printed on the same terminal.
    """
    console = Console(stderr=True)
    if not (shown and console.is_terminal):
        yield Step(total)
        return
    columns: list[Any] = [
        bars.TextColumn("{task.description}", markup=False),
        bars.BarColumn(),
        *([bars.MofNCompleteColumn()] if counted else []),
        bars.TimeElapsedColumn(),
        bars.TimeRemainingColumn(),
    ]
    settings: Any = {"transient": True, "speed_estimate_period": SPEED_PERIOD}
    with bars.Progress(*columns, console=console, **settings) as shown_bars:
        yield Step(total, shown_bars, shown_bars.add_task(description, total=total))


class Step:
    """Reports progress: on a bar, or without one, as a line on stderr for steps that have one."""

    def __init__(self, total: int | None, bars: Any = None, bar: Any = None):
        self.total, self.bars, self.bar, self.done = total, bars, bar, 0

    def __call__(self, description: str | None = None, line: str | None = None) -> None:
        """Report a finished step: a description beside the bar, a line if there is no bar."""
        stop_if_interrupted()
        self.done += 1
        if self.bars is not None:
            self.bars.update(self.bar, advance=1, description=description)
        elif line is not None:
            typer.echo(f"{self.done}/{self.total} {line}", err=True)

    def begin(self, total: int, description: str) -> None:
        """Set the number of steps."""
        self.total = total
        if self.bars is not None:
            self.bars.update(self.bar, total=total, description=description)

    def reach(self, n_done: int, n_steps: int) -> None:
        """Report how many steps of all are finished."""
        stop_if_interrupted()
        if self.bars is not None:
            self.bars.update(self.bar, completed=n_done, total=n_steps)


class Commands(TyperGroup):
    """The group of all commands; it prepares stdout and stderr, and handles a closed stdout."""

    def make_context(self, *args: Any, **settings: Any) -> Any:
        """Parse the arguments."""
        if sys.stdout is None:  # otherwise, the first file that is opened would take its place
            fail("Standard output is closed. Redirect it to a file, or to /dev/null.")
        with stopping("Stopped."):
            return super().make_context(*args, **settings)

    def invoke(self, ctx: Any) -> Any:
        """Run a command.

        Characters that a terminal cannot show are replaced. If stdout is closed, the command ends
        without an error: for example, ``head`` has read enough.
        """
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper) and stream.errors != "backslashreplace":
                stream.reconfigure(errors="replace")
        atexit.register(signal.signal, signal.SIGINT, signal.SIG_IGN)  # it ends anyway
        with stopping("Stopped."):
            try:
                result = super().invoke(ctx)
                sys.stdout.flush()
            except BrokenPipeError:
                _discard_output()
                raise typer.Exit from None
            except OSError as error:
                if not is_unnamed(error):
                    raise
                _discard_output()
                fail(f"Standard output, or a temporary file, cannot be written: {error.strerror}.")
        return result


def _discard_output() -> None:
    """Write what is printed from now on, also at the end of the program, to nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class Command(TyperCommand):
    """A command that refuses options with one value that are repeated, empty or not a number."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments; flags and lists may be repeated."""
        values, _, given = self.make_parser(ctx).parse_args([*args])
        times: Counter[Any] = Counter() if ctx.resilient_parsing else Counter(given)
        for option, n in times.items():
            name, value = " / ".join(option.opts), values[option.name]
            if n > 1 and not (option.multiple or option.is_flag):
                fail(f"{name} takes one value, but has {n}. Give it only once.")
            if value == "" and option.param_type_name == "option":
                fail(f"{name} is empty. Give it a value, or leave it out.")
            # typer would say that NaN must be less than the maximum.
            if getattr(option, "max", None) is not None and value.strip().lower() == "nan":
                fail(f"{name} must be a number from {option.min} to {option.max}; got {value}.")
        return super().parse_args(ctx, args)


class App(typer.Typer):
    """A group of commands of the class `Command`, unless they have one of their own."""

    def command(self, *args: Any, **settings: Any) -> Any:
        """Register a command."""
        return super().command(*args, **{"cls": Command, **settings})
