"""Policy: what is told once, what is counted each time, what ends a run, and what does not count at all."""

from __future__ import annotations

from typing import Any

import pytest

from proctor.execute.monitor.breakers.breaker_settings import Settings, Thresholds
from proctor.execute.monitor.breakers.interface import Trip
from proctor.execute.monitor.breakers.policy_violations import (
    MOST_REPORTED,
    DeniedWrites,
    EarlyTests,
    PolicyBreaker,
    forbidden_form,
    observe,
)
from proctor.execute.monitor.severity_grades import Observation
from proctor.record.trace.event import Event


def event(kind: str, **payload: Any) -> Event:
    return Event(7, "1", kind, "harness", payload, "", "")


@pytest.mark.parametrize(
    ("argv", "path", "found"),
    [
        (("nmap", "host"), "/usr/bin/nmap", ("nmap", "host")),
        (("innocent", "host"), "/usr/bin/nmap", ("/usr/bin/nmap", "host")),
        (("cat", "host"), "/usr/bin/cat", None),
        (("git", "push"), "", ("git", "push")),
    ],
)
def test_a_command_is_forbidden_by_its_name_or_by_its_file(
    argv: tuple[str, ...], path: str, found: tuple[str, ...] | None
) -> None:
    commands = ("git push", "nmap *")
    assert forbidden_form(argv, path, commands) == found
    seen = observe(event("guard.exec", argv=list(argv), path=path), commands, ())
    name = found[0].rpartition("/")[2] if found else ""
    assert seen == (found and Observation("forbidden-command", " ".join(found), name, 7))


def test_a_long_command_line_is_cut() -> None:
    seen = observe(event("guard.exec", argv=["nmap", "x" * 5000], path=""), ("nmap *",), ())
    assert seen is not None and seen.subject == ("nmap " + "x" * 5000)[:4096]


def test_a_class_of_system_calls_may_be_forbidden() -> None:
    payload = {"code": "syscall-mount", "syscall": "mount", "argv": ["x"], "count": 4, "allowed": True}
    seen = Observation("syscall-mount", "mount", "x", 7, 4, True)
    assert observe(event("guard.attempt", **payload), (), ("bpf",)) == seen
    forbidden = Observation("forbidden-syscall", "mount", "x", 7, 4, True)
    assert observe(event("guard.attempt", **payload), (), ("bpf", "mount")) == forbidden
    assert observe(event("briefing"), ("nmap *",), ("mount",)) is None


def told(code: str, subject: str, program: str, grade: str, violations: int, seq: int) -> Trip:
    signals = {"code": code, "subject": subject, "program": program, "violations": violations}
    return Trip("policy", code, "none", grade, f"{code}: {subject}", (seq,), signals)


def ended(code: str, subject: str, program: str, violations: int, evidence: tuple[int, ...]) -> Trip:
    signals = {"code": code, "subject": subject, "program": program, "violations": violations}
    rationale = f"{code}: {subject}; {violations} violations of policy"
    return Trip("policy", f"safety-{code}", "quarantine", "violation", rationale, evidence, signals)


def attempt(story: Any, code: str, path: str = "/etc/x", **more: Any) -> list[Trip]:
    story.add("guard.attempt", **{"code": code, "path": path, "argv": ["/bin/sh"], "allowed": False, **more})
    found: list[Trip] = story.new()
    return found


@pytest.fixture
def policy(alone: Any) -> Any:
    def made(**fields: Any) -> Any:
        return alone(lambda facts: PolicyBreaker(facts, Settings(**fields)))

    return made


def test_each_violation_counts_and_is_told_once_until_there_are_too_many(policy: Any) -> None:
    story = policy(forbid_commands=("nmap *",))
    story.call("nmap", "host")
    assert story.new() == [told("forbidden-command", "nmap host", "nmap", "violation", 1, 2)]
    story.call("nmap", "host").call("cat", "host")
    assert story.new() == []
    seq = len(story.events)
    story.call("nmap", "host")
    assert story.new() == [ended("forbidden-command", "nmap host", "nmap", 3, (2, 5, seq))]


def test_a_forbidden_program_that_is_not_there_is_a_violation_as_well(policy: Any) -> None:
    story = policy(forbid_commands=("nmap *",))
    said = attempt(story, "absent-program", argv=["nmap", "host"])
    assert said == [told("forbidden-command", "nmap host", "nmap", "violation", 1, 2)]
    assert attempt(policy(forbid_commands=("nmap *",)), "absent-program", argv=["ls"]) == []


