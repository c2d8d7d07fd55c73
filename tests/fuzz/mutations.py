"""Damaged files: the same bytes with some of them changed, removed, repeated or inserted."""

import signal
import threading
from contextlib import contextmanager

from hypothesis import strategies as st

# Bytes that mean something to a reader of text.
SPECIAL = b"\0\t\n\r \"',;|%@{}[]?.-+eE0\x80\xe9\xff\xfe\xef"
SECONDS = 120  # no file takes as long


@st.composite
def damaged(draw, original):
    """A file with up to four mutations."""
    data = bytearray(original)
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, max(len(data) - 1, 0)))
        end = start + draw(st.integers(0, 40))
        kind = draw(st.sampled_from(["flip", "set", "cut", "remove", "repeat", "insert"]))
        if kind == "flip" and data:
            data[start] ^= 1 << draw(st.integers(0, 7))
        elif kind == "set" and data:
            data[start] = draw(st.sampled_from(SPECIAL))
        elif kind == "cut":
            del data[start:]
        elif kind == "remove":
            del data[start:end]
        elif kind == "repeat":
            data[start:start] = data[start:end] * draw(st.integers(1, 30))
        else:
            data[start:start] = draw(st.binary(max_size=8) | st.sampled_from([b"\n", b'"', b","]))
    return bytes(data)


@contextmanager
def limited_time():
    """Fail instead of waiting forever."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(*_):
        raise AssertionError(f"not finished after {SECONDS} seconds")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def check_sentence(error):
    """A message is short, and says something when it is printed on one line."""
    message = " ".join(str(error).split())
    assert 10 < len(message) < 3000, message
    assert "Traceback" not in message
