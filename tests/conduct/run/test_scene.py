"""What an agent is told about its time."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from proctor.conduct.briefing import Briefing
from proctor.conduct.run.agent_context import make_scene


def test_the_time_that_is_left_stands_still_with_the_sandbox() -> None:
    now = 5_000_000_000
    prepared: Any = SimpleNamespace(contract=SimpleNamespace(budget=SimpleNamespace(wall_seconds=60)))
    run: Any = None
    scene = make_scene(prepared, Briefing("", ""), {}, run, clock=lambda: now)
    assert scene.seconds_left() == scene.seconds_left() == 60
    now += 1_500_000_000
    assert scene.seconds_left() == 58.5
