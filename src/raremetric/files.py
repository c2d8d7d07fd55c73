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
from types import ModuleType
from typing import Any, BinaryIO

fcntl: ModuleType | None
try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

DESCRIPTORS = Path("/proc/self/fd")  # where Linux shows the open files of a process
MAX_QUOTED = 200  # characters of an error message of a library
ABANDONED = re.compile(r"\.raremetric-[0-9a-f]{16}")
OPEN_FILES = re.compile(r"/proc/[^/]+(/task/[^/]+)?/fd|/dev/fd")  # also of other processes
MAX_LINKS = 40  # as in Linux
FULL = frozenset({errno.ENOSPC, errno.EFBIG, errno.EDQUOT})


class TableError(ValueError):
    """A table cannot be used as it is; the message says why and what to do."""


def existing_file(path: str | Path) -> Path:
    """The path of a regular file to read, or an error if there is no such file."""
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(f"There is no file {str(path)!r}.")
    _check_regular(path)
    return path


def brief(error: BaseException) -> str:
    """The message of a library about a file, on one line; it may quote the content at length."""
    return _shortened(" ".join(str(error).split()))


def quoted(text: str) -> str:
    """Text from a file, such as a class, in quotation marks; shortened if it is long."""
    return repr(_shortened(text))


def _shortened(text: str) -> str:
    return text if len(text) <= MAX_QUOTED else f"{text[:MAX_QUOTED]} …"


def check_output(path: str | Path, inputs: Iterable[str | Path] = ()) -> Path:
    """The regular file that is written when a path is written: the target of a symbolic link.

    Raises
    ------
    OSError
        If the directory does not exist, or if the path is a directory, a device or a pipe, or may
        not be written.
    ValueError
        If the path is one of the inputs, "-", or an open file such as /dev/stdout.
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
    check_not_input(target, inputs)
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
def atomic_write(path: str | Path, *, replace: bool = True) -> Iterator[BinaryIO]:
    """Open a new file that gets the name ``path`` if the block ends without an error.

    The owner and the permissions of an existing file are kept, and the target of a symbolic link is
    replaced instead of the link. If there is an error, an existing file is left unchanged.

    Parameters
    ----------
    path : str or Path
    replace : bool, default=True
        Whether to replace an existing file; otherwise, FileExistsError is raised at the end.

    Notes
    -----
    On Linux, the new file has no name until it is complete, so that nothing remains of it if the
    process is killed. File systems without such files, such as NFS, and other operating systems
    need a temporary name, ``.raremetric-`` and 16 digits, in the same directory. The file is locked
    while it is written, and the next call for the same directory deletes those without a lock.
    """
    target = check_output(path)
    _remove_abandoned(target.parent)
    with _naming(target):
        descriptor, temporary = _new_file(target.parent)
    try:
        with _naming(target), os.fdopen(descriptor, "wb") as stream:
            yield stream
            stream.flush()
            os.fsync(descriptor)  # a full disk is noticed here at the latest
            if replace and target.exists():
                _copy_permissions(target, descriptor)
            if temporary is None and not _link(descriptor, target):
                if not replace:
                    raise FileExistsError(f"{str(target)!r} exists already.")
                temporary = _temporary_name(target.parent)
                _lock(descriptor)
                _link(descriptor, temporary)
            if temporary is not None:
                if fcntl is None:
                    stream.close()  # Windows does not rename open files
                _rename(temporary, target, replace)
    except BaseException:
        if temporary is not None:
            temporary.unlink(missing_ok=True)
        raise


@contextmanager
def _naming(target: Path) -> Iterator[None]:
    """Let errors of a full disk, and of the temporary file, name the file that is written."""
    try:
        yield
    except OSError as error:
        if error.errno in FULL or ABANDONED.fullmatch(Path(str(error.filename)).name):
            message = f"{str(target)!r} cannot be written: {error.strerror}."
            raise type(error)(message) from error
        raise


def _new_file(folder: Path) -> tuple[int, Path | None]:
    """The descriptor of a new file, and its temporary name; None if it has no name."""
    if hasattr(os, "O_TMPFILE") and DESCRIPTORS.is_dir():
        with suppress(OSError):  # the file system has no such files
            return os.open(folder, os.O_WRONLY | os.O_TMPFILE, 0o666), None
    while True:
        # Unlike tempfile, this gives a new file the same permissions as `open`.
        temporary = _temporary_name(folder)
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        _lock(descriptor)
        if os.fstat(descriptor).st_nlink:  # not deleted as abandoned before it was locked
            return descriptor, temporary
        os.close(descriptor)


def _temporary_name(folder: Path) -> Path:
    return folder / f".raremetric-{secrets.token_hex(8)}"


def _link(descriptor: int, target: Path) -> bool:
    """Give a file without a name its name; False if there is a file of that name."""
    source = DESCRIPTORS / str(descriptor)
    try:  # Python follows the link in /proc only if it is given a directory, which is not used
        os.link(source, target, src_dir_fd=descriptor, follow_symlinks=True)
    except FileExistsError:
        return False
    return True


def _rename(temporary: Path, target: Path, replace: bool) -> None:
    if replace:
        temporary.replace(target)
    else:
        os.link(temporary, target)  # unlike a rename, it never replaces a file
        temporary.unlink()


def _copy_permissions(source: Path, descriptor: int) -> None:
    if not hasattr(os, "fchown"):  # Windows
        return
    found = source.stat()
    with suppress(PermissionError):  # only the system's administrator can give files to others
        os.fchown(descriptor, found.st_uid, found.st_gid)
    os.fchmod(descriptor, stat.S_IMODE(found.st_mode))


def _lock(descriptor: int) -> bool:
    """Lock a file as long as its descriptor is open; False if that is not possible."""
    if fcntl is None:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _remove_abandoned(folder: Path) -> None:
    """Delete the temporary files of processes that were killed."""
    if fcntl is None:
        return
    for path in folder.glob(".raremetric-*"):
        if not ABANDONED.fullmatch(path.name):
            continue
        with suppress(OSError):  # another user's, or deleted by another process
            descriptor = os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_NOFOLLOW)
            try:
                if stat.S_ISREG(os.fstat(descriptor).st_mode) and _lock(descriptor):
                    path.unlink()
            finally:
                os.close(descriptor)


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
