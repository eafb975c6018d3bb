"""The gateway's life: inside a sandbox, held before a pause, stopped in the middle of a call."""

from __future__ import annotations

import json
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPException

import pytest

from proctor.base.errors import InfrastructureFault
from proctor.execute.gateway.gateway_settings import Settings
from proctor.execute.gateway.model_gateway import Gateway
from proctor.execute.gateway.spend_reservation import Meter
from proctor.execute.monitor.price_table import FALLBACK
from proctor.execute.network.namespace_sockets import SocketRequest, open_listeners
from proctor.execute.sandbox.bubblewrap.backend import BubblewrapBackend
from proctor.execute.sandbox.bubblewrap.live_sandbox import LiveSandbox
from tests.execute.gateway.conftest import KEY, PATHS, MakeRig, body_of
from tests.execute.sandbox.workplace import open_directory, opened, python

SLOW = "  - {say: 'one part and another part and a third part of it', pause_seconds: 0.2}\n"

INSIDE = """
import json, os, urllib.request
body = json.dumps({'model': 'm', 'messages': [{'role': 'user', 'content': 'hello from inside'}]}).encode()
request = urllib.request.Request('http://127.0.0.1:8080/v1/chat/completions', body)
print(json.load(urllib.request.urlopen(request, timeout=60))['choices'][0]['message']['content'])
print(sorted(os.environ))
"""


def test_an_agent_in_a_sandbox_reaches_it_and_nothing_else(make_rig: MakeRig) -> None:
    rig = make_rig("  - {say: hello from outside}\n")
    with open_directory() as top, opened(BubblewrapBackend(top / "sessions"), top) as sandbox:
        assert isinstance(sandbox, LiveSandbox)
        (listener,) = open_listeners(sandbox.init_pid, (SocketRequest("tcp", 8080),))
        rig.gateway.serve(listener)
        done = python(sandbox, INSIDE)
        assert done.exit_code == 0, done.stderr
        assert b"hello from outside" in done.stdout.prefix
        assert KEY.encode() not in done.stdout.prefix
        direct = python(sandbox, f"import socket; socket.create_connection(('127.0.0.1', {rig.port}), 5)")
        assert direct.exit_code != 0
    assert rig.text(rig.of("model.message")[0]["content"]) == "hello from inside"


def test_held_calls_settle_and_new_ones_wait(make_rig: MakeRig) -> None:
    rig = make_rig(SLOW)
    with ThreadPoolExecutor(2) as pool:
        running = pool.submit(rig.post, PATHS["chat"], body_of("chat", stream=True))
        rig.wait("model.request")
        assert rig.gateway.hold(30) is True
        assert len(rig.of("model.usage")) == 1
        waiting = pool.submit(rig.post, PATHS["chat"], body_of("chat", "later"))
        time.sleep(0.3)
        assert len(rig.of("model.request")) == 1
        assert not waiting.done()
        rig.gateway.release()
        assert waiting.result(30)[0] == 200
        assert running.result(30)[0] == 200


def test_a_client_that_stands_still_does_not_keep_its_call_open(make_rig: MakeRig) -> None:
    """What is frozen does not read; its answer is read for it, far past what the kernel would buffer."""
    rig = make_rig("  - {say: x, fault: long-line}\n")
    body = json.dumps(body_of("chat", stream=True)).encode()
    with socket.create_connection(("127.0.0.1", rig.port)) as frozen:
        head = f"POST {PATHS['chat']} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n"
        frozen.sendall(head.encode() + body)
        rig.wait("model.request")
        assert rig.gateway.hold(30) is True
        assert rig.of("model.usage")[0]["estimated"] is False
        assert rig.of("model.error") == []
        rig.gateway.release()
        seen = 0
        while seen < 10 << 20:
            seen += len(frozen.recv(1 << 20))


def test_a_hold_that_is_not_reached_says_so(make_rig: MakeRig) -> None:
    rig = make_rig("  - {say: x, fault: hang}\n")
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(rig.post, PATHS["chat"], body_of("chat", stream=True))
        rig.wait("model.request")
        assert rig.gateway.hold(0.2) is False
        rig.stop()
        with pytest.raises((OSError, HTTPException)):
            running.result(30)
    assert rig.of("model.error")[0]["class"] == "stopped"
    assert rig.stop().outage is None


def test_a_stopped_gateway_serves_nobody(make_rig: MakeRig) -> None:
    rig = make_rig(SLOW)
    before = threading.active_count()
    summary = rig.stop()
    assert rig.stop() == summary
    assert threading.active_count() < before
    with pytest.raises(OSError):
        rig.post(PATHS["chat"], body_of("chat"))
    with pytest.raises(InfrastructureFault, match="not running"):
        rig.gateway.release()


def test_the_summary_says_how_it_came_out(make_rig: MakeRig) -> None:
    rig = make_rig("  - {when: {last: bad}, error: {status: 503}}\n  - {say: good}\n")
    for text in ("bad", "good"):
        rig.post(PATHS["chat"], body_of("chat", text))
    rig.post("/nowhere", {})
    summary = rig.stop()
    payload = summary.payload()
    assert (payload["calls"], payload["errors"], payload["refused"], payload["outage"]) == (2, 1, 1, None)
    assert payload["why"] == ["model calls were not recorded on a cassette"]


def test_a_dialect_without_an_endpoint(make_rig: MakeRig) -> None:
    rig = make_rig()
    status, data = rig.post(PATHS["gemini"], body_of("gemini"))
    assert status == 404
    assert b"no endpoint is set for the dialect gemini" in data
    assert rig.of("model.refused")[0]["code"] == "no-endpoint"
    assert rig.stop().outage is None, "an agent must not be able to make an outage"


def test_a_gateway_that_was_never_started() -> None:
    gateway = Gateway(Settings(), lambda kind, payload: None, lambda data: "", Meter(FALLBACK.table))
    with pytest.raises(InfrastructureFault, match="never started"):
        gateway.stop()


TOOLED = {"tools": [{"type": "function", "function": {"name": "run"}}]}


@pytest.mark.parametrize(
    ("calls", "is_out"),
    [
        ([("main", True, "bad"), ("title", False, "good")], True),
        ([("main", True, "good"), ("title", False, "bad")], False),
        ([("main", True, "bad"), ("main", True, "good")], False),
        ([("helper", True, "bad"), ("main", True, "good")], False),
        ([("main", False, "bad"), ("main", False, "bad"), ("title", False, "good")], True),
        ([("main", False, "good"), ("main", False, "good"), ("title", False, "bad")], False),
    ],
)
def test_m6_an_outage_is_one_of_the_main_conversation(
    make_rig: MakeRig, calls: list[tuple[str, bool, str]], is_out: bool
) -> None:
    rig = make_rig("  - {when: {last: bad}, error: {status: 503}}\n  - {say: good}\n")
    for name, tools, last in calls:
        said = [{"role": "user", "content": name}, {"role": "user", "content": last}]
        rig.post(PATHS["chat"], {"model": "m", "messages": said, **(TOOLED if tools else {})})
    assert (rig.stop().outage is not None) is is_out
