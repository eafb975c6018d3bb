"""A pilot whose runs were all moved to long-term retention is reported with the same bytes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.cli.test_pilot_report import content, report
from tests.study.pilot.live import Proctor, planned, run, runs_in, write_pilot


def test_a_report_and_the_status_are_the_same_after_retention(
    proctor: Proctor, make_contract: Any, tmp_path: Path
) -> None:
    comparison = {"candidate": "fixer", "against": "idler"}
    file = write_pilot(tmp_path, [make_contract("one"), make_contract("two")], runs_per_task=1, comparison=comparison)
    planned(proctor, file)
    code, answer = run(proctor, file)
    assert code == 0, answer
    report(proctor, file, "--into", tmp_path / "before")
    standing = proctor("pilot", "status", file, "--json").stdout
    for one in runs_in(tmp_path / "home"):
        done = proctor("retain", one["run"], "--tier", "long-term", "--approve", "jo", "--why", "over", "--json")
        assert done.returncode == 0 and json.loads(done.stdout)["before"] is False
    report(proctor, file, "--into", tmp_path / "after")
    assert content(tmp_path / "after") == content(tmp_path / "before")
    assert proctor("pilot", "status", file, "--json").stdout == standing
