"""Runs the tests of a small contract without the harness, in a scratch directory of their own.

This shows that a forgery works: the tests come out as passed although the bug is there. The packages that a contract
needs are the same as in the sandbox: its inputs, unpacked by its own setup commands.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

from proctor.contract.load import load_contract
from proctor.contract.model import Check, Contract
from proctor.execute.inputs.input_cache import InputCache
from proctor.judge.check_execution import PLUGIN_FILES, PLUGIN_OPTIONS
from proctor.judge.checks.results_readers import junit, tap
from proctor.judge.checks.results_readers import pytest as pytest_lines
from tests.forgeries.loader import HERE, Forgery, forged_text, tree_of

KEY = "00" * 32
SECONDS = 120


class Bare:
    """A contract with its packages unpacked in a directory of its own."""

    def __init__(self, directory: Path, top: Path) -> None:
        self.contract: Contract = load_contract(directory)
        self.check: Check = self.contract.checks[-1]
        self._inputs, self._setup = top / "inputs", top / "setup"
        self._unpack()

    def _unpack(self) -> None:
        """Run the setup commands, if this was not done before."""
        if self._setup.exists():
            return
        self._inputs.mkdir(parents=True)
        self._setup.mkdir()
        cache = InputCache(Path(os.environ["PROCTOR_HOME"]) / "inputs")
        for one in self.contract.inputs:
            for path in cache.ensure(one.source, self.contract.directory):
                (self._inputs / path.name).symlink_to(path)
        for step in self.contract.setup:
            subprocess.run([self._moved(argument) for argument in step.run], check=True, timeout=SECONDS)

    def _moved(self, text: str) -> str:
        """A text with the paths of the sandbox replaced by those of this machine."""
        return text.replace("/inputs", str(self._inputs)).replace("/setup", str(self._setup))

    def passes(self, forgery: Forgery | None, scratch: Path) -> bool:
        """Whether all tests that must pass come out as passed, with the bug in place and ``forgery`` beside it."""
        tree, results = self._place(forgery, scratch), scratch / "results"
        results.mkdir()
        (scratch / "tmp").mkdir()
        moved = {name: self._moved(value) for name, value in self.contract.environment.variables.items()}
        environment = {
            "PATH": "/usr/bin:/bin",
            "HOME": str(scratch),
            "TMPDIR": str(scratch / "tmp"),
            "PROCTOR_RESULTS": str(results),
            **moved,
        }
        mode = forgery.bare if forgery else "suite"
        if mode == "single":
            commands = [(*self.check.run[:-1], test) for test in self.check.must_pass]
            return all(self._run(command, tree, environment) == 0 for command in commands)
        if mode == "reporter":
            environment |= self._reporter(environment, results)
        code = self._run(self.check.run, tree, environment)
        return code == 0 if self.check.results == "pytest" and mode == "suite" else self._all_passed(results)

    def _place(self, forgery: Forgery | None, scratch: Path) -> Path:
        """The tree with the forgery and the hidden tests in it."""
        files = tree_of(self.contract.name)
        if forgery:
            files[forgery.target] = forged_text(forgery)
        hidden = HERE / "contracts" / self.contract.name / "hidden"
        files |= {str(path.relative_to(hidden)): path.read_text() for path in hidden.rglob("*") if path.is_file()}
        for name, text in files.items():
            path = scratch / "tree" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return scratch / "tree"

    def _reporter(self, environment: dict[str, str], results: Path) -> dict[str, str]:
        """What loads the harness's reporter, without sentinels."""
        settings = {"key": KEY, "directory": str(results), "options": ""}
        return {
            "PROCTOR_PYTEST": json.dumps(settings),
            "PYTEST_ADDOPTS": PLUGIN_OPTIONS,
            "PYTHONPATH": f"{PLUGIN_FILES}:{environment['PYTHONPATH']}",
        }

    def _all_passed(self, results: Path) -> bool:
        """What the results file says."""
        if self.check.results == "pytest":
            (file,) = results.glob("*.jsonl")
            found = pytest_lines.parse(file.read_bytes(), bytes.fromhex(KEY))
        else:
            data = (results / self.check.results_file).read_bytes()
            found = junit.parse(data) if self.check.results == "junit" else tap.parse(data)
        return found.complete and {found.outcomes.get(test) for test in self.check.must_pass} == {"passed"}

    @staticmethod
    def _run(command: tuple[str, ...], tree: Path, environment: dict[str, str]) -> int:
        """How a command ends; what it prints is of no interest unless it cannot be started."""
        done = subprocess.run(
            command, cwd=tree, env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=SECONDS
        )
        return done.returncode
