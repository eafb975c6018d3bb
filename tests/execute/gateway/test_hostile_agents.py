"""Agents that want more of the gateway than a model's answers: its memory, its disk, its key, its time."""

from __future__ import annotations

import json
import socket
from contextlib import AbstractContextManager

import pytest

from proctor.execute.gateway.gateway_settings import Limits
from tests.execute.gateway.conftest import KEY, PATHS, MakeRig, body_of
from tests.execute.gateway.test_broken_providers import raw_server

ONE = "  - {say: x}\n"


def begun(port: int, size: int, sent: int) -> socket.socket:
    """A connection with a request of ``size`` bytes that is being read and of which ``sent`` are on their way."""
    connection = socket.create_connection(("127.0.0.1", port))
    head = f"POST /v1/messages HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: {size}\r\n\r\n"
    connection.sendall(head.encode())
    assert b"100 Continue" in connection.recv(4096)
    connection.sendall(b"x" * sent)
    return connection


def test_unfinished_requests_do_not_keep_a_gateway_from_stopping(make_rig: MakeRig) -> None:
    rig = make_rig(ONE)
    with begun(rig.port, 1000, 10), begun(rig.port, 1000, 10):
        rig.stop()


def test_requests_that_are_large_together_are_refused(make_rig: MakeRig) -> None:
    rig = make_rig(ONE, limits=Limits(open_bytes=10_000))
    text = "x" * 5000
    with begun(rig.port, 9000, 8000):
        rig.wait_until(lambda: rig.post(PATHS["chat"], body_of("chat", text))[0] == 429)
    assert rig.of("model.refused")[0]["code"] == "too-much-at-once"
    rig.wait_until(lambda: rig.post(PATHS["chat"], body_of("chat", text))[0] == 200)


def test_what_is_kept_of_an_agent_is_bounded(make_rig: MakeRig) -> None:
    rig = make_rig(ONE, limits=Limits(kept_bytes=50_000))
    statuses = [rig.post(PATHS["chat"], b"{" + bytes([65 + number]) * 20_000)[0] for number in range(6)]
    assert statuses == [400, 400, 400, 403, 403, 403]
    assert sum(map(len, rig.blobs.values())) == 60_003
    assert [one["code"] for one in rig.of("model.refused")][3:] == ["too-much"] * 3


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
def test_nobody_saves_tokens_by_going_away(make_rig: MakeRig, stream: bool) -> None:
    rig = make_rig("  - {say: x, fault: hang}\n", limits=Limits(abandoned_seconds=0.1))
    body = json.dumps(body_of("anthropic", max_tokens=7000, stream=stream)).encode()
    with socket.create_connection(("127.0.0.1", rig.port)) as agent:
        agent.sendall(b"POST /v1/messages HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
        rig.wait("model.request")
    (usage,) = rig.wait("model.usage")
    assert usage["estimated"] is True
    assert usage["output_tokens"] == 7000
    assert rig.meter.tokens == usage["input_tokens"] + usage["output_tokens"]


def provider(head: str, body: str = "") -> AbstractContextManager[str]:
    """A provider that says its key, or anything else, in the headers of its answer."""
    answer = f"HTTP/1.1 200 OK\r\n{head}\r\nContent-Length: {len(body)}\r\n\r\n{body}"
    return raw_server(lambda connection: connection.sendall(answer.encode()))


@pytest.mark.parametrize(
    "head",
    [f"Content-Type: application/json\r\nX-Request-Id: {KEY}", f"Content-Type: text/{KEY}"],
    ids=["a-header", "the-content-type"],
)
def test_a_key_that_the_provider_says_in_a_header_goes_nowhere(make_rig: MakeRig, head: str) -> None:
    answer = json.dumps({"choices": [{"message": {"content": "x"}, "finish_reason": "stop"}]})
    with provider(head, answer) as url:
        rig = make_rig(url=url, cassette="record")
        asked = json.dumps(body_of("chat")).encode()
        with socket.create_connection(("127.0.0.1", rig.port)) as agent:
            head = f"POST {PATHS['chat']} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {len(asked)}"
            agent.sendall(f"{head}\r\n\r\n".encode() + asked)
            heard = agent.makefile("rb").read()
        summary = rig.stop()
    assert b"[key]" in heard
    assert KEY.encode() not in heard + (summary.cassette or b"") + repr(rig.events).encode()


def test_a_tool_of_a_strange_type_is_stripped(make_rig: MakeRig) -> None:
    rig = make_rig(ONE)
    tools = [{"type": ["web_search"], "name": "a"}, {"type": "function", "name": "b"}]
    assert rig.post(PATHS["responses"], body_of("responses", tools=tools))[0] == 200
    assert rig.of("model.request")[0]["tools"] == ["b"]


@pytest.mark.parametrize("arguments", ["[" * 300 + "]" * 300, '{"a":' * 300 + "1" + "}" * 300, "[" * 2000])
def test_arguments_that_are_nested_deep_close_nothing(make_rig: MakeRig, arguments: str) -> None:
    """An agent whose own words end the gateway would have its run called invalid."""
    rig = make_rig(ONE)
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": arguments}}
    messages = [{"role": "user", "content": "x"}, {"role": "assistant", "tool_calls": [call]}]
    for _ in range(2):
        assert rig.post(PATHS["chat"], body_of("chat", messages=messages))[0] == 200
    assert rig.stop().calls == 2


def test_a_deep_answer_is_malformed(make_rig: MakeRig) -> None:
    with provider("Content-Type: application/json", '{"content":' + "[" * 300 + "]" * 300 + "}") as url:
        rig = make_rig(url=url)
        assert rig.post(PATHS["anthropic"], body_of("anthropic"))[0] == 502
        assert rig.of("model.error")[0]["class"] == "malformed"
        assert "nested too deep" in (rig.stop().outage or "")


@pytest.mark.parametrize(
    "value", [b"\xff\xfe", b"a\tb\xe9", b"\xc3\xa9", b"x" * 5000], ids=["bytes", "tab", "text", "long"]
)
def test_a_strange_header_closes_nothing(make_rig: MakeRig, value: bytes) -> None:
    rig = make_rig(ONE)
    asked = json.dumps(body_of("anthropic")).encode()
    strange = b"".join(name + b": " + value + b"\r\n" for name in (b"Accept", b"User-Agent", b"anthropic-beta"))
    with socket.create_connection(("127.0.0.1", rig.port)) as agent:
        head = f"POST {PATHS['anthropic']} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {len(asked)}\r\n"
        agent.sendall(head.encode() + strange + b"\r\n" + asked)
        assert b" 200 OK" in agent.makefile("rb").readline()
    assert rig.stop().outage is None


def test_a_body_in_another_encoding_than_it_says_is_refused(make_rig: MakeRig) -> None:
    rig = make_rig(ONE)
    assert rig.post(PATHS["chat"], b"no archive", {"Content-Encoding": "gzip"})[0] == 400
    assert rig.of("model.refused")[0]["code"] == "malformed"
