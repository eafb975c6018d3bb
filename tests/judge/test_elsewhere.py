"""Acceptance where less is given: as an ordinary user, without overlays, and with a results directory full of traps."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from proctor.contract.model import SetupStep
from proctor.execute.sandbox.bubblewrap.backend import BubblewrapBackend
from proctor.judge.check_execution import MOST_RESULT_FILES, collect
from tests.execute.sandbox.workplace import ORDINARY, as_ordinary_user

FIXED = "def add(a, b):\n    return a + b\n"


def as_owner(top: Path, action: Callable[[], None]) -> None:
    """Run ``action`` in a forked child that owns ``top`` and has given up root."""
    for directory, names, files in os.walk(top):
        for name in (*names, *files):
            os.lchown(os.path.join(directory, name), ORDINARY, ORDINARY)
    os.chown(top, ORDINARY, ORDINARY)
    as_ordinary_user(action)


def test_an_ordinary_user_judges_like_root(bench: Any, tmp_path: Path) -> None:
    opened = [parent for parent in tmp_path.parents if not parent.stat().st_mode & 0o001]
    modes = [(parent, parent.stat().st_mode) for parent in opened]
    for parent in opened:
        parent.chmod(0o711)
    try:
        sessions = tmp_path / "proctor" / "sessions"
        sessions.mkdir(parents=True)
        bench.backend = BubblewrapBackend(sessions)

        def action() -> None:
            after = {"calc.py": FIXED, "tests/__pycache__/x.pyc": "x"}
            assert bench.judge(bench.contract(), after).outcome() == ("pass", "tests", "")
            assert bench.judge(bench.contract(), b"").outcome() == ("fail", "tests", "agent")
            assert bench.judge(bench.contract(), {"tests/test_calc.py": None}).outcome()[2] == "agent"

        as_owner(tmp_path, action)
    finally:
        for parent, mode in modes:
            parent.chmod(mode)


class WithoutOverlays(BubblewrapBackend):
    """The same isolation on a machine that cannot mount overlays."""

    def overlays(self) -> bool:
        return False


def test_a_plain_copy_judges_like_an_overlay(bench: Any, tmp_path: Path) -> None:
    sessions = tmp_path / "proctor" / "sessions"
    sessions.mkdir(parents=True)
    bench.backend = WithoutOverlays(sessions)
    evil = {"calc.py": FIXED, "conftest.py": "raise SystemExit\n", "tests/test_calc.py": None, "tests": b"/tmp"}
    text = "import calc\n\n\ndef test_hidden():\n    assert calc.add(1, 1) == 2\n"
    hidden = bench.hidden({"tests/test_hidden.py": text})
    check = bench.check(must_pass=("tests/test_hidden.py::test_hidden",), keep_passing=(), hidden=(hidden,))
    judged = bench.judge(bench.contract(check), evil)
    assert judged.outcome() == ("pass", "tests", ""), judged.why()
    assert bench.judge(bench.contract(), b"").outcome() == ("fail", "tests", "agent")


def test_setup_after_the_patch_on_a_plain_copy(bench: Any, tmp_path: Path) -> None:
    sessions = tmp_path / "proctor" / "sessions"
    sessions.mkdir(parents=True)
    bench.backend = WithoutOverlays(sessions)
    step = SetupStep(("/bin/sh", "-eu", "-c", "cp version /setup/version; rm old"), repeat="after_patch")
    script = 'test "$(cat /setup/version)" = 2; test ! -e old'
    check = bench.check(run=("/bin/sh", "-eu", "-c", script), results="exit-code")
    judged = bench.judge(bench.contract(check, setup=(step,)), {"version": "2\n"}, {"version": "1\n", "old": "x"})
    assert judged.outcome() == ("pass", "exit-code", ""), judged.why()


@pytest.mark.parametrize(
    "trap",
    [
        'cd $PROCTOR_RESULTS; python3 -c \'import os\nfor _ in range(1500): os.mkdir("d"); os.chdir("d")\'',
        "cd $PROCTOR_RESULTS; mkdir closed; touch closed/x; chmod 0 closed; chmod 0 .",
        "cd $PROCTOR_RESULTS; ln -s / root; ln -s ../../.. up; mkfifo pipe; touch -- '-rf' \"$(printf 'a\\nb\\377')\"",
    ],
)
def test_traps_in_the_results_directory(bench: Any, trap: str) -> None:
    check = bench.check(run=("/bin/sh", "-eu", "-c", trap), results="exit-code")
    assert bench.judge(bench.contract(check), b"").outcome() == ("pass", "exit-code", "")


def results_of(bench: Any, directory: Path, kind: str = "junit", file: str = "out.xml") -> Any:
    return collect(bench.check(results=kind, results_file=file), directory, b"k" * 32)


GOOD = '<testsuite><testcase name="{}"/></testsuite>'


def test_several_files_by_a_pattern(bench: Any, tmp_path: Path) -> None:
    place = tmp_path / "results"
    place.mkdir()
    for name in ("a", "b"):
        (place / f"TEST-{name}.xml").write_text(GOOD.format(name))
    (place / "other.xml").write_text("junk")
    found = results_of(bench, place, file="TEST-*.xml")
    assert found.complete
    assert dict(found.outcomes) == {"a": "passed", "b": "passed"}


def test_too_many_files_are_refused(bench: Any, tmp_path: Path) -> None:
    place = tmp_path / "results"
    place.mkdir()
    for number in range(MOST_RESULT_FILES + 5):
        (place / f"{number}.xml").write_text(GOOD.format(number))
    assert "more than" in results_of(bench, place, file="*.xml").problem


def test_a_link_is_not_followed(bench: Any, tmp_path: Path) -> None:
    place = tmp_path / "results"
    place.mkdir()
    (tmp_path / "secret.xml").write_text(GOOD.format("leaked"))
    (place / "out.xml").symlink_to(tmp_path / "secret.xml")
    found = results_of(bench, place)
    assert not found.complete
    assert not found.outcomes


def test_a_directory_that_was_closed_is_incomplete(bench: Any, tmp_path: Path) -> None:
    assert not results_of(bench, tmp_path / "gone").complete


def test_ids_that_code_under_test_makes_up_cannot_burst_the_record(bench: Any) -> None:
    script = (
        "import os\nwith open(os.environ['PROCTOR_RESULTS'] + '/out.tap', 'w') as f:\n"
        "    for n in range(20000):\n        print(f'not ok {n} - {n}' + '\\x01' * 500, file=f)\n"
        "    print('1..20000', file=f)\n"
    )
    check = bench.check(
        run=("/usr/bin/python3", "-c", script), results="tap", results_file="out.tap", must_pass=(), keep_passing=()
    )
    judged = bench.judge(bench.contract(check), b"")
    assert judged.outcome() == ("fail", "tests", "agent")
    assert judged.results["checks"][0]["tests_omitted"] > 10000
    assert judged.run.results.stat().st_size < 10 << 20
    assert judged.patched()["failing_count"] == 20000
