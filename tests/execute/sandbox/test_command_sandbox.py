"""Sandboxes of packages: what opens them on the host is out of the agent's reach, and their errors name the package."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from proctor.base.entry_points import PlugIns, not_callable
from proctor.base.errors import InfrastructureFault
from proctor.execute.sandbox.checked_sandbox import CheckedBackend
from proctor.execute.sandbox.command_sandbox import CommandSandbox
from proctor.execute.sandbox.interface import Command, Limits, Mount, SandboxPlan, Tree

TABLE: PlugIns[Any] = PlugIns("proctor.sandboxes", "sandbox", ("host",), not_callable)
PLAIN = {"PATH": "/usr/bin:/bin"}


class Open(CommandSandbox):
    """Runs commands on the host, through a shell that says what it finds in its own environment."""

    outer = "tr '\\0' '\\n' < /proc/self/environ > {seen}; exec \"$@\""

    def command_line(self, command: Command) -> Sequence[str]:
        assert isinstance(self.plan.workspace, Tree)
        script = self.outer.format(seen=self.plan.workspace.path / "seen")
        return ["/bin/sh", "-c", script, "sh", *command.arguments]


@pytest.fixture
def plan(tmp_path: Path) -> SandboxPlan:
    return SandboxPlan(Tree(tmp_path), Limits())


def test_an_agent_does_not_choose_the_loader_s_variables_on_the_host(plan: SandboxPlan, tmp_path: Path) -> None:
    chosen = {"LD_PRELOAD": "/workspace/agent.so", "ENV": "/workspace/x", "PATH": "/usr/bin:/bin", "ODD": "a\nb='$c\""}
    with Open(plan) as sandbox:
        done = sandbox.run(Command(("/usr/bin/env", "-0"), chosen))
    inside = dict(one.split("=", 1) for one in done.stdout.prefix.decode().split("\0") if one)
    assert inside == chosen
    outside = [line for line in (tmp_path / "seen").read_text().splitlines() if "=" in line]
    names = {line.partition("=")[0] for line in outside}
    assert not names & set(chosen) - {"PATH"}, names
    assert not any(line.startswith("PATH=/usr/bin:/bin") for line in outside)


def test_the_command_gets_its_arguments_and_nothing_else(plan: SandboxPlan, tmp_path: Path) -> None:
    odd = tmp_path / "a=b"
    odd.write_text("#!/bin/sh\nprintf '%s|' \"$@\"\n")
    odd.chmod(0o755)
    arguments = ("", "-i", "--", "$HOME", "a'b\"c", "two words")
    with Open(plan) as sandbox:
        for program in (("/usr/bin/printf", "%s|"), (str(odd),)):
            done = sandbox.run(Command((*program, *arguments), PLAIN))
            assert done.stdout.prefix.decode() == "".join(f"{one}|" for one in arguments), done
        assert sandbox.run(Command(("no-such-program",), PLAIN)).exit_code == 127
        (tmp_path / "tool").symlink_to("/bin/echo")
        assert sandbox.run(Command(("tool", "x"), {"PATH": str(tmp_path)})).stdout.prefix == b"x\n"


class Backend:
    name, watched = "acme-box", False

    def __init__(self, opened: Any) -> None:
        self._opened = opened

    def identity(self) -> dict[str, str]:
        return {"kind": "acme-box"}

    isolation = identity

    def overlays(self) -> bool:
        return False

    def missing(self, require: tuple[str, ...]) -> tuple[str, ...]:
        return ()

    def open(self, plan: SandboxPlan) -> Any:
        return self._opened(plan)


class Broken(Open):
    outer = "echo 'the wrapper broke' >&2; exit 1"


class Absent(Open):
    def command_line(self, command: Command) -> Sequence[str]:
        return ["/no/such/wrapper"]


class Raising(Open):
    def command_line(self, command: Command) -> Sequence[str]:
        raise ValueError("no line")


@pytest.mark.parametrize(
    ("opened", "says"),
    [
        (Broken, "a first command in it ended with exit code 1: the wrapper broke"),
        (Absent, "no command can be started in it: No such file or directory"),
        (Raising, "ValueError: no line"),
        (lambda plan: None, "open() returns a NoneType, which has no method run()"),
    ],
)
def test_a_sandbox_that_cannot_run_anything_is_a_fault_before_the_agent_acts(
    plan: SandboxPlan, opened: Any, says: str
) -> None:
    with pytest.raises(InfrastructureFault) as fault:
        CheckedBackend(Backend(opened), TABLE).open(plan)
    assert fault.value.message.endswith(f"failed: {says}") and "the sandbox 'acme-box'" in fault.value.message


def test_a_sandbox_that_does_not_show_a_mount_is_a_fault(plan: SandboxPlan, tmp_path: Path) -> None:
    shown = SandboxPlan(plan.workspace, plan.limits, (Mount(tmp_path, "/no/such/place"),))
    with pytest.raises(InfrastructureFault, match="it does not show /"):
        CheckedBackend(Backend(Open), TABLE).open(shown)


class Later(Open):
    """Fails after its first command."""

    def command_line(self, command: Command) -> Sequence[str]:
        return ["/usr/bin/printf", "ready"]

    def usage(self) -> Any:
        return 7

    def close(self) -> None:
        super().close()
        os.stat("/no/such/file")


def test_what_fails_later_names_the_package_too(plan: SandboxPlan) -> None:
    sandbox = CheckedBackend(Backend(Later), TABLE).open(plan)
    assert sandbox.alive and sandbox.run(Command(("x",))).exit_code == 0
    with pytest.raises(InfrastructureFault, match=r"usage\(\) of a sandbox returns a int, not Usage"):
        sandbox.usage()
