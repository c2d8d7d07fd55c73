"""Ctrl-C: every command ends with a sentence and exit code 130."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import typer

_interrupts: list[int] = []  # signals received by the running command
_recording: list[bool] = []  # one element for each block that records interrupts


@contextmanager
def stopping(sentence: str) -> Iterator[None]:
    """At Ctrl-C, print a sentence and exit with code 130.

    Every error after the signal counts as its consequence: compiled functions turn the exception of
    a signal into a SystemError, and imports turn it into an ImportError.
    """
    with recorded_interrupts():
        try:
            yield
        except typer.Exit:
            raise
        except BaseException as error:
            if not (_interrupts or isinstance(error, KeyboardInterrupt)):
                raise
            typer.echo(sentence, err=True)
            raise typer.Exit(130) from None


@contextmanager
def recorded_interrupts() -> Iterator[None]:
    """Stop at Ctrl-C with an exception, and record the signal.

    Python drops exceptions that are raised in a finalizer or in a callback from C; compilers have
    many of both. They are not shown, and the command stops at its next step.
    """

    def interrupt(number: int, _: Any) -> NoReturn:
        _interrupts.append(number)
        raise KeyboardInterrupt

    def show_dropped(dropped: Any) -> None:
        if not issubclass(dropped.exc_type, KeyboardInterrupt):
            show_before(dropped)

    outermost = not _recording
    show_before, before = sys.unraisablehook, signal.signal(signal.SIGINT, interrupt)
    sys.unraisablehook = show_dropped
    _recording.append(True)
    try:
        yield
    finally:
        _recording.pop()
        sys.unraisablehook = show_before
        signal.signal(signal.SIGINT, before)
        if outermost:
            _interrupts.clear()


def stop_if_interrupted() -> None:
    """Raise the KeyboardInterrupt of an earlier signal."""
    if _interrupts:
        raise KeyboardInterrupt


def was_interrupted() -> bool:
    """Whether the running command has received a signal."""
    return bool(_interrupts)
