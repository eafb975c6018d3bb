"""What a run needs is found out before it begins: each part that is missing is named with what to do."""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from proctor.base.errors import MissingIsolation
from proctor.base.untrusted_directories import sweep_unowned
from proctor.execute import requirements
from proctor.execute.proctor_home import Home
from proctor.execute.requirements import MISSING, OK, Finding, require_machine, room_problem
from proctor.execute.sandbox import host_facts
from proctor.execute.sandbox.bubblewrap import init_protocol


def test_c12_a_probe_is_not_swept_by_a_process_that_starts_beside_it(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.create()
    over = threading.Event()
    swept: list[str] = []

    def sweep() -> None:
        while not over.is_set():
            swept.extend(sweep_unowned(home.scratch))

    thread = threading.Thread(target=sweep)
    thread.start()
    try:
        for _ in range(5):
            assert requirements._try_sandbox(home) == {"state": "works"}
    finally:
        over.set()
        thread.join()
    assert list(home.scratch.iterdir()) == []


@pytest.fixture
def programs() -> Iterator[Path]:
    """A directory for programs that every user may enter, where sandboxes can start them from."""
    path = Path(tempfile.mkdtemp(prefix="proctor-test-", dir="/var/tmp"))
    path.chmod(0o755)
    yield path
    shutil.rmtree(path)


def program(path: Path, text: str) -> Path:
    """An executable script."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def found(home: Path, *, sandbox: bool = True) -> dict[str, Finding]:
    return {one.name: one for one in requirements.requirements(Home(home), sandbox=sandbox)}


def shadowed(monkeypatch: pytest.MonkeyPatch, place: Path, name: str, text: str) -> None:
    """Put a script before every other program of that name."""
    program(place / name, text)
    monkeypatch.setenv("PATH", f"{place}:{os.environ['PATH']}")


def test_i2_a_machine_with_everything_is_accepted(tmp_path: Path) -> None:
    require_machine(Home(tmp_path))
    require_machine(Home(tmp_path), sandbox=False)


OLD = {"git": "echo git version 2.25.1", "bwrap": "echo bubblewrap 0.4.0"}
SILENT = {"git": "exit 0", "bwrap": "echo hello"}
BROKEN = {"git": "echo git version 2.39.5; exit 1", "bwrap": "kill -SEGV $$"}


@pytest.mark.parametrize("texts", [OLD, SILENT, BROKEN], ids=["too old", "no version", "fails"])
@pytest.mark.parametrize(("name", "part"), [("git", "git"), ("bwrap", "bubblewrap")])
def test_i2_a_program_that_will_not_do_is_named(
    tmp_path: Path, programs: Path, monkeypatch: pytest.MonkeyPatch, texts: dict[str, str], name: str, part: str
) -> None:
    assert found(tmp_path / "home")[part].state == OK, "an answer that is kept must not hide the change"
    shadowed(monkeypatch, programs, name, texts[name])
    with pytest.raises(MissingIsolation) as raised:
        require_machine(Home(tmp_path / "home"))
    assert f"{part}: {programs / name}" in raised.value.message and raised.value.hint
    assert raised.value.exit_code == 3


def test_i2_a_git_that_only_prints_its_version_is_noticed(
    tmp_path: Path, programs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shadowed(monkeypatch, programs, "git", "echo git version 2.39.5")
    one = found(tmp_path / "home", sandbox=False)["git"]
    assert one.state == MISSING and "git hash-object" in one.detail and one.advice


def test_i2_a_bubblewrap_that_isolates_nothing_is_noticed(
    tmp_path: Path, programs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = 'if [ "$1" = --version ]; then echo bubblewrap 0.9.0; else echo no namespaces today >&2; exit 1; fi'
    shadowed(monkeypatch, programs, "bwrap", text)
    one = found(tmp_path / "home")["sandbox"]
    assert one.state == MISSING and "no namespaces today" in one.detail and one.advice


def test_i2_a_helper_that_is_not_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(init_protocol, "PROGRAM", tmp_path / "proctor-init")
    one = found(tmp_path / "home", sandbox=False)["helper program"]
    assert one.state == MISSING and "not built" in one.detail and "compiler" not in one.detail
    monkeypatch.setenv("PATH", str(tmp_path))
    one = found(tmp_path / "home", sandbox=False)["helper program"]
    assert "no C compiler" in one.detail and "gcc" in one.advice


def _empty(path: Path) -> None:
    path.write_bytes(b"")
    path.chmod(0o755)


def _cut(path: Path) -> None:
    path.write_bytes(init_protocol.PROGRAM.read_bytes()[:2000])
    path.chmod(0o755)


@pytest.mark.parametrize("make", [_empty, _cut, lambda path: program(path, "exit 0")], ids=["empty", "cut", "another"])
def test_i2_a_helper_that_does_not_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make: Callable[[Path], None]
) -> None:
    make(tmp_path / "proctor-init")
    monkeypatch.setattr(init_protocol, "PROGRAM", tmp_path / "proctor-init")
    one = found(tmp_path / "home", sandbox=False)["helper program"]
    assert one.state == MISSING and one.detail and one.advice


def test_i2_a_home_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    one = found(tmp_path / "file" / "home")["home"]
    assert one.state == MISSING and "PROCTOR_HOME" in one.advice
    assert found(tmp_path / "file" / "home")["git"].state == OK, "the other parts are still looked at"


def test_i2_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert room_problem(Home(tmp_path)) == ""
    monkeypatch.setattr(requirements, "LEAST_FREE_BYTES", 1 << 62)
    one = found(tmp_path)["home"]
    assert one.state == MISSING and "MiB are free" in one.detail and "free some space" in one.advice


def test_i2_a_root_without_any_tool_chain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_facts, "TOOLS", ("no-such-tool",))
    assert found(tmp_path)["tool chain"].state == MISSING
    monkeypatch.setattr(host_facts, "TOOLS", ("git",))
    one = found(tmp_path)["tool chain"]
    assert one.state == requirements.REDUCED and "python3" in one.detail


def test_i2_what_was_mended_is_noticed(tmp_path: Path, programs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = shutil.which("bwrap")
    shadowed(monkeypatch, programs, "bwrap", "exit 1")
    assert found(tmp_path / "home")["sandbox"].state == MISSING
    program(programs / "bwrap", f'exec {real} "$@"')
    assert found(tmp_path / "home")["sandbox"].state == OK
