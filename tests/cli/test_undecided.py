"""A machine that cannot judge gives exit code 3 in every command, with the cause, and never a negative verdict."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.study.pilot.live import planned, write_pilot

Proctor = Callable[..., subprocess.CompletedProcess[str]]

NO_PROGRAM = {"id": "adds", "gate": "acceptance", "run": ["/usr/bin/no-such-runner"], "timeout_seconds": 60}


@pytest.fixture
def programs() -> Iterator[Path]:
    """A directory for programs that every user may enter, and where sandboxes can start them from."""
    path = Path(tempfile.mkdtemp(prefix="proctor-test-", dir="/var/tmp"))
    path.chmod(0o755)
    yield path
    shutil.rmtree(path)


def without(place: Path, name: str) -> str:
    """A ``PATH`` with links to every program of this machine but one."""
    for directory in ("/usr/bin", "/bin", "/usr/local/bin"):
        for path in Path(directory).iterdir() if Path(directory).is_dir() else ():
            link = place / path.name
            if path.name != name and not link.is_symlink():
                link.symlink_to(path)
    return str(place)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        pytest.param("git", "git is not installed", marks=pytest.mark.soak),
        ("bwrap", "bubblewrap is not installed"),
    ],
)
def test_i2_without_a_program_nothing_is_begun(
    proctor: Proctor, make_contract: Any, tmp_path: Path, programs: Path, name: str, says: str
) -> None:
    contract = make_contract()
    assert proctor("run", contract, "--agent", "reference").returncode == 0
    runs = tmp_path / "home" / "runs"
    done = {path.name for path in runs.iterdir()}
    pilot = write_pilot(tmp_path, [contract, make_contract("second")])
    planned(proctor, pilot)
    path = without(programs, name)
    for arguments in (
        ("doctor",),
        ("demo",),
        ("demo", "--json"),
        ("validate", contract),
        ("validate", contract, "--json"),
        ("validate", contract, "--flakes", "2"),
        ("validate", contract, "--derive"),
        ("run", contract, "--agent", "noop"),
        ("run", contract, "--agent", "noop", "--agent", "reference", "-n", "3", "--jobs", "2", "--json"),
        ("strength", contract),
        ("replay", "last", "--acceptance"),
        ("pilot", "run", pilot),
    ):
        said = proctor(*arguments, PATH=path)
        assert said.returncode == 3, (arguments, said.stdout, said.stderr)
        whole = said.stdout + said.stderr
        assert says in whole and "apt-get install" in whole, arguments
        assert "not valid" not in whole and "Traceback" not in whole, arguments
    assert {path.name for path in runs.iterdir()} == done, "nothing was begun"
    for arguments in (("show", "last"), ("verify", "last"), ("rescore", "last"), ("trace", "last"), ("runs",)):
        assert proctor(*arguments, PATH=path).returncode == 0, "records can be read anywhere"


def test_i2_a_git_that_applies_nothing_is_no_verdict(proctor: Proctor, make_contract: Any, programs: Path) -> None:
    path = without(programs, "git")
    (programs / "git").write_text('#!/bin/sh\ncase " $* " in *" apply "*) exit 128;; esac\nexec /usr/bin/git "$@"\n')
    (programs / "git").chmod(0o755)
    said = proctor("run", make_contract(), "--agent", "reference", PATH=path)
    assert said.returncode == 3, said.stdout + said.stderr
    assert "git apply does not work on this machine (exit code 128)" in said.stderr


def test_i2_a_check_that_cannot_start_here_is_no_verdict(proctor: Proctor, make_contract: Any, tmp_path: Path) -> None:
    contract = make_contract(checks=[NO_PROGRAM])
    for arguments in (
        ("validate", contract),
        ("validate", contract, "--flakes", "2"),
        ("validate", contract, "--derive", "--write"),
        ("run", contract, "--agent", "noop"),
        ("strength", contract),
    ):
        said = proctor(*arguments)
        assert said.returncode == 3, (arguments, said.stdout, said.stderr)
        assert "no verdict, because of this machine" in said.stderr, arguments
        assert "could-not-start" in said.stderr and "proctor doctor" in said.stderr, arguments
        assert "not valid" not in said.stdout, arguments
    pilot = write_pilot(tmp_path, [contract, make_contract("second")])
    planned(proctor, pilot)
    assert proctor("pilot", "run", pilot).returncode == 3


def test_i2_verdicts_beside_faults_of_the_machine(proctor: Proctor, make_contract: Any) -> None:
    """The largest exit code counts: what could not be judged comes before what was judged as wrong."""
    good, broken = make_contract("good"), make_contract("broken", checks=[NO_PROGRAM])
    wrong = make_contract("wrong", checks=[{**NO_PROGRAM, "run": ["/bin/true"]}])
    said = json.loads(proctor("validate", good, broken, "--times", "1", "--json").stdout)
    assert said["valid"] is None and said["undecided"] == 2
    mixed = proctor("validate", good, broken, wrong, "--times", "1", "--json")
    assert mixed.returncode == 3 and json.loads(mixed.stdout)["valid"] is False
    told = proctor("validate", good, broken, "--times", "1")
    assert told.stdout.splitlines()[-1] == "undecided: 2 runs got no verdict on this machine"
    assert proctor("validate", wrong, "--times", "1").returncode == 1
    assert proctor("validate", good, "--times", "1").returncode == 0
    assert proctor("run", good, broken, "--agent", "noop").returncode == 3
    assert proctor("run", good, "--agent", "noop").returncode == 1


def failing_later(place: Path, works: int) -> None:
    """A bubblewrap that brings up ``works`` sandboxes and none after that."""
    log = place / "count"
    log.write_text("")
    log.chmod(0o666)
    script = place / "bwrap"
    script.write_text(
        f'#!/bin/sh\n[ "$1" = --version ] && exec /usr/bin/bwrap --version\necho >> {log}\n'
        f"[ $(wc -l < {log}) -gt {works} ] && {{ echo the machine gave up >&2; exit 1; }}\n"
        'exec /usr/bin/bwrap "$@"\n'
    )
    script.chmod(0o755)


@pytest.mark.parametrize("works", [1, 2, 4])
def test_i2_a_machine_that_breaks_on_the_way(
    proctor: Proctor, make_contract: Any, tmp_path: Path, programs: Path, works: int
) -> None:
    contract = make_contract()
    for arguments in (("validate", contract), ("demo",)):
        failing_later(programs, works)
        shutil.rmtree(tmp_path / "home", ignore_errors=True)
        said = proctor(*arguments, PATH=f"{programs}:{os.environ['PATH']}")
        assert said.returncode == 3, (arguments, said.stdout, said.stderr)
        assert "the machine gave up" in said.stderr
        assert "not valid" not in said.stdout and "not the expected result" not in said.stderr


def test_i2_a_replay_on_a_machine_that_breaks(proctor: Proctor, make_contract: Any, programs: Path) -> None:
    contract = make_contract()
    assert proctor("run", contract, "--agent", "reference").returncode == 0
    failing_later(programs, 1)
    said = proctor("replay", "last", "--acceptance", PATH=f"{programs}:{os.environ['PATH']}")
    assert said.returncode == 3 and "the machine gave up" in said.stderr
    assert "DIFFERENT" not in said.stdout
