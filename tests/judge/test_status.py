"""The status of a run, whose doing it is, and every problem in words."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from proctor.contract.model import Check
from proctor.judge.run_evidence import Evidence
from proctor.judge.run_verdict import Status, gates, status
from tests.judge.report.conftest import MANIFEST
from tests.judge.scene import CHANGE, Told, evidence_of, happened

CHECKS = tuple(Check(name, "acceptance", ("x",)) for name in ("tests", "second", "third"))


def whole(told: list[Told], **fields: Any) -> Evidence:
    """Evidence that carries a verdict, unless ``told`` says otherwise."""
    return replace(evidence_of(told, **fields), manifest=MANIFEST, changes=None)


def of(evidence: Evidence) -> Status:
    return status(evidence, gates(evidence))


def without(*names: str, **fields: Any) -> list[Told]:
    return [one for one in happened(**fields) if one[0] not in names]


def decided(check: str, outcome: str, whose: str = "") -> Told:
    return "check.decided", {"check": check, "outcome": outcome, "reason": "r", "attribution": whose}


def terminated(code: str, rationale: str = "because") -> Told:
    return "run.terminated", {"code": code, "rationale": rationale, "evidence": ""}


def test_success_and_failure() -> None:
    assert of(whole(happened())) == Status("success", "nobody")
    assert of(whole(happened(outcome="fail"))) == Status("failure", "agent")
    assert of(whole(happened(applied="fail"))) == Status("failure", "agent")


@pytest.mark.parametrize(
    ("whose", "expected"),
    [
        (("nobody",), "nobody"),
        (("harness", "nobody"), "harness"),
        (("nobody", "harness", "agent"), "agent"),
    ],
)
def test_an_error_belongs_to_whoever_could_have_done_most_about_it(whose: tuple[str, ...], expected: str) -> None:
    names = ("tests", "second", "third")
    told = happened(more=[decided(name, "error", one) for name, one in zip(names, whose, strict=False)])
    assert of(whole(told, checks=CHECKS[: len(whose)])) == Status("acceptance-error", expected)


def test_an_error_stands_before_a_failure() -> None:
    told = happened(more=[decided("tests", "fail", "agent"), decided("second", "error", "nobody")])
    assert of(whole(told, checks=CHECKS[:2])) == Status("acceptance-error", "nobody")


def test_an_error_of_a_check_that_is_not_mandatory_is_none() -> None:
    checks = (CHECKS[0], replace(CHECKS[1], mandatory=False))
    assert of(whole(happened(more=[decided("second", "error", "agent")]), checks=checks)) == Status("success", "nobody")


def test_a_check_that_was_blocked_is_no_error() -> None:
    blocked: Told = ("check.blocked", {"check": "tests", "reason": "r", "attribution": "agent"})
    assert of(whole(happened(more=[blocked]))) == Status("failure", "agent")


def test_every_problem_is_named_in_order() -> None:
    lacking = {name: value for name, value in MANIFEST.items() if name != "seeds"}
    faults: list[Told] = [("run.fault", {"phase": "judging", "message": text}) for text in ("disk full", "again")]
    kept = without(
        "run.identity", "patch.extracted", "safety.checked", "patch.applied", "check.finished", "check.decided"
    )
    evidence = replace(whole([*kept, *faults]), manifest=lacking)
    assert of(evidence) == Status(
        "invalid",
        "harness",
        (
            "manifest: seeds is missing (seeds and how they are exposed)",
            "the workspace was never compared with what the manifest names",
            "fault while judging: disk full",
            "fault while judging: again",
            "no patch was taken from the workspace",
            "the policy was never held against the run",
            "acceptance did not take place",
        ),
    )


@pytest.mark.parametrize("match", [False, None, "true", 1])
def test_a_tree_that_does_not_surely_match_is_another_one(match: Any) -> None:
    told = [(name, {"match": match} if name == "run.identity" else payload) for name, payload in happened()]
    problem = "the workspace at the start was not the one that the manifest names"
    assert of(whole(told)) == Status("invalid", "harness", (problem,))


def test_checks_without_a_decision_are_named_but_not_all_of_them() -> None:
    checks = tuple(Check(f"check{number}", "acceptance", ("x",)) for number in range(7))
    problem = "acceptance was not finished: no decision on check0, check1, check2, check3, check4"
    assert of(whole(happened(), checks=checks)).problems == (problem,)
    assert of(whole(happened(), checks=CHECKS[:2])).problems == ("acceptance was not finished: no decision on second",)


def test_gaps_between_trace_and_files_are_problems_and_bounded() -> None:
    listed = [{"path": f"file{number}", "before": None, "after": None} for number in range(30)]
    evidence = replace(evidence_of(without("check.finished"), changes=listed), manifest=MANIFEST)
    found = of(evidence)
    assert (found.status, found.attribution) == ("invalid", "harness")
    assert found.problems == tuple(
        f"trace: file{number} is in changes.json and has no mutation event" for number in range(20)
    )


def test_results_alone_are_held_against_the_trace_too() -> None:
    evidence = replace(whole(happened()), results={"checks": []})
    (problem,) = of(evidence).problems
    assert problem == "trace: attempt 1 of check tests on the patched tree has an event and is not in results.json"


def test_files_that_agree_with_the_trace_are_no_problem() -> None:
    attempts = [{"tree": "patched", "attempt": 1, "outcome": "pass"}]
    told = happened(before=[("workspace.mutation", CHANGE)])
    evidence = replace(
        evidence_of(told), manifest=MANIFEST, results={"checks": [{"id": "tests", "attempts": attempts}]}
    )
    assert of(evidence) == Status("success", "nobody")


@pytest.mark.parametrize("code", ["safety-canary-leak", "quarantine", "quarantined"])
def test_an_end_for_safety_before_the_judge_is_the_agents_doing(code: str) -> None:
    assert of(whole(happened(before=[terminated(code, "it leaked")]))) == Status(
        "invalid", "agent", ("ended for safety: it leaked",)
    )


def test_an_end_for_safety_stands_before_other_problems() -> None:
    fault: Told = ("run.fault", {"phase": "p", "message": "m"})
    ends = [terminated("wall-ceiling"), terminated("safety-x", "first"), terminated("safety-y", "second"), fault]
    assert of(whole(happened(before=ends))) == Status(
        "invalid", "agent", ("ended for safety: first", "fault while p: m")
    )


def test_an_end_for_safety_after_the_judge_began_changes_nothing() -> None:
    assert of(whole(happened(more=[terminated("safety-x")]))) == Status("success", "nobody")


def test_an_end_for_want_of_resources_is_judged() -> None:
    assert of(whole(happened(before=[terminated("wall-ceiling")]))) == Status("success", "nobody")


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ([terminated("operator")], "nobody"),
        ([terminated("wall-ceiling")], "harness"),
        ([terminated("operator"), ("run.fault", {"phase": "p", "message": "m"})], "harness"),
        ([], "harness"),
    ],
)
def test_a_run_that_an_operator_stopped_is_nobodys_doing(more: list[Told], expected: str) -> None:
    told = without("patch.applied", "check.finished", "check.decided", before=more)
    found = of(whole(told))
    assert (found.status, found.attribution) == ("invalid", expected)
    assert "acceptance did not take place" in found.problems
