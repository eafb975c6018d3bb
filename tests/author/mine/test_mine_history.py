"""``mine`` walks a history, counts every commit, continues where it was, and emits contracts that are valid."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest

from proctor.author.mine.mine_history import _listed_by_hand, quarter_end
from proctor.author.mine.mined_record import mined_schema, read_mined
from proctor.base.errors import UsageFault
from tests.author.mine.histories import FIX, FIXED, MORE_TESTS, SLUG, TESTS, Repository, slugs

Proctor = Callable[..., subprocess.CompletedProcess[str]]
WORDS = "Titles with several spaces in a row should get one dash between two words and not one for each space."


def history(path: Path) -> Repository:
    """Eight commits: a project, its fix, and what is no task, for one reason each."""
    made = slugs(path, dict(FIX))
    made.commit("Bump idna from 3.1 to 3.2", {"requirements.txt": "idna==3.2\n"})
    made.commit("Explain", {"README.md": "More.\n"})
    made.commit("Fix it", {"src/slugs/__init__.py": FIXED + "A = 1\n", "tests/test_slugs.py": MORE_TESTS + "A = 1\n"})
    made.commit(f"No change\n\n{WORDS}", {"src/slugs/__init__.py": FIXED, "tests/test_slugs.py": MORE_TESTS + "\n"})
    made.commit('Revert "Fix"', {"src/slugs/__init__.py": SLUG, "tests/test_slugs.py": TESTS})
    made.commit("New\nline", {"src/slugs/__init__.py": FIXED, "tests/test_slugs.py": TESTS + "\n", "tests/a\nb": "x"})
    return made


@pytest.mark.corpus
def test_a_history_gives_one_valid_contract_and_a_reason_for_every_other_commit(
    proctor: Proctor, tmp_path: Path
) -> None:
    made = history(tmp_path / "project")
    out = tmp_path / "out"
    command = ("mine", made.path, "--out", out, "--times", "2", "--json")
    done = proctor(*command)
    assert done.returncode == 0, done.stdout + done.stderr
    said = json.loads(done.stdout)
    assert (said["commits"], said["tried"], said["valid"]) == (8, 2, 1)
    reasons = {one["reason"]: one["commits"] for one in said["reasons"]}
    wanted = ("first-commit", "dependencies", "no-source", "short-text", "no-fail-to-pass", "revert", "file-names")
    assert reasons == dict.fromkeys(wanted, 1)
    assert {one["reason"]: one["option"] for one in said["reasons"]}["short-text"] == "--least-words N"
    assert said["environments"] == 1, "one for the quarter"

    records = read_mined(out / "mine.jsonl")
    for line in (out / "mine.jsonl").read_text().splitlines():
        jsonschema.validate(json.loads(line), mined_schema())
    (valid,) = [one for one in records.values() if one.status == "valid"]
    assert valid.must_pass == ("tests/test_slugs.py::test_several_spaces",) and valid.task == "bug-fix"
    assert [str(path) for path in (out / "contracts").iterdir()] == [str(out / valid.contract)] == said["contracts"]
    assert not list((out / "contracts").rglob("*\n*"))
    page = (out / "index.html").read_text()
    assert valid.title in page and "no-fail-to-pass" in page and "<script" not in page

    again = proctor("validate", out / valid.contract, "--times", "3")
    assert again.returncode == 0, again.stdout + again.stderr

    before = (out / "mine.jsonl").read_bytes()
    resumed = json.loads(proctor(*command).stdout)
    assert resumed["environments"] == 0, "nothing is tried again"
    assert (out / "mine.jsonl").read_bytes() == before

    (out / "rejected.txt").write_text(f"# by Ada\n{valid.commit[:12]} says too little\n")
    rejected = proctor(*command)
    assert rejected.returncode == 1 and not list((out / "contracts").iterdir())
    said = json.loads(rejected.stdout)
    assert (said["tried"], said["valid"]) == (1, 0) and "by-hand" in {one["reason"] for one in said["reasons"]}

    admitted = json.loads(proctor(*command, "--admit", "short-text", "--limit", "1").stdout)
    assert admitted["tried"] == 1 and admitted["commits"] < 8
    assert len(read_mined(out / "mine.jsonl")) == 8, "a shorter walk forgets nothing"


def test_a_quarter_ends_before_the_next_and_never_in_the_future() -> None:
    end = 1_719_791_999  # 30 June 2024, 23:59:59
    assert quarter_end(1_717_200_000) == quarter_end(1_711_929_600) == end
    assert quarter_end(1_735_689_599) == 1_735_689_599  # the last second of 2024
    assert quarter_end(1 << 40) <= 1 << 34


def test_a_list_by_hand_names_commits(tmp_path: Path) -> None:
    path = tmp_path / "rejected.txt"
    assert _listed_by_hand(path) == ()
    path.write_text("# none\n\n1a2b3c4 too short\n")
    assert _listed_by_hand(path) == ("1a2b3c4",)
    path.write_text("all\n")
    with pytest.raises(UsageFault, match="'all' does not begin a commit id"):
        _listed_by_hand(path)


def test_a_line_that_was_cut_off_is_left_out_and_a_broken_one_is_named(tmp_path: Path) -> None:
    path = tmp_path / "mine.jsonl"
    assert read_mined(path) == {}
    path.write_text('{"kind": "mined"')
    assert read_mined(path) == {}
    path.write_text('{"kind": "mined"}\n')
    with pytest.raises(UsageFault, match="line 1 is not a record: schema is missing"):
        read_mined(path)


@pytest.mark.parametrize(
    "contract", ["..", "contracts/..", "../contracts/a", "/tmp/a", "contracts/a/../..", "contracts/"]
)
def test_a_record_that_names_another_place_is_refused(tmp_path: Path, contract: str) -> None:
    """A walk removes the contracts of records that no longer hold."""
    record = {"kind": "mined", "schema": 1, "commit": "a" * 40, "base": "", "committed": 1, "subject": ""}
    path = tmp_path / "mine.jsonl"
    path.write_text(json.dumps({**record, "status": "proven", "contract": contract}) + "\n")
    with pytest.raises(UsageFault, match="line 1 is not a record: 'contract' is not contracts/NAME"):
        read_mined(path)
    path.write_text(json.dumps({**record, "status": "proven", "contract": "contracts/fix-it-0123456789"}) + "\n")
    assert len(read_mined(path)) == 1
    path.write_text(json.dumps({**record, "status": "rejected", "committed": 1 << 50}) + "\n")
    with pytest.raises(UsageFault, match="'committed' is no time"):
        read_mined(path)
    path.write_text(json.dumps({**record, "status": "rejected", "reason": "odd"}) + "\n")
    with pytest.raises(UsageFault, match="'reason' is unknown"):
        read_mined(path)
