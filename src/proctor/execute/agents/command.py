"""Any program as an agent: one command line, run in the sandbox with the workspace as its directory.

The program finds the briefing on its standard input and in the file that ``PROCTOR_BRIEFING`` names; files that it
brings along are shown read-only at ``/agent``. Its exit code does not decide anything: what it left in the workspace
does.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from pathlib import Path

from proctor.base.canonical import digest
from proctor.base.errors import UsageFault
from proctor.execute.agents.files import copied_files
from proctor.execute.agents.interface import BRIEFING, AgentDescription, AgentFiles, AgentRequest, Ending, Scene
from proctor.execute.sandbox.interface import Command, Mount
from proctor.execute.workspace.store import held

KEPT_OUTPUT_BYTES = 1 << 20
INTERPRETER = re.compile(r"(?:python|pypy|node|bun|ruby|perl|php|lua|Rscript|(?:ba|da|z|k)?sh)[0-9.]*")
_HARMLESS_OPTIONS = ("-u", "-I", "-B", "-E", "-s")
"""Options of interpreters that may stand before the script."""


def requested_command(request: AgentRequest, example: str) -> tuple[str, ...]:
    """The command line that was asked for."""
    try:
        arguments = tuple(shlex.split(request.argument))
    except ValueError as error:
        raise UsageFault(f"the agent's command line cannot be read: {error}", where=request.argument) from None
    if not arguments:
        raise UsageFault(f"the {request.kind} agent needs a command line", hint=f"use {example}")
    return arguments


def program_of(arguments: tuple[str, ...]) -> str:
    """What a command line is called for short: its program, or the script that an interpreter is given."""
    program = Path(arguments[0]).name
    given = [argument for argument in arguments[1:] if argument not in _HARMLESS_OPTIONS]
    if INTERPRETER.fullmatch(program) and given and not given[0].startswith("-"):
        return Path(given[0]).name or program
    return program


class CommandAgent:
    """Runs one command line and waits for its end."""

    needs_sandbox = True

    def __init__(self, arguments: tuple[str, ...], files: AgentFiles | None = None) -> None:
        self._arguments = arguments
        self._files = files

    @classmethod
    def from_request(cls, request: AgentRequest) -> CommandAgent:
        return cls(requested_command(request, "--agent 'command:python3 fix.py'"), copied_files(request))

    def describe(self) -> AgentDescription:
        files = self._files.digest if self._files else ""
        return AgentDescription(
            name=f"command:{program_of(self._arguments)}",
            kind="command",
            command=self._arguments,
            digest=digest({"command": list(self._arguments), "files": files}),
        )

    def mounts(self) -> tuple[Mount, ...]:
        return self._files.mounts() if self._files else ()

    def act(self, scene: Scene) -> Ending:
        return self.run(scene, self._arguments, {})

    def run(self, scene: Scene, arguments: tuple[str, ...], variables: Mapping[str, str]) -> Ending:
        """Run one command line with ``variables`` beside those of the scene, to its end."""
        command = Command(
            arguments=arguments,
            environment={**scene.environment, **variables, "PROCTOR_BRIEFING": BRIEFING},
            stdin=scene.briefing.encode(),
            timeout_seconds=max(0.001, scene.seconds_left()),
            output_bytes=min(KEPT_OUTPUT_BYTES, scene.contract.budget.output_bytes),
        )
        with held(self._files.layer if self._files else None):
            finished = scene.run(command)
        if not finished.started:
            return Ending("not-started", problem=finished.problem)
        if finished.timed_out:
            return Ending("timed-out", finished.exit_code)
        return Ending("finished" if finished.exit_code == 0 else "failed", finished.exit_code)
