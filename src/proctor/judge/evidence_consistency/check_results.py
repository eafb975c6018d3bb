"""Compare results.json with the events of checks, and decisions with the attempts and the contract."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from proctor.contract.model import Check
from proctor.judge.checks.check_decision import (
    ERROR,
    FAIL,
    FORGED_RESULTS,
    OF_THE_MACHINE,
    PASS,
    TESTS,
    Judgement,
    attribute,
    decide,
)
from proctor.judge.checks.check_records import DETAIL_CHARACTERS, MOST_FAILING
from proctor.judge.checks.inverted_tests.random_rounds import forged_tests
from proctor.judge.checks.inverted_tests.variant_pool import tests_of
from proctor.judge.checks.sentinels import FORGED, forgeable
from proctor.judge.evidence_consistency.compared_run import RESULTS, Subject, common, differs, place
from proctor.record.run_directory import Problem
from proctor.record.trace.event import Event

PATCHED, BASE = "patched", "base"
OF_ATTEMPTS = ("outcome", "reason", "exit_code", "observed_seconds", "cpu_seconds", "sentinels", "set_aside")
OF_DECISIONS = ("outcome", "reason", "rule", "flagged", "forgeable", "attribution", "gate", "layer", "mandatory")


def attempts(subject: Subject) -> Iterator[Problem]:
    """Every attempt in results.json equals its event."""
    events = {_key(event.payload.get("check"), event.payload): event for event in subject.evidence.of("check.finished")}
    for entry in _entries(subject):
        for one in _objects(entry.get("attempts")):
            event = events.get(_key(entry.get("id"), one))
            if event is None:
                continue
            expected = {name: event.payload[name] for name in OF_ATTEMPTS if name in event.payload}
            if "tests" in event.payload:
                expected["counts"] = event.payload["tests"]
            prefix = f"attempt {one.get('attempt')} of {entry.get('id')} on the {one.get('tree')} tree: "
            yield from common(RESULTS, one, expected, place(event), prefix)


def declared(subject: Subject) -> Iterator[Problem]:
    """Properties of a check in events are those in the contract."""
    checks = {check.id: check for check in subject.evidence.contract.checks}
    for event in subject.evidence.of("check.finished", "check.decided", "check.blocked"):
        check = checks.get(str(event.payload.get("check")))
        if check is None:
            yield Problem(place(event), f"the contract has no check {event.payload.get('check')!r}")
            continue
        expected: dict[str, Any] = {"gate": check.gate, "layer": check.layer, "mandatory": check.mandatory}
        if event.type == "check.finished":
            expected["ceiling_seconds"] = str(check.timeout_seconds)
        elif event.type == "check.decided":
            expected |= {"rule": "no-op" if check.no_op else check.rerun.decide, "forgeable": forgeable(check)}
            expected["flagged"] = check.rerun.decide != "all"
        yield from common(place(event), event.payload, expected, "contract.json")


def decisions(subject: Subject) -> Iterator[Problem]:
    """Every decision follows from the attempts by the rule of the contract."""
    for check in subject.evidence.contract.checks:
        event = subject.evidence.decision(check)
        made = subject.evidence.attempts(check)
        if event is None or event.type != "check.decided":
            continue
        patched = [one for one in made if one.payload.get("tree") == PATCHED]
        yield from differs(place(event), "attempts", event.payload.get("attempts"), len(patched), "the trace")
        aside = [one for one in subject.evidence.of("check.finished") if _set_aside(one, check)]
        yield from common(place(event), event.payload, {"set_aside": len(aside)}, "the trace")
        wanted = 0 if check.no_op else max(1, check.rerun.times)
        yield from differs(place(event), "attempts", len(patched), wanted, "contract.json")
        if not patched or check.rerun.decide not in ("all", "majority", "any"):
            continue
        judged, attribution = _decided(check, patched, [one for one in made if one.payload.get("tree") == BASE])
        if judged.outcome == PASS and _shows_forgery(_rounds(subject, check)):
            judged, attribution = Judgement(FAIL, FORGED_RESULTS), "agent"
        expected = {"outcome": judged.outcome, "reason": judged.reason, "attribution": attribution}
        yield from common(place(event), event.payload, expected, "the trace")
        if judged.detail and "detail" in event.payload and not subject.redacted:
            shown = str(event.payload["detail"])[:DETAIL_CHARACTERS]
            yield from differs(place(event), "detail", shown, judged.detail, "the trace")


def inverted(subject: Subject) -> Iterator[Problem]:
    """results.json lists the rounds with altered tests that the trace records, and no others."""
    for check, entry in zip(subject.evidence.contract.checks, _entries(subject), strict=False):
        whole = entry.get("inverted") or {}
        listed = _objects(whole.get("rounds"))
        recorded = _rounds(subject, check)
        names = listed[0].keys() if listed else ()
        expected = [{name: one.payload.get(name) for name in names} for one in recorded]
        yield from differs(RESULTS, f"{check.id}: inverted.rounds", listed, expected, "the trace")
        tests = tests_of(check)
        counts = {
            "variants": sum(int(one.payload["variant_count"]) for one in recorded),
            "controls": sum(int(one.payload["control_count"]) for one in recorded),
            "tests": len(tests),
        }
        yield from common(RESULTS, whole, counts, "the trace and the contract", f"{check.id}: inverted.")
        for test in whole.get("without") or ():
            if test not in tests:
                yield Problem(RESULTS, f"{check.id}: inverted.without has {test!r}, which the contract does not list")


def _rounds(subject: Subject, check: Check) -> list[Event]:
    return [event for event in subject.evidence.of("check.inverted") if event.payload.get("check") == check.id]


def _shows_forgery(rounds: Sequence[Event]) -> bool:
    """Whether the recorded rounds with altered tests show that results are forged."""
    if any(_is_tampered(one.payload) for one in rounds):
        return True
    sets: dict[str, set[str]] = {}
    for one in rounds:
        sets.setdefault(str(one.payload.get("set")), set()).update(map(str, one.payload.get("suspicious") or ()))
    return bool(forged_tests(list(sets.values())))


def _is_tampered(payload: Mapping[str, Any]) -> bool:
    """Whether the results of a round were changed; sentinels after an altered test do not show that."""
    return bool(payload.get("tampered")) or (payload.get("sentinels") == FORGED and not payload.get("variant_count"))


def _set_aside(event: Event, check: Check) -> bool:
    return event.payload.get("check") == check.id and bool(event.payload.get("set_aside"))


def _decided(check: Check, patched: Sequence[Event], base: Sequence[Event]) -> tuple[Judgement, str]:
    """The decision that follows from the recorded attempts, and its attribution."""
    decided = decide(check.rerun.decide, [_judgement(one) for one in patched])
    attribution = "agent" if decided.outcome == FAIL else ""
    if decided.reason in OF_THE_MACHINE:
        return decided, "harness"
    if base and (decided.outcome == ERROR or decided.reason == FORGED_RESULTS):
        return attribute(decided, _judgement(base[-1]))
    return decided, attribution


def _judgement(event: Event) -> Judgement:
    payload = event.payload
    return Judgement(str(payload["outcome"]), str(payload["reason"]), str(payload.get("diagnostics") or ""))


def listed_decisions(subject: Subject) -> Iterator[Problem]:
    """results.json has every check of the contract in order, each with its recorded decision."""
    evidence = subject.evidence
    if evidence.results is None:
        return
    entries = _entries(subject)
    checks = [check.id for check in evidence.contract.checks]
    yield from differs(RESULTS, "checks", [entry.get("id") for entry in entries], checks, "contract.json")
    for check, entry in zip(evidence.contract.checks, entries, strict=False):
        event = evidence.decision(check)
        if event is None:
            continue
        if event.type == "check.blocked":
            expected: Mapping[str, Any] = {"outcome": "blocked", "detail": event.payload.get("reason")}
        else:
            detail = str(event.payload.get("detail", ""))[:DETAIL_CHARACTERS]
            expected = {
                **{name: event.payload[name] for name in OF_DECISIONS if name in event.payload},
                "detail": detail,
            }
        stated = {"gate": check.gate, "layer": check.layer, "mandatory": check.mandatory, "forgeable": forgeable(check)}
        yield from common(RESULTS, entry, {**stated, **expected}, place(event), f"{check.id}: ")


def failing(subject: Subject) -> Iterator[Problem]:
    """An event lists as many failing tests as it counts, up to the limit of the list; a pass lists none."""
    for event in subject.evidence.of("check.finished"):
        if "failing_count" in event.payload:
            count, listed = int(event.payload["failing_count"]), len(event.payload["failing"])
            yield from differs(place(event), "failing_count", min(count, MOST_FAILING), listed, "its list")
        if event.payload["outcome"] == PASS and event.payload["failing"]:
            yield Problem(place(event), "passes and lists failing tests")


def tests(subject: Subject) -> Iterator[Problem]:
    """The tests listed in results.json give the counts and the failing tests of the first attempt that counts."""
    for check, entry in zip(subject.evidence.contract.checks, _entries(subject), strict=False):
        finished = [one for one in subject.evidence.of("check.finished") if one.payload.get("check") == check.id]
        first = next((one for one in finished if not one.payload.get("set_aside")), None)
        if first is None or check.results == "exit-code" or "tests" not in entry:
            continue
        outcomes = {str(test): str(outcome) for test, outcome in entry["tests"]}
        if not entry.get("tests_omitted") and "tests" in first.payload:
            counted = Counter(outcome for outcome in outcomes.values() if outcome != "absent")
            expected = {name: counted.get(name, 0) for name in {*first.payload["tests"], *counted}}
            yield from differs(place(first), "tests", first.payload["tests"], expected, RESULTS)
        wanted = {*check.must_pass, *check.keep_passing}
        if wanted and wanted <= outcomes.keys() and first.payload["reason"] == TESTS:
            missing = sorted(test for test in wanted if outcomes[test] != "passed")
            found = first.payload
            yield from differs(place(first), "failing", found["failing"], missing[:MOST_FAILING], RESULTS)
            yield from differs(place(first), "outcome", found["outcome"], FAIL if missing else PASS, RESULTS)
            yield from common(place(first), found, {"failing_count": len(missing)}, RESULTS)


def applied(subject: Subject) -> Iterator[Problem]:
    """results.json agrees with the event about the patch; the steps after it are those of the trace."""
    results, event = subject.evidence.results, subject.evidence.last("patch.applied")
    if results is None or event is None:
        return
    expected = {"outcome": event.payload.get("outcome"), "problem": event.payload.get("problem")}
    yield from common(RESULTS, results.get("patch") or {}, expected, place(event), "patch.")
    yield from differs(
        place(event), "exit_status", event.payload.get("exit_status"), int(expected["outcome"] != PASS), "its outcome"
    )
    steps: list[dict[str, Any]] = []
    for step in subject.evidence.of("setup.step"):
        if step.payload.get("after_patch"):
            steps = [] if step.payload.get("set_aside") else [*steps, dict(step.payload)]
    if "setup" in results:
        yield from differs(RESULTS, "setup", results["setup"], steps, "the trace")


def _entries(subject: Subject) -> list[Mapping[str, Any]]:
    return _objects((subject.evidence.results or {}).get("checks"))


def _objects(value: Any) -> list[Mapping[str, Any]]:
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, list) else []


def _key(check: Any, value: Mapping[str, Any]) -> tuple[str, str, str]:
    return str(check), str(value.get("tree")), str(value.get("attempt"))
