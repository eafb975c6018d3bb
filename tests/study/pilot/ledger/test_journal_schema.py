"""The published schema holds for every kind of record of a journal, and refuses records of another form."""

from __future__ import annotations

import json
from pathlib import Path

from jsonschema import Draft202012Validator

from proctor.author.flaky_tests import Screened
from proctor.study.pilot.ledger.interim_look import Look
from proctor.study.pilot.ledger.journal import AcceptedMachine, add_look, add_machine, add_removal, add_runs, add_screen
from proctor.study.pilot.ledger.journal_model import RECORDS, journal_schema
from proctor.study.pilot.ledger.machine_identity import Change
from proctor.study.pilot.plan.frozen_plan import Plan, journal_log, note_amendments
from tests.record_schemas import planted

DIGEST = "sha256:" + "0" * 64
AT = "2026-03-07T12:00:00Z"


def test_x8_every_kind_of_record_has_the_published_form(tmp_path: Path) -> None:
    plan = Plan(tmp_path, tmp_path, DIGEST, {}, (), ({"number": 1},))
    steady = Screened("tests", True, "base", 1, 5, "0.1", 0.5, True, False, ("t",), ())
    add_screen(plan, "a", DIGEST, 5, (steady,), "12.5", "0.25")
    add_runs(plan, {"r": DIGEST})
    add_look(plan, Look(3, "0.5", (("x", "y", "0.1", "0.04"),), "0.01", False, "0.5", ("a",), ("r",)))
    add_machine(plan, AcceptedMachine((Change("os", "a", "b", "r"),), (DIGEST,), "because", "ada", AT, 3))
    shown = {"evidence": [{"run": "r", "seal": DIGEST}], "found": "two attempts differ"}
    decided = {"why": "because", "by": "ada", "at": AT, "after_runs": 3}
    add_removal(plan, {"task": "a", "contract": DIGEST, "reason": "flaky", **shown, **decided})
    note_amendments(plan)
    schema = journal_schema()
    Draft202012Validator.check_schema(schema)
    validator = Draft202012Validator(schema)
    lines = [json.loads(line) for line in (tmp_path / "journal.jsonl").read_bytes().splitlines()]
    assert {line["record"]["kind"] for line in lines} == set(RECORDS)
    assert len(journal_log(plan).read()) == len(lines)
    for line in lines:
        assert validator.is_valid(line), line
        for what, changed in planted(line):
            assert not validator.is_valid(changed), (line["record"]["kind"], what)
