"""The reward of a test script, as Harbor's tasks write it: a number, or a flat JSON object of numbers.

The result is one test called ``reward``: passed from 1 on, failed below. A file has one of the forms, and nothing else:
a decimal number without an exponent on a line that ends, or an object with a number called ``reward``. Anything else
makes the results incomplete, so that a file that code under test half wrote, or filled with a word, never counts.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any

from proctor.judge.checks.results_readers.interface import Collector, TestResults

REWARD = "reward"
REWARD_BYTES = 1 << 16
MAX_REWARDS = 50
FULL = 1
_NUMBER = re.compile(rb"-?[0-9]{1,15}(?:\.[0-9]{1,30})?")


class _NotRewards(ValueError):
    """An object that is not one of rewards; the message says why."""


def parse(data: bytes) -> TestResults:
    """The outcome of the one test."""
    if len(data) > REWARD_BYTES:
        return TestResults(problem=f"larger than {REWARD_BYTES} bytes")
    text = data.strip(b" \t\r\n")
    try:
        value = _of_object(text) if text.startswith(b"{") else _of_number(text, data.endswith(b"\n"))
    except _NotRewards as error:
        return TestResults(problem=str(error))
    collector = Collector()
    collector.add(REWARD, "passed" if value >= FULL else "failed")
    return collector.results()


def _of_number(text: bytes, is_whole: bool) -> float:
    if not _NUMBER.fullmatch(text):
        raise _NotRewards("the reward is not a number")
    if not is_whole:
        raise _NotRewards("the line of the reward does not end")
    return float(text)


def _of_object(text: bytes) -> float:
    try:
        found: Any = json.loads(text, object_pairs_hook=_once, parse_constant=_no_constant, parse_int=float)
    except _NotRewards:
        raise
    except (ValueError, RecursionError):
        raise _NotRewards("the rewards are not JSON") from None
    if len(found) > MAX_REWARDS:
        raise _NotRewards(f"more than {MAX_REWARDS} rewards")
    for value in found.values():
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise _NotRewards("a reward is not a number")
    if REWARD not in found:
        raise _NotRewards(f"there is no number called {REWARD!r}")
    return float(min(found[REWARD], FULL))


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({name for name, _ in pairs}) != len(pairs):
        raise _NotRewards("a reward is listed twice")
    return dict(pairs)


def _no_constant(name: str) -> Any:
    raise _NotRewards(f"a reward is {name}")
