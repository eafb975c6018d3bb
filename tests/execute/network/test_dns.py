"""The name server: what it answers, what it tells, and that no bytes trip it."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.execute.network.dns import NameServer, Question, respond
from proctor.execute.network.network_events import Lookup, NetworkEvent


def query(name: bytes, kind: int = 1, flags: int = 0x0100, questions: int = 1, identity: int = 0x1234) -> bytes:
    labels = b"".join(bytes([len(label)]) + label for label in name.split(b".") if label)
    return struct.pack("!6H", identity, flags, questions, 0, 0, 0) + labels + b"\0" + struct.pack("!2H", kind, 1)


def knows(name: str) -> bool:
    return name == "known.test"


def code_and_answers(reply: bytes) -> tuple[int, int]:
    _, flags, _, answers, _, _ = struct.unpack_from("!6H", reply)
    assert flags & 0x8000
    return flags & 15, answers


def test_a_known_name_leads_to_the_loopback() -> None:
    reply, question = respond(query(b"Known.TEST"), knows)
    assert question == Question("known.test", "A", True)
    assert code_and_answers(reply) == (0, 1)
    assert reply[:2] == b"\x12\x34" and reply.endswith(b"\0\4\x7f\0\0\1")
    assert b"\5Known\4TEST\0" in reply, "the question comes back as it was asked"


@pytest.mark.parametrize("kind", [28, 16, 255, 65])
def test_a_known_name_has_no_other_records(kind: int) -> None:
    reply, question = respond(query(b"known.test", kind), knows)
    assert question is not None and question.known
    assert code_and_answers(reply) == (0, 0)


def test_other_names_do_not_exist() -> None:
    reply, question = respond(query(b"secret.evil.test", 16), knows)
    assert question == Question("secret.evil.test", "TXT", False)
    assert code_and_answers(reply) == (3, 0)


def test_bytes_in_names_are_told_as_text() -> None:
    _, question = respond(query(b'a\0b\xff.x"y'), knows)
    assert question is not None and question.name == "a\\000b\\255.x\\034y"
    _, root = respond(query(b"", 2), knows)
    assert root == Question(".", "NS", False)


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (query(b"a.test", questions=2), 1),
        (query(b"a.test", questions=0), 1),
        (query(b"a.test")[:-1], 1),
        (query(b"a.test")[:14], 1),
        (struct.pack("!6H", 1, 0, 1, 0, 0, 0) + b"\xc0\x0c\0\1\0\1", 1),
        (struct.pack("!6H", 1, 0, 1, 0, 0, 0) + b"\x3f" * 400, 1),
        (query(b"a.test", flags=0x2800), 4),
    ],
)
def test_what_is_no_question_gets_an_error(data: bytes, code: int) -> None:
    reply, question = respond(data, knows)
    assert question is None and code_and_answers(reply) == (code, 0)


@pytest.mark.parametrize("data", [b"", b"short", query(b"a.test", flags=0x8180)])
def test_answers_and_fragments_get_silence(data: bytes) -> None:
    assert respond(data, knows) == (b"", None)


@given(st.binary(max_size=600))
def test_any_bytes_are_answered_or_ignored(data: bytes) -> None:
    reply, question = respond(data, knows)
    assert len(reply) <= len(data) + 16
    assert question is None or question.name.isascii()


def test_names_are_told_once_and_counted() -> None:
    told: list[NetworkEvent] = []
    server = NameServer(knows, told.append, limit=2)
    for name in (b"a.test", b"A.test", b"a.test", b"known.test", b"c.test", b"d.test"):
        assert server.answer(query(name))
    assert told == [Lookup("a.test", "A", False), Lookup("known.test", "A", True)]
    server.close()
    assert told[2:] == [Lookup("a.test", "A", False, 2), Lookup("(other names)", "", False, 2)]
    assert server.count == 6
    server.close()
    assert len(told) == 4


def test_a_lookup_is_an_attempt_that_the_trace_takes() -> None:
    from proctor.record.trace.event_types import check_event

    lookup = Lookup("a.test", "A", False)
    assert check_event(lookup.event, lookup.payload(), None) == "agent"
