"""Providers that break: everything is bounded, classified and on record, and nothing hangs."""

from __future__ import annotations

import json
import re
import select
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import HTTPException
from typing import Any

import pytest

from proctor.execute.gateway.gateway_settings import Limits
from tests.execute.gateway.conftest import DIALECTS, PATHS, MakeRig, Rig, body_of
from tests.ports import refusing_port

PATIENCE_SECONDS = 60
WORDS = "say: 'A long enough answer that it takes several events to bring it all here.'"


def read_request(connection: socket.socket) -> None:
    """Read a whole request: a connection that is closed with bytes unread is reset, and takes the answer with it."""
    data = b""
    while b"\r\n\r\n" not in data:
        data += _more(connection)
    head, _, body = data.partition(b"\r\n\r\n")
    length = int(re.findall(rb"(?i)^content-length: *(\d+)", head, re.MULTILINE)[0])
    while len(body) < length:
        body += _more(connection)


def _more(connection: socket.socket) -> bytes:
    data = connection.recv(65536)
    if not data:
        raise ConnectionError("the request ended before its end")
    return data


@contextmanager
def raw_server(serve: Callable[[socket.socket], None]) -> Iterator[str]:
    """A server that does with each connection what ``serve`` does, once a request has come."""
    listener = socket.create_server(("127.0.0.1", 0))

    def turn() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection:
                try:
                    read_request(connection)
                    serve(connection)
                except OSError:
                    pass

    thread = threading.Thread(target=turn)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join()


def stream_of(rig: Rig, dialect: str) -> tuple[int, bytes]:
    """A streamed request; what came of it until it broke off."""
    path = "/v1beta/models/m:streamGenerateContent?alt=sse" if dialect == "gemini" else PATHS[dialect]
    body = body_of(dialect) if dialect == "gemini" else body_of(dialect, stream=True)
    try:
        return rig.post(path, body)
    except (OSError, HTTPException) as error:
        return 0, repr(error).encode()


@pytest.mark.parametrize("dialect", DIALECTS)
def test_killed_in_the_middle_of_a_stream(make_rig: MakeRig, dialect: str) -> None:
    rig = make_rig("  - {" + WORDS + ", fault: cut}\n")
    status, _ = stream_of(rig, dialect)
    assert status == 0, "the agent must not take half an answer for a whole one"
    (error,) = rig.wait("model.error")
    assert (error["class"], error["infrastructure"]) == ("network", True)
    (response,) = rig.of("model.response")
    assert response["whole"] is False
    (usage,) = rig.of("model.usage")
    assert usage["estimated"] is True
    assert "A long" in rig.text(rig.of("model.message")[-1]["content"])
    assert "network" in (rig.stop().outage or "")


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_stream_that_stops_coming(make_rig: MakeRig, dialect: str) -> None:
    rig = make_rig("  - {" + WORDS + ", fault: hang}\n", limits=Limits(idle_seconds=2))
    assert stream_of(rig, dialect)[0] == 0
    assert rig.wait("model.error")[0]["class"] == "timeout"
    assert rig.of("model.usage")[0]["estimated"] is True


@pytest.mark.parametrize("dialect", DIALECTS)
def test_malformed_chunks(make_rig: MakeRig, dialect: str) -> None:
    rig = make_rig("  - {" + WORDS + ", fault: garbage}\n")
    stream_of(rig, dialect)
    (error,) = rig.wait("model.error")
    assert (error["class"], error["infrastructure"]) == ("malformed", True)
    assert rig.of("model.response")[0]["whole"] is False


@pytest.mark.parametrize("dialect", DIALECTS)
def test_ten_megabytes_in_one_line(make_rig: MakeRig, dialect: str) -> None:
    rig = make_rig("  - {" + WORDS + ", fault: long-line}\n")
    status, data = stream_of(rig, dialect)
    assert status == 200
    assert len(data) > 10 << 20
    response = rig.wait("model.response")[0]
    assert response["whole"] is True, "what is around the line is read"
    assert response["body"]["bytes"] > 10 << 20
    assert len(json.dumps(rig.events)) < 100_000, "the line itself is in the blob store only"


def test_an_answer_without_end_is_cut(make_rig: MakeRig) -> None:
    rig = make_rig("  - {" + WORDS + ", fault: long-line}\n", limits=Limits(answer_bytes=1 << 20))
    status, _ = stream_of(rig, "chat")
    assert status == 0
    assert rig.wait("model.error")[0]["class"] == "too-large"


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_wrong_content_type(make_rig: MakeRig, dialect: str) -> None:
    rig = make_rig("  - {" + WORDS + ", fault: html}\n")
    status, data = stream_of(rig, dialect)
    assert status == 502
    assert b"text/html" in data
    assert rig.wait("model.error")[0]["class"] == "malformed"


