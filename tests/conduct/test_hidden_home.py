"""A home and a contract that lie in the host's system, which every sandbox shows, are not to be seen there."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

Proctor = Callable[..., subprocess.CompletedProcess[str]]
SHOWN = "/usr/local"


@pytest.fixture
def place() -> Iterator[Path]:
    """A directory below ``/usr``; for an ordinary user, who cannot make one there, one that is not shown at all."""
    path = Path(tempfile.mkdtemp(prefix="proctor-test-", dir=SHOWN if os.access(SHOWN, os.W_OK) else None))
    path.chmod(0o755)
    yield path
    shutil.rmtree(path)


def test_setup_agent_and_checks_see_neither_home_nor_contract(
    proctor: Proctor, make_contract: Any, place: Path
) -> None:
    make_contract.directory = place / "contracts"
    home, contract = place / "home", place / "contracts" / "small"
    hidden = [contract / "fix.patch", home / "runs", home / "layers"]
    look = " && ".join(f"test ! -e {shlex.quote(str(path))}" for path in hidden)
    check = {**make_contract.CHECK, "run": f"{look} && python3 -c 'import calc; assert calc.add(2, 2) == 4'"}
    contract = make_contract("small", setup=[{"run": f"{look} && test -x /usr/bin/python3"}], checks=[check])
    agent = f"command:sh -c {shlex.quote(look + ' && sed -i s/a.-.b/a+b/ calc.py')}"
    done = proctor("run", contract, "--agent", agent, PROCTOR_HOME=str(home))
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_table_of_mounts_tells_nothing_of_layers_and_canaries(
    proctor: Proctor, make_contract: Any, tmp_path: Path
) -> None:
    contract = make_contract(policy={"canaries": True})
    done = proctor("run", contract, "--agent", "command:cat /proc/self/mountinfo", "--json")
    (row,) = json.loads(done.stdout)["runs"]
    table = proctor("show", row["run"], "--output").stdout
    assert " /workspace " in table
    assert "canar" not in table and ".ssh" not in table
    assert str(tmp_path / "home" / "layers") not in table
