"""Write files atomically."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


def check_output(path: str | Path, inputs: Iterable[str | Path] = ()) -> Path:
    """The path of a file to write, or an error if it cannot be written or is one of the inputs."""
    path = Path(path)
    if not path.parent.is_dir():
        raise FileNotFoundError(f"There is no directory {str(path.parent)!r} to write to.")
    if path.is_dir():
        raise IsADirectoryError(f"{str(path)!r} is a directory. Give the name of a file.")
    check_not_input(path, inputs)
    return path


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

    If there is an error, the temporary file is deleted and an existing file is left unchanged.
    """
    path = check_output(path)
    descriptor, temporary = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            yield stream
        umask = os.umask(0)
        os.umask(umask)
        Path(temporary).chmod(0o666 & ~umask)  # the permissions that `open` would give
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
