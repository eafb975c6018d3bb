"""Flaky checks are found by varying seeds and order, refused, and taken out with a trail; lists are derived."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from proctor.author.contract_edit import set_ids
from proctor.author.flaky_tests import ORDER
from proctor.author.suite_versions import TRAIL_NAME, read_trail, suite_id, trail_problem
from proctor.base.errors import UsageFault
from proctor.contract.load import load_contract

Proctor = Callable[..., subprocess.CompletedProcess[str]]
SEEDED = "os.environ['PROCTOR_SEED'] == '20260307'"
TAP = f"""
import os, calc
tests = [("adds", calc.add(2, 2) == 4), ("zero", calc.add(0, 0) == 0), ("never", False), ("seeded", {SEEDED})]
with open(os.environ["PROCTOR_RESULTS"] + "/out.tap", "w") as out:
    print("TAP version 13", "1..%d" % len(tests), sep="\\n", file=out)
    for number, (name, fine) in enumerate(tests, 1):
        print("ok" if fine else "not ok", number, "-", name, file=out)
"""
CHECK = {
    "id": "tests",
    "gate": "acceptance",
    "run": ["/usr/bin/python3", "-c", TAP],
    "results": "tap",
    "results_file": "out.tap",
    "timeout_seconds": 60,
}
SEED_CHECK = {
    "id": "seeds",
    "gate": "static",
    "run": ["/usr/bin/python3", "-c", f"import os; assert {SEEDED}"],
    "timeout_seconds": 60,
}


def validated(proctor: Proctor, *arguments: str | Path) -> tuple[int, dict[str, Any]]:
    done = proctor("validate", *arguments, "--times", "1", "--json")
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)


def test_lists_are_derived_from_real_attempts_and_written_back(proctor: Proctor, make_contract: Any) -> None:
    contract = make_contract(checks=[CHECK])
    text = (contract / "contract.yaml").read_text()
    code, said = validated(proctor, contract, "--derive", "--flakes", "2", "--write")
    (derived,) = said["surveys"][0]["derived"]
    assert derived["must_pass"] == ["adds"]
    assert derived["keep_passing"] == ["zero"]
    assert derived["unsteady"] == ["seeded"]
    assert said["surveys"][0]["written"] == ["must_pass.txt", "keep_passing.txt"]
    loaded = load_contract(contract)
    assert (loaded.checks[0].must_pass, loaded.checks[0].keep_passing) == (("adds",), ("zero",))
    assert [line for line in text.splitlines() if line not in (contract / "contract.yaml").read_text()] == []
    assert [run["status"] for run in said["runs"]] == ["failure", "success"], "validated with the lists just written"
    assert code == 0


def test_a_flaky_check_is_refused_and_dropped_with_a_trail(proctor: Proctor, make_contract: Any) -> None:
    listed = {**CHECK, "must_pass": ["adds"], "keep_passing": ["zero", "seeded"]}
    contract = make_contract(checks=[SEED_CHECK, listed])
    before = suite_id(load_contract(contract))
    code, said = validated(proctor, contract, "--flakes", "2")
    assert code == 1
    assert not said["valid"]
    flakes = {one["check"]: one for one in said["surveys"][0]["flakes"]}
    assert (flakes["seeds"]["flagged"], flakes["seeds"]["deviating"], flakes["seeds"]["attempts"]) == (True, 1, 2)
    assert flakes["tests"]["tests"] == ["seeded"]
    assert not (contract / TRAIL_NAME).exists()

    code, said = validated(proctor, contract, "--flakes", "2", "--drop-flaky", "they depend on the seed")
    after = load_contract(contract)
    assert code == 0, said
    assert not after.checks[0].mandatory
    assert after.checks[1].keep_passing == ("zero",)
    first, second = read_trail(after)
    assert (first["id"], second["parent"]) == (before, before)
    assert second["id"] == suite_id(after) != before
    assert second["reason"] == "they depend on the seed"
    assert second["removed"] == [{"check": "seeds", "tests": []}, {"check": "tests", "tests": ["seeded"]}]
    assert trail_problem(after) == ""

    (contract / "keep_passing.txt").write_text("zero\nnever\n")
    assert "no reason was recorded" in trail_problem(load_contract(contract))
    (contract / TRAIL_NAME).write_text((contract / TRAIL_NAME).read_text().replace(before, "sha256:0", 1))
    with pytest.raises(UsageFault, match="the suite in line 2 does not follow"):
        read_trail(after)


def test_a_tolerance_is_declared_and_the_last_check_is_not_dropped(proctor: Proctor, make_contract: Any) -> None:
    only = {**SEED_CHECK, "gate": "acceptance"}
    tolerant = make_contract("tolerant", checks=[{**SEED_CHECK, "flake_tolerance": "0.4"}, make_contract.CHECK])
    code, said = validated(proctor, tolerant, "--flakes", "3")
    assert code == 0, said
    (flake, steady) = said["surveys"][0]["flakes"]
    assert (flake["flagged"], flake["deviating"]) == (False, 1)
    assert steady["words"] == "no flake seen in 3 runs: at most 63 % with 95 % confidence"
    done = proctor("validate", make_contract("only", checks=[only]), "--flakes", "2", "--drop-flaky", "why")
    assert done.returncode == 2
    assert "no check would show that the task was solved" in done.stderr


def test_options_that_need_another_are_said(proctor: Proctor, make_contract: Any) -> None:
    for option, needed in (("--write", "--derive"), ("--drop-flaky=x", "--flakes")):
        done = proctor("validate", make_contract(option.strip("-=x")), option)
        assert done.returncode == 2
        assert f"needs {needed}" in done.stderr


def test_the_order_is_another_one_and_keeps_files_and_classes_together(tmp_path: Path) -> None:
    for name in "abc":
        classes = "".join(f"class Test{k}:\n" + "".join(f"    def test_{i}(self): pass\n" for i in "xyz") for k in "PQ")
        (tmp_path / f"test_{name}.py").write_text(classes)

    def order(seed: str) -> list[str]:
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-p", "proctor_order", "--co", "-q", "-p", "no:cacheprovider"],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(ORDER), "PROCTOR_ORDER": seed, "PYTEST_ADDOPTS": ""},
            capture_output=True,
            text=True,
        )
        return [line for line in done.stdout.splitlines() if "::" in line]

    usual, other = order(""), order("7")
    assert sorted(other) == sorted(usual) == usual
    assert other != usual
    assert order("7") == other
    for parts in (1, 2):
        starts = ["::".join(test.split("::")[:parts]) for test in other]
        assert sum(a != b for a, b in pairwise(starts)) == len(set(starts)) - 1


def test_a_list_that_becomes_empty_is_said_in_the_contract(make_contract: Any) -> None:
    contract = make_contract(checks=[{**CHECK, "must_pass": {"file": "ids.txt"}}])
    (contract / "ids.txt").write_text("adds\n")
    loaded = load_contract(contract)
    set_ids(loaded, loaded.checks[0], "must_pass", ())
    assert load_contract(contract).checks[0].must_pass == ()
    assert not (contract / "ids.txt").exists()


def test_lists_stay_where_the_check_comes_to_no_end_with_the_reference(proctor: Proctor, make_contract: Any) -> None:
    crash = {**CHECK, "run": ["/usr/bin/python3", "-c", "raise SystemExit(3)"]}
    listed = {"must_pass": ["adds"], "keep_passing": {"file": "kept.txt"}}
    broken = make_contract("broken", checks=[{**crash, **listed}])
    unfit = make_contract("unfit", checks=[{**CHECK, **listed}])
    (unfit / "fix.patch").write_text(make_contract.FIX.replace("a - b", "a / b"))
    none = f"{TAP.partition('tests =')[0]}tests = [('adds', False)]{TAP.partition(SEEDED + ')]')[2]}"
    failing = make_contract("failing", checks=[{**CHECK, **listed, "run": ["/usr/bin/python3", "-c", none]}])
    for contract, words in ((broken, "no verdict"), (unfit, "does not apply"), (failing, "no test passes")):
        (contract / "kept.txt").write_text("zero\n")
        before = (contract / "contract.yaml").read_bytes()
        done = proctor("validate", contract, "--times", "1", "--derive", "--write")
        assert (done.returncode, words in done.stderr, done.stdout) == (2, True, ""), done.stderr
        assert "nothing is derived for tests" in done.stderr
        assert (contract / "contract.yaml").read_bytes() == before
        assert (contract / "kept.txt").read_text() == "zero\n"
    done = proctor("validate", broken, "--times", "1", "--derive")
    assert done.returncode == 1 and "tests: nothing is derived" in done.stdout
    assert "--derive --write" not in done.stdout


def test_lists_that_differ_from_the_derived_ones_can_be_written(proctor: Proctor, make_contract: Any) -> None:
    contract = make_contract(checks=[{**CHECK, "must_pass": ["adds"], "keep_passing": []}])
    done = proctor("validate", contract, "--times", "1", "--derive")
    assert "--derive --write puts the derived lists into the contract" in done.stdout, done.stdout + done.stderr
    written = proctor("validate", contract, "--times", "1", "--derive", "--write")
    assert "--derive --write" not in written.stdout and "small: wrote " in written.stdout
    assert "--derive --write" not in proctor("validate", contract, "--times", "1", "--derive").stdout


@pytest.mark.parametrize("name", ["#first", "two\nlines", " spaced "])
def test_an_id_that_is_no_line_is_listed_in_the_contract(make_contract: Any, name: str) -> None:
    contract = make_contract(checks=[{**CHECK, "must_pass": {"file": "must.txt"}}])
    (contract / "must.txt").write_text("adds\n")
    loaded = load_contract(contract)
    set_ids(loaded, loaded.checks[0], "must_pass", ("adds", name))
    assert load_contract(contract).checks[0].must_pass == ("adds", name)
    assert not (contract / "must.txt").exists()


def test_a_link_in_the_place_of_a_list_is_in_the_way(make_contract: Any, tmp_path: Path) -> None:
    contract = make_contract(checks=[CHECK])
    (contract / "must_pass.txt").symlink_to(tmp_path / "nowhere")
    loaded = load_contract(contract)
    with pytest.raises(UsageFault, match="exists already"):
        set_ids(loaded, loaded.checks[0], "must_pass", ("adds",))


TRAILS: dict[str, bytes] = {
    "noise": b"\xff\n",
    "a list": b"[]\n",
    "no id": b'{"kind":"proctor.suite","parent":"","schema":1}\n',
    "an id that is no text": b'{"id":5,"kind":"proctor.suite","parent":"","schema":1}\n',
    "too large": b" " * ((1 << 20) + 1),
}


@pytest.mark.parametrize("name", TRAILS)
def test_a_trail_that_is_none_is_named(make_contract: Any, name: str) -> None:
    contract = make_contract()
    (contract / TRAIL_NAME).write_bytes(TRAILS[name])
    with pytest.raises(UsageFault, match=TRAIL_NAME):
        trail_problem(load_contract(contract))


@pytest.mark.parametrize("make", [os.mkdir, lambda path: os.symlink("/etc/passwd", path)])
def test_a_trail_that_is_no_plain_file_is_refused(make_contract: Any, make: Callable[[Path], None]) -> None:
    contract = make_contract()
    make(contract / TRAIL_NAME)
    with pytest.raises(UsageFault, match=TRAIL_NAME):
        trail_problem(load_contract(contract))


def test_dropping_needs_a_reason_and_an_act_of_its_own(proctor: Proctor, make_contract: Any) -> None:
    contract = make_contract()
    for words, said in (
        (("--drop-flaky", " "), "needs a reason"),
        (("--drop-flaky", "why", "--derive", "--write"), "one after the other"),
    ):
        done = proctor("validate", contract, "--flakes", "2", *words)
        assert (done.returncode, said in done.stderr) == (2, True), done.stderr
