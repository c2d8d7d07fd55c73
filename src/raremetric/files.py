"""Find files to read, and write files as a whole or not at all."""

from __future__ import annotations

import errno
import os
import re
import secrets
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

DESCRIPTORS = Path("/proc/self/fd")  # where Linux shows the open files of a process
MAX_QUOTED = 200  # characters of an error message of a library
TEMPORARY = re.compile(r"\.raremetric-[0-9a-f]{16}")
OPEN_FILES = re.compile(r"/proc/[^/]+(/task/[^/]+)?/fd|/dev/fd")  # also of other processes
MAX_LINKS = 40  # as in Linux
FULL = frozenset({errno.ENOSPC, errno.EFBIG, errno.EDQUOT})


def existing_file(path: str | Path) -> Path:
    """The path of a regular file to read, or an error if there is no such file."""
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(f"There is no file {str(path)!r}.")
    _check_regular(path)
    return path


def brief(text: object) -> str:
    """Text from a file, or the message of a library that may quote it, on one line; shortened."""
    return _shortened(" ".join(str(text).split()))


def quoted(text: str) -> str:
    """Text from a file, such as a class, in quotation marks; shortened if it is long."""
    return repr(_shortened(text))


def _shortened(text: str) -> str:
    return text if len(text) <= MAX_QUOTED else f"{text[:MAX_QUOTED]} …"


def check_output(path: str | Path, inputs: Iterable[str | Path] = ()) -> Path:
    """The regular file that is written when a path is written: the target of a symbolic link.

    An error if the path cannot or must not be written, as if it is one of the inputs; of these,
    what is not a file, such as ``"-"``, is skipped.
    """
    text, path = os.fspath(path), Path(path)
    if text == "-":
        raise ValueError("'-' is not a file to write to. Give the name of a file, or no output.")
    check_not_open(path)
    if text.endswith(("/", os.sep)) and not path.is_dir():
        raise IsADirectoryError(
            f"{text!r} ends like the name of a directory. Give the name of a file."
        )
    target = Path(os.path.realpath(path))
    if not target.parent.is_dir():
        raise FileNotFoundError(f"There is no directory {str(target.parent)!r} to write to.")
    if os.path.lexists(target) or path.exists():  # the target of /dev/stdout may have no name
        _check_regular(path)
    if any(target.exists() and Path(each).exists() and target.samefile(each) for each in inputs):
        raise ValueError(
            f"The output {str(target)!r} is also an input, which would be overwritten. Give the "
            "name of another file."
        )
    for place in (target.parent, target):  # a file is replaced, which changes its directory
        if place.exists() and not os.access(place, os.W_OK):
            raise PermissionError(f"There is no permission to write to {str(place)!r}.")
    return target


def check_not_open(path: Path) -> None:
    """Raise an error if a path to write to, or its directory, is an open file of a process.

    Behind /dev/stdout and /dev/fd/3, there may be a file that other programs append to. To replace
    it would lose what they have written.
    """
    absolute = Path.cwd() / path
    if any(_is_open_file(each) for each in (absolute, *absolute.parents)):
        raise ValueError(
            f"{str(path)!r} is an open file, such as standard output, not the name of a file. Give "
            "the name of a file, or redirect the output of the command instead."
        )


def _is_open_file(path: Path) -> bool:
    """Whether a path, or one of the links that it leads to, stands for an open file."""
    for _ in range(MAX_LINKS):
        folder = os.path.realpath(path.parent)
        if OPEN_FILES.fullmatch(folder):
            return True
        path = Path(folder, path.name)
        if not path.is_symlink():
            return False
        path = Path(folder, path.readlink())
    return False


def _check_regular(path: Path) -> None:
    if path.is_dir():
        raise IsADirectoryError(f"{str(path)!r} is a directory. Give the name of a file.")
    if not path.is_file():
        raise OSError(f"{str(path)!r} is a device, a pipe or a loop of links, not a regular file.")


@contextmanager
def atomic_write(path: str | Path, *, replace: bool = True) -> Iterator[BinaryIO]:
    """Open a new file that gets the name ``path`` if the block ends without an error.

    The owner and the permissions of an existing file are kept, and the target of a symbolic link is
    replaced instead of the link. If there is an error, an existing file is left unchanged. Without
    `replace`, FileExistsError is raised at the end if there is one.

    Notes
    -----
    On Linux, the new file has no name until it is complete, so that nothing remains of it if the
    process is killed. File systems without such files, such as NFS, and other operating systems
    need a temporary name, ``.raremetric-`` and 16 digits, in the same directory.
    """
    target = check_output(path)
    temporary = target.with_name(f".raremetric-{secrets.token_hex(8)}")
    try:
        with _naming(target):
            with os.fdopen(_new_file(temporary), "wb") as stream:
                yield stream
                stream.flush()
                os.fsync(stream.fileno())  # a full disk is noticed here at the latest
                if replace and target.exists():
                    _copy_permissions(target, stream.fileno())
                if not temporary.exists():
                    # Python follows the link only if it is given a directory, which is not used.
                    unnamed = DESCRIPTORS / str(stream.fileno())
                    os.link(unnamed, temporary, src_dir_fd=stream.fileno(), follow_symlinks=True)
            if replace:
                temporary.replace(target)
            else:
                os.link(temporary, target)  # unlike a rename, it never replaces a file
    finally:
        temporary.unlink(missing_ok=True)


def _new_file(temporary: Path) -> int:
    """The descriptor of a new file, which has no name where this is possible."""
    if hasattr(os, "O_TMPFILE") and DESCRIPTORS.is_dir():
        with suppress(OSError):  # the file system has no such files
            return os.open(temporary.parent, os.O_WRONLY | os.O_TMPFILE, 0o666)
    # Unlike tempfile, this gives a new file the same permissions as `open`.
    return os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)


@contextmanager
def _naming(target: Path) -> Iterator[None]:
    """Let errors of a full disk, and of the temporary file, name the file that is written."""
    try:
        yield
    except OSError as error:
        if error.errno in FULL or TEMPORARY.fullmatch(Path(str(error.filename)).name):
            message = f"{str(target)!r} cannot be written: {error.strerror}."
            raise type(error)(message) from error
        raise


def _copy_permissions(source: Path, descriptor: int) -> None:
    if not hasattr(os, "fchown"):  # Windows
        return
    found = source.stat()
    with suppress(PermissionError):  # only the system's administrator can give files to others
        os.fchown(descriptor, found.st_uid, found.st_gid)
    os.fchmod(descriptor, stat.S_IMODE(found.st_mode))


@contextmanager
def copied_to_file(stream: BinaryIO, suffix: str) -> Iterator[str]:
    """The path of a temporary file with the content of a stream, which may be a pipe.

    On Linux, the file has no name, so that nothing remains of it if the process is killed; its path
    is valid in this process only.
    """
    unnamed = sys.platform == "linux" and DESCRIPTORS.is_dir()
    kind: Any = tempfile.TemporaryFile if unnamed else tempfile.NamedTemporaryFile
    with kind(suffix=suffix) as copied:
        with _naming(Path(tempfile.gettempdir())):
            shutil.copyfileobj(stream, copied)
            copied.flush()
        yield str(DESCRIPTORS / str(copied.fileno())) if unnamed else copied.name