def test_some_violations_end_a_run_at_once(policy: Any) -> None:
    assert attempt(policy(), "canary-leak") == [ended("canary-leak", "/etc/x", "sh", 1, (2,))]
    assert attempt(policy(forbid_syscalls=("mount",)), "syscall-mount") == [
        ended("forbidden-syscall", "/etc/x", "sh", 1, (2,))
    ]


def test_a_code_that_ends_runs_ends_none_where_the_contract_grades_it_lower(policy: Any) -> None:
    story = policy(rules={"canary-leak": "alert"})
    assert attempt(story, "canary-leak") == [told("canary-leak", "/etc/x", "sh", "alert", 0, 2)]


def test_an_alert_is_told_once_for_each_kind_of_thing(policy: Any) -> None:
    story = policy()
    assert attempt(story, "signal") == [told("signal", "/etc/x", "sh", "alert", 0, 2)]
    assert attempt(story, "signal") == []
    assert [trip.rationale for trip in attempt(story, "signal", "/etc/y")] == ["signal: /etc/y"]


def test_a_notice_is_told_only_where_something_is_done_about_its_code(policy: Any) -> None:
    assert attempt(policy(), "network") == []
    for fields in ({"ask": ("network",)}, {"rollback": {"network": "end"}}):
        story = policy(**fields)
        assert attempt(story, "network") == [told("network", "/etc/x", "sh", "notice", 0, 2)]
        assert attempt(story, "dns") == []


def test_long_subjects_and_names_are_cut(policy: Any) -> None:
    (trip,) = attempt(policy(), "signal", "/" + "x" * 600, argv=["y" * 300])
    subject = "/" + "x" * 600
    assert trip.rationale == f"signal: {subject[:200]}"
    assert (trip.signals["subject"], trip.signals["program"]) == (subject[:500], "y" * 200)


def test_what_others_do_too_or_tools_do_by_themselves_does_not_count(policy: Any) -> None:
    story = policy(baseline=frozenset({("signal", "sh", "/etc/x")}), rules={"write-outside": "violation"})
    assert attempt(story, "signal") == []
    assert attempt(story, "write-outside", "/usr/lib/__pycache__/a.pyc") == []
    assert [trip.code for trip in attempt(story, "signal", "/etc/y")] == ["signal"]
    assert [trip.code for trip in attempt(story, "write-outside")] == ["write-outside"]


def test_a_name_that_is_told_twice_was_looked_up_once(policy: Any) -> None:
    story = policy(rules={"dns": "violation", "network": "violation"})
    assert [trip.signals["violations"] for trip in attempt(story, "dns", "", detail="a.example")] == [1]
    assert attempt(story, "dns", "", detail="a.example") == []
    assert attempt(story, "dns", "", detail="a.example") == []
    assert [trip.signals["violations"] for trip in attempt(story, "dns", "", detail="b.example")] == [2]
    assert [trip.action for trip in attempt(story, "network")] == ["quarantine"]


def hit(story: Any, grade: Any, rule: str = "send") -> list[str]:
    story.add("words.hit", rule=rule, where="task", grade=grade)
    return [trip.grade for trip in story.new()]


def test_words_weigh_what_their_rule_says_unless_the_contract_says_more(policy: Any) -> None:
    assert [hit(policy(), grade) for grade in ("violation", "alert", "notice", "nonsense", None)] == [
        ["violation"],
        ["alert"],
        [],
        ["alert"],
        ["alert"],
    ]
    assert hit(policy(rules={"words-send": "alert"}), "violation") == ["alert"]
    assert hit(policy(rules={"words-send": "alert"}), "violation", "other") == ["violation"]
    assert hit(policy(ask=("words-send",)), "notice") == ["notice"]


def test_only_words_bring_a_grade_of_their_own(policy: Any) -> None:
    assert [trip.grade for trip in attempt(policy(), "signal", grade="violation")] == ["alert"]


def test_of_too_many_things_only_violations_are_told(policy: Any) -> None:
    story = policy(rules={"network": "violation"}, thresholds=Thresholds(violations=3))
    letters = "abcdefghijklmnopqrstuvwxyz"
    names = [f"/{one}{two}{three}" for one in letters[:10] for two in letters[:10] for three in letters[:10]]
    assert len(names) == MOST_REPORTED
    for name in names[:-1]:
        assert attempt(story, "signal", name)
    assert [trip.code for trip in attempt(story, "signal", names[-1])] == ["signal"]
    assert attempt(story, "signal", "/one-more") == []
    assert [trip.code for trip in attempt(story, "network", "/zz")] == ["network"]


