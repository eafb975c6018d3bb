"""What the harness's pytest plugin writes: one signed line for each report, and a last one when the session is over.

A line is ``<hex of HMAC-SHA256> <JSON>``; the code covers the number of the line and its JSON under a key drawn for the
attempt. A line with a wrong code was written by something else: the file is then tampered with, whatever it says. The
key is known to the test process, so this raises the price of forging and proves nothing; see ``judge.sentinels``. One
line may list what code of the tree changed in the test runner; ``judge.runner_changes`` says what that means.
"""

from __future__ import annotations

import hashlib
import hmac
from typing import Any

from proctor.base.canonical import parse as parse_json
from proctor.judge.checks.results_readers.interface import (
    RESULT_BYTES,
    Collector,
    RunnerChange,
    TestResults,
    TooMuch,
    clean_text,
)

MOST_CHANGES = 100
CHANGE_CHARACTERS = 300
"""How many changes to the runner are read, and how much of each name."""

GOOD_ENDINGS = (0, 1, 5)
"""Exit statuses of a session that ran to its end: all passed, some failed, nothing collected."""


def parse(data: bytes, key: bytes) -> TestResults:
    """The outcomes in one result file of the plugin, which was given ``key``."""
    if len(data) > RESULT_BYTES:
        return TestResults(problem=f"larger than {RESULT_BYTES} bytes")
    collector = Collector()
    ending: int | None = None
    changed: tuple[RunnerChange, ...] = ()
    lines = data.split(b"\n")
    if lines.pop():
        return _read_until_cut(lines, key)
    for number, line in enumerate(lines):
        record = _record(number, line, key)
        if record is None or ending is not None:
            return collector.results(f"line {number + 1} is not the plugin's", tampered=True)
        if record.get("kind") == "runner":
            changed = _changes(record)
            continue
        try:
            ending = _take(record, collector)
        except TooMuch as error:
            return collector.results(str(error))
    if ending is None:
        return collector.results("the session did not come to its end")
    if ending not in GOOD_ENDINGS:
        return collector.results(f"the session ended with status {ending}")
    return TestResults(collector.outcomes, True, changed=changed)


def _read_until_cut(lines: list[bytes], key: bytes) -> TestResults:
    """A file whose last line is cut: either the runner died in a write or something else wrote."""
    whole = parse(b"".join(line + b"\n" for line in lines), key)
    problem = whole.problem or "the last line is cut"
    return TestResults(whole.outcomes, False, problem, whole.tampered or whole.complete, whole.changed)


def _record(number: int, line: bytes, key: bytes) -> dict[str, Any] | None:
    code, _, text = line.partition(b" ")
    expected = hmac.new(key, b"%d " % number + text, hashlib.sha256).hexdigest().encode()
    if not hmac.compare_digest(code, expected):
        return None
    try:
        record = parse_json(text)
    except ValueError:
        return None
    return record if isinstance(record, dict) else None


def _changes(record: dict[str, Any]) -> tuple[RunnerChange, ...]:
    """The changes to the runner that a record lists, up to a limit."""
    listed = record.get("changed")
    pairs = [one for one in listed[:MOST_CHANGES] if isinstance(one, list)] if isinstance(listed, list) else []
    texts = [[clean_text(str(part))[:CHANGE_CHARACTERS] for part in pair[:2]] for pair in pairs]
    return tuple(RunnerChange(*pair) for pair in texts if pair) or (RunnerChange("unknown"),)


def _take(record: dict[str, Any], collector: Collector) -> int | None:
    """Note a report; the exit status when ``record`` is the last one."""
    if record.get("kind") == "finished":
        status = record.get("status")
        return status if isinstance(status, int) else -1
    outcome = report_outcome(str(record.get("when")), str(record.get("outcome")))
    if outcome:
        collector.add(clean_text(str(record.get("id", ""))), outcome)
    return None


def report_outcome(when: str, outcome: str) -> str:
    """What one report says about its test; nothing for the phases that only matter when they go wrong.

    Pytest reports an expected failure as skipped and an unexpected success as passed; so does this.
    """
    if when == "collect":
        return "error" if outcome == "failed" else ""
    if outcome == "failed":
        return "failed" if when == "call" else "error"
    if outcome == "skipped":
        return "skipped"
    return "passed" if when == "call" and outcome == "passed" else ""
