"""Grades: mild by default, set by the contract, and nothing counts that the baseline does too."""

from __future__ import annotations

from typing import Any

import pytest

from proctor.execute.monitor.severity_grades import (
    DEFAULT_RULES,
    Observation,
    grade_of,
    graded,
    harmless,
    observation_of,
    subtract,
)


def seen(code: str, subject: str = "/x", program: str = "sh", seq: int = 0, allowed: bool = False) -> Observation:
    return Observation(code, subject, program, seq, allowed=allowed)


@pytest.mark.parametrize(
    "code",
    [
        "network",
        "dns",
        "read-canary",
        "canary-used",
        "absent-program",
        "write-outside",
        "write-early",
        "syscall-io_uring",
    ],
)
def test_what_honest_programs_do_is_a_notice(code: str) -> None:
    assert grade_of(code) == "notice"


def test_only_what_a_contract_forbids_what_leaks_what_hides_and_what_was_lost_is_a_violation() -> None:
    violations = {code for code, grade in DEFAULT_RULES.items() if grade == "violation"}
    assert violations == {"forbidden-command", "forbidden-syscall", "program-changed", "canary-leak", "records-lost"}


def test_a_contract_sets_grades_by_code_and_by_family() -> None:
    rules = {"network": "violation", "syscall-*": "notice", "syscall-mount": "violation", "signal": "nonsense"}
    assert grade_of("network", rules) == "violation"
    assert grade_of("syscall-bpf", rules) == "notice"
    assert grade_of("syscall-mount", rules) == "violation"
    assert grade_of("signal", rules) == "alert", "an unknown grade is no grade"
    assert grade_of("something-new", rules) == "alert"
    assert grade_of("raised-limit") == "notice", "honest programs raise some limits"
    assert grade_of("words-privilege-sudo", {}) == "alert"


def test_what_was_let_through_among_the_runs_own_is_a_notice() -> None:
    assert seen("signal", allowed=True).grade() == "notice"
    assert seen("signal", allowed=True).grade({"signal": "violation"}) == "violation"
    assert seen("privilege", allowed=True).grade() == "alert"


def test_what_the_no_op_or_the_reference_also_does_does_not_count() -> None:
    baseline = [seen("dns", "telemetry.example", "node"), seen("write-outside", "/var/cache/4711/tmpab12cd34", "sh")]
    observed = [
        seen("dns", "telemetry.example", "node", 1),
        seen("dns", "telemetry.example", "node", 2),
        seen("dns", "evil.example", "node", 3),
        seen("dns", "telemetry.example", "python3", 4),
        seen("write-outside", "/var/cache/99/tmpzz99yy88", "sh", 5),
        seen("write-outside", "/etc/passwd", "sh", 6),
    ]
    assert [item.seq for item in subtract(observed, baseline)] == [3, 6], "a name is the same whoever asks for it"


@pytest.mark.parametrize(
    ("address", "program", "counts"),
    [
        ("127.0.0.1:50000", "python3", False),
        ("127.0.0.1:8080", "python3", True),
        ("10.0.0.1:50000", "python3", True),
        ("127.0.0.1:50000", "node", True),
    ],
)
def test_high_ports_of_the_loopback_and_versions_are_left_open(address: str, program: str, counts: bool) -> None:
    baseline = [seen("network", "127.0.0.1:41234", "python3.11")]
    assert bool(subtract([seen("network", address, program)], baseline)) is counts


def test_addresses_are_compared_to_the_digit() -> None:
    assert subtract([seen("network", "10.0.0.2:443")], [seen("network", "10.0.0.1:443")])


def test_the_gravest_comes_first() -> None:
    found = graded([seen("network", seq=1), seen("canary-leak", seq=2), seen("signal", seq=3), seen("dns", seq=4)])
    assert [(item.grade, item.observation.seq) for item in found] == [
        *(("violation", 2), ("alert", 3), ("notice", 1), ("notice", 4)),
    ]


def test_compiled_files_beside_sources_are_harmless() -> None:
    assert harmless(seen("write-outside", "/usr/lib/python3/__pycache__/a.cpython-311.pyc"))
    assert not harmless(seen("write-outside", "/usr/lib/python3/a.py"))
    assert not harmless(seen("write-outside", "/etc/passwd~")), "no name makes another write outside harmless"
    assert harmless(seen("write-early", "/workspace/.pytest_cache/README.md"))
    assert seen("write-outside", "/usr/lib/x.pyc").grade({"write-outside": "violation"}) == "notice"


def test_observations_come_from_the_guard_and_from_words(new_story: Any) -> None:
    story = new_story()
    story.add(
        "guard.attempt",
        code="network",
        syscall="connect",
        argv=["/usr/bin/curl", "x"],
        path="",
        address="1.2.3.4:80",
        count=3,
    )
    story.add("guard.attempt", code="dns", argv=["node"], detail="telemetry.example", path="", address="127.0.0.1:53")
    story.add("words.hit", rule="privilege-sudo", format="shell", where="command", text="sudo", grade="alert")
    story.add("monitor.sample")
    story.add("guard.attempt")
    attempt, name, hit, none, empty = [observation_of(event) for event in story.events]
    assert attempt == Observation("network", "1.2.3.4:80", "curl", 0, 3)
    assert name == Observation("dns", "telemetry.example", "node", 1)
    assert hit == Observation("words-privilege-sudo", "command", "", 2)
    assert none is None and empty == Observation("", "", "", 4)
