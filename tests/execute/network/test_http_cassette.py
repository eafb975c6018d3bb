"""Cassettes: every byte counts, matching is strict, and reading then writing changes nothing."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.execute.network.http_cassette import (
    BadCassette,
    HttpCassette,
    RecordedExchange,
    choose,
    dump,
    index,
    key_of,
    load,
    varies_of,
)
from proctor.execute.network.http_exchange import Request
from proctor.execute.network.network_events import Content


def content(data: bytes) -> Content:
    return Content(hashlib.sha256(data).hexdigest(), len(data))


def taped(target: str = "/", answer: bytes = b"answer", sent: bytes = b"", **fields: object) -> RecordedExchange:
    values: dict[str, object] = {
        "method": "GET",
        "scheme": "https",
        "host": "a.test",
        "port": 443,
        "target": target,
        "request": content(sent),
        "varies": (),
        "status": 200,
        "reason": "OK",
        "headers": (("Content-Type", "text/plain"), ("X", "\xe9")),
        "response": content(answer),
    }
    return RecordedExchange(**{**values, **fields})  # type: ignore[arg-type]


def tape_of(*exchanges: tuple[RecordedExchange, bytes], gaps: tuple[str, ...] = ()) -> HttpCassette:
    bodies = {one.response.sha256: data for one, data in exchanges if data}
    return HttpCassette("pages", tuple(one for one, _ in exchanges), bodies, gaps)


def asking(target: str = "/", sent: bytes = b"", **headers: str) -> Request:
    pairs = tuple((name.replace("_", "-"), value) for name, value in headers.items())
    return Request("GET", "https", "a.test", 443, target, pairs, content(sent))


def chosen(tape: HttpCassette, request: Request, used: frozenset[int] = frozenset()) -> int | str:
    return choose(tape, index(tape).get(key_of(request), ()), used, request)


TAPE = tape_of(
    (taped("/a"), b"answer"),
    (taped("/b", b"other"), b"other"),
    (taped("/a", b"later"), b"later"),
    (taped("/a"), b"answer"),
    (taped("/empty", b"", status=304, bodiless=True), b""),
    (taped("/gone", b"", status=502, fault="a.test:443 cannot be reached"), b""),
    gaps=("GET a.test/cut: it did not end",),
)


def test_reading_and_writing_change_nothing() -> None:
    data = dump(TAPE)
    assert load(data) == TAPE
    assert dump(load(data)) == data
    assert data.count(b'"base64"') == 3, "each body stands there once"


def test_equal_requests_get_their_answers_in_order_and_each_once() -> None:
    used: set[int] = set()
    places = []
    for _ in range(3):
        place = chosen(TAPE, asking("/a"), frozenset(used))
        assert isinstance(place, int)
        used.add(place)
        places.append(place)
    assert places == [0, 2, 3]
    assert chosen(TAPE, asking("/a"), frozenset(used)) == "it was recorded 3 times, and this is one request more"


def test_a_request_must_be_the_same() -> None:
    assert chosen(TAPE, asking("/b")) == 1
    assert chosen(TAPE, asking("/b?x")) == "nothing was recorded for it"
    assert chosen(TAPE, asking("/b", b"body")) == "it was recorded with another body"
    changes: list[dict[str, Any]] = [{"method": "POST"}, {"scheme": "http"}, {"host": "b.test"}, {"port": 80}]
    for change in changes:
        assert chosen(TAPE, replace(asking("/b"), **change)) == "nothing was recorded for it"


def test_headers_count_where_the_answer_depends_on_them() -> None:
    varied = varies_of((("Accept", "text/html"), ("User-Agent", "x")), (("Vary", "Accept, User-Agent"), ("vary", "X")))
    assert varied == (("accept", "text/html"), ("x", ""))
    tape = tape_of((taped("/", varies=varied), b"answer"))
    assert chosen(tape, asking(accept="text/html", user_agent="y")) == 0
    different = "it was recorded with other headers that its answer depends on"
    assert chosen(tape, asking(accept="text/plain")) == different
    assert chosen(tape, asking(accept="text/html", x="1")) == different
    assert chosen(tape, asking(accept="text/html", range="bytes=0-1")) == different
    assert varies_of((("Range", "bytes=0-1"),), ()) == (("range", "bytes=0-1"),)


def test_credentials_are_never_what_an_answer_depends_on() -> None:
    sent = (("Authorization", "secret"), ("Cookie", "secret"))
    assert varies_of(sent, (("Vary", "Authorization, Cookie, *"),)) == ()


@pytest.mark.parametrize(
    "harm",
    [
        lambda lines: lines[:-1],
        lambda lines: lines[1:],
        lambda lines: [*lines[:2], *lines[3:]],
        lambda lines: [lines[0], *lines[2:]],
        lambda lines: [*lines, lines[-1]],
        lambda lines: [lines[0].replace(b'"schema":1', b'"schema":2'), *lines[1:]],
        lambda lines: [lines[0], lines[1].replace(b"YW5z", b"YW5y"), *lines[2:]],
        lambda lines: [lines[0], lines[1].replace(b"YW5z", b"YW5-"), *lines[2:]],
        lambda lines: [b" " + lines[0], *lines[1:]],
        lambda lines: [*lines[:2], lines[2].replace(b'"status":200', b'"status":"200"'), *lines[3:]],
        lambda lines: [*lines[:2], lines[2].replace(b'"status":200', b'"status":101'), *lines[3:]],
        lambda lines: [*lines[:2], lines[2].replace(b"text/plain", b"text\\r\\nA: b"), *lines[3:]],
        lambda lines: [*lines[:2], lines[2].replace(b'"https"', b'"ftp"'), *lines[3:]],
        lambda lines: [*lines[:2], b"[]", *lines[3:]],
        lambda lines: [*lines[:2], b"not json", *lines[3:]],
        lambda lines: [],
    ],
)
def test_harmed_cassettes_are_refused(harm: object) -> None:
    lines = dump(TAPE).split(b"\n")[:-1]
    assert callable(harm)
    with pytest.raises(BadCassette) as caught:
        load(b"".join(line + b"\n" for line in harm(lines)), "tape.jsonl")
    assert caught.value.where.startswith("tape.jsonl")


def test_a_file_that_is_cut_anywhere_is_refused() -> None:
    data = dump(TAPE)
    for size in range(0, len(data), 7):
        with pytest.raises(BadCassette):
            load(data[:size])


@given(st.binary(max_size=200))
def test_any_bytes_are_refused_in_words(data: bytes) -> None:
    with pytest.raises(BadCassette):
        load(data)


@given(st.lists(st.sampled_from(["kind", "name", "body", "end", "exchange", "gaps"]), max_size=4), st.integers())
def test_any_lines_are_refused_in_words(keys: list[str], value: int) -> None:
    line = json.dumps(dict.fromkeys(keys, value), separators=(",", ":"), sort_keys=True).encode()
    with pytest.raises(BadCassette):
        load(line + b"\n" + line + b"\n" + line + b"\n")
