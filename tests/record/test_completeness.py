"""Completeness (T7): every attempt and every change is attested by an event, in both directions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from proctor.record.completeness import MOST_GAPS, check_completeness
from proctor.record.trace.event import Event


def event(kind: str, payload: dict[str, Any]) -> Event:
    return Event(0, "1", kind, "harness", payload, "", "")


def mutation(path: str, after: Any = None, before: Any = None) -> Event:
    return event("workspace.mutation", {"path": path, "change": "modified", "before": before, "after": after})


def changes(*entries: tuple[str, Any]) -> dict[str, Any]:
    return {"changes": [{"path": p, "change": "modified", "before": None, "after": a} for p, a in entries]}


def results(*attempts: tuple[str, str, int, str]) -> dict[str, Any]:
    return {
        "checks": [
            {"id": check, "attempts": [{"tree": tree, "attempt": attempt, "outcome": outcome}]}
            for check, tree, attempt, outcome in attempts
        ]
    }


@pytest.fixture
def finished(attempt_payload: Callable[..., dict[str, Any]]) -> Callable[..., Event]:
    def make(check: str, attempt: int = 1, tree: str = "patched") -> Event:
        return event("check.finished", attempt_payload(check, attempt, b"", tree))

    return make


def test_nothing_at_all_is_complete() -> None:
    assert check_completeness([], None, None) == []
    assert check_completeness([], {"changes": []}, {"checks": []}, set()) == []


def test_everything_attested_is_complete(finished: Callable[..., Event]) -> None:
    events = [mutation("a", {"sha256": "1"}), finished("unit"), finished("unit", 2), finished("unit", 1, "base")]
    listed = results(("unit", "patched", 1, "pass"), ("unit", "patched", 2, "pass"), ("unit", "base", 1, "pass"))
    assert check_completeness(events, changes(("a", {"sha256": "1"})), listed, {b"a"}) == []


def test_an_attempt_without_an_event(finished: Callable[..., Event]) -> None:
    listed = results(("unit", "patched", 1, "pass"), ("unit", "patched", 2, "pass"))
    assert check_completeness([finished("unit")], None, listed) == [
        "attempt 2 of check unit on the patched tree is in results.json and has no event"
    ]


def test_an_event_without_an_attempt(finished: Callable[..., Event]) -> None:
    absent_or_empty: tuple[Any, ...] = (None, {"checks": []})
    for listed in absent_or_empty:
        assert check_completeness([finished("unit", 1, "base")], None, listed) == [
            "attempt 1 of check unit on the base tree has an event and is not in results.json"
        ]


def test_an_outcome_that_differs(finished: Callable[..., Event]) -> None:
    gaps = check_completeness([finished("unit")], None, results(("unit", "patched", 1, "fail")))
    assert gaps == ["attempt 1 of check unit on the patched tree is 'fail' in results.json and 'pass' in its event"]


def test_an_attempt_that_is_told_twice(finished: Callable[..., Event]) -> None:
    listed = results(("unit", "patched", 1, "pass"))
    assert "more than one event" in check_completeness([finished("unit"), finished("unit")], None, listed)[0]
    twice = results(("unit", "patched", 1, "pass"), ("unit", "patched", 1, "pass"))
    assert "twice" in check_completeness([finished("unit")], None, twice)[0]


def test_a_change_without_an_event() -> None:
    assert check_completeness([mutation("a")], changes(("a", None), ("b", None)), None) == [
        "b is in changes.json and has no mutation event"
    ]


def test_a_mutation_that_was_undone_needs_no_change() -> None:
    assert check_completeness([mutation("a"), mutation("b")], changes(("a", None)), None) == []


def test_the_last_mutation_must_end_in_the_listed_content() -> None:
    events = [mutation("a", {"sha256": "1"}), mutation("a", {"sha256": "2"}, {"sha256": "1"})]
    assert check_completeness(events, changes(("a", {"sha256": "2"})), None) == []
    for wrong in ({"sha256": "1"}, None):
        assert "other content" in check_completeness(events, changes(("a", wrong)), None)[0]


def test_a_chain_of_mutations_has_no_gap() -> None:
    events = [mutation("a", {"sha256": "1"}), mutation("a", {"sha256": "3"}, {"sha256": "2"})]
    assert "starts from other content" in check_completeness(events, changes(("a", {"sha256": "3"})), None)[0]
    late = [mutation("a", {"sha256": "2"}, {"sha256": "1"})]
    assert "starts from other content" in check_completeness(late, changes(("a", {"sha256": "2"})), None)[0]


def applied(outcome: str) -> Event:
    return event("patch.applied", {"outcome": outcome})


def test_a_patch_that_did_not_apply_has_changed_nothing() -> None:
    for events in ([], [applied("fail")], [applied("error")]):
        assert check_completeness(events, changes(), None, {b"a"}) == []


def test_a_patch_that_holds_more_than_the_list() -> None:
    events = [mutation("a"), applied("pass")]
    gaps = check_completeness(events, changes(("a", None)), None, {b"a", b"caf\xff"})
    assert gaps == [
        "caf\\xff is in final.patch and has no mutation event",
        "caf\\xff is in final.patch and not in changes.json",
    ]


def test_gaps_are_bounded() -> None:
    gaps = check_completeness([], changes(*((str(number), None) for number in range(1000))), None)
    assert len(gaps) == MOST_GAPS + 1
    assert gaps[-1] == f"and {1000 - MOST_GAPS} more gaps"


@pytest.mark.parametrize("value", [[], 5, "x", {}, {"changes": 5}, {"changes": [5]}, {"changes": {"a": 1}}], ids=str)
def test_changes_of_another_shape_are_a_gap(value: Any) -> None:
    assert check_completeness([], value, None)


@pytest.mark.parametrize(
    "value",
    [[], 5, {}, {"checks": 5}, {"checks": [5]}, {"checks": [{"id": "x"}]}, {"checks": [{"attempts": [5]}]}],
    ids=str,
)
def test_results_of_another_shape_are_a_gap(value: Any) -> None:
    assert check_completeness([], None, value)


def test_payloads_of_another_shape_do_no_harm() -> None:
    events = [event("check.finished", {}), event("workspace.mutation", {}), event("workspace.mutation", {"path": []})]
    assert len(check_completeness(events, None, None)) == 1
