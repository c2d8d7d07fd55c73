"""Files to read and to write: what is refused, and what stays as it was."""

import os
import stat
import threading

import pytest

from raremetric.files import atomic_write, check_output, existing_file


def write(path, content=b"new"):
    with atomic_write(path) as stream:
        stream.write(content)


def write_half(path, error):
    with atomic_write(path) as stream:
        stream.write(b"half")
        raise error


def test_a_new_file_has_the_permissions_of_open(tmp_path):
    write(tmp_path / "a")
    (tmp_path / "b").write_bytes(b"")
    assert (tmp_path / "a").stat().st_mode == (tmp_path / "b").stat().st_mode
    assert (tmp_path / "a").read_bytes() == b"new"


def test_the_permissions_of_an_existing_file_are_kept(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"old")
    path.chmod(0o640)
    write(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert path.read_bytes() == b"new"


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
def test_the_target_of_a_link_is_written(tmp_path, exists):
    (tmp_path / "inner").mkdir()
    target, link = tmp_path / "inner" / "target", tmp_path / "link"
    link.symlink_to("inner/target")
    if exists:
        target.write_bytes(b"old")
    write(link)
    assert link.is_symlink()
    assert not target.is_symlink()
    assert target.read_bytes() == b"new"


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_after_an_error_everything_is_as_before(tmp_path, error):
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
    with pytest.raises(FileNotFoundError, match=r"There is no directory .*none' to write to."):
        check_output(tmp_path / "none" / "a")


def test_only_regular_files_are_read(tmp_path):
    (tmp_path / "a").write_bytes(b"")
    assert existing_file(tmp_path / "a") == tmp_path / "a"
    with pytest.raises(FileNotFoundError, match=r"There is no file .*none'."):
        existing_file(tmp_path / "none")
    with pytest.raises(IsADirectoryError, match=r"is a directory"):
        existing_file(tmp_path)
    with pytest.raises(OSError, match=r"is a device"):
        existing_file(os.devnull)