def test_a_provider_that_is_not_there(make_rig: MakeRig) -> None:
    with refusing_port() as port:
        rig = make_rig(url=f"http://127.0.0.1:{port}")
        assert rig.post(PATHS["chat"], body_of("chat"))[0] == 502
    (error,) = rig.of("model.error")
    assert (error["class"], error["status"]) == ("network", 0)
    assert rig.of("model.usage") == []
    assert rig.meter.amount == 0


RAW: dict[str, tuple[bytes, str]] = {
    "no answer at all": (b"", "network"),
    "not HTTP": (b"220 mail.example ESMTP\r\n", "network"),
    "a body that is cut": (
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{",
        "network",
    ),
    "not JSON": (b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 3\r\n\r\n{{{", "malformed"),
    "no object": (b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n[]", "malformed"),
    "a redirect": (b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n", "malformed"),
    "down": (b"HTTP/1.1 503 Down\r\nContent-Type: text/html\r\nContent-Length: 4\r\n\r\ndown", "upstream"),
    "an encoding that cannot be read": (
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Encoding: br\r\nContent-Length: 2\r\n\r\n{}",
        "network",
    ),
    "two lengths": (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}", "network"),
    "no content": (b"HTTP/1.1 204 No Content\r\n\r\n", "malformed"),
    "a bad chunk": (
        b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        "network",
    ),
    "an empty stream": (
        b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 0\r\n\r\n",
        "malformed",
    ),
}


@pytest.mark.parametrize("what", RAW)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_bytes_that_no_provider_sends(make_rig: MakeRig, what: str, dialect: str) -> None:
    data, kind = RAW[what]
    with raw_server(lambda connection: connection.sendall(data)) as url:
        rig = make_rig(url=url)
        stream_of(rig, dialect)
        (error,) = rig.wait("model.error")
        assert (error["class"], error["infrastructure"]) == (kind, True)
        assert rig.stop().outage is not None


@pytest.mark.parametrize("limits", [Limits(idle_seconds=0.3), Limits(call_seconds=0.3)], ids=["idle", "call"])
def test_an_answer_that_is_not_waited_for_costs_what_it_may(make_rig: MakeRig, limits: Limits) -> None:
    def keep_silent(connection: socket.socket) -> None:
        while connection.recv(4096):
            pass

    with raw_server(keep_silent) as url:
        rig = make_rig(url=url, limits=limits)
        assert rig.post(PATHS["anthropic"], body_of("anthropic", max_tokens=7000))[0] == 502
        (error,) = rig.wait("model.error")
        assert (error["class"], error["status"]) == ("timeout", 0)
        (usage,) = rig.of("model.usage")
        assert (usage["estimated"], usage["output_tokens"]) == (True, 7000)
        assert rig.meter.tokens == usage["input_tokens"] + usage["output_tokens"]


@pytest.mark.parametrize(("grace", "kind"), [(0.3, "timeout"), (30, "client-abort")])
def test_a_call_that_its_agent_left_and_nothing_came_for(make_rig: MakeRig, grace: float, kind: str) -> None:
    def keep_silent(connection: socket.socket) -> None:
        while connection.recv(4096):
            pass

    with raw_server(keep_silent) as url:
        rig = make_rig(url=url, limits=Limits(silence_seconds=grace, abandoned_seconds=0.6))
        body = json.dumps(body_of("chat", max_tokens=50)).encode()
        with socket.create_connection(("127.0.0.1", rig.port)) as agent:
            agent.sendall(b"POST %s HTTP/1.1\r\nHost: x\r\n" % PATHS["chat"].encode())
            agent.sendall(b"Content-Length: %d\r\n\r\n" % len(body) + body)
            rig.wait("model.request")
        (error,) = rig.wait("model.error")
        assert (error["class"], error["infrastructure"]) == (kind, kind == "timeout")
        assert rig.of("model.usage")[0]["output_tokens"] == 50, "it may be billed"
        assert rig.stop().outage_class == (kind if kind == "timeout" else "")


def test_a_provider_that_drips(make_rig: MakeRig) -> None:
    """Each byte comes in time, and the whole never does."""

    def drip(connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n")
        while True:
            connection.sendall(b":")
            time.sleep(0.05)

    with raw_server(drip) as url:
        rig = make_rig(url=url, limits=Limits(idle_seconds=5, call_seconds=1))
        assert stream_of(rig, "chat")[0] == 0
        assert rig.wait("model.error")[0]["class"] == "timeout"


def test_a_client_that_drips(make_rig: MakeRig) -> None:
    rig = make_rig("  - {say: x}\n", limits=Limits(body_seconds=0.5))
    with socket.create_connection(("127.0.0.1", rig.port)) as slow:
        slow.sendall(b"POST /v1/messages HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{")
        assert b"408" in slow.recv(4096)
    assert rig.of("model.refused")[0]["code"] == "too-slow"
    rig = make_rig("  - {say: x}\n", limits=Limits(head_seconds=0.5))
    with socket.create_connection(("127.0.0.1", rig.port)) as slow:
        slow.sendall(b"POST /v1/mess")
        slow.settimeout(PATIENCE_SECONDS)
        assert slow.recv(4096) == b"", "a head that does not come is not waited for"


def test_a_huge_request_is_refused(make_rig: MakeRig) -> None:
    rig = make_rig("  - {say: x}\n", limits=Limits(request_bytes=100_000))
    status, data = rig.post(PATHS["anthropic"], body_of("anthropic", "x" * 200_000))
    assert status == 413
    assert json.loads(data)["type"] == "error"
    assert rig.of("model.refused")[0]["code"] == "too-large"


@pytest.mark.parametrize("data", [b"", b"[]", b"null", b"{", b'{"a":' * 2000, b"\xff\xfe", b'{"model": "\\ud800"}'])
def test_a_request_that_is_no_object(make_rig: MakeRig, data: bytes) -> None:
    rig = make_rig("  - {say: x}\n")
    assert rig.post(PATHS["chat"], data)[0] == 400
    assert rig.of("model.refused")[0]["code"] == "malformed"


def test_connections_are_bounded(make_rig: MakeRig) -> None:
    rig = make_rig("  - {say: x}\n", limits=Limits(connections=3))
    held = [socket.create_connection(("127.0.0.1", rig.port)) for _ in range(12)]
    try:
        rig.wait_until(lambda: len(closed(held)) >= 9)
        assert len(closed(held)) == 9
    finally:
        for one in held:
            one.close()
    rig.wait_until(lambda: served(rig))


def closed(connections: list[socket.socket]) -> list[socket.socket]:
    """The connections that the other side has closed; it sends nothing by itself, so what can be read is the end."""
    return select.select(connections, [], [], 0)[0]


def served(rig: Rig) -> bool:
    """Whether a call is answered; connections that are let go may still count."""
    try:
        return rig.post(PATHS["chat"], body_of("chat"))[0] == 200
    except OSError:
        return False


def test_a_request_of_countless_messages_is_refused(make_rig: MakeRig) -> None:
    rig = make_rig("  - {say: x}\n", limits=Limits(messages=100, recorded_messages=150))
    many = [{"role": "user", "content": str(number)} for number in range(101)]
    assert rig.post(PATHS["chat"], body_of("chat", messages=many))[0] == 400
    results = [{"type": "tool_result", "tool_use_id": "t", "content": "x"}] * 100
    assert rig.post(PATHS["anthropic"], body_of("anthropic", messages=[{"role": "user", "content": results}]))[0] == 400
    assert [rig.post(PATHS["chat"], body_of("chat", messages=many[start:100]))[0] for start in (0, 1, 2)] == [
        200,
        200,
        400,
    ]
    assert {one["code"] for one in rig.of("model.refused")} == {"too-many-messages"}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_an_answer_of_many_small_parts_takes_no_longer_for_each(dialect: str) -> None:
    from proctor.execute.gateway.dialects.dialect_routes import DIALECTS as TABLE

    word = "word " * 2000
    events: dict[str, dict[str, Any]] = {
        "chat": {"choices": [{"delta": {"content": word}}]},
        "responses": {"type": "response.output_text.delta", "output_index": 0, "delta": word},
        "anthropic": {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": word}},
        "gemini": {"candidates": [{"content": {"parts": [{"text": word}]}}]},
    }
    collector = TABLE[dialect].collector([])
    collector.feed({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}})
    started = time.thread_time()
    for _ in range(5_000):
        collector.feed(events[dialect])
    assert len(collector.answered().message.text) == 5_000 * len(word)
    assert time.thread_time() - started < 5, "all that came before is copied for each part"
