"""Any program as an agent: one command line, run in the sandbox with the workspace as its directory.

The program finds the briefing on its standard input and in the file that ``PROCTOR_BRIEFING`` names. Its exit code
decides nothing; what it left in the workspace does. An endpoint agent also gets the address, key and name of a model:
in the variables that clients of the four dialects read, in ``PROCTOR_*`` variables, and in place of ``{url}``,
``{key}``, ``{model}`` and ``{briefing}`` in its command line.

Files that an agent brings along are copied into a layer whose key is the digest of their content, and are shown
read-only at ``/agent``. ``.git`` is not copied. The digest does not cover empty directories and permissions other than
the executable bit.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from proctor.base.canonical import digest
from proctor.base.errors import UsageFault
from proctor.base.untrusted_directories import in_reach
from proctor.execute.agents.interface import (
    BRIEFING,
    FILES_CONTENT,
    AgentContext,
    AgentDescription,
    AgentFiles,
    AgentRequest,
    Ending,
    ModelAccess,
)
from proctor.execute.sandbox.interface import Command, Mount
from proctor.execute.workspace.file_tree import scan_tree, tree_digest
from proctor.execute.workspace.layer_store import DamagedLayer, LayerStore, held

NAME_CHARACTERS = 200
"""How much of a name a message shows."""


def copied_files(request: AgentRequest) -> AgentFiles | None:
    """A verified copy of the files that ``request`` names; ``None`` if it names none."""
    if request.files is None:
        return None
    return copy_directory(request.files, request.copied_to, {} if request.copies is None else request.copies)


def copy_directory(directory: Path, copied_to: Path | None, copies: dict[Path, AgentFiles]) -> AgentFiles:
    """A verified copy of ``directory`` below ``copied_to``; ``copies`` are those that were made before."""
    if not directory.is_dir():
        raise UsageFault("the agent's files must be a directory", where=str(directory))
    if copied_to is None:
        raise UsageFault("an agent with files cannot be used here", where=str(directory))
    source = directory.resolve()
    if copied_to.resolve().is_relative_to(source):
        raise UsageFault("the agent's files and Proctor's home overlap", where=str(directory))
    store = LayerStore(copied_to)
    if source not in copies:
        copies[source] = _copied(source, store)
    return AgentFiles(copies[source].digest, store.verify(copies[source].layer))


def _copied(source: Path, store: LayerStore) -> AgentFiles:
    try:
        found = scan_tree(source, open_up=False)
    except OSError as error:
        name = os.fsdecode(error.filename or source.name)
        raise UsageFault(f"the agent's files cannot be read: {name}: {error.strerror}", where=str(source)) from None
    if found.special:
        name = found.special[0].decode("utf-8", "backslashreplace")
        problem = "something that is not a file" if in_reach(found.special[0]) else "a path that is too long"
        raise UsageFault(f"the agent's files contain {problem}: {name[:NAME_CHARACTERS]}", where=str(source))
    digest = tree_digest(found.entries)

    def copy(content: Path) -> Mapping[str, Any]:
        _copy(source, content / FILES_CONTENT)
        if tree_digest(scan_tree(content / FILES_CONTENT).entries) != digest:
            raise UsageFault("the agent's files changed while they were copied", where=str(source), hint="try again")
        return {}

    layer = store.make(f"files-{digest.removeprefix('sha256:')}", copy)
    if tree_digest(scan_tree(layer.path / FILES_CONTENT).entries) != digest:  # changed between the copy and the seal
        hint = "remove this layer's directory; it is made again when it is needed"
        raise DamagedLayer("the copy of the agent's files was changed", where=str(layer.path), hint=hint)
    return AgentFiles(digest, layer)


def _copy(source: Path, target: Path) -> None:
    """Copy a tree without its ``.git``, links as links."""
    try:
        shutil.copytree(source, target, symlinks=True, ignore=shutil.ignore_patterns(".git"))
    except shutil.Error as error:
        raise UsageFault(f"the agent's files cannot be copied: {error.args[0][0][2]}", where=str(source)) from None
    target.chmod(0o755)


KEPT_OUTPUT_BYTES = 1 << 20
INTERPRETER = re.compile(r"(?:python|pypy|node|bun|ruby|perl|php|lua|Rscript|(?:ba|da|z|k)?sh)[0-9.]*")
_HARMLESS_OPTIONS = ("-u", "-I", "-B", "-E", "-s")
"""Options of interpreters that may come before the script."""


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

    def act(self, scene: AgentContext) -> Ending:
        return self.run(scene, self._arguments, {})

    def run(self, scene: AgentContext, arguments: tuple[str, ...], variables: Mapping[str, str]) -> Ending:
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


class EndpointAgent(CommandAgent):
    """Runs one command line that talks to a model."""

    model = ""

    @classmethod
    def from_request(cls, request: AgentRequest) -> EndpointAgent:
        made = cls(requested_command(request, "--agent 'endpoint:PROGRAM ARGUMENTS'"), copied_files(request))
        if not request.model:
            raise UsageFault("the endpoint agent needs a model", hint="use --model PROVIDER/NAME")
        made.model = request.model
        return made

    def describe(self) -> AgentDescription:
        found = super().describe()
        return replace(
            found,
            name=found.name.replace("command:", "endpoint:", 1),
            kind="endpoint",
            digest=digest({"command": found.digest, "model": self.model}),
            settings={"model": self.model},
        )

    def act(self, scene: AgentContext) -> Ending:
        if scene.model is None:
            raise UsageFault("the endpoint agent needs a model", hint="use --model PROVIDER/NAME")
        return self.run(scene, filled(self._arguments, scene.model), model_variables(scene.model))


def filled(arguments: tuple[str, ...], model: ModelAccess) -> tuple[str, ...]:
    """``arguments`` with what is known of the model in their places."""
    places = {"{url}": model.address, "{key}": model.key, "{model}": model.name, "{briefing}": BRIEFING}

    def fill(argument: str) -> str:
        for place, value in places.items():
            argument = argument.replace(place, value)
        return argument

    return tuple(map(fill, arguments))


def model_variables(model: ModelAccess) -> dict[str, str]:
    """The variables in which clients look for address, key and model."""
    return {
        "PROCTOR_MODEL_URL": model.address,
        "PROCTOR_MODEL_KEY": model.key,
        "PROCTOR_MODEL": model.name,
        "OPENAI_BASE_URL": f"{model.address}/v1",
        "OPENAI_API_BASE": f"{model.address}/v1",
        "OPENAI_API_KEY": model.key,
        "OPENAI_MODEL": model.name,
        "ANTHROPIC_BASE_URL": model.address,
        "ANTHROPIC_API_KEY": model.key,
        "GOOGLE_GEMINI_BASE_URL": model.address,
        "GEMINI_API_KEY": model.key,
    }
