"""What ``--resume`` takes up, and what it does not: batches that run, agents that changed, other commands' batches."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from proctor.base.errors import UsageFault
from proctor.conduct.batch.batch_record import batch_lock
from proctor.execute.proctor_home import Home
from tests.beside import PATIENCE_SECONDS, started, traces_hold, wait_until
from tests.conduct.live import Proctor


@contextmanager
def running(contract: Path, home: Path, agent: str, sign: str) -> Iterator[subprocess.Popen[str]]:
    """A batch, once its first run shows a ``sign`` of where it is."""
    with started(home, "run", contract, "--agent", agent) as child:
        wait_until(lambda: traces_hold(home, sign), child)
        yield child


def test_a_batch_that_runs_is_not_run_a_second_time(proctor: Proctor, make_contract: Any, tmp_path: Path) -> None:
    home = tmp_path / "home"
    with running(make_contract(), home, "command:sleep 1000", "guard.exec") as child:
        (batch,) = home.glob("batches/*.json")
        for arguments in ((), ("--batch", batch.stem)):
            refused = proctor("run", "--resume", *arguments)
            assert refused.returncode == 2
            assert f"batch {batch.stem} is still running (pid {child.pid})" in refused.stderr
    assert len(list(home.glob("runs/*"))) == 1, "and nothing was begun"


def test_the_lock_of_a_batch_dies_with_its_process_and_is_gone_afterwards(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.create()
    (home.batches / "one.lock").write_text("12345")
    with batch_lock(home, "one"):
        assert (home.batches / "one.lock").read_text() == str(os.getpid())
        with pytest.raises(UsageFault, match=rf"still running \(pid {os.getpid()}\)"), batch_lock(home, "one"):
            pass
        with batch_lock(home, "other"):
            pass
    assert list(home.batches.iterdir()) == []


def test_a_changed_agent_is_not_taken_up(proctor: Proctor, make_contract: Any, tmp_path: Path) -> None:
    files = tmp_path / "agent"
    files.mkdir()
    (files / "act").write_text("true\n")
    agent = ("--agent", "command:sh /agent/act", "--agent-files", files)
    done = proctor("run", make_contract(), *agent, "--json")
    (row,) = json.loads(done.stdout)["runs"]
    (Path(row["evidence"]) / "seal.json").unlink()
    (files / "act").write_text("sed -i s/-/+/ calc.py\n")
    changed = proctor("run", "--resume")
    assert changed.returncode == 2
    assert "command:sh /agent/act: the agent has changed since the batch began" in changed.stderr
    (files / "act").write_text("true\n")
    assert len(json.loads(proctor("run", "--resume", "--json").stdout)["runs"]) == 1


def test_resume_means_the_newest_batch_with_runs_left(proctor: Proctor, make_contract: Any) -> None:
    contract = make_contract()
    cut = json.loads(proctor("run", contract, "--agent", "noop", "--json").stdout)
    (Path(cut["runs"][0]["evidence"]) / "seal.json").unlink()
    proctor("run", contract, "--agent", "reference")
    assert proctor("validate", contract, "--times", "1").returncode == 0
    assert json.loads(proctor("run", "--resume", "--json").stdout)["batch"] == cut["batch"]
    done = proctor("run", "--resume", "--json")
    answer = json.loads(done.stdout)
    assert done.returncode == 0, "nothing is left anywhere: the newest one, whose runs were all a success"
    assert (answer["runs"], [row["status"] for row in answer["earlier"]]) == ([], ["success"])


def test_a_second_interrupt_leaves_at_once_and_says_how_to_go_on(
    proctor: Proctor, make_contract: Any, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    slow = {"id": "slow", "gate": "acceptance", "run": ["/bin/sleep", "1000"], "timeout_seconds": 1000}
    with running(make_contract(checks=[slow]), home, "noop", "patch.extracted") as child:
        (batch,) = home.glob("batches/*.json")
        child.send_signal(signal.SIGTERM)
        assert child.stderr is not None and any("stopping" in line for line in child.stderr)
        child.send_signal(signal.SIGTERM)
        _, errors = child.communicate(timeout=PATIENCE_SECONDS)
        assert child.returncode == -signal.SIGINT, errors  # a shell reports 130
        assert f"to run the rest: proctor run --resume --batch {batch.stem}" in errors
    assert proctor("clean").returncode == 0
