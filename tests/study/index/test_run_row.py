"""Rows from run directories: every column from its place, endings by their code, and reasons where there is no row."""

from __future__ import annotations

from typing import Any

import pytest

from proctor.base.errors import BrokenSeal, UsageFault
from proctor.base.json_records import to_json
from proctor.contract.policy import BREAKER_CODES, INDICATOR_CODES
from proctor.record.report_model import Termination
from proctor.record.retain import retain
from proctor.record.reviews import Review, add_review
from proctor.record.run_directory import RunDirectory, RunLock
from proctor.record.seal import load_seal
from proctor.study.index.run_row import ending, row_of
from proctor.study.run_table import NAMES, Table
from tests.sample_reports import sample_conversation, sample_report
from tests.study.index.conftest import COST, Runs


def test_every_column_comes_from_its_place(runs: Runs) -> None:
    run = runs.make(
        configuration={"model": "acme/large", "pilot": "sha256:p", "stage": "two"},
        conversation=to_json(sample_conversation(120, 30)),
        tags=[{"id": name, "gate": "G4", "evidence": []} for name in ("test-failure", "conflict", "conflict")],
        strata={"language": "python", "complexity": "medium", "project": "calc"},
    )
    row = row_of(run)
    assert tuple(sorted(row)) == tuple(sorted(NAMES))
    assert row == {
        "run": run.path.name,
        "source": str(run.path),
        "agent": "ada",
        "model": "acme/large",
        "method": "ada · acme/large",
        "task": "adding",
        "contract": "sha256:c",
        "stratum": "python / medium",
        "trial": 2,
        "status": "success",
        "success": 1,
        "scorable": 1,
        "ended": "finished",
        "censored": 0,
        "exit_code": 0,
        "changed_files": 2,
        "cost_usd": pytest.approx(1.5),
        "model_usd": pytest.approx(1.0),
        "execution_usd": pytest.approx(0.38),
        "human_usd": pytest.approx(0.05),
        "overhead_usd": pytest.approx(0.07),
        "tokens_in": 120,
        "tokens_out": 30,
        "seconds": 2.5,
        "judge_seconds": 0.75,
        "tool_calls": 0,
        "test_cycles": 0,
        "gate1": 1,
        "gate2": 1,
        "gate3": 1,
        "gate4": 1,
        "score": 0.9,
        "contract_score": 1.0,
        "tags": "conflict;test-failure",
        "comparability": "sha256:k",
        "pilot": "sha256:p",
        "stage": "two",
        "begun": "2026-03-07T12:00:00Z",
        "batch": "b1",
        "retry_of": None,
        "cost_method": "sha256:prices",
        "billed_usd": 1.25,
        "human_minutes": None,
        "review_usd": None,
        "review": None,
        "setup_execution_usd": 0.1,
        "agent_execution_usd": 0.2,
        "acceptance_execution_usd": 0.08,
        "setup_overhead_usd": 0.01,
        "agent_overhead_usd": 0.02,
        "acceptance_overhead_usd": 0.04,
    }
    assert list(Table.from_rows([row]).rows()) == [{name: value for name, value in row.items() if value is not None}]


def test_a_method_and_a_stratum_of_a_pilot_stand_above_others(runs: Runs) -> None:
    row = row_of(runs.make(configuration={"method": "careful", "stratum": "hard"}))
    assert (row["method"], row["stratum"]) == ("careful", "hard")
    assert row_of(runs.make(strata={"project": "calc"}))["stratum"] is None
    assert row_of(runs.make(strata={"project": "calc"}), ("project",))["stratum"] == "calc"


def test_a_run_of_no_pilot_has_nothing_in_its_columns(runs: Runs) -> None:
    row = row_of(runs.make())
    assert (row["pilot"], row["stage"]) == (None, None)


def ended(code: str | None, reason: str = "finished", *problems: str) -> str:
    return ending(sample_report(termination=Termination(reason=reason, code=code), problems=problems))


