"""A pilot whose runs were all moved to long-term retention is reported with the same bytes, reviews and risks too."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.test_pilot_report import content, report
from tests.english import english
from tests.study.pilot.live import IDLER, Proctor, planned, run, runs_in, write_pilot

RISKY = {"name": "fixer", "agent": "command:sed -i 's/a - b/eval(\"a + b\")/' calc.py"}


def check_told(found: dict[str, Any], files: dict[str, bytes]) -> None:
    """What reviewers said, what nobody looked at and what could be forged stands in every form of the report."""
    caveats = (
        "The rates count successes that reviewers did not accept: 1 of 3 of fixer (1 rejected).",
        "The risk indicators of these successes have not been reviewed: 1 of 3 successes of fixer (security in 1). "
        "proctor review lists them.",
    )
    forged = (
        "3 of 3 tasks are decided by checks whose result the code under test could forge (one, three and two): "
        "it is not shown that successes there are genuine."
    )
    written = english(found)
    assert set(caveats) <= set(written["headline"]["caveats"]) and forged in written["cannot"]
    for name in ("report.html", "report.md"):
        assert all(text in files[name].decode() for text in (*caveats, forged)), name
    shown = files["report.html"].decode()
    first = shown.partition("Before you rely on it")[2].partition("<details")[0]
    assert all(caveat in first for caveat in caveats), "it is on the first screen, and not folded away"
    assert "<dt>reviewers</dt><dd>2 (ada and bo)</dd>" in shown
    assert [line["count"] for line in found["bill"]["lines"] if line["of"] == "review"] == [3]


@pytest.mark.soak
def test_a_report_and_the_status_are_the_same_after_retention(
    proctor: Proctor, make_contract: Any, tmp_path: Path
) -> None:
    comparison = {"candidate": "fixer", "against": "idler"}
    contracts = [make_contract("one"), make_contract("two"), make_contract("three")]
    parts: dict[str, Any] = {"runs_per_task": 1, "comparison": comparison, "methods": [RISKY, IDLER]}
    file = write_pilot(tmp_path, contracts, **parts)
    planned(proctor, file)
    code, answer = run(proctor, file)
    assert code == 0, answer
    risky = [one for one in runs_in(tmp_path / "home") if one["method"] == "fixer"]
    for one, verdict, by in ((risky[0], "reject", "ada"), (risky[0], "reject", "bo"), (risky[1], "accept", "bo")):
        said = ("--verdict", verdict, "--minutes", "2", "--by", by, "--why", "I read it")
        assert proctor("review", one["run"], *said).returncode == 0
    found = report(proctor, file, "--out", tmp_path / "before")
    check_told(found, content(tmp_path / "before"))
    assert "charged   3 reviews, 360 s in all" in proctor("pilot", "status", file).stdout
    standing = proctor("pilot", "status", file, "--json").stdout
    for one in runs_in(tmp_path / "home"):
        done = proctor("retain", one["run"], "--tier", "long-term", "--approve", "jo", "--why", "over", "--json")
        assert done.returncode == 0 and json.loads(done.stdout)["before"] is False
    report(proctor, file, "--out", tmp_path / "after")
    assert content(tmp_path / "after") == content(tmp_path / "before")
    assert proctor("pilot", "status", file, "--json").stdout == standing
