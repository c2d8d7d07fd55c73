"""Files to read and to write: what is refused, and what stays as it was."""

import errno
import io
import os
import stat
import sys
import threading
from pathlib import Path

import pytest

from raremetric.files import atomic_write, check_output, copied_to_file, existing_file, quoted


def write(path, content=b"new"):
    with atomic_write(path) as stream:
        stream.write(content)


def write_half(path, error):
    with atomic_write(path) as stream:
        stream.write(b"half")
        raise error


@pytest.fixture(params=["unnamed", "named"])
def kind(request, monkeypatch):
    """Both ways to write a file."""
    if request.param == "named":
        monkeypatch.delattr(os, "O_TMPFILE", raising=False)
    elif not hasattr(os, "O_TMPFILE"):
        pytest.skip("this system has no files without a name")
    return request.param


def test_permissions_are_those_of_open_or_of_the_existing_file(tmp_path, kind):
    path, other = tmp_path / "a", tmp_path / "b"
    other.write_bytes(b"")
    write(path)
    assert path.stat().st_mode == other.stat().st_mode
    path.chmod(0o640)
    write(path, b"newer")
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
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


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_after_an_error_everything_is_as_before(tmp_path, kind, error):
    path = tmp_path / "a"
    path.write_bytes(b"old")
    with pytest.raises(error):
        write_half(path, error)
    assert path.read_bytes() == b"old"
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
    with pytest.raises(IsADirectoryError, match=r"is a directory. Give the name of a file."):
        check_output(tmp_path)
    with pytest.raises(ValueError, match=r"'-' is not a file to write to. Give the name of a file"):
        check_output("-")
    with pytest.raises(FileNotFoundError, match=r"There is no directory .*none' to write to."):
        check_output(tmp_path / "none" / "a")


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


def test_a_name_that_ends_in_a_slash(tmp_path):
    with pytest.raises(IsADirectoryError, match=r"new/' ends like the name of a directory"):
        write(f"{tmp_path}/new/")
    with pytest.raises(IsADirectoryError, match=r"is a directory"):
        write(f"{tmp_path}/")
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_named(tmp_path):
    with pytest.raises(OSError, match=r"a' cannot be written: No space left on device\.$"):
        write_half(tmp_path / "a", OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)))
    with pytest.raises(OSError, match=r"^\[Errno 5\]"):  # not about this file
        write_half(tmp_path / "a", OSError(errno.EIO, "failed"))


def test_errors_do_not_name_the_temporary_file():
    with pytest.raises(OSError, match=r"^'/proc/x.csv' cannot be written: [^/]*\.$"):
        write("/proc/x.csv")


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


def test_what_the_directory_shows_while_a_file_is_written(tmp_path, kind):
    (tmp_path / "a").write_bytes(b"old")
    with atomic_write(tmp_path / "a") as stream:
        stream.write(b"new")
        stream.flush()
        assert (tmp_path / "a").read_bytes() == b"old"
        names = {path.name for path in tmp_path.iterdir()} - {"a"}
        assert len(names) == (kind == "named")
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"a": b"new"}


@pytest.mark.parametrize("exists", [True, False])
def test_a_file_that_must_not_be_replaced(tmp_path, kind, exists):
    path = tmp_path / "a"
    if exists:
        path.write_bytes(b"old")
        sentence = "a' cannot be written: File exists"
        with (
            pytest.raises(FileExistsError, match=sentence),
            atomic_write(path, replace=False) as stream,
        ):
            stream.write(b"new")
    else:
        with atomic_write(path, replace=False) as stream:
            stream.write(b"new")
    assert path.read_bytes() == (b"old" if exists else b"new")
    assert list(tmp_path.iterdir()) == [path]


def test_the_owner_of_an_existing_file_is_kept(tmp_path):
    if os.getuid() != 0:
        pytest.skip("only root can give files to others")
    path = tmp_path / "a"
    path.write_bytes(b"old")
    os.chown(path, 1234, 2345)
    write(path)
    assert (path.stat().st_uid, path.stat().st_gid) == (1234, 2345)


@pytest.mark.parametrize("platform", ["linux", "other"])
def test_a_stream_as_a_file(platform, monkeypatch):
    if platform == "other":
        monkeypatch.setattr(sys, "platform", "other")
    with copied_to_file(io.BytesIO(b"a,b\n1,2\n"), ".csv") as path:
        for _ in range(2):  # can be read several times
            assert Path(path).read_bytes() == b"a,b\n1,2\n"
    assert not Path(path).exists()
