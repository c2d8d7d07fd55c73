"""Files that are there whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def atomic_write(path: str | Path) -> Iterator[BinaryIO]:
    """A stream whose file takes its place at the end; none is left behind if something fails."""
    path = Path(path)
    if not path.parent.is_dir():
        raise FileNotFoundError(f"There is no directory {str(path.parent)!r} to write to.")
    if path.is_dir():
        raise IsADirectoryError(f"{str(path)!r} is a directory; name a file in it.")
    descriptor, waiting = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            yield stream
        umask = os.umask(0)
        os.umask(umask)
        Path(waiting).chmod(0o666 & ~umask)  # as if it had been opened in the usual way
        Path(waiting).replace(path)
    except BaseException:
        Path(waiting).unlink(missing_ok=True)
        raise
