"""Write files atomically."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


def check_output(path: str | Path) -> Path:
    """The path of a file to write, or an error if its directory does not exist."""
    path = Path(path)
    if not path.parent.is_dir():
        raise FileNotFoundError(f"There is no directory {str(path.parent)!r} to write to.")
    if path.is_dir():
        raise IsADirectoryError(f"{str(path)!r} is a directory. Give the name of a file.")
    return path


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
