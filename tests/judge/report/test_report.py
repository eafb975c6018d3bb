"""Reports from run directories that are put together by hand: gates, status, score, tags, deviations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from proctor.base.errors import BrokenSeal
from proctor.contract.model import Check, Environment, Rerun, Score
from proctor.judge.run_report import build_report
from proctor.judge.run_verdict import combined
from proctor.record.report_model import Report, report_from


def gates(report: dict[str, Any]) -> str:
    return "".join("+" if gate["passed"] else "-" for gate in report["gates"])


def tag_ids(report: dict[str, Any]) -> list[str]:
    assert all(tag["evidence"] for tag in report["tags"])
    return [tag["id"] for tag in report["tags"]]


def build_check(**fields: Any) -> Check:
    return Check(**{"id": "build", "gate": "build", "run": ("make",), **fields})


def test_a_success(story: Any) -> None:
    report = story.tell()
    assert report["status"] == "success", report["problems"]
    assert report["attribution"] == "nobody"
    assert gates(report) == "++++"
    assert report["endpoint"] == {"success": True, "scorable": True}
    assert report["tags"] == []
    assert report["deviations"] == []
    assert report["score"]["parts"] == {"minimality": "0.980199", "trace": "1.000000", "maintainability": "0.000000"}
    assert report["score"]["value"] == "0.990099"
    assert report["score"]["rubric"]["distance"] == 2
    assert report["patch"]["files"] == 1
    assert report["patch"]["added_lines"] == 1
    assert report["durations"]["tool_seconds"] == "1.250"
    assert report["durations"]["check_seconds"] == "0.125"
    assert report["usage"]["tool_calls"] == 1
    assert report["events"]["by_type"]["check.finished"] == 1
    assert report["checks"][0]["outcome"] == "pass"
    assert all(gate["evidence"] for gate in report["gates"] if gate["id"] != "G2")


def test_a_failed_test_is_a_failure_with_its_layer(story: Any) -> None:
    story.outcomes["tests"] = ("fail", "tests", "agent")
    report = story.tell()
    assert (report["status"], report["attribution"]) == ("failure", "agent")
    assert gates(report) == "++-+"
    assert report["score"] is None
    assert tag_ids(report) == ["test-failure:unit"]
    assert "acceptance/logs/tests.patched.1.stdout" in report["gates"][2]["evidence"]


@pytest.mark.parametrize("whose", ["agent", "harness", "nobody"])
def test_an_error_is_an_acceptance_error(story: Any, whose: str) -> None:
    story.outcomes["tests"] = ("error", "timeout", whose)
    report = story.tell()
    assert (report["status"], report["attribution"]) == ("acceptance-error", whose)
    assert gates(report) == "++-+"
    assert tag_ids(report) == ["evaluation-error", *(["non-termination"] if whose == "agent" else [])]
    assert report["endpoint"]["success"] is False


def test_an_error_stands_before_a_failure(story: Any) -> None:
    story.checks = (*story.checks, replace(story.checks[0], id="more"))
    story.outcomes = {"tests": ("fail", "tests", "agent"), "more": ("error", "timeout", "nobody")}
    assert story.tell()["status"] == "acceptance-error"


def test_a_check_that_cannot_start_fails_patch_validity(story: Any) -> None:
    story.outcomes["tests"] = ("error", "could-not-start", "harness")
    report = story.tell()
    assert gates(report) == "-+-+"
    assert report["status"] == "acceptance-error"


def test_a_patch_that_does_not_apply_is_a_failure(story: Any) -> None:
    story.applied = ("fail", "hunk 1 does not match")
    report = story.tell()
    assert (report["status"], report["attribution"]) == ("failure", "agent")
    assert gates(report) == "-+-+"
    assert report["gates"][0]["why"] == "hunk 1 does not match"
    assert report["checks"][0]["outcome"] == "blocked"
    assert tag_ids(report) == ["conflict"]


def test_build_and_static_checks_have_their_own_gate(story: Any) -> None:
    story.checks = (build_check(), build_check(id="lint", gate="static"), *story.checks)
    story.outcomes["lint"] = ("fail", "exit-code", "agent")
    report = story.tell()
    assert gates(report) == "+-++"
    assert report["status"] == "failure"
    assert tag_ids(report) == ["static-failure"]
    assert report["checks"][0]["forgeable"]


def test_a_gate_may_be_empty_on_purpose(story: Any) -> None:
    story.checks = (build_check(no_op=True), *story.checks)
    report = story.tell()
    assert report["status"] == "success", report["problems"]
    assert "on purpose" in report["gates"][1]["why"]


def test_a_check_that_is_not_mandatory_decides_nothing(story: Any) -> None:
    story.checks = (*story.checks, replace(story.checks[0], id="extra", mandatory=False))
    story.outcomes["extra"] = ("fail", "tests", "agent")
    report = story.tell()
    assert report["status"] == "success"
    assert [check["outcome"] for check in report["checks"]] == ["pass", "fail"]


def test_without_a_mandatory_acceptance_check_nothing_is_shown(story: Any) -> None:
    story.checks = (build_check(),)
    report = story.tell()
    assert gates(report) == "++-+"
    assert report["status"] == "failure"


def test_forged_results_have_their_tag(story: Any) -> None:
    story.outcomes["tests"] = ("fail", "forged", "agent")
    report = story.tell()
    assert report["status"] == "failure"
    assert tag_ids(report) == ["forged-results"]


def test_a_violation_outweighs_passing_tests(story: Any) -> None:
    story.findings = [("forbidden-path", "violation"), ("steering-file", "notice")]
    report = story.tell()
    assert report["status"] == "failure"
    assert gates(report) == "+++-"
    assert report["gates"][3]["why"] == "forbidden-path found"
    assert report["score"] is None
    assert tag_ids(report) == ["boundary-violation"]


def test_notices_fail_nothing(story: Any) -> None:
    story.findings = [("steering-file", "notice")]
    assert story.tell()["status"] == "success"


def test_a_run_that_used_its_time_is_still_judged(story: Any) -> None:
    story.before_judging = [("run.terminated", {"code": "wall-ceiling", "rationale": "r", "evidence": "e"})]
    report = story.tell()
    assert report["status"] == "success"
    assert report["termination"]["code"] == "wall-ceiling"
    assert tag_ids(report) == ["non-termination", "resource-termination"]


def test_an_end_for_safety_before_acceptance_is_invalid(story: Any) -> None:
    story.before_judging = [("run.terminated", {"code": "safety-canary", "rationale": "read it", "evidence": "e"})]
    report = story.tell()
    assert (report["status"], report["attribution"]) == ("invalid", "agent")
    assert report["endpoint"] == {"success": False, "scorable": False}
    assert report["score"] is None


def test_an_end_for_safety_after_acceptance_is_no_invalidity(story: Any) -> None:
    story.after_judging = [("run.terminated", {"code": "safety-late", "rationale": "r", "evidence": "e"})]
    assert story.tell()["status"] == "success"


INVALID: dict[str, Callable[[Any], Any]] = {
    "incomplete manifest": lambda story: story.manifest.pop("seeds"),
    "another tree": lambda story: setattr(story, "match", False),
    "fault": lambda story: story.after_judging.append(("run.fault", {"message": "disk full", "phase": "judging"})),
    "no identity": lambda story: story.leave_out.add("run.identity"),
    "no patch taken": lambda story: story.leave_out.add("patch.extracted"),
    "policy never held": lambda story: story.leave_out.add("safety.checked"),
    "never applied": lambda story: story.leave_out.update({"patch.applied", "check.finished", "check.decided"}),
    "unfinished acceptance": lambda story: story.outcomes.update({"tests": ("undecided", "", "")}),
    "mutation without event": lambda story: story.leave_out.add("workspace.mutation"),
    "attempt without event": lambda story: story.leave_out.add("check.finished"),
    "results left out": lambda story: story.leave_out.add("results"),
    "attempt that is not in the results": lambda story: setattr(
        story, "hook", lambda results: results["checks"][0]["attempts"].clear()
    ),
    "outcome changed in the results": lambda story: setattr(
        story, "hook", lambda results: results["checks"][0]["attempts"][0].update(outcome="fail")
    ),
}


@pytest.mark.parametrize("name", INVALID)
def test_what_makes_a_run_invalid(story: Any, name: str) -> None:
    INVALID[name](story)
    report = story.tell()
    assert (report["status"], report["attribution"]) == ("invalid", "harness")
    assert report["problems"]
    assert "evaluation-invalidity" in tag_ids(report)
    assert report["score"] is None


def test_a_run_that_an_operator_stopped_is_nobodys_doing(story: Any) -> None:
    story.leave_out.update({"patch.applied", "check.finished", "check.decided", "results"})
    story.after_judging = [("run.terminated", {"code": "operator", "rationale": "keyboard", "evidence": ""})]
    report = story.tell()
    assert (report["status"], report["attribution"]) == ("invalid", "nobody")


def test_deviations_are_named(story: Any) -> None:
    story.checks = (replace(story.checks[0], rerun=Rerun(3, "majority")),)
    story.fields["environment"] = Environment(seed=7)
    story.manifest["sandbox"]["isolation"] = {"memory": "rlimit", "workspace": "copy", "processes": "cgroup"}
    report = story.tell()
    assert [item["id"] for item in report["deviations"]] == ["seed", "tie-break", "isolation", "isolation"]
    assert report["checks"][0]["flagged"]


def test_comparability_follows_contract_tree_and_configuration(story: Any, stories: Any) -> None:
    first = story.tell()["comparability"]
    other = stories()
    other.manifest["agent"]["name"] = "someone else"
    assert other.tell()["comparability"] == first
    third = stories()
    third.manifest["limits"]["wall_seconds"] = 2
    changed = third.tell()["comparability"]
    assert changed["class"] != first["class"]
    assert changed["contract"] == first["contract"]


def test_added_tests_do_not_lower_the_score(story: Any, stories: Any) -> None:
    plain = story.tell()["score"]["value"]
    more = stories()
    added = {**more.changes[0], "path": "tests/test_new.py", "change": "added", "before": None}
    more.changes = [*more.changes, added]
    more.patch += (
        b"diff --git a/tests/test_new.py b/tests/test_new.py\nnew file mode 100644\n"
        b"index 0000000000000000000000000000000000000000..3333333333333333333333333333333333333333\n"
        b"--- /dev/null\n+++ b/tests/test_new.py\n@@ -0,0 +1,3 @@\n+a\n+b\n+c\n"
    )
    report = more.tell()
    assert report["score"]["value"] == plain
    assert report["patch"]["added_lines"] == 4


def test_maintainability_is_the_share_of_its_checks(story: Any) -> None:
    story.checks = (
        *story.checks,
        *(replace(story.checks[0], id=name, mandatory=False) for name in ("m1", "m2", "m3")),
    )
    story.outcomes["m2"] = ("fail", "tests", "agent")
    story.fields["score"] = Score("0.01", "0.25", "0.25", "0.5", ("m1", "m2", "m3"))
    score = story.tell()["score"]
    assert score["parts"]["maintainability"] == "0.666667"
    assert score["value"] == "0.828383"


def test_a_trace_that_disagrees_with_the_patch_scores_no_quality(story: Any) -> None:
    story.leave_out.add("briefing")
    assert story.tell()["score"]["parts"]["trace"] == "0.000000"


def test_a_changed_trace_is_refused(story: Any) -> None:
    story.tell()
    data = story.run.events.read_bytes().replace(b'"match":true', b'"match":null')
    story.run.events.write_bytes(data)
    with pytest.raises(BrokenSeal):
        build_report(story.run)


def test_reports_that_are_combined(story: Any, stories: Any) -> None:
    def told(**fields: Any) -> Report:
        made = stories()
        for key, value in fields.items():
            setattr(made, key, value)
        return report_from(made.tell())

    good = report_from(story.tell())
    bad = told(outcomes={"tests": ("fail", "tests", "agent")})
    error = told(outcomes={"tests": ("error", "timeout", "nobody")})
    unsafe = told(findings=[("forbidden-path", "violation")])
    invalid = told(match=False)
    assert combined([good, good])[0] == "success"
    assert combined([good, invalid])[0] == "success"
    assert combined([invalid])[0] == "invalid"
    assert combined([good, error])[0] == "acceptance-error"
    assert combined([good, error, bad])[0] == "failure"
    status, why = combined([bad, good, unsafe])
    assert status == "failure"
    assert why.startswith("G4")
