"""The classes of the ``raremetric`` command and of its subcommands."""

from __future__ import annotations

import atexit
import io
import os
import signal
import sys
from collections import Counter
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from raremetric.terminal.common import fail, is_unnamed, stopping

EXIT_CODES = (
    "Exit codes: 0 success; 1 a bug in raremetric, with a traceback; 2 an error in the command or "
    "in the data, with a message; 130 stopped with Ctrl-C."
)


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
