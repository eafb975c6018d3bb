"""Reviews as a user makes them: the queue, verdicts beside a sealed run, agreement, and what a changed log leads to."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from proctor.record.run_directory import RunDirectory

Proctor = Callable[..., subprocess.CompletedProcess[str]]
RISKY = "from pathlib import Path; Path('calc.py').write_text('def add(a, b):\\n    return eval(\"a + b\")\\n')"
WRONG = "from pathlib import Path; Path('calc.py').write_text('def add(a, b):\\n    return a * b + 1\\n')"


@pytest.fixture
def run(proctor: Proctor, make_contract: Any, tmp_path: Path) -> Callable[[str], Path]:
    """Lets an agent that is one script attempt a small contract; the directory of its run."""
    contract = make_contract()
    files = tmp_path / "agent"
    files.mkdir()

    def go(script: str) -> Path:
        (files / "work.py").write_text(script)
        agent = ("--agent", "command:python3 /agent/work.py", "--agent-files", files, "--json")
        (row,) = json.loads(proctor("run", contract, *agent).stdout)["runs"]
        return Path(row["evidence"])

    return go


def test_a_risky_success_is_queued_reviewed_and_counted(proctor: Proctor, run: Any) -> None:
    risky = run(RISKY)
    name = risky.name
    queue = json.loads(proctor("review", "--json").stdout)["runs"]
    assert [(row["run"], row["status"], row["review"], row["reasons"]) for row in queue] == [
        (name, "success", "open", ["security (1)"])
    ]
    shown = proctor("review", name).stdout
    assert "text is run as code" in shown
    assert "workspace/final.patch#calc.py:2" in shown
    said = ("--verdict", "reject", "--minutes", "2.5", "--by", "ada", "--why", "it evaluates text")
    assert proctor("review", name, *said).returncode == 0
    assert proctor("verify", name).returncode == 0
    assert proctor("rescore", name).returncode == 0
    assert "no run waits" in proctor("review").stdout
    assert proctor("review", name, *said[2:], "--verdict", "accept").returncode == 0, "one may change one's mind"
    assert proctor("review", name, "--verdict", "reject", "--minutes", "1", "--by", "bo", "--why", "no").returncode == 0
    (row,) = json.loads(proctor("review", "--json").stdout)["runs"]
    assert (row["review"], row["minutes"]) == ("disputed", "6.0")
    figures = json.loads(proctor("review", "--agreement", "--json").stdout)
    assert figures["reviewers"] == ["ada", "bo"]
    assert figures["cohen_kappa"] == "0.000000"
    assert figures["krippendorff_alpha"] == "0.000000"
    shown = proctor("review", "--agreement").stdout
    assert shown.startswith("1 run reviewed by 2 reviewers in 6.0 minutes, 1 of them by several\n")
    lines = (risky / "reviews.jsonl").read_bytes().splitlines(keepends=True)
    notes = (risky.parent.parent / "review-heads.jsonl").read_bytes().splitlines(keepends=True)
    assert len(notes) == 3
    harmed = {
        "cut": lines[:-1],
        "emptied": [],
        "edited": [lines[0].replace(b"reject", b"accept"), *lines[1:]],
        "removed": lines[1:],
        "swapped": [lines[1], lines[0], lines[2]],
        "torn": [*lines[:2], lines[2][:-1]],
        "foreign": [*lines, b"{}\n"],
    }
    for what, harm in harmed.items():
        (risky / "reviews.jsonl").write_bytes(b"".join(harm))
        done = proctor("verify", name)
        assert done.returncode == 4, what
        assert "reviews.jsonl" in done.stdout
        refused = proctor("review", name)
        assert (refused.returncode, "Traceback" in refused.stderr) == (4, False), what
        listed = proctor("review")
        assert (listed.returncode, name in listed.stderr) == (4, True), what
    (risky / "reviews.jsonl").unlink()
    assert "it had 3 records and has 0" in proctor("verify", name).stdout
    (risky / "reviews.jsonl").write_bytes(b"".join(lines))
    assert proctor("verify", name).returncode == 0
    (risky.parent.parent / "review-heads.jsonl").write_bytes(b"".join([notes[0], notes[2]]))
    assert "review-heads.jsonl#1" in proctor("verify", name).stdout


def test_a_verdict_comes_with_the_head_of_all_reviews(proctor: Proctor, run: Any) -> None:
    said = ("--verdict", "accept", "--minutes", "1", "--by", "ada", "--why", "fine", "--json")
    told = [json.loads(proctor("review", run(script).name, *said).stdout) for script in (RISKY, WRONG)]
    assert [one["home_reviews"] for one in told] == [1, 2]
    assert len({one["home_head"] for one in told}) == 2 and all(len(one["home_head"]) == 64 for one in told)


def test_why_accounts_for_a_failure_and_a_success_needs_none(proctor: Proctor, run: Any) -> None:
    failed = run(WRONG)
    shown = proctor("show", failed.name, "--why").stdout
    assert shown.startswith("interpretation")
    assert "adds failed without naming a test" in shown
    assert "While the agent acted these files changed: calc.py (+1 -1)" in shown
    account = json.loads(proctor("show", failed.name, "--why", "--json").stdout)
    events = len(RunDirectory(failed).events.read_bytes().splitlines())
    pointers = [one for sentence in account["sentences"] for one in sentence["evidence"]]
    assert all(int(one.removeprefix("events.jsonl#")) < events for one in pointers)
    fine = run(RISKY)
    assert "nothing to explain" in proctor("show", fine.name, "--why").stdout
    table = proctor("rubric", "--csv", failed.name, fine.name).stdout.splitlines()
    assert len(table) == 3
    assert proctor("rubric", "--sensitivity", failed.name, fine.name).returncode == 2


BAD = {
    "no run": ("--verdict", "accept"),
    "no verdict": ("RUN", "--minutes", "3"),
    "no minutes": ("RUN", "--verdict", "accept", "--by", "a", "--why", "b"),
    "no name": ("RUN", "--verdict", "accept", "--minutes", "3", "--why", "b"),
    "no reason": ("RUN", "--verdict", "accept", "--minutes", "3", "--by", "a"),
    "endless minutes": ("RUN", "--verdict", "accept", "--minutes", "1e9", "--by", "a", "--why", "b"),
    "agreement of one": ("RUN", "--agreement"),
    "another verdict": ("RUN", "--verdict", "maybe"),
}


def test_mistakes_get_one_message(proctor: Proctor, make_contract: Any) -> None:
    row = json.loads(proctor("run", make_contract(), "--agent", "noop", "--json").stdout)["runs"][0]
    for what, words in BAD.items():
        done = proctor("review", *(row["run"] if word == "RUN" else word for word in words))
        assert (done.returncode, "Traceback" in done.stderr) == (2, False), what
    assert not (Path(row["evidence"]) / "reviews.jsonl").exists()
    assert proctor("rubric", row["run"]).returncode == 2
    assert proctor("rubric", "--csv", "--figure").returncode == 2
    assert proctor("taxonomy", "non-terminaton").stderr.strip().endswith("did you mean non-termination?")


@pytest.mark.parametrize(
    ("given", "missing"),
    [
        (("--by", "ada", "--why", "no"), "--minutes"),
        (("--minutes", "2", "--why", "no"), "--by"),
        (("--minutes", "2"), "--by and --why"),
    ],
)
def test_a_verdict_says_which_option_is_missing(proctor: Proctor, given: tuple[str, ...], missing: str) -> None:
    done = proctor("review", "any", "--verdict", "reject", *given)
    assert done.returncode == 2
    assert f"a verdict needs {missing}" in done.stderr
