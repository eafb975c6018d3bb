"""Sentinels: how they are drawn, placed and read."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from proctor.base.clock import system_entropy
from proctor.contract.model import Check, Sentinel
from proctor.judge.check_execution import command_line, sentinel_directory, starts_pytest
from proctor.judge.checks.judge_context import JudgedTree
from proctor.judge.checks.results_readers.interface import TestResults
from proctor.judge.checks.sentinels import WORDS, Planted, forgeable, plant, plant_pytest, verdict, without
from proctor.judge.patch_policy.tree_overlay import TreeOverlay


def entropy() -> Any:
    counter = itertools.count(1)
    return lambda size: next(counter).to_bytes(size, "big")


def check(**fields: Any) -> Check:
    return Check(**{"id": "c", "gate": "acceptance", "run": ("x",), **fields})


DECLARED = Sentinel(
    template="test('{passing}', () => {{}}); test('{failing}', () => { throw 1; });",
    at="test/{name}.js",
    arguments=("{path}", "--name={name}"),
    passing_id="{path}#{passing}",
    failing_id="{path}#{failing}",
)


def test_names_are_new_each_time() -> None:
    draw = entropy()
    one, two = (plant(check(results="pytest"), "tests", draw) for _ in range(2))
    assert one is not None
    assert two is not None
    assert one.path != two.path
    assert one.passing != two.passing
    assert set(one.path.removeprefix("tests/test_").removesuffix(".py").split("_")) <= set(WORDS)
    compile(one.text, one.path, "exec")


def test_declared_sentinels_are_filled_in() -> None:
    planted = plant(check(results="tap", sentinel=DECLARED), "", entropy())
    assert planted is not None
    name, passing, failing = planted.drawn
    assert planted.path == f"test/{name}.js"
    assert f"test('{passing}', () => {{}})" in planted.text.replace("{{", "{").replace("}}", "}")
    assert f"test('{failing}', () => {{ throw 1; }})" in planted.text
    assert planted.arguments == (planted.path, f"--name={name}")
    assert planted.passing == (f"{planted.path}#{passing}",)


def test_a_template_may_hold_several_tests_of_a_kind() -> None:
    sentinel = Sentinel("{passing} {failing} {failing2} {failing4}", "{name}.js", failing_id="{name} > {failing}")
    planted = plant(check(results="tap", sentinel=sentinel), "", entropy())
    assert planted is not None
    passing, *failing = planted.text.split()
    assert planted.passing == (passing,)
    assert planted.failing == tuple(f"{planted.token} > {test}" for test in failing)
    assert len({*planted.drawn}) == 5
    honest = {passing: "passed", **dict.fromkeys(planted.failing, "failed")}
    assert verdict(planted, TestResults(honest, True)) == "genuine"
    assert verdict(planted, TestResults({**honest, planted.failing[1]: "passed"}, True)) == "forged"


def test_how_many_there_are_and_where_they_run_is_drawn() -> None:
    many = [plant_pytest("", system_entropy) for _ in range(60)]
    assert len({len(planted.passing) for planted in many}) > 1
    assert len({len(planted.failing) for planted in many}) > 1
    assert all(len(planted.places) == len(planted.passing) + len(planted.failing) for planted in many)
    assert len({planted.places for planted in many}) == 60


def test_what_can_be_forged_is_said() -> None:
    assert forgeable(check())
    assert forgeable(check(results="junit"))
    assert forgeable(check(results="tap"))
    assert not forgeable(check(results="tap", sentinel=DECLARED))
    assert not forgeable(check(results="pytest"))
    assert plant(check(), "", entropy()) is None
    assert plant(check(results="junit"), "", entropy()) is None


PLANTED = Planted("p", "", (), ("good",), ("bad",), ("token", "good", "bad"))


@pytest.mark.parametrize(
    ("outcomes", "expected"),
    [
        ({"good": "passed", "bad": "failed"}, "genuine"),
        ({"good": "passed", "bad": "passed"}, "forged"),
        ({"good": "failed", "bad": "failed"}, "forged"),
        ({"good": "failed", "bad": "passed"}, "forged"),
        ({"good": "skipped", "bad": "failed"}, "forged"),
        ({"good": "passed", "bad": "error"}, "forged"),
        ({"good": "passed", "bad": "skipped"}, "forged"),
        ({"good": "passed"}, "forged"),
        ({"bad": "failed"}, "forged"),
        ({}, "forged"),
    ],
)
def test_verdicts(outcomes: dict[str, str], expected: str) -> None:
    assert verdict(PLANTED, TestResults({**outcomes, "other": "passed"}, True)) == expected


def test_every_sentinel_counts_and_is_found_below_any_root() -> None:
    planted = plant(check(results="pytest"), "tests", entropy())
    assert planted is not None
    honest = {f"deep/{test}": "passed" for test in planted.passing} | dict.fromkeys(planted.failing, "failed")
    assert verdict(planted, TestResults(honest, True)) == "genuine"
    for test in honest:
        other = "failed" if honest[test] == "passed" else "passed"
        assert verdict(planted, TestResults({**honest, test: other}, True)) == "forged"
    lookalike = {f"deep/not_{test}": outcome for test, outcome in honest.items() if "/" not in test}
    assert verdict(planted, TestResults(lookalike, True)) == "forged"


def test_incomplete_results_tell_nothing_and_no_sentinels_are_none() -> None:
    assert verdict(PLANTED, TestResults({"good": "passed"}, False)) == "unseen"
    assert verdict(None, TestResults({}, True)) == "none"


def test_sentinels_are_no_part_of_the_results() -> None:
    found = TestResults({"good": "passed", "x > bad": "failed", "dir/token.js": "failed", "own": "passed"}, True)
    assert dict(without(PLANTED, found).outcomes) == {"own": "passed"}
    assert without(None, found) is found


def test_one_session_is_told_from_commands_that_may_start_several() -> None:
    assert starts_pytest(("/usr/bin/python3", "-B", "-m", "pytest", "-q"))
    assert starts_pytest(("/opt/bin/pytest", "tests"))
    for run in (("/bin/sh", "-eu", "-c", "pytest a; pytest b"), ("tox",), ("/bin/sh", "x", "-m", "pytest"), ("x",)):
        assert not starts_pytest(run)


def test_arguments_reach_programs_and_shell_texts() -> None:
    planted = Planted("a b", "", ("a b",), (), (), ("t",))
    shell = ("/bin/sh", "-eu", "-c")
    assert command_line(check(run=("node", "run.js")), planted) == ("node", "run.js", "a b")
    assert command_line(check(run=(*shell, "node run.js\n")), planted) == (*shell, "node run.js 'a b'")
    assert command_line(check(run=(*shell, 'node run.js "$@" >x')), planted) == (
        *shell,
        'node run.js "$@" >x',
        "sh",
        "a b",
    )
    assert command_line(check(run=("x",)), None) == ("x",)


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, ""),
        ({"directory": "/workspace/sub"}, "sub"),
        ({"directory": "/tmp"}, ""),
        ({"must_pass": ("tests/unit/test_a.py::test",)}, "tests/unit"),
        ({"must_pass": ("gone/test_a.py::test", "tests/unit/test_a.py::test")}, "tests/unit"),
        ({"directory": "/workspace/tests", "must_pass": ("unit/test_a.py::test",)}, "tests/unit"),
        ({"must_pass": ("../../etc/passwd::test",)}, ""),
    ],
)
def test_sentinels_lie_with_the_listed_tests(fields: dict[str, Any], expected: str) -> None:
    scene = JudgedTree("patched", (), TreeOverlay(((b"tests/unit/test_a.py", 0o100644, b""),)))
    assert sentinel_directory(check(**fields), scene) == expected
