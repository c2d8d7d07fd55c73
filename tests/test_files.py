"""Files to read and to write: what is refused, and what stays as it was."""

import errno
import io
import os
import stat
import sys
import threading
from contextlib import nullcontext
from pathlib import Path

import pytest

from raremetric.files import atomic_write, check_output, copied_to_file, existing_file, quoted


def write(path, content=b"new"):
    with atomic_write(path) as stream:
        stream.write(content)


@pytest.fixture(params=["unnamed", "named"])
def kind(request, monkeypatch):
    """Both ways to write a file."""
    if request.param == "named":
        monkeypatch.delattr(os, "O_TMPFILE", raising=False)
    elif not hasattr(os, "O_TMPFILE"):
        pytest.skip("this system has no files without a name")
    return request.param


def test_owner_and_permissions_are_those_of_open_or_of_the_existing_file(tmp_path, kind):
    path, other = tmp_path / "a", tmp_path / "b"
    other.write_bytes(b"")
    write(path)
    assert path.stat().st_mode == other.stat().st_mode
    path.chmod(0o640)
    if os.getuid() == 0:  # only root can give files to others
        os.chown(path, 1234, 2345)
    before = path.stat()
    write(path, b"newer")
    after = path.stat()
    assert stat.S_IMODE(after.st_mode) == 0o640
    assert (after.st_uid, after.st_gid) == (before.st_uid, before.st_gid)
    assert path.read_bytes() == b"newer"


def test_writing_does_not_change_the_umask_of_other_threads(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "umask", lambda mask: pytest.fail("the umask was changed"))
    threads = [threading.Thread(target=write, args=(tmp_path / str(i),)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {path.read_bytes() for path in tmp_path.iterdir()} == {b"new"}
    assert len(list(tmp_path.iterdir())) == 8


@pytest.mark.parametrize("exists", [True, False])
def test_the_target_of_a_link_is_written(tmp_path, kind, exists):
    (tmp_path / "inner").mkdir()
    target, link = tmp_path / "inner" / "target", tmp_path / "link"
    link.symlink_to("inner/target")
    if exists:
        target.write_bytes(b"old")
    write(link)
    assert link.is_symlink()
    assert not target.is_symlink()
    assert target.read_bytes() == b"new"


@pytest.mark.parametrize("error", [None, ValueError, KeyboardInterrupt])
def test_a_file_is_replaced_at_the_end_or_not_at_all(tmp_path, kind, error):
    path = tmp_path / "a"
    path.write_bytes(b"old")
    with pytest.raises(error) if error else nullcontext(), atomic_write(path) as stream:
        stream.write(b"new")
        stream.flush()
        assert path.read_bytes() == b"old"
        assert len(list(tmp_path.iterdir())) == 1 + (kind == "named")
        if error:
            raise error
    assert path.read_bytes() == (b"old" if error else b"new")
    assert list(tmp_path.iterdir()) == [path]


def test_only_regular_files_are_written(tmp_path):
    pipe, loop, link = tmp_path / "pipe", tmp_path / "loop", tmp_path / "link"
    os.mkfifo(pipe)
    loop.symlink_to(loop)
    link.symlink_to(os.devnull)
    before = sorted(tmp_path.iterdir())
    sentence = r"is a device, a pipe or a loop of links"
    for path in (pipe, loop):
        with pytest.raises(OSError, match=sentence):
            write(path)
    for path in (link, os.devnull):  # only checked: a mistake must not replace the device
        with pytest.raises(OSError, match=sentence):
            check_output(path)
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize(
    ("path", "sentence"),
    [
        ("{}", r"is a directory\. Give the name of a file"),
        ("{}/", r"is a directory\. Give the name of a file"),
        ("{}/new/", r"new/' ends like the name of a directory"),
        ("{}/none/a", r"There is no directory .*none' to write to\."),
        ("-", r"'-' is not a file to write to\. Give the name of a file"),
        ("/proc/x.csv", r"^'/proc/x.csv' cannot be written: [^/]*\.$"),  # not the temporary name
    ],
)
def test_what_cannot_be_written(tmp_path, path, sentence):
    with pytest.raises((OSError, ValueError), match=sentence):
        write(path.format(tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_pipes_without_a_name_and_open_directories_are_refused(tmp_path):
    """As behind /dev/stdout, if the output of a command is piped."""
    reading, writing = os.pipe()
    folder = os.open(tmp_path, os.O_RDONLY)
    try:
        for path in (f"/proc/self/fd/{writing}", f"/dev/fd/{folder}/a"):
            with pytest.raises(ValueError, match=r"is an open file.* redirect the output of the"):
                check_output(path)
    finally:
        for descriptor in (reading, writing, folder):
            os.close(descriptor)


@pytest.mark.parametrize("kind", ["dev", "proc", "thread", "link", "dots"])
@pytest.mark.parametrize("deleted", [False, True])
def test_an_open_file_is_not_replaced(tmp_path, kind, deleted):
    """As in `raremetric predict ... -o /dev/stdout >> all.csv`."""
    with (tmp_path / "all.csv").open("wb+") as stream:
        stream.write(b"old")
        stream.flush()
        number = stream.fileno()
        folders = {
            "proc": "/proc/self/fd",
            "thread": "/proc/thread-self/fd",
            "dots": "/dev/../dev/fd",
        }
        path = f"{folders.get(kind, '/dev/fd')}/{number}"
        if kind == "link":
            (tmp_path / "link").symlink_to(path)
            path = tmp_path / "link"
        if deleted:
            (tmp_path / "all.csv").unlink()
        before = sorted(tmp_path.iterdir())
        with pytest.raises(ValueError, match=r"is an open file, such as standard output"):
            write(path)
        stream.seek(0)
        assert stream.read() == b"old"
        assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize(
    ("number", "sentence"),
    [
        (errno.ENOSPC, r"a' cannot be written: No space left on device\.$"),
        (errno.EIO, r"^\[Errno 5\]"),  # not about this file
    ],
)
def test_a_full_disk_is_named(tmp_path, number, sentence):
    with pytest.raises(OSError, match=sentence), atomic_write(tmp_path / "a"):
        raise OSError(number, os.strerror(number))


def test_long_text_is_shortened():
    assert quoted("it's") == '"it\'s"'
    assert quoted("x" * 3_000_000) == f"'{'x' * 200} …'"


def test_only_regular_files_are_read(tmp_path):
    (tmp_path / "a").write_bytes(b"")
    assert existing_file(tmp_path / "a") == tmp_path / "a"
    with pytest.raises(FileNotFoundError, match=r"There is no file .*none'."):
        existing_file(tmp_path / "none")
    with pytest.raises(IsADirectoryError, match=r"is a directory"):
        existing_file(tmp_path)
    with pytest.raises(OSError, match=r"is a device"):
        existing_file(os.devnull)


def test_a_file_that_must_not_be_replaced(tmp_path, kind):
    path = tmp_path / "a"
    for content in (b"new", b"newer"):
        sentence = "a' cannot be written: File exists"
        refused = pytest.raises(FileExistsError, match=sentence)
        context = refused if path.exists() else nullcontext()
        with context, atomic_write(path, replace=False) as stream:
            stream.write(content)
    assert path.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("platform", ["linux", "other"])
def test_a_stream_as_a_file(platform, monkeypatch):
    if platform == "other":
        monkeypatch.setattr(sys, "platform", "other")
    with copied_to_file(io.BytesIO(b"a,b\n1,2\n"), ".csv") as path:
        for _ in range(2):  # can be read several times
            assert Path(path).read_bytes() == b"a,b\n1,2\n"
    assert not Path(path).exists()
