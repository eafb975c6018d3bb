"""Recorded changes brought into a live sandbox, one file at a time."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from proctor.cli.wiring import machine
from proctor.conduct.replay.command_replay import FileRestorer
from proctor.conduct.replay.recorded_commands import RecordedChange, State
from proctor.contract.load import load_contract
from proctor.execute.monitor.sensors.text_hunks import structured_diff
from proctor.execute.sandbox.interface import Command, Limits, Sandbox, SandboxPlan
from proctor.execute.workspace.workspace import Workspace

BASE = b"def add(a, b):\n    return a - b\n"
FIXED = BASE.replace(b"-", b"+")


@pytest.fixture
def sandbox(make_contract: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Sandbox]:
    monkeypatch.setenv("PROCTOR_HOME", str(tmp_path / "home"))
    here = machine()
    contract = load_contract(make_contract())
    backend = here.backend(contract)
    layers = here.prepare(contract).layers
    with (
        Workspace.create(layers, tmp_path / "workspace", overlays=backend.overlays()) as workspace,
        backend.open(SandboxPlan(workspace=workspace.view(), limits=Limits())) as opened,
    ):
        yield opened


def state(data: bytes | None, mode: str = "100644") -> State:
    return None if data is None else (mode, sha256(data).hexdigest())


def step(seq: int, path: str, before: bytes | None, after: bytes | None, mode: str = "100644") -> RecordedChange:
    return RecordedChange(seq, seq, path, state(before), state(after, mode), structured_diff(before, after))


def shell(sandbox: Sandbox, script: str) -> bytes:
    return sandbox.run(Command(("/bin/sh", "-c", script), environment={"PATH": "/usr/bin:/bin"})).stdout.prefix


def test_a_file_follows_its_chain(sandbox: Sandbox) -> None:
    steps = (
        step(1, "calc.py", BASE, FIXED),
        step(2, "new dir/it's new", None, b"no end", "100755"),
        step(3, "calc.py", FIXED, FIXED + b"# more\n"),
        step(4, "README.md", b"A calculator.\n", None),
    )
    files = FileRestorer(sandbox, steps)
    assert files.bring(steps[:2]) is None
    assert shell(sandbox, "cat calc.py") == FIXED
    assert files.bring(steps) is None
    assert shell(sandbox, "cat calc.py") == FIXED + b"# more\n"
    assert (
        shell(sandbox, "cat 'new dir'/it*; test -x 'new dir'/it* && test ! -e README.md && echo ' yes'")
        == b"no end yes\n"
    )
    assert files.placed == ("events.jsonl#1", "events.jsonl#2", "events.jsonl#3", "events.jsonl#4")
    assert files.bring(steps) is None and len(files.placed) == 4


def test_what_a_command_did_already_is_left_alone(sandbox: Sandbox) -> None:
    steps = (step(1, "calc.py", BASE, FIXED), step(2, "calc.py", FIXED, b"later\n"))
    shell(sandbox, "echo later > calc.py")
    files = FileRestorer(sandbox, steps)
    assert files.bring(steps[:1]) is None and files.placed == ()
    assert shell(sandbox, "cat calc.py") == b"later\n"


def test_a_file_that_is_neither_before_nor_after_is_named(sandbox: Sandbox) -> None:
    shell(sandbox, "echo other > calc.py")
    where, problem = FileRestorer(sandbox, (step(7, "calc.py", BASE, FIXED),)).bring(
        [step(7, "calc.py", BASE, FIXED)]
    ) or (
        "",
        "",
    )
    assert where == "events.jsonl#7"
    assert problem.startswith(f"calc.py: is 100644 {sha256(b'other' + bytes([10])).hexdigest()}")


def test_content_that_no_difference_holds_comes_from_what_is_known(sandbox: Sandbox) -> None:
    binary = bytes(range(256))
    added = step(1, "data.bin", None, binary)
    assert FileRestorer(sandbox, (added,)).bring([added]) == (
        "events.jsonl#1",
        "data.bin: its change was not recorded in full",
    )
    assert FileRestorer(sandbox, (added,), [binary]).bring([added]) is None
    assert shell(sandbox, "cat data.bin") == binary


def test_a_link_is_made_and_not_followed(sandbox: Sandbox) -> None:
    link = step(1, "calc.py", BASE, b"/etc/passwd", "120000")
    files = FileRestorer(sandbox, (link,), [b"/etc/passwd"])
    assert files.bring([link]) is None
    assert shell(sandbox, "readlink calc.py") == b"/etc/passwd\n"
    assert files.bring([link]) is None and files.placed == ("events.jsonl#1",)
