"""Damaged files: the same bytes with some of them changed, removed, repeated or inserted."""

import signal
import threading
from contextlib import contextmanager
from functools import reduce
from typing import NamedTuple

from hypothesis import strategies as st

# Bytes that mean something to a reader of text.
SPECIAL = b"\0\t\n\r \"',;|%@{}[]?.-+eE0\x80\xe9\xff\xfe\xef"
SECONDS = 60  # of CPU time: no file takes as long


class Edit(NamedTuple):
    """A change of a file; not every kind uses every number."""

    kind: str
    start: int  # modulo the length of the file
    n_bytes: int
    number: int
    inserted: bytes

    def apply(self, data: bytes) -> bytes:
        """The file after the change."""
        start = self.start % max(len(data), 1)
        end = start + self.n_bytes
        if self.kind == "flip":
            flipped = bytes(each ^ 1 << self.number % 8 for each in data[start : start + 1])
            return data[:start] + flipped + data[start + 1 :]
        if self.kind == "set":
            special = SPECIAL[self.number % len(SPECIAL)]
            return data[:start] + bytes([special]) + data[start + 1 :]
        if self.kind == "cut":
            return data[:start]
        if self.kind == "remove":
            return data[:start] + data[end:]
        if self.kind == "repeat":
            return data[:start] + data[start:end] * self.number + data[start:]
        return data[:start] + self.inserted + data[start:]


# What is drawn does not depend on the file: a store contains times and differs between processes.
edits = st.builds(
    Edit,
    st.sampled_from(["flip", "set", "cut", "remove", "repeat", "insert"]),
    start=st.integers(0, 2**20),
    n_bytes=st.integers(0, 40),
    number=st.integers(1, 30),
    inserted=st.binary(max_size=8) | st.sampled_from([b"\n", b'"', b","]),
)


def damaged(original: bytes):
    """The file after one to four changes."""
    return st.lists(edits, min_size=1, max_size=4).map(
        lambda changes: reduce(lambda data, edit: edit.apply(data), changes, original)
    )


@contextmanager
def limited_time():
    """Fail instead of running forever; a machine that is busy or paused does not count."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(*_):
        raise AssertionError(f"not finished after {SECONDS} seconds")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def check_sentence(error):
    """A message is short, and says something when it is printed on one line."""
    message = " ".join(str(error).split())
    assert 10 < len(message) < 3000, message
    assert "Traceback" not in message
