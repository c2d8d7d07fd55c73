"""Find files to read, and write files atomically."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


def existing_file(path: str | Path) -> Path:
    """The path of a regular file to read, or an error if there is no such file."""
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(f"There is no file {str(path)!r}.")
    _check_regular(path)
    return path


def check_output(path: str | Path, inputs: Iterable[str | Path] = ()) -> Path:
    """The regular file that is written when a path is written: the target of a symbolic link.

    Raises
    ------
    OSError
        If the directory does not exist, or if the path is a directory, a device or a pipe, or may
        not be written.
    ValueError
        If the path is one of the inputs.
    """
    path = Path(path)
    target = Path(os.path.realpath(path))
    if not target.parent.is_dir():
        raise FileNotFoundError(f"There is no directory {str(target.parent)!r} to write to.")
    if os.path.lexists(target):
        _check_regular(path)
    check_not_input(target, inputs)
    return target


def _check_regular(path: Path) -> None:
    if path.is_dir():
        raise IsADirectoryError(f"{str(path)!r} is a directory. Give the name of a file.")
    if not path.is_file():
        raise OSError(f"{str(path)!r} is a device, a pipe or a loop of links, not a regular file.")


def check_not_input(path: Path, inputs: Iterable[str | Path] = ()) -> None:
    """Raise an error if a file to write is one of those to read, or must not be written.

    Parameters
    ----------
    path : Path
        A file in an existing directory; the file itself does not need to exist.
    inputs : iterable of str or Path
        The files to read; what is not a file, such as ``"openml:31"``, is skipped.
    """
    if any(path.exists() and Path(each).exists() and path.samefile(each) for each in inputs):
        raise ValueError(
            f"The output {str(path)!r} is also an input, which would be overwritten. Give the name "
            "of another file."
        )
    for place in (path.parent, path):  # a file is replaced, which changes its directory
        if place.exists() and not os.access(place, os.W_OK):
            raise PermissionError(f"There is no permission to write to {str(place)!r}.")


@contextmanager
def atomic_write(path: str | Path) -> Iterator[BinaryIO]:
    """Open a temporary file that replaces ``path`` if the block ends without an error.

    The permissions of an existing file are kept, and the target of a symbolic link is replaced
    instead of the link. If there is an error, the temporary file is deleted and an existing file
    is left unchanged.
    """
    target = check_output(path)
    temporary = target.parent / f".raremetric-{secrets.token_hex(8)}"
    # Unlike tempfile, this gives a new file the same permissions as `open`.
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            yield stream
        if target.exists():
            temporary.chmod(stat.S_IMODE(target.stat().st_mode))
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
