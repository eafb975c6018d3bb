"""A watched trace: when what was decided cannot be done, it gives up and says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from proctor.base.clock import SystemClock, system_entropy
from proctor.conduct.run.trace_monitor import MonitoredTrace
from proctor.execute.monitor.breakers.breaker_panel import BreakerPanel


def test_what_cannot_be_done_makes_it_give_up_and_is_raised_once(tmp_path: Path) -> None:
    given_up: list[bool] = []

    def fail() -> None:
        raise OSError("the freezer is stuck")

    with MonitoredTrace.create(tmp_path / "events.jsonl", SystemClock(), system_entropy) as trace:
        trace.watch(BreakerPanel(), lambda decision: None, lambda: given_up.append(True))
        trace.later(fail)
        trace.later(lambda: given_up.append(False))
        trace.catch_breath()
        with pytest.raises(OSError, match="the freezer is stuck"):
            trace.rest()
        trace.rest()
    assert given_up == [True], "nothing is done after a failure"


def test_what_was_done_leaves_no_fault(tmp_path: Path) -> None:
    done: list[bool] = []
    with MonitoredTrace.create(tmp_path / "events.jsonl", SystemClock(), system_entropy) as trace:
        trace.watch(BreakerPanel(), lambda decision: None, lambda: done.append(False))
        trace.later(lambda: done.append(True))
        trace.rest()
    assert done == [True]
