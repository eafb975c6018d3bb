"""Programs of the harness's own are bounded in time and output and see only what they are given."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from proctor.base.errors import InfrastructureFault
from proctor.base.process import run

ENVIRONMENT = {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "LC_ALL": "C"}


def test_output_and_exit_code() -> None:
    done = run(["sh", "-c", "echo out; echo err >&2; exit 3"], environment=ENVIRONMENT)
    assert (done.exit_code, done.stdout, done.stderr) == (3, b"out\n", b"err\n")


def test_a_signal_is_a_negative_exit_code() -> None:
    assert run(["sh", "-c", "kill -KILL $$"], environment=ENVIRONMENT).exit_code == -9


def test_only_the_given_environment_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET", "x")
    done = run(["/usr/bin/env"], environment={"ONLY": "this"})
    assert done.stdout == b"ONLY=this\n"


def test_the_directory_is_the_given_one(tmp_path: Path) -> None:
    assert run(["pwd"], environment=ENVIRONMENT, directory=tmp_path).stdout == os.fsencode(tmp_path.resolve()) + b"\n"


def test_arguments_may_be_any_bytes(tmp_path: Path) -> None:
    done = run(["printf", "%s|", b"\xff\n", tmp_path, "é"], environment=ENVIRONMENT)
    assert done.stdout == b"\xff\n|" + os.fsencode(tmp_path) + b"|" + "é".encode() + b"|"


def test_much_goes_in_and_out_at_once() -> None:
    data = bytes(range(256)) * 8192
    assert run(["cat"], environment=ENVIRONMENT, stdin=data).stdout == data


def test_both_outputs_are_drained() -> None:
    script = "head -c 3000000 /dev/zero; head -c 3000000 /dev/zero >&2"
    done = run(["sh", "-c", script], environment=ENVIRONMENT)
    assert (len(done.stdout), len(done.stderr)) == (3_000_000, 3_000_000)


def test_without_input_there_is_an_end_of_file() -> None:
    assert run(["cat"], environment=ENVIRONMENT).stdout == b""


def test_a_program_that_does_not_read_its_input() -> None:
    done = run(["true"], environment=ENVIRONMENT, stdin=b"x" * 5_000_000)
    assert done.exit_code == 0


def test_a_missing_program() -> None:
    with pytest.raises(InfrastructureFault, match="no-such-program is not installed"):
        run(["no-such-program"], environment=ENVIRONMENT)


def test_too_much_output() -> None:
    with pytest.raises(InfrastructureFault, match="cat printed more than 1000 bytes"):
        run(["cat", "/dev/zero"], environment=ENVIRONMENT, output_bytes=1000)
    with pytest.raises(InfrastructureFault, match="printed more than"):
        run(["sh", "-c", "cat /dev/zero >&2"], environment=ENVIRONMENT, output_bytes=1000)


def test_a_timeout_ends_everything_that_was_started(tmp_path: Path) -> None:
    script = f"sleep 600 & echo $! > {tmp_path}/pid.new && mv {tmp_path}/pid.new {tmp_path}/pid; wait"
    with pytest.raises(InfrastructureFault, match="sh took more than 3 s"):
        run(["sh", "-c", script], environment=ENVIRONMENT, timeout_seconds=3)
    if (tmp_path / "pid").exists():
        assert gone(int((tmp_path / "pid").read_text()))


def test_a_program_that_left_a_child_behind_holding_its_output() -> None:
    with pytest.raises(InfrastructureFault, match="took more than"):
        run(["sh", "-c", "sleep 600 &"], environment=ENVIRONMENT, timeout_seconds=2)


def gone(process: int) -> bool:
    """Whether a killed process is gone, or only waits to be reaped."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return True
        if state in "ZX":
            return True
        time.sleep(0.02)
    return False


def test_a_program_that_closes_its_outputs_and_lives_on_runs_out_of_time() -> None:
    with pytest.raises(InfrastructureFault, match="took more than"):
        run(["/bin/sh", "-c", "exec >&- 2>&-; sleep 1000"], environment={}, timeout_seconds=1)


def test_a_file_that_cannot_be_executed_is_one_message(tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("text")
    with pytest.raises(InfrastructureFault, match="cannot be run"):
        run([tmp_path / "plain"], environment={})
