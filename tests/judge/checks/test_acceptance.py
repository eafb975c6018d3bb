"""Acceptance for real: real layers, real sandboxes, real test runs."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import pytest

from proctor.contract.model import Policy, Rerun, Sentinel, SetupStep

FIXED = "def add(a, b):\n    return a + b\n"
ADD, ZERO = "tests/test_calc.py::test_add", "tests/test_calc.py::test_zero"


def test_a_fix_passes(bench: Any) -> None:
    judged = bench.judge(bench.contract(), {"calc.py": FIXED})
    assert judged.outcome() == ("pass", "tests", ""), judged.why()
    (event,) = judged.of("check.finished")
    assert event["sentinels"] == "genuine"
    assert event["tests"] == {"passed": 2, "failed": 0, "error": 0, "skipped": 0}
    assert event["exit_code"] == 0
    assert judged.of("patch.applied")[0]["outcome"] == "pass"
    assert judged.results["checks"][0]["tests"] == [[ADD, "passed"], [ZERO, "passed"]]


def test_nothing_fails(bench: Any) -> None:
    judged = bench.judge(bench.contract(), b"")
    assert judged.outcome() == ("fail", "tests", "agent"), judged.why()
    (event,) = judged.of("check.finished")
    assert event["failing"] == [ADD]
    assert (judged.run.path / event["log"]["stdout"]).read_bytes().startswith(b".") or event["stdout"]["bytes"]


def test_a_regression_of_a_kept_test_fails(bench: Any) -> None:
    judged = bench.judge(bench.contract(), {"calc.py": "def add(a, b):\n    return 2\n"})
    assert judged.outcome() == ("fail", "tests", "agent")
    assert judged.patched()["failing"] == [ZERO]


def test_an_absent_id_counts_against_the_patch(bench: Any) -> None:
    contract = bench.contract(bench.check(must_pass=(ADD, "tests/test_calc.py::test_gone")))
    judged = bench.judge(contract, {"calc.py": FIXED})
    assert judged.outcome() == ("fail", "tests", "agent")
    assert judged.results["checks"][0]["tests"][1] == ["tests/test_calc.py::test_gone", "absent"]


def test_without_ids_any_failed_test_fails(bench: Any) -> None:
    contract = bench.contract(bench.check(must_pass=(), keep_passing=()))
    assert bench.judge(contract, b"").outcome() == ("fail", "tests", "agent")
    assert bench.judge(contract, {"calc.py": FIXED}).outcome() == ("pass", "tests", "")


def test_added_tests_are_welcome(bench: Any) -> None:
    after = {"calc.py": FIXED, "tests/test_more.py": "def test_more():\n    assert True\n"}
    judged = bench.judge(bench.contract(), after)
    assert judged.outcome() == ("pass", "tests", "")
    assert judged.results["restored"] == []


def test_a_patch_that_does_not_apply_blocks_every_check(bench: Any) -> None:
    contract = bench.contract(bench.check(), bench.check(id="more"))
    patch = (
        b"diff --git a/calc.py b/calc.py\n--- a/calc.py\n+++ b/calc.py\n@@ -1,2 +1,2 @@\n"
        b" def subtract(a, b):\n-    return a - b\n+    return a + b\n"
    )
    judged = bench.judge(contract, patch)
    assert judged.acceptance.patch == "fail"
    assert judged.of("patch.applied")[0]["outcome"] == "fail"
    assert [payload["check"] for payload in judged.of("check.blocked")] == ["tests", "more"]
    assert judged.of("check.finished") == []
    assert [check["outcome"] for check in judged.results["checks"]] == ["blocked", "blocked"]


def test_conflict_markers_are_no_patch(bench: Any) -> None:
    text = "<<<<<<< ours\nx = 1\n=======\nx = 2\n>>>>>>> theirs\n"
    judged = bench.judge(bench.contract(), {"calc.py": text})
    assert "conflict markers in calc.py" in judged.of("patch.applied")[0]["problem"]
    assert len(judged.of("check.blocked")) == 1


def test_hidden_files_win_over_what_the_patch_put_there(bench: Any) -> None:
    good = "import calc\n\n\ndef test_hidden():\n    assert calc.add(2, 3) == 5\n"
    check = bench.check(
        must_pass=("tests/test_hidden.py::test_hidden",),
        hidden=(bench.hidden({"tests/test_hidden.py": good}),),
    )
    contract = bench.contract(check)
    fake = "def test_hidden():\n    pass\n"
    judged = bench.judge(contract, {"tests/test_hidden.py": fake})
    assert judged.outcome() == ("fail", "tests", "agent")
    assert {"path": "tests/test_hidden.py", "why": "hidden", "check": "tests"} in judged.results["restored"]
    assert bench.judge(contract, {"calc.py": FIXED, "tests/test_hidden.py": fake}).outcome()[0] == "pass"


@pytest.mark.parametrize(
    "obstacle",
    [
        {"tests/test_hidden.py/x.py": "x = 1\n"},
        {"tests/test_hidden.py": b"/dev/null"},
        {"tests/test_calc.py": None, "tests": b"/tmp"},
        {"tests/test_calc.py": None, "tests": "a file\n"},
    ],
)
def test_hidden_files_win_over_obstacles(bench: Any, obstacle: dict[str, Any]) -> None:
    good = "import calc\n\n\ndef test_hidden():\n    assert calc.add(2, 3) == 5\n"
    check = bench.check(
        must_pass=("tests/test_hidden.py::test_hidden",),
        keep_passing=(),
        hidden=(bench.hidden({"tests/test_hidden.py": good}),),
    )
    judged = bench.judge(bench.contract(check), {"calc.py": FIXED, **obstacle})
    assert judged.outcome() == ("pass", "tests", ""), judged.why()


def test_protected_files_are_restored(bench: Any) -> None:
    contract = bench.contract(policy=Policy(protected=("tests/**",)))
    judged = bench.judge(contract, {"tests/test_calc.py": "def test_add(): pass\ndef test_zero(): pass\n"})
    assert judged.outcome() == ("fail", "tests", "agent")
    assert judged.results["restored"] == [{"path": "tests/test_calc.py", "why": "protected"}]


def test_exit_codes(bench: Any) -> None:
    contract = bench.contract(
        bench.check(id="good", run=("/bin/true",), results="exit-code", must_pass=(), keep_passing=()),
        bench.check(id="bad", run=("/bin/false",), results="exit-code", must_pass=(), keep_passing=()),
        bench.check(id="shell", run=("/bin/sh", "-eu", "-c", "exit 3"), results="exit-code"),
    )
    judged = bench.judge(contract, b"")
    assert judged.outcome("good") == ("pass", "exit-code", "")
    assert judged.outcome("bad") == ("fail", "exit-code", "agent")
    assert judged.outcome("shell") == ("fail", "exit-code", "agent")
    assert all(check["forgeable"] for check in judged.results["checks"])


@pytest.mark.parametrize("run", [("/no/such/program",), ("/bin/sh", "-eu", "-c", "no-such-program"), ("/etc/passwd",)])
def test_a_missing_program_is_an_error_of_the_harness(bench: Any, run: tuple[str, ...]) -> None:
    judged = bench.judge(bench.contract(bench.check(run=run, results="exit-code")), b"")
    assert judged.outcome() == ("error", "could-not-start", "harness")
    assert [payload["tree"] for payload in judged.of("check.finished")] == ["patched", "base"]


def test_a_missing_interpreter_that_the_patch_asks_for_is_the_agents_error(bench: Any) -> None:
    tree = {"run.sh": "#!/bin/sh\nexit 0\n"}
    check = bench.check(run=("/bin/sh", "-eu", "-c", "chmod +x run.sh; ./run.sh"), results="exit-code")
    judged = bench.judge(bench.contract(check), {"run.sh": "#!/no/such/interpreter\n"}, tree)
    assert judged.outcome() == ("error", "could-not-start", "agent")


def test_a_timeout_that_the_base_does_not_have_is_the_agents_error(bench: Any) -> None:
    tree = {"run.sh": "exit 0\n"}
    check = bench.check(run=("/bin/sh", "run.sh"), results="exit-code", timeout_seconds=8)
    judged = bench.judge(bench.contract(check), {"run.sh": "sleep 600\n"}, tree)
    assert judged.outcome() == ("error", "timeout", "agent")
    (patched, base) = judged.of("check.finished")
    assert patched["ceiling_seconds"] == "8"
    assert base["outcome"] == "pass"


def test_a_timeout_on_both_trees_is_nobodys(bench: Any) -> None:
    check = bench.check(run=("/bin/sleep", "600"), results="exit-code", timeout_seconds=1)
    assert bench.judge(bench.contract(check), b"").outcome() == ("error", "timeout", "nobody")


def test_a_crash_of_the_runner_is_an_error(bench: Any) -> None:
    crash = "import ctypes\nctypes.string_at(0)\n"
    judged = bench.judge(bench.contract(), {"calc.py": crash})
    assert judged.outcome() == ("error", "runner-crash", "agent"), judged.why()


def test_a_module_that_cannot_be_imported_is_a_failure(bench: Any) -> None:
    judged = bench.judge(bench.contract(), {"calc.py": "raise RuntimeError\n"})
    assert judged.outcome() == ("fail", "tests", "agent"), judged.why()


def test_junit_with_a_declared_sentinel(bench: Any) -> None:
    runner = (
        "import sys, xml.sax.saxutils as s, os, runpy\n"
        "rows = []\n"
        "for path in sys.argv[1:]:\n"
        "    names = runpy.run_path(path)\n"
        "    for name in sorted(names):\n"
        "        if name.startswith(('test', 's')) and callable(names[name]):\n"
        "            try:\n                names[name](); inside = ''\n"
        "            except AssertionError:\n                inside = '<failure/>'\n"
        "            rows.append(f'<testcase name=\"{name}\">{inside}</testcase>')\n"
        "out = os.path.join(os.environ['PROCTOR_RESULTS'], 'out.xml')\n"
        "open(out, 'w').write('<testsuite>' + ''.join(rows) + '</testsuite>')\n"
    )
    tree = {
        "run.py": runner,
        "calc.py": "def add(a, b):\n    return a - b\n",
        "checks.py": "import sys\nsys.path.insert(0, '.')\nimport calc\n\n\n"
        "def test_add():\n    assert calc.add(1, 1) == 2\n",
    }
    sentinel = Sentinel(
        template="def test_{passing}():\n    assert True\ndef test_{failing}():\n    assert False\n",
        at="{name}.py",
        arguments=("{path}",),
        passing_id="test_{passing}",
        failing_id="test_{failing}",
    )
    check = bench.check(
        run=("/usr/bin/python3", "run.py", "checks.py"),
        results="junit",
        results_file="out.xml",
        must_pass=("test_add",),
        keep_passing=(),
        sentinel=sentinel,
    )
    contract = bench.contract(check)
    assert bench.judge(contract, b"", tree).outcome() == ("fail", "tests", "agent")
    judged = bench.judge(contract, {"calc.py": FIXED}, tree)
    assert judged.outcome() == ("pass", "tests", ""), judged.why()
    assert not judged.results["checks"][0]["forgeable"]
    bare = bench.contract(bench.check(**{**_fields(check), "sentinel": None}))
    judged = bench.judge(bare, {"calc.py": FIXED}, tree)
    assert judged.outcome() == ("pass", "tests", "")
    assert judged.results["checks"][0]["forgeable"]


def _fields(check: Any) -> dict[str, Any]:
    from proctor.base.dataclass_fields import field_items

    return dict(field_items(check))


@pytest.mark.parametrize(
    ("run", "words"),
    [
        ("true", "no result file"),
        ('ln -s /etc/passwd "$PROCTOR_RESULTS/out.tap"', ""),
        ('mkfifo "$PROCTOR_RESULTS/out.tap"', "regular"),
        ('mkdir "$PROCTOR_RESULTS/out.tap"', ""),
        ('truncate -s 1G "$PROCTOR_RESULTS/out.tap"', "larger"),
        ('echo "1..2" > "$PROCTOR_RESULTS/out.tap"; echo "ok 1" >> "$PROCTOR_RESULTS/out.tap"', "plan"),
    ],
)
def test_result_files_that_are_no_results_are_errors(bench: Any, run: str, words: str) -> None:
    check = bench.check(
        run=("/bin/sh", "-eu", "-c", run), results="tap", results_file="out.tap", must_pass=(), keep_passing=()
    )
    judged = bench.judge(bench.contract(check), b"")
    assert judged.outcome() == ("error", "runner-crash", "nobody"), judged.why()
    assert words in judged.patched()["diagnostics"]


def test_reruns_and_tie_breaks(bench: Any) -> None:
    flaky = "import os, sys\nsys.exit(os.urandom(1)[0] % 2 if len(sys.argv) < 2 else int(sys.argv[1]))\n"
    tree = {"flaky.py": flaky}
    run = ("/usr/bin/python3", "flaky.py")
    contract = bench.contract(
        bench.check(id="all", run=(*run, "0"), results="exit-code", rerun=Rerun(3, "all")),
        bench.check(id="any", run=(*run, "1"), results="exit-code", rerun=Rerun(2, "any")),
    )
    judged = bench.judge(contract, b"", tree)
    assert judged.outcome("all")[0] == "pass"
    assert judged.outcome("any")[0] == "fail"
    finished = [(payload["check"], payload["attempt"]) for payload in judged.of("check.finished")]
    assert finished == [("all", 1), ("all", 2), ("all", 3), ("any", 1), ("any", 2)]
    assert [check["flagged"] for check in judged.results["checks"]] == [False, True]


def test_no_attempt_sees_what_another_left(bench: Any) -> None:
    script = (
        'test ! -e left; test ! -e /tmp/left; test -z "$(ls $PROCTOR_RESULTS)"; '
        "touch left /tmp/left $PROCTOR_RESULTS/left"
    )
    check = bench.check(run=("/bin/sh", "-eu", "-c", script), results="exit-code", rerun=Rerun(3, "all"))
    assert bench.judge(bench.contract(check), b"").outcome() == ("pass", "exit-code", "")


def test_a_no_op_is_decided_without_running(bench: Any) -> None:
    contract = bench.contract(bench.check(id="build", gate="build", run=("/bin/true",), no_op=True), bench.check())
    judged = bench.judge(contract, {"calc.py": FIXED})
    assert judged.outcome("build") == ("pass", "no-op", "")
    assert [payload["check"] for payload in judged.of("check.finished")] == ["tests"]


def test_checks_see_declared_variables_and_nothing_else(bench: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AMBIENT_SECRET", "1")
    script = 'test "$COLOUR" = blue; test -z "${AMBIENT_SECRET-}"; test "$TZ" = UTC'
    check = bench.check(
        run=("/bin/sh", "-eu", "-c", script), results="exit-code", variables=MappingProxyType({"COLOUR": "blue"})
    )
    assert bench.judge(bench.contract(check), b"").outcome()[0] == "pass"


def test_setup_after_the_patch_runs_again_and_every_check_sees_it(bench: Any) -> None:
    tree = {"version": "1\n", "calc.py": "x\n"}
    step = SetupStep(("/bin/sh", "-eu", "-c", "cp version /setup/version; cp version built"), repeat="after_patch")
    script = 'test "$(cat /setup/version)" = 2; test "$(cat built)" = 2; echo 3 > built'
    check = bench.check(run=("/bin/sh", "-eu", "-c", script), results="exit-code", rerun=Rerun(2, "all"))
    contract = bench.contract(check, setup=(step,))
    judged = bench.judge(contract, {"version": "2\n"}, tree)
    assert judged.outcome() == ("pass", "exit-code", ""), judged.why()
    assert judged.of("setup.step")[0]["after_patch"] is True


def test_setup_after_the_patch_that_fails_blocks_the_checks(bench: Any) -> None:
    step = SetupStep(("/bin/sh", "-eu", "-c", "test ! -e broken"), repeat="after_patch")
    judged = bench.judge(bench.contract(setup=(step,)), {"broken": "x\n"})
    assert judged.acceptance.problem == "setup step 1 after the patch exited with 1"
    assert len(judged.of("check.blocked")) == 1


def test_steering_left_by_setup_after_the_patch_is_taken_away(bench: Any) -> None:
    step = SetupStep(("/usr/bin/python3", "build.py"), repeat="after_patch")
    tree = {"build.py": "", "calc.py": "def add(a, b):\n    return a - b\n", "tests/test_calc.py": "import calc\n"}
    evil = (
        "open('conftest.py', 'w').write('import pytest\\n@pytest.hookimpl(hookwrapper=True)\\n"
        'def pytest_runtest_makereport():\\n    r = yield\\n    r.get_result().outcome = "passed"\\n\')\n'
        "open('made.txt', 'w').write('kept')\n"
    )
    script = "test ! -e conftest.py; test -e made.txt"
    check = bench.check(run=("/bin/sh", "-eu", "-c", script), results="exit-code")
    judged = bench.judge(bench.contract(check, setup=(step,)), {"build.py": evil}, tree)
    assert judged.outcome() == ("pass", "exit-code", ""), judged.why()
    assert judged.results["restored"] == [{"path": "conftest.py", "why": "steering"}]
