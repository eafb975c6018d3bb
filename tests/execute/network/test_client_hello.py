"""The name in a TLS greeting, from greetings that OpenSSL makes and from bytes that are none."""

from __future__ import annotations

import ssl

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.execute.network.allow_list import NotTls, server_name


def greeting(name: str | None) -> bytes:
    """What a client says first."""
    context = ssl.create_default_context()
    context.check_hostname = False
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    with pytest.raises(ssl.SSLWantReadError):
        context.wrap_bio(incoming, outgoing, server_hostname=name).do_handshake()
    return outgoing.read()


def in_records(data: bytes, size: int) -> bytes:
    """The same greeting in smaller records."""
    message = data[5:]
    parts = [message[at : at + size] for at in range(0, len(message), size)]
    return b"".join(data[:3] + len(part).to_bytes(2, "big") + part for part in parts)


HELLO = greeting("Some.Example.TEST")


def test_the_name_is_found() -> None:
    assert server_name(HELLO) == "some.example.test"
    assert server_name(HELLO + b"more") == "some.example.test"
    assert server_name(in_records(HELLO, 7)) == "some.example.test"


def test_a_greeting_without_a_name() -> None:
    assert server_name(greeting(None)) == ""


def test_part_of_a_greeting_is_not_enough() -> None:
    small = in_records(HELLO, 100)
    assert all(server_name(HELLO[:count]) is None for count in range(len(HELLO)))
    assert all(server_name(small[:count]) is None for count in range(0, len(small), 13))


@pytest.mark.parametrize(
    "data",
    [
        b"GET / HTTP/1.1\r\n",
        b"SSH-2.0-x",
        b"\x17\x03\x03\x00\x01x",
        b"\x16\x03\x01\x00\x00",
        b"\x16\x03\x01\x00\x04\x02\x00\x00\x00",
        b"\x16\x03\x01\x00\x04\x01\xff\xff\xff",
        b"\x16\x03\x01\x00\x08\x01\x00\x00\x04abcd",
    ],
)
def test_what_is_no_greeting(data: bytes) -> None:
    with pytest.raises(NotTls):
        server_name(data)


@given(st.integers(5, len(HELLO) - 1), st.integers(0, 255))
def test_a_changed_greeting_is_read_or_refused(place: int, value: int) -> None:
    try:
        server_name(HELLO[:place] + bytes([value]) + HELLO[place + 1 :])
    except NotTls:
        pass
