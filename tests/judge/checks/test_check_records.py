"""What results.json says about the attempts of a check."""

from __future__ import annotations

from proctor.contract.model import Check
from proctor.judge.checks.check_decision import CRASH, ERROR, KILLED, PASS, TESTS, Judgement
from proctor.judge.checks.check_records import check_entry
from proctor.judge.checks.results_readers.interface import TestResults
from tests.judge.checks.inverted_tests.scripted import attempt

TEST = "t.py::test_one"
CHECK = Check(id="tests", gate="acceptance", run=("pytest",), results="pytest", must_pass=(TEST,))


def test_j4_an_attempt_that_was_set_aside_lists_no_tests() -> None:
    unfinished = TestResults({}, False, "the session did not come to its end")
    killed = attempt(1, {}, judgement=Judgement(ERROR, CRASH), results=unfinished, set_aside=KILLED)
    entry = check_entry(CHECK, Judgement(PASS, TESTS), "", (killed, attempt(2, {TEST: "passed"})), 1_000)
    assert entry["tests"] == [[TEST, "passed"]]
    assert [one["set_aside"] for one in entry["attempts"]] == [KILLED, ""]
    assert check_entry(CHECK, Judgement(ERROR, CRASH), "", (killed,), 1_000)["tests"] == []