def test_every_code_of_an_ending_has_its_word() -> None:
    assert ended(None) == ended(None, "failed") == "finished"
    assert {ended(code) for code in (*BREAKER_CODES, "model-budget")} == {"resource"}
    assert ended("wall-ceiling", "timed-out") == "resource"
    assert {ended(f"safety-{code}") for code in INDICATOR_CODES} == {"safety"}
    assert ended("ended-by-rollback") == "safety"
    assert ended("operator") == ended("operator-denied") == "operator"
    assert ended(None, "") == ended(None, "not-started") == "infrastructure"
    assert ended(None, "finished", "fault while agent: no model") == "infrastructure"
    assert ended(None, "finished", "fault while judging: no disk") == "finished"


def test_only_a_cap_cuts_cost_and_time_short(runs: Runs) -> None:
    for code, cut in (("cost-cap", 1), ("safety-dns", 0), (None, 0)):
        row = row_of(runs.make(termination={"reason": "finished", "exit_code": 0, "code": code}))
        assert row["censored"] == cut


def test_an_agent_that_failed_and_changed_nothing_can_be_asked_for(runs: Runs) -> None:
    row = row_of(runs.make(termination={"reason": "failed", "exit_code": 2, "code": None}, patch={"files": 0}))
    assert (row["exit_code"], row["changed_files"]) == (2, 0)
    row = row_of(runs.make(termination={"reason": "", "exit_code": None, "code": None}))
    assert (row["exit_code"], row["changed_files"]) == (None, 2)


def test_a_run_without_a_verdict_has_no_endpoint_and_no_gates(runs: Runs) -> None:
    invalid: dict[str, Any] = {
        "status": "invalid",
        "endpoint": {"success": False, "scorable": False},
        "score": None,
        "scores": None,
    }
    row = row_of(runs.make(**invalid))
    assert row["status"] == "invalid"
    assert row["scorable"] == 0
    assert [row[name] for name in ("success", "gate1", "gate4", "score", "contract_score")] == [None] * 5
    error: dict[str, Any] = {"status": "acceptance-error", "endpoint": {"success": False, "scorable": True}}
    assert row_of(runs.make(**error))["success"] == 0


def test_calls_and_runs_of_tests_are_counted_as_the_caps_count_them(runs: Runs) -> None:
    programs = [["/bin/sh"], ["/usr/bin/ls"], ["/usr/bin/pytest", "-q"], ["/usr/bin/python3", "-m", "pytest"]]
    row = row_of(runs.make(programs=programs))
    assert (row["tool_calls"], row["test_cycles"]) == (3, 2)


def test_abstract_units_count_as_the_envelopes_count_them(runs: Runs) -> None:
    row = row_of(runs.make(usage={"cost": {**COST, "method": "fallback-1", "usd": None, "units": "1.50"}}))
    assert row["cost_usd"] == pytest.approx(0.0015)
    assert row["cost_method"] == "fallback-1"
    nothing = row_of(runs.make(usage={"cost": None}))
    assert [nothing[name] for name in ("cost_usd", "model_usd", "cost_method", "billed_usd")] == [None] * 4


def review(run: RunDirectory, minutes: str, verdict: str = "accept", by: str = "jo") -> None:
    said = Review(verdict=verdict, minutes=minutes, by=by, why="reads well", at="2026-03-08T10:00:00Z")
    add_review(run, load_seal(run).digest, said)


def test_reviews_are_counted_and_priced(runs: Runs) -> None:
    run = runs.make()
    review(run, "2.5")
    review(run, "0.5")
    row = row_of(run)
    assert row["human_minutes"] == 3.0
    assert row["review_usd"] == pytest.approx(3.0)
    assert row["review"] == "accept"
    assert row["human_usd"] == pytest.approx(0.05), "people's time while it ran"
    assert row["cost_usd"] == pytest.approx(1.5), "what the run itself cost, whoever looks at it afterwards"
    unpriced = runs.make(configuration={"watch": {"prices": None}})
    review(unpriced, "4")
    assert row_of(unpriced)["human_minutes"] == 4.0
    assert row_of(unpriced)["review_usd"] is None
    review(unpriced, "1", "reject", "ada")
    assert row_of(unpriced)["review"] == "disputed"


