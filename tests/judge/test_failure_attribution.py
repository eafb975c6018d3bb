"""The account of a failure: each part from the events that show it, bounded, and never a sentence without evidence."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from proctor.judge.failure_attribution import CHARACTERS, LABEL, MOST_POINTERS, MOST_SENTENCES, interpretation
from tests.judge.scene import Told, evidence_of, happened

FAILING = ["tests/test_calc.py::test_add[1]", "tests/test_calc.py::test_zero"]


def program(pid: int, *argv: str) -> Told:
    shown = {"pid": pid, "parent": 2, "path": f"/usr/bin/{argv[0]}", "argv": list(argv), "cwd": "/", "allowed": True}
    return "guard.exec", shown


def ended(pid: int, code: int) -> Told:
    return "guard.exit", {"pid": pid, "exit_code": code, "wall_seconds": "1.000"}


def edit(path: str, added: int = 1, removed: int = 0) -> Told:
    diff = {"kind": "text", "added": added, "removed": removed, "hunks": []}
    return "workspace.mutation", {"path": path, "change": "modified", "before": None, "after": None, "diff": diff}


def printed(words: str) -> Told:
    return "tool.result", {"call": 1, "index": 0, "id": "x", "name": "run", "content": words, "failed": False}


def told(*before: Told, keep_passing: tuple[str, ...] = (), **fields: Any) -> list[tuple[str, list[str]]]:
    told_events = happened(**{"outcome": "fail", "failing": FAILING, **fields}, before=before)
    found = interpretation(evidence_of(told_events, keep_passing=keep_passing))
    assert found is not None
    assert found.label == LABEL
    return [(one.text, list(one.evidence)) for one in found.sentences]


def test_a_success_needs_no_account() -> None:
    assert interpretation(evidence_of(happened())) is None


def test_the_whole_story() -> None:
    sentences = told(
        program(7, "pytest", "-q"),
        ended(7, 0),
        edit("calc.py", 3, 1),
        program(8, "sed", "-i", "s/a/b/", "calc.py"),
        edit("calc.py", 2, 2),
        edit("more.py"),
        program(9, "pytest"),
        ended(9, 1),
        printed("FAILED test_add - assert 1 == 2"),
        keep_passing=("tests/test_calc.py::test_zero",),
    )
    assert sentences == [
        ("tests: 2 tests did not pass, " + ", ".join(FAILING), ["events.jsonl#17", "events.jsonl#18"]),
        (
            "The contract lists as passing before the patch: tests/test_calc.py::test_zero",
            ["events.jsonl#17"],
        ),
        (f"{FAILING[0]} is first named in what was printed at event 12, while the agent acted", ["events.jsonl#12"]),
        ("The last run of tests that ended well was `pytest -q`", ["events.jsonl#4", "events.jsonl#5"]),
        ("The next that did not end well was `pytest`", ["events.jsonl#10", "events.jsonl#11"]),
        (
            "After it these files changed: calc.py (+5 -3), more.py (+1 -0)",
            ["events.jsonl#6", "events.jsonl#8", "events.jsonl#9"],
        ),
        (
            "Before the last of these changes was seen, these programs started: `pytest -q`, `sed -i s/a/b/ calc.py`",
            ["events.jsonl#4", "events.jsonl#7"],
        ),
    ]


def test_without_a_run_of_tests_that_ended_well_all_changes_are_told() -> None:
    texts = [text for text, _ in told(edit("calc.py"), program(7, "pytest"), ended(7, 1), edit("b.py"))]
    assert "1 runs of tests were seen while the agent acted, and none ended well" in texts
    assert "While the agent acted these files changed: calc.py (+1 -0), b.py (+1 -0)" in texts
    assert "None of them is named in what is recorded before the judge's own attempt" in texts


def test_nothing_changed_after_the_tests_ended_well() -> None:
    assert told(edit("a.py"), program(7, "pytest"), ended(7, 0))[-1][0] == "No change of a file was seen after it"


def test_what_happens_after_the_agent_is_not_its_doing() -> None:
    texts = [text for text, _ in told(more=[edit("late.py"), printed("test_add")])]
    assert not any("late.py" in text or "first named" in text for text in texts)


def test_a_patch_that_does_not_apply_and_an_early_end_are_told() -> None:
    (only,) = told(applied="fail")
    assert only[0].startswith("The patch could not be applied")
    end = ("run.terminated", {"code": "wall-ceiling", "rationale": "too long", "evidence": ""})
    assert told(end)[-1][0] == "The agent did not end by itself: wall-ceiling, too long"


STEPS: list[Told] = [
    program(7, "pytest", "x" * 500),
    ended(7, 0),
    ended(7, 1),
    edit("a" * 400),
    edit("b.py"),
    printed("test_zero"),
    program(8, "ls"),
    ("run.terminated", {"code": "c" * 50, "rationale": "r" * 900, "evidence": ""}),
]


@given(st.lists(st.sampled_from(range(len(STEPS))), max_size=30), st.lists(st.text(max_size=200), max_size=5))
def test_it_is_bounded_and_points_at_events_that_exist(steps: list[int], failing: list[str]) -> None:
    evidence = evidence_of(happened(outcome="fail", failing=failing, before=[STEPS[index] for index in steps]))
    found = interpretation(evidence)
    assert found is not None
    assert found == interpretation(evidence)
    known = {f"events.jsonl#{event.seq}" for event in evidence.events}
    assert len(found.sentences) <= MOST_SENTENCES
    for sentence in found.sentences:
        assert len(sentence.text) <= CHARACTERS
        assert 1 <= len(sentence.evidence) <= MOST_POINTERS
        assert set(sentence.evidence) <= known
