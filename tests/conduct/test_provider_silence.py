"""Providers that are silent, slow or stop in the middle: whose time that is, and how such runs end."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from tests.conduct.live import Proctor
from tests.conduct.talking import asking, talk
from tests.execute.gateway.answering import Quiet, serving

MEND = "subprocess.run(['sed', '-i', 's/-/+/', 'calc.py'])"
CHUNK = {"model": "m", "choices": [{"index": 0, "delta": {"content": "Yes"}, "finish_reason": None}]}
END = {"model": "m", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
USAGE = {"choices": [], "usage": {"prompt_tokens": 20, "completion_tokens": 5, "total_tokens": 25}}


@contextmanager
def provider(*pauses: float | None) -> Iterator[str]:
    """A provider that waits for so many seconds before each part of a stream; ``None`` is until the test has ended."""
    over = threading.Event()

    class Handler(Quiet, BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            parts = [CHUNK] * (len(pauses) - 1) + [END, USAGE]
            for number, part in enumerate(parts):
                if number < len(pauses) and over.wait(pauses[number]):
                    return
                if number == 0:
                    self.send_response(200)
                    self.send_header("Content-Type", "text/event-stream")
                    self.end_headers()
                self.wfile.write(f"data: {json.dumps(part)}\n\n".encode())
                self.wfile.flush()
            self.wfile.write(b"data: [DONE]\n\n")

    with serving(Handler) as url:
        try:
            yield url
        finally:
            over.set()


def options(url: str, *more: str) -> tuple[str, ...]:
    return ("--model", "mine/m", "--endpoint", url, "--dialect", "chat", *more)


@pytest.mark.parametrize("pauses", [(None,), (0, 0, None)], ids=["from the start", "in the middle"])
def test_a_silent_provider_is_an_outage(
    proctor: Proctor, make_contract: Any, tmp_path: Path, pauses: tuple[float | None, ...]
) -> None:
    with provider(*pauses) as url:
        contract = make_contract(budget={"wall_seconds": 5, "memory_bytes": 1 << 30})
        seen = talk(proctor, contract, *asking(more="{'stream': True}"), *options(url), code=3)
    assert (seen.report["status"], seen.report["attribution"]) == ("invalid", "harness")
    assert seen.report["termination"]["code"] == "provider-silence"
    assert "a run waits for at most" in seen.report["termination"]["rationale"]
    assert len(seen.of("model.silent")) == 1 == len(seen.of("model.unavailable"))
    assert "provider     silent for" in proctor("show", seen.run).stdout
    durations = seen.report["durations"]
    assert float(durations["waited_for_provider_seconds"]) >= 5 > float(durations["agent_seconds"])


def test_a_slow_provider_takes_no_time_of_the_agent(proctor: Proctor, make_contract: Any, tmp_path: Path) -> None:
    with provider(11, 2.5) as url:
        contract = make_contract(budget={"wall_seconds": 10, "memory_bytes": 1 << 30})
        more = options(url, "--provider-wait", "600")
        started = time.monotonic()
        seen = talk(proctor, contract, *asking(more="{'stream': True}", after=MEND), *more)
        assert time.monotonic() - started > 13.5
    assert seen.report["status"] == "success" and seen.report["termination"]["code"] is None
    assert float(seen.report["durations"]["agent_seconds"]) < 10
    assert len(seen.of("model.silent")) == len(seen.of("model.heard")) >= 2
    waited = sum(float(one["seconds"]) for one in seen.of("model.heard"))
    assert waited == pytest.approx(float(seen.report["durations"]["waited_for_provider_seconds"]), abs=0.01)
    cost = json.loads(proctor("cost", seen.run, "--json").stdout)
    assert float(cost["waited_for_provider_seconds"]) == pytest.approx(waited, abs=0.5)
    acted = next(row for row in cost["items"] if row["item"] == "execution" and row["phase"] == "agent")
    assert float(acted["quantity"].split()[0]) < 10
    assert "not charged" in proctor("cost", seen.run).stdout
    assert json.loads(proctor("rescore", seen.run, "--json").stdout)["same"] is True


def test_a_trickle_and_a_provider_that_answers_give_no_time(
    proctor: Proctor, make_contract: Any, tmp_path: Path
) -> None:
    contract = make_contract(budget={"wall_seconds": 60, "memory_bytes": 1 << 30})
    with provider(*[0.2] * 10) as url:
        seen = talk(proctor, contract, *asking(more="{'stream': True}", after=MEND), *options(url))
    assert seen.report["status"] == "success" and not seen.of("model.silent")
    assert "waited_for_provider_seconds" not in seen.report["durations"]


def test_an_agent_that_uses_up_its_time_by_itself_fails(proctor: Proctor, make_contract: Any, tmp_path: Path) -> None:
    contract = make_contract(budget={"wall_seconds": 4, "memory_bytes": 1 << 30})
    with provider(0) as url:
        seen = talk(proctor, contract, *asking(after="import time\ntime.sleep(1000)"), *options(url), code=1)
    assert (seen.report["status"], seen.report["attribution"]) == ("failure", "agent")
    assert seen.report["termination"]["code"] in ("wall-ceiling", "dominance") and not seen.of("model.silent")
