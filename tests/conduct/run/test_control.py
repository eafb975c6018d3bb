"""Requests to a running run: one order for all operators, and an answer to each."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from proctor.conduct.run.control import (
    FOLDER,
    JUDGING,
    NO_AGENT,
    NOT_PAUSED,
    Control,
    Interrupted,
    OperatorWatcher,
    Request,
    Watcher,
    give_request,
    next_number,
)
from proctor.record.signing.operator_identity import act_signature, new_identity


class Trace:
    """Keeps the events, and does what is to be done later at once."""

    def __init__(self) -> None:
        self.payloads: list[dict[str, Any]] = []
        self.faults: list[dict[str, Any]] = []

    def append(self, kind: str, payload: dict[str, Any]) -> Any:
        {"operator.acted": self.payloads, "run.fault": self.faults}[kind].append(payload)
        return payload

    def sync(self) -> None:
        pass

    def later(self, act: Any) -> None:
        threading.Thread(target=act).start()


def taken(trace: Trace, count: int) -> list[tuple[str, bool, str]]:
    deadline = time.monotonic() + 30
    while len(trace.payloads) < count and time.monotonic() < deadline:
        time.sleep(0.01)
    return [(one["action"], one["done"], one["problem"]) for one in trace.payloads]


def ask(directory: Path, action: str) -> None:
    assert give_request(directory, Request(next_number(directory), action, "why", "code", "me"))


def test_two_operators_at_once_get_two_numbers(tmp_path: Path) -> None:
    together = threading.Barrier(2)

    def operate() -> None:
        for _ in range(100):
            together.wait()
            while not give_request(tmp_path, Request(next_number(tmp_path), "stop", "why", "code", "me")):
                pass

    operators = [threading.Thread(target=operate) for _ in range(2)]
    for thread in operators:
        thread.start()
    for thread in operators:
        thread.join()
    assert sorted(int(path.stem) for path in (tmp_path / FOLDER).iterdir()) == list(range(1, 201))


def test_a_request_is_taken_after_one_with_a_higher_number(tmp_path: Path) -> None:
    trace = Trace()
    with Control(tmp_path, trace):  # type: ignore[arg-type]
        for count, number in enumerate((1_000_000, 7, 2), 1):
            assert give_request(tmp_path, Request(number, "resume", "why", "code", "me"))
            taken(trace, count)
    assert [payload["request"] for payload in trace.payloads] == [1_000_000, 7, 2]


def test_a_run_without_an_agent_can_be_stopped_and_not_paused(tmp_path: Path) -> None:
    trace, ends = Trace(), []
    with Control(tmp_path, trace) as control:  # type: ignore[arg-type]
        control.on_stop = lambda: ends.append("closed")
        for action in ("pause", "resume", "stop", "stop"):
            ask(tmp_path, action)
        seen = taken(trace, 4)
        assert control.stopped
    assert seen == [
        ("pause", False, NO_AGENT),
        ("resume", False, "the run is not paused"),
        ("stop", True, ""),
        ("stop", False, "the run is being stopped already"),
    ]
    assert ends == ["closed"]


class Busy:
    """An agent on which something else is done at the moment."""

    acting = True

    def pause(self) -> None:
        pass

    def give_up(self) -> None:
        raise AssertionError("nothing failed")


def test_pauses_and_resumes_wait_in_turn_until_they_are_taken(tmp_path: Path) -> None:
    trace = Trace()
    with Control(tmp_path, trace) as control:  # type: ignore[arg-type]
        control.interventions = Busy()
        for action in ("resume", "pause", "pause", "resume", "pause"):
            ask(tmp_path, action)
        waiting = [control.next_request(30) for _ in range(3)]
        assert [request.action for request in waiting if request] == ["pause", "resume", "pause"]
        assert control.next_request() is None
        ask(tmp_path, "resume")
        assert taken(trace, 2) == [("resume", False, NOT_PAUSED), ("pause", False, "the run is paused already")]
        while not control._requests:
            time.sleep(0.01)
        control.refuse_requests(NO_AGENT)
        ask(tmp_path, "resume")
        assert taken(trace, 4)[2:] == [("resume", False, NO_AGENT), ("resume", False, NOT_PAUSED)]


def test_a_stop_that_cannot_be_done_is_a_fault_and_ends_the_agent(tmp_path: Path) -> None:
    trace, gave_up = Trace(), []

    class Agent:
        acting = True

        def pause(self) -> None:
            raise AssertionError("nothing was asked of it")

        def give_up(self) -> None:
            gave_up.append("closed")

    def fail() -> None:
        raise OSError("the sandbox cannot be closed")

    with Control(tmp_path, trace) as control:  # type: ignore[arg-type]
        control.on_stop, control.interventions = fail, Agent()
        for action in ("stop", "resume"):
            ask(tmp_path, action)
        assert taken(trace, 2) == [("stop", True, ""), ("resume", False, "the run is not paused")]
    assert trace.faults == [{"message": "OSError: the sandbox cannot be closed", "phase": "taking a request"}]
    assert gave_up == ["closed"]


@pytest.mark.parametrize("change", [{"why": "another reason"}, {"number": 2}, {"signer": ""}, {"signature": ""}])
def test_a_request_whose_signature_does_not_hold_is_not_fulfilled(tmp_path: Path, change: dict[str, Any]) -> None:
    alice = new_identity("alice", bytes(32))
    request = Request(1, "stop", "why", "code", "alice")
    request = replace(request, **act_signature(alice, tmp_path.name, 1, request.act()))
    trace = Trace()
    with Control(tmp_path, trace) as control:  # type: ignore[arg-type]
        assert give_request(tmp_path, replace(request, **change))
        ((_, done, problem),) = taken(trace, 1)
        assert not done and ("signature" in problem or "signer" in problem)
        assert not control.stopped
        assert give_request(
            tmp_path, replace(request, number=3, **act_signature(alice, tmp_path.name, 3, request.act()))
        )
        assert taken(trace, 2)[1] == ("stop", True, "")
    assert trace.payloads[0]["signature"] == trace.payloads[0]["signer"] == "", "so that the evidence stays valid"


def test_a_run_that_is_being_judged_is_not_stopped(tmp_path: Path) -> None:
    trace = Trace()
    with Control(tmp_path, trace) as control:  # type: ignore[arg-type]
        OperatorWatcher(Watcher(), control).enter("run", "judging")
        ask(tmp_path, "stop")
        assert taken(trace, 1) == [("stop", False, JUDGING)]
        assert not control.stopped


def test_a_stop_that_is_recorded_while_the_agent_ends_keeps_the_run_from_being_judged(tmp_path: Path) -> None:
    begun, go_on = threading.Event(), threading.Event()

    class Slow(Trace):
        def append(self, kind: str, payload: dict[str, Any]) -> Any:
            begun.set()
            assert go_on.wait(60)
            return super().append(kind, payload)

    trace = Slow()
    with Control(tmp_path, trace) as control:  # type: ignore[arg-type]
        operated = OperatorWatcher(Watcher(), control)
        ask(tmp_path, "stop")
        assert begun.wait(60)
        try:
            with pytest.raises(Interrupted):
                operated.enter("run", "judging")
        finally:
            go_on.set()
        by: Any = control.stopped_by()
        assert by == trace.payloads[0]
    assert taken(trace, 1) == [("stop", True, "")]


@pytest.mark.parametrize(
    "data", [b"", b"[]", b"{}", b'{"action":"burn","by":"","code":"","signature":"","signer":"","why":""}']
)
def test_what_is_no_request_is_passed_over(tmp_path: Path, data: bytes) -> None:
    (tmp_path / FOLDER).mkdir()
    (tmp_path / FOLDER / "1.json").write_bytes(data)
    (tmp_path / FOLDER / "2.json").mkdir()
    (tmp_path / FOLDER / "x.json").write_bytes(data)
    trace = Trace()
    with Control(tmp_path, trace):  # type: ignore[arg-type]
        ask(tmp_path, "resume")
        assert taken(trace, 1) == [("resume", False, "the run is not paused")]
    assert trace.payloads[0]["request"] == 3