def test_nothing_is_told_of_what_the_agent_did_not_do(alone: Any) -> None:
    story = alone(lambda facts: PolicyBreaker(facts, Settings()), start=False)
    assert attempt(story, "canary-leak") == []
    story.start().finish()
    assert attempt(story, "canary-leak") == []


def write(story: Any, path: str, **more: Any) -> list[Trip]:
    return attempt(story, "write-outside", path, **more)


def denied(places: int, evidence: tuple[int, ...], threshold: int = 3) -> Trip:
    return Trip(
        "denied-writes",
        "denied-writes",
        "suspend-write",
        "alert",
        f"writes were tried at {places} places outside the writable scope",
        evidence,
        {"places": places, "threshold": threshold},
    )


@pytest.fixture
def writes(alone: Any) -> Any:
    known = frozenset({("write-outside", "sh", "/etc/known")})
    return alone(lambda facts: DeniedWrites(facts, 3, known))


def test_writing_is_suspended_once_after_writes_at_many_places(writes: Any) -> None:
    assert write(writes, "/etc/a") == write(writes, "/etc/b") == write(writes, "/etc/a") == []
    assert write(writes, "/etc/c") == [denied(3, (2, 3, 5))]
    assert write(writes, "/etc/d") == []


def test_places_that_do_not_count(writes: Any) -> None:
    for number in range(9):
        assert write(writes, f"/usr/{number}.pyc") == []
        assert write(writes, "/etc/known") == []
        assert write(writes, f"/etc/allowed{number}", allowed=True) == []
        assert attempt(writes, "network", f"/etc/{number}") == []
        writes.add("words.hit", rule="send", where=f"/etc/{number}", grade="alert")
        assert writes.new() == []
    assert [len(write(writes, f"/etc/{name}")) for name in "abc"] == [0, 0, 1]


def test_a_flood_of_writes_is_as_many_places_as_it_says(writes: Any) -> None:
    writes.add("guard.more", code="write-outside", count=1)
    writes.add("guard.more", code="network", count=100)
    assert writes.new() == []
    assert write(writes, "/etc/a") == []
    writes.add("guard.more", code="write-outside", count=3)
    assert writes.new() == [denied(5, (4, 5))]


def test_writes_outside_the_agents_time_do_not_count(alone: Any) -> None:
    story = alone(lambda facts: DeniedWrites(facts, 1, frozenset()), start=False)
    assert write(story, "/etc/a") == []
    story.start().finish()
    assert write(story, "/etc/b") == []


def stage(story: Any, name: str) -> Any:
    story.add("stage.changed", **{"from": "", "to": name, "reason": "r"})
    return story


def early(name: str, seq: int, program: str = "pytest") -> Trip:
    rationale = f"tests were run in the stage '{name}', before the test stage"
    signals = {"stage": name, "program": program}
    return Trip("early-tests", "early-tests", "none", "alert", rationale, (seq,), signals)


def test_early_tests_are_told_once_in_each_stage(alone: Any) -> None:
    story = alone(EarlyTests)
    assert stage(story, "inspect").call("cat").call("pip", "install", "a").new() == []
    assert story.call("/usr/bin/pytest", "-q").new() == [early("inspect", 7)]
    assert story.call("pytest").new() == []
    seq = len(stage(story, "write").events)
    assert story.call("pytest").new() == [early("write", seq)]
    assert stage(story, "test").call("pytest").new() == []


def test_without_stages_no_test_is_early(alone: Any) -> None:
    assert alone(EarlyTests).call("pytest").new() == []


def test_a_test_behind_another_program_is_early_too(alone: Any) -> None:
    story = alone(EarlyTests, start=False)
    stage(story.start(root=False), "write").invoke("sh", "-c", "make; pytest")
    assert story.new() == [early("write", 2)]


def test_the_name_of_an_early_test_is_cut(alone: Any) -> None:
    story = alone(EarlyTests, tests=("yy*",))
    assert stage(story, "write").call("y" * 300).new() == [early("write", 3, "y" * 200)]


def test_a_test_after_the_agents_end_is_not_its_own(alone: Any) -> None:
    story = alone(EarlyTests)
    assert stage(story, "write").finish().call("pytest").new() == []