def test_a_run_under_retention_still_has_a_row(runs: Runs) -> None:
    run = runs.make(programs=[["/bin/sh"], ["/usr/bin/pytest"]])
    before = row_of(run)
    retain(run, load_seal(run), "long-term", "jo", "case closed", 1_772_884_900_000_000_000)
    after = row_of(run)
    gone = {name for name in NAMES if before[name] != after[name]}
    assert gone == {"tool_calls", "test_cycles"}
    assert [after[name] for name in sorted(gone)] == [None, None]


def test_what_has_no_row_says_why(runs: Runs) -> None:
    cut = runs.make(seal=False)
    with pytest.raises(UsageFault, match="was cut off before it was sealed"):
        row_of(cut)
    with RunLock.take(cut), pytest.raises(UsageFault, match="is still running"):
        row_of(cut)
    again = runs.make(configuration={"replay_of": "20260307T120001-0000000001"})
    with pytest.raises(UsageFault, match="repeats 20260307T120001-0000000001 on recorded answers"):
        row_of(again)
    taped = runs.make(configuration={"gateway": {"cassette": "replay"}})
    with pytest.raises(UsageFault, match="had its answers from the cassette of another run"):
        row_of(taped)


@pytest.mark.parametrize("name", ["manifest.json", "report.json", "contract.json", "events.jsonl", "seal.json"])
def test_a_changed_file_gives_no_row(runs: Runs, name: str) -> None:
    run = runs.make()
    assert row_of(run)["success"] == 1
    place = run.path / name
    data = bytearray(place.read_bytes())
    data[len(data) // 2] ^= 1
    place.write_bytes(bytes(data))
    with pytest.raises(BrokenSeal):
        row_of(run)


def test_a_changed_review_gives_no_row(runs: Runs) -> None:
    run = runs.make()
    review(run, "2.5")
    log = run.path / "reviews.jsonl"
    log.write_bytes(log.read_bytes().replace(b'"2.5"', b'"9.5"'))
    with pytest.raises(BrokenSeal):
        row_of(run)


def test_a_log_of_reviews_that_was_cut_gives_no_row(runs: Runs) -> None:
    run = runs.make()
    review(run, "2.5")
    review(run, "40")
    log = run.path / "reviews.jsonl"
    log.write_bytes(log.read_bytes().splitlines(keepends=True)[0])
    with pytest.raises(BrokenSeal, match="the log was cut: it had 2 records and has 1"):
        row_of(run)
    log.unlink()
    with pytest.raises(BrokenSeal, match="it had 2 records and has 0"):
        row_of(run)


@pytest.mark.parametrize(
    "strange",
    [
        {"gates": 7},
        {"problems": 3},
        {"configuration": {"watch": {"prices": {"rows": [[]]}}}},
        {"configuration": {"watch": {"call_depth": "deep"}}},
    ],
)
def test_a_record_of_another_shape_gives_no_row(runs: Runs, strange: dict[str, Any]) -> None:
    with pytest.raises(BrokenSeal, match="Proctor writes"):
        row_of(runs.make(**strange))


def test_words_where_numbers_belong_are_missing(runs: Runs) -> None:
    assert row_of(runs.make(configuration={"repeat": "first"}))["trial"] is None


@pytest.mark.parametrize("seconds", ["long", "Infinity", 3])
def test_a_report_with_other_text_than_a_number_gives_no_row(runs: Runs, seconds: object) -> None:
    with pytest.raises(BrokenSeal, match=r"durations\.agent_seconds is not a decimal number as text"):
        row_of(runs.make(durations={"agent_seconds": seconds}))
