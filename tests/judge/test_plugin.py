"""The plugin in real pytest sessions of every shape, outside a sandbox for speed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from proctor.judge import check_execution
from proctor.judge.checks.results_readers import pytest as lines
from proctor.judge.checks.results_readers.interface import TestResults, merged
from proctor.judge.checks.sentinels import Planted, plant_pytest, verdict, without

KEY = b"k" * 32


class Session:
    """A directory with tests, and pytest runs in it."""

    def __init__(self, top: Path) -> None:
        self.tree = top / "tree"
        self.results = top / "results"
        self.tree.mkdir()
        self.results.mkdir()
        self.planted: Planted = plant_pytest("", lambda size: os.urandom(size))

    def write(self, **files: str) -> None:
        for name, text in files.items():
            (self.tree / f"{name}.py").write_text(text)

    def run(self, *arguments: str, options: str = "", times: int = 1) -> tuple[int, TestResults]:
        """Run pytest; its exit status and what the plugin wrote."""
        (self.tree / self.planted.path).write_text(self.planted.text)
        settings = {
            "key": KEY.hex(),
            "directory": str(self.results),
            "options": options,
            "sentinel": str(self.tree / self.planted.path),
            "token": self.planted.token,
            "places": list(self.planted.places),
        }
        environment = {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(check_execution.PLUGIN_FILES),
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            "PYTEST_ADDOPTS": f"{check_execution.PLUGIN_OPTIONS} {options}",
            "PROCTOR_PYTEST": json.dumps(settings),
        }
        command = [sys.executable, "-m", "pytest", "-q", *arguments]
        status = 0
        for _ in range(times):
            done = subprocess.run(
                command, cwd=self.tree, env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=300
            )
            status = done.returncode
            self.output = done.stdout.decode() + done.stderr.decode()
        found = [lines.parse(path.read_bytes(), KEY) for path in sorted(self.results.iterdir())]
        return status, merged(found)


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    yield Session(tmp_path)


TESTS = "def test_good():\n    pass\n\n\ndef test_bad():\n    assert False\n"


def test_a_session_with_failures(session: Session) -> None:
    session.write(test_a=TESTS)
    status, results = session.run()
    assert status == 1
    assert verdict(session.planted, results) == "genuine", session.output
    assert dict(without(session.planted, results).outcomes) == {
        "test_a.py::test_good": "passed",
        "test_a.py::test_bad": "failed",
    }


def test_the_failing_sentinel_does_not_reach_the_exit_status(session: Session) -> None:
    session.write(test_a="def test_good():\n    pass\n")
    status, results = session.run()
    assert status == 0, session.output
    assert verdict(session.planted, results) == "genuine"


def test_nothing_but_sentinels_is_nothing_collected(session: Session) -> None:
    status, results = session.run()
    assert status == 5, session.output
    assert results.complete


@pytest.mark.parametrize(
    "arguments",
    [
        ("-k", "good"),
        ("-m", "not slow"),
        ("-x",),
        ("--maxfail=1",),
        ("test_a.py",),
        ("test_a.py::test_bad",),
        ("--deselect", "test_a.py::test_bad"),
        ("-p", "no:randomly"),
        ("--import-mode=importlib",),
        ("-o", "python_files=check_*.py", "test_a.py"),
        ("-o", "python_functions=check_*", "-o", "python_classes=Check", "test_a.py"),
    ],
)
def test_sentinels_run_whatever_is_selected(session: Session, arguments: tuple[str, ...]) -> None:
    session.write(test_a=TESTS)
    _, results = session.run(*arguments)
    assert verdict(session.planted, results) == "genuine", session.output


@pytest.mark.parametrize("arguments", [(), (".",), ("inner",), ("inner", "test_a.py"), ("test_a.py", "inner")])
def test_directories_are_collected_beside_the_sentinels(session: Session, arguments: tuple[str, ...]) -> None:
    (session.tree / "inner").mkdir()
    session.write(test_a="def test_a():\n    pass\n")
    (session.tree / "inner" / "test_b.py").write_text("def test_b():\n    pass\n")
    _, results = session.run(*arguments)
    assert verdict(session.planted, results) == "genuine", session.output
    expected = {"inner/test_b.py::test_b"} | (set() if arguments == ("inner",) else {"test_a.py::test_a"})
    assert set(without(session.planted, results).outcomes) == expected, session.output


def test_stopping_at_the_first_failure_is_switched_off(session: Session) -> None:
    session.write(test_a="def test_a():\n    assert False\n\n\ndef test_b():\n    pass\n")
    _, results = session.run("-x")
    assert results.outcomes["test_a.py::test_b"] == "passed"


@pytest.mark.parametrize("place", [0, 1, 2, 3])
def test_sentinels_run_between_files_and_never_within_one(session: Session, place: int) -> None:
    session.planted = replace(session.planted, places=(place,) * len(session.planted.places))
    (session.tree / "inner").mkdir()
    two = "def test_a():\n    pass\n\n\ndef test_b():\n    pass\n"
    session.write(test_1=two, test_3=two)
    for name in ("test_2.py", "test_4.py"):
        (session.tree / "inner" / name).write_text(two)
    session.run("-v", "test_1.py", "test_3.py", "inner")
    tests = [line.split()[0] for line in session.output.splitlines() if line.endswith("%]")]
    files = ["-" if session.planted.token in test else test.partition("::")[0] for test in tests]
    shown = [file for number, file in enumerate(files) if number == 0 or files[number - 1] != file]
    expected = ["test_1.py", "test_3.py", "inner/test_2.py", "inner/test_4.py"]
    expected.insert({0: 0, 1: 1, 2: 2, 3: 4}[place], "-")
    assert shown == expected, session.output


def test_workers_of_xdist(session: Session) -> None:
    session.write(test_a=TESTS)
    status, results = session.run("-p", "xdist.plugin", "-n", "2", "-k", "good or bad")
    assert status == 1, session.output
    assert verdict(session.planted, results) == "genuine", session.output
    assert len(list(session.results.iterdir())) == 1
    assert set(without(session.planted, results).outcomes) == {"test_a.py::test_good", "test_a.py::test_bad"}


def test_several_sessions_under_one_command(session: Session) -> None:
    session.write(test_a=TESTS)
    _, results = session.run(times=2)
    assert results.complete
    assert len(list(session.results.iterdir())) == 2
    assert verdict(session.planted, results) == "genuine"


def test_phases_marks_and_collection_errors(session: Session) -> None:
    session.write(
        test_a=(
            "import pytest\n\n\n@pytest.fixture\ndef broken():\n    raise ValueError\n\n\n"
            "@pytest.fixture\ndef late():\n    yield\n    raise ValueError\n\n\n"
            "def test_setup(broken):\n    pass\n\n\ndef test_teardown(late):\n    pass\n\n\n"
            "@pytest.mark.skip\ndef test_skip():\n    pass\n\n\n"
            "@pytest.mark.xfail\ndef test_xfail():\n    assert False\n\n\n"
            "@pytest.mark.xfail\ndef test_xpass():\n    pass\n\n\n"
            "@pytest.mark.xfail(strict=True)\ndef test_strict():\n    pass\n"
        ),
        test_b="import no_such_module\n",
        test_c="def test_after():\n    pass\n",
    )
    _, results = session.run()
    assert dict(without(session.planted, results).outcomes) == {
        "test_a.py::test_setup": "error",
        "test_a.py::test_teardown": "error",
        "test_a.py::test_skip": "skipped",
        "test_a.py::test_xfail": "skipped",
        "test_a.py::test_xpass": "passed",
        "test_a.py::test_strict": "failed",
        "test_b.py": "error",
        "test_c.py::test_after": "passed",
    }


def test_odd_names_survive(session: Session) -> None:
    session.write(
        test_a='import pytest\n@pytest.mark.parametrize("x", ["a b", "é", "\\n", "::"])\ndef test_x(x): pass\n'
    )
    _, results = session.run()
    assert results.complete, results.problem
    assert len(without(session.planted, results).outcomes) == 4


def test_a_session_inside_a_test_is_left_alone(session: Session) -> None:
    session.write(
        test_a=(
            "import os, subprocess, sys, pytest\n\n\n"
            "def test_inner(tmp_path):\n"
            "    (tmp_path / 'test_in.py').write_text('def test_fails(): assert False')\n"
            "    assert 'PYTEST_ADDOPTS' not in os.environ\n"
            "    assert subprocess.run([sys.executable, '-m', 'pytest', str(tmp_path)]).returncode == 1\n"
            "    assert pytest.main([str(tmp_path), '-p', 'no:terminal']) == 1\n"
        )
    )
    status, results = session.run()
    assert status == 0, session.output
    assert dict(without(session.planted, results).outcomes) == {"test_a.py::test_inner": "passed"}


def test_declared_options_are_put_back(session: Session) -> None:
    session.write(test_a="import os\n\n\ndef test_it():\n    assert os.environ['PYTEST_ADDOPTS'] == '--tb=no'\n")
    status, _ = session.run(options="--tb=no")
    assert status == 0, session.output


def test_a_forked_child_writes_nothing(session: Session) -> None:
    session.write(
        test_a=(
            "import os, sys\n\n\ndef test_fork():\n    child = os.fork()\n    if child == 0:\n        return\n"
            "    os.waitpid(child, 0)\n"
        )
    )
    _, results = session.run()
    assert results.complete, results.problem
    assert verdict(session.planted, results) == "genuine"


def test_a_usage_error_writes_no_finished_session(session: Session) -> None:
    status, results = session.run("--no-such-option")
    assert status == 4
    assert list(session.results.iterdir()) == [] or not results.complete


def test_the_plugin_is_plain_enough_for_old_interpreters() -> None:
    import ast

    sources = sorted(check_execution.PLUGIN_FILES.glob("*.py"))
    assert len(sources) == 2
    for source in sources:
        ast.parse(source.read_text(), feature_version=(3, 7))
