"""Reports that are computed again: by the same rules, by other rules, and in earlier forms."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from proctor.base.json_records import to_json
from proctor.judge.evidence_consistency.sealed_report import LATER, by_current_rules, differences, rescored
from proctor.judge.run_evidence import Evidence, read_evidence
from proctor.judge.run_report import FILES, SCHEMA, report, rules_digest
from proctor.record.report_model import Report
from proctor.record.run_directory import RunDirectory
from tests.corpus_runs import unpack

OTHER = "sha256:" + "0" * 64


@pytest.fixture
def evidence(tmp_path: Path) -> Evidence:
    """The evidence of a run that failed."""
    return read_evidence(RunDirectory(unpack("report-2", tmp_path)))


def plain(value: Report) -> Any:
    return to_json(value, value.schema)


def test_i4_a_report_names_its_rules_from_schema_3_on(evidence: Evidence) -> None:
    assert SCHEMA == 3
    assert report(evidence).rules == rules_digest() and by_current_rules(plain(report(evidence)))
    assert "rules" not in plain(report(evidence, 2)) and "rules" not in plain(report(evidence, 1))
    assert set(FILES) == {"risks", "rubric", "secrets", "taxonomy"}


@pytest.mark.parametrize("part", ["tags", "indicators", "interpretation", "scores", "taxonomy", "deviations"])
def test_i4_what_other_rules_decide_is_no_difference(evidence: Evidence, part: str) -> None:
    sealed = plain(report(evidence))
    sealed[part] = [{"id": "x"}]
    assert rescored(sealed, 3, evidence).different
    again = rescored({**sealed, "rules": OTHER}, 3, evidence)
    assert again.same and set(again.other_rules) == {part, "rules"}
    assert rescored({**plain(report(evidence, 2)), part: [1]}, 2, evidence).other_rules == (part,)


@pytest.mark.parametrize("part", ["status", "checks", "patch", "events", "durations", "usage", "contract", "agent"])
def test_i4_other_rules_excuse_nothing_else(evidence: Evidence, part: str) -> None:
    sealed = {**plain(report(evidence)), "rules": OTHER, part: "x"}
    assert rescored(sealed, 3, evidence).different == (part,)


def test_i4_sentences_of_gates_are_rules_and_verdicts_are_not(evidence: Evidence) -> None:
    sealed = {**plain(report(evidence)), "rules": OTHER}
    sealed["gates"][0]["why"] = "other words"
    assert rescored(sealed, 3, evidence).other_rules == ("gates.why", "rules")
    sealed["gates"][0]["passed"] = not sealed["gates"][0]["passed"]
    assert rescored(sealed, 3, evidence).different == ("gates[0].passed",)


def test_i4_fields_that_came_later_are_left_out_of_schema_1_only(evidence: Evidence) -> None:
    for *outer, name in LATER:
        for schema, same in ((1, True), (2, False)):
            sealed = plain(report(evidence, schema))
            inner = sealed
            for step in outer:
                inner = inner[step]
            del inner[name]
            again = rescored(sealed, schema, evidence)
            place = ".".join((*outer, name))
            assert again.without == ((place,) if same else ())
            assert place in again.different + again.other_rules or same


def test_differences_are_places() -> None:
    assert list(differences({"a": [1, {"b": 2}]}, {"a": [1, {"b": 3}], "c": 0})) == ["a[1].b", "c"]
    assert list(differences([1], [1, 2], "x")) == ["x"] and list(differences(1, True)) == [""]
    assert list(differences({"a": 1}, {"a": 1})) == []
