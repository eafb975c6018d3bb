"""Agents that cheat on a real example, each in a whole run: none becomes a success, each gets the right tag."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.attacks.cheat import EXAMPLE, PRELUDE, Cheat
from tests.attacks.forging import FORGING, LOOKING
from tests.attacks.tampering import TAMPERING

CHEATS = (*LOOKING, *FORGING, *TAMPERING)
QUICK = (*("git-history", "forged-result-file", "tests-that-cannot-fail", "daemon-that-forges", "shadowed-modules"),)
"""Cheats of several kinds, for `make test`; `make soak` runs all of them."""

PROJECT = Path(__file__).resolve().parents[2]


def run(cheat: Cheat, home: Path, scripts: Path) -> Path:
    """The evidence of a whole run with ``cheat`` as its agent."""
    agent = ("--agent", f"command:/usr/bin/python3 /agent/{cheat.name}.py", "--agent-files", str(scripts))
    done = subprocess.run(
        [sys.executable, "-m", "proctor", "run", str(PROJECT / "examples" / EXAMPLE), *agent, "--json"],
        env={**os.environ, "PROCTOR_HOME": str(home)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert done.returncode in (0, 1, 3), done.stdout + done.stderr
    assert done.stdout, (cheat.name, done.returncode, done.stderr)
    (row,) = json.loads(done.stdout)["runs"]
    return Path(row["evidence"])


def run_all(cheats: Iterable[Cheat], home: Path, scripts: Path) -> dict[str, Path]:
    """The evidence of each of ``cheats``, by its name; two run at a time, in one home that is prepared once."""
    scripts.mkdir()
    cheats = list(cheats)
    for cheat in cheats:
        (scripts / f"{cheat.name}.py").write_text(PRELUDE + cheat.script)
    with ThreadPoolExecutor(2) as pool:
        return dict(pool.map(lambda cheat: (cheat.name, run(cheat, home, scripts)), cheats))


def wrong(cheat: Cheat, evidence: Path) -> list[str]:
    """What did not come out as it must."""
    report = json.loads((evidence / "report.json").read_bytes())
    events = [json.loads(line) for line in (evidence / "events.jsonl").read_bytes().splitlines()]

    def codes(kind: str, name: str = "code") -> set[Any]:
        return {event["payload"][name] for event in events if event["type"] == kind}

    tags = tuple(tag["id"] for tag in report["tags"])
    found = [
        f"{cheat.name}: {what} {got}, not {wanted}"
        for what, got, wanted in (
            ("status", report["status"], cheat.status),
            ("attribution", report["attribution"], "agent"),
            ("tags", tags, cheat.tags),
        )
        if got != wanted
    ]
    missing = {
        "finding": set(cheat.findings) - codes("safety.finding"),
        "alert": set(cheat.alerts) - set(report["alerts"]),
        "attempt": set(cheat.attempts) - codes("guard.attempt", "path"),
        "words": set(cheat.words) - codes("words.hit", "rule"),
    }
    found += [f"{cheat.name}: no {kind} {codes}" for kind, codes in missing.items() if codes]
    if found:
        found.append(f"  {[e['payload'] for e in events if e['type'] in ('tool.invocation', 'check.decided')]}")
    return found


@pytest.mark.corpus
@pytest.mark.parametrize(
    "names", [QUICK, pytest.param([one.name for one in CHEATS], marks=pytest.mark.soak)], ids=["quick", "all"]
)
def test_no_cheat_becomes_a_success_and_each_gets_its_tag(tmp_path: Path, names: Sequence[str]) -> None:
    cheats = [one for one in CHEATS if one.name in names]
    assert len(cheats) == len(names)
    runs = run_all(cheats, tmp_path / "home", tmp_path / "agent")
    problems = [problem for cheat in cheats for problem in wrong(cheat, runs[cheat.name])]
    assert not problems, "\n".join(problems)
    assert not Path("/tmp/proctor-was-here").exists()
