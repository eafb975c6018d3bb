"""Altered cases of parametrised tests, executed: each fails under its computed id, and no other test fails."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from proctor.judge.checks.inverted_tests.assertion_edits import EXPECTATION, Edit, edited
from proctor.judge.checks.inverted_tests.locate_tests import EditableTest, find_units
from tests.judge.checks.inverted_tests.test_cases import TABLES

REPORTER = """
import json

def pytest_runtest_logreport(report):
    if report.when == "call":
        with open("outcomes.jsonl", "a") as file:
            file.write(json.dumps([report.nodeid, report.outcome]) + "\\n")
"""


def outcomes(directory: Path) -> dict[str, str]:
    """The outcome of every test below ``directory`` by its id."""
    (directory / "conftest.py").write_text(REPORTER)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--import-mode=importlib", "."]
    subprocess.run(command, cwd=directory, capture_output=True, timeout=120, check=False)
    return dict(json.loads(line) for line in (directory / "outcomes.jsonl").read_text().splitlines())


def of_cases(units: tuple[EditableTest, ...]) -> list[tuple[EditableTest, Edit]]:
    return [(unit, edit) for unit in units for edit in unit.edits if edit.case is not None]


def test_every_altered_case_fails_under_its_new_id_and_no_other_test_fails(tmp_path: Path) -> None:
    (tmp_path / "0").mkdir()
    (tmp_path / "0" / "test_t.py").write_text(TABLES)
    unaltered = outcomes(tmp_path)
    assert set(unaltered.values()) == {"passed"}
    listed = [test.removeprefix("0/") for test in unaltered]
    found = of_cases(find_units(listed, {b"test_t.py": TABLES.encode()}, b"nonce", by_pytest=True))
    for number, (_, edit) in enumerate(found, 1):
        (tmp_path / str(number)).mkdir()
        (tmp_path / str(number) / "test_t.py").write_bytes(edited(TABLES.encode(), [edit]))
    seen = outcomes(tmp_path)
    covered: set[str] = set()
    for number, (unit, edit) in enumerate(found, 1):
        assert edit.kind == EXPECTATION and edit.case is not None
        renamed = edit.case.renamed(unit.ids)
        assert tuple(renamed) == unit.ids
        expected = {renamed.get(test, test): "failed" if test in renamed else "passed" for test in listed}
        prefix = f"{number}/"
        assert {test.removeprefix(prefix): one for test, one in seen.items() if test.startswith(prefix)} == expected
        covered |= renamed.keys()
    others = ("bare", "one_of", "loops", "test_forms[20-40]")
    assert covered == {test for test in listed if not any(name in test for name in others)}
