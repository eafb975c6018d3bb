"""The lines of the harness's pytest plugin, and lines that something else wrote."""

from __future__ import annotations

import hashlib
import hmac
import json
from typing import Any

import pytest

from proctor.judge.checks.results_readers import pytest as lines
from proctor.judge.checks.results_readers.interface import RESULT_BYTES, TestResults, merged

KEY = b"k" * 32


def written(*records: dict[str, Any], key: bytes = KEY) -> bytes:
    made = b""
    for number, record in enumerate(records):
        text = json.dumps(record, sort_keys=True).encode()
        made += hmac.new(key, b"%d " % number + text, hashlib.sha256).hexdigest().encode() + b" " + text + b"\n"
    return made


def said(test: str, outcome: str, when: str = "call") -> dict[str, Any]:
    return {"kind": "report", "id": test, "when": when, "outcome": outcome}


END = {"kind": "finished", "status": 0}


def test_outcomes_by_phase() -> None:
    results = lines.parse(
        written(
            said("good", "passed", "setup"),
            said("good", "passed"),
            said("good", "passed", "teardown"),
            said("bad", "failed"),
            said("no setup", "failed", "setup"),
            said("bad teardown", "passed"),
            said("bad teardown", "failed", "teardown"),
            said("skipped", "skipped", "setup"),
            said("xfailed", "skipped"),
            said("retried", "rerun"),
            said("retried", "passed"),
            said("tests/broken.py", "failed", "collect"),
            END,
        ),
        KEY,
    )
    assert results.complete, results.problem
    assert dict(results.outcomes) == {
        "good": "passed",
        "bad": "failed",
        "no setup": "error",
        "bad teardown": "error",
        "skipped": "skipped",
        "xfailed": "skipped",
        "retried": "passed",
        "tests/broken.py": "error",
    }


def test_a_forged_line_is_tampering() -> None:
    honest = written(said("a", "failed"), END)
    forged = honest.replace(b"failed", b"passed")
    results = lines.parse(forged, KEY)
    assert results.tampered
    assert not results.complete


def test_a_file_under_another_key_is_tampering() -> None:
    assert lines.parse(written(said("a", "passed"), END, key=b"x" * 32), KEY).tampered


def test_swapped_removed_and_repeated_lines_are_tampering() -> None:
    rows = written(said("a", "failed"), said("b", "passed"), END).splitlines(keepends=True)
    for other in ([rows[1], rows[0], rows[2]], [rows[1], rows[2]], [rows[0], rows[0], rows[2]]):
        assert lines.parse(b"".join(other), KEY).tampered


def test_lines_after_the_end_are_tampering() -> None:
    assert lines.parse(written(said("a", "passed"), END, said("b", "passed")), KEY).tampered
    assert lines.parse(written(said("a", "passed"), END) + b"junk", KEY).tampered


def test_a_session_that_never_ended_is_incomplete_and_not_forged() -> None:
    results = lines.parse(written(said("a", "passed")), KEY)
    assert not results.complete
    assert not results.tampered
    assert dict(results.outcomes) == {"a": "passed"}


def test_a_write_cut_by_a_crash_is_incomplete_and_not_forged() -> None:
    results = lines.parse(written(said("a", "passed"), said("b", "passed"))[:-7], KEY)
    assert not results.complete
    assert not results.tampered
    assert "cut" in results.problem or "end" in results.problem


@pytest.mark.parametrize("status", [2, 3, 4, -1, "0", None])
def test_a_session_that_broke_off_is_incomplete(status: Any) -> None:
    results = lines.parse(written(said("a", "passed"), {"kind": "finished", "status": status}), KEY)
    assert not results.complete
    assert not results.tampered


@pytest.mark.parametrize("data", [b"", b"\n", b"\x00" * 100 + b"\n", b"{}\n", b"PASSED a\n", b"[[[[" * 5000 + b"\n"])
def test_hostile_bytes_do_no_harm(data: bytes) -> None:
    assert not lines.parse(data, KEY).complete


def test_signed_nonsense_is_tampering() -> None:
    text = b"[1, 2]"
    code = hmac.new(KEY, b"0 " + text, hashlib.sha256).hexdigest().encode()
    assert lines.parse(code + b" " + text + b"\n", KEY).tampered


def test_more_than_the_bound_is_not_read() -> None:
    assert "larger" in lines.parse(bytes(RESULT_BYTES + 1), KEY).problem


def test_several_sessions_are_one_result_and_the_worst_outcome_stands() -> None:
    one = lines.parse(written(said("a", "passed"), said("b", "failed"), END), KEY)
    two = lines.parse(written(said("a", "failed"), said("b", "passed"), END), KEY)
    both = merged([one, two])
    assert both.complete
    assert dict(both.outcomes) == {"a": "failed", "b": "failed"}
    assert not merged([one, TestResults(problem="gone")]).complete
    assert merged([one, TestResults(tampered=True)]).tampered
