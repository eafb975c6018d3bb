"""Streams are counted and hashed whole, kept in part, and never waited for."""

from __future__ import annotations

import hashlib
import os

from hypothesis import given
from hypothesis import strategies as st

from proctor.execute.sandbox.bubblewrap.command_pipes import Capture, wide_pipe


@given(st.lists(st.binary(max_size=2000), max_size=10), st.integers(0, 5000))
def test_prefix_total_and_digest(pieces: list[bytes], room: int) -> None:
    reading, writing = wide_pipe()
    capture = Capture(reading, room)
    for piece in pieces:
        os.write(writing, piece)
        capture.take()
    os.close(writing)
    while capture.open:
        capture.take()
    capture.close()
    whole = b"".join(pieces)
    output = capture.output()
    assert output.prefix == whole[:room] and output.total_bytes == len(whole)
    assert output.sha256 == hashlib.sha256(whole).hexdigest()


def test_an_empty_pipe_is_not_waited_for() -> None:
    reading, writing = wide_pipe()
    capture = Capture(reading, 10)
    assert capture.take() == 0 and capture.open
    capture.take_waiting()
    os.write(writing, b"abc")
    capture.take_waiting()
    assert capture.output().prefix == b"abc"
    os.close(writing)
    capture.close()
