"""Replay the first half of a run command by command: recorded commands and differences, without a model.

The commands run in order in one fresh sandbox of the run's own kind. A plain program does everything itself, so what it
prints, starts and leaves must be as recorded. For any other agent, files that it wrote by itself between its commands
are written from the recorded differences before each command that came after them; a file that is then neither in its
old nor in its new state is a divergence, and so is another exit code. In the end the workspace must hold the recorded
changes and no others. The first divergence is named; there is no network here, and no secrets are planted.

The output of a command is compared as well, if it was recorded. A difference that may decide is checked in a second
sandbox: if the output is the same there, it is stable, and not as recorded. Any other difference is a notice. Commands
without a recorded output are counted.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from proctor.base.dataclass_fields import EMPTY
from proctor.base.errors import UsageFault
from proctor.base.files import write_whole
from proctor.base.reversible_escapes import name_bytes, name_text
from proctor.conduct.briefing import variables_of
from proctor.conduct.machine_setup import Machine
from proctor.conduct.replay.acceptance_replay import as_recorded
from proctor.conduct.replay.command_divergence import (
    CommandReplay,
    Printed,
    other_ending,
    other_program,
    outputs_of,
    settled,
)
from proctor.conduct.replay.output_comparison import LATE, NO_NUMBERS
from proctor.conduct.replay.recorded_commands import (
    Program,
    RecordedChange,
    RecordedCommand,
    State,
    hidden_words,
    is_plain,
    observed_programs,
    own_programs,
    recorded_commands,
    recorded_programs,
    recorded_steps,
    same_programs,
)
from proctor.execute.agents.interface import BRIEFING, Agent
from proctor.execute.monitor.sensors.text_hunks import text_after
from proctor.execute.prepare import PreparedBase, declared_mounts, limits_of, secret_directories
from proctor.execute.sandbox.guard_observations import GuardPlan, Observation
from proctor.execute.sandbox.interface import Command, Mount, Sandbox, SandboxPlan
from proctor.execute.workspace.patch import PatchProblem, apply_patch
from proctor.execute.workspace.workspace import Workspace, base_stack
from proctor.judge.patch_policy.excluded_paths import ExcludedPaths, exclude_paths
from proctor.judge.run_evidence import Evidence
from proctor.record.run_directory import RunDirectory

LEAST_SECONDS = 10
PATIENCE = 10
"""How many times as long as recorded a command may take."""

SEEN_NS = 5 * 10**9
"""After that time every change has been seen: the workspace is looked at about once a second."""

OUTPUT_BYTES = 1 << 20
BLOB_BYTES = 64 << 20


@dataclass(frozen=True)
class Script:
    """What is run again: the commands of a run on its prepared contract."""

    prepared: PreparedBase
    evidence: Evidence
    commands: tuple[RecordedCommand, ...]
    briefing: str
    shown: Callable[[Any], Any]
    """Replaces secrets in new observations by the placeholders of the redacted run."""
    variables: Mapping[str, str] = field(default_factory=dict)


def replay_commands(
    machine: Machine, prepared: PreparedBase, evidence: Evidence, agent: Agent, run: RunDirectory
) -> CommandReplay:
    """Run the recorded commands of ``run`` again, with the files and the variables that ``agent`` brings along."""
    commands = recorded_commands(evidence, lambda name: run.read(run.blobs / name, BLOB_BYTES))
    has_model = bool(evidence.manifest["configuration"].get("model"))
    if not commands and not has_model:
        raise UsageFault("the run recorded no command", where=run.path.name, hint="--acceptance judges its patch")
    hidden = "" if is_plain(evidence) else hidden_words(evidence, commands)
    if hidden:
        hint = "--acceptance judges its patch again"
        raise UsageFault("the call contained a secret, which is not recorded", where=hidden[:200], hint=hint)
    briefing = next((str(event.payload["text"]) for event in evidence.of("briefing")), "")
    variables: Mapping[str, str] = getattr(agent, "variables", EMPTY)
    script = Script(
        prepared, evidence, commands, briefing, lambda value: as_recorded(machine, evidence, value), variables
    )
    mounts = agent.mounts()
    found, printed = _pass(machine, script, mounts)
    if all(one.why for differing in printed.values() for one in differing):
        return replace(settled(found, commands, printed, {}), own=own_programs(evidence))
    second, again = _pass(machine, script, mounts)
    return replace(settled(found, commands, printed, again, second), own=own_programs(evidence))


def _pass(machine: Machine, script: Script, mounts: tuple[Mount, ...]) -> tuple[CommandReplay, Printed]:
    """All commands once, in a sandbox of their own."""
    prepared, evidence = script.prepared, script.evidence
    seen: list[Observation] = []
    with machine.scratch("retrace") as scratch:
        note = scratch / "briefing.md"
        write_whole(note, script.briefing.encode(), sync=False)
        backend = machine.backend(prepared.contract)
        if not backend.watched:
            raise UsageFault(f"commands cannot be replayed in the sandbox {backend.name!r}, which is not watched")
        with Workspace.create(prepared.layers, scratch / "agent", overlays=backend.overlays()) as workspace:
            plan = SandboxPlan(
                workspace=workspace.view(),
                limits=limits_of(prepared.contract.budget),
                mounts=(Mount(note, BRIEFING), *mounts, *declared_mounts(prepared.contract)),
                masked=secret_directories(prepared.contract),
                guard=GuardPlan(notify=seen.append),
            )
            known = _final_files(prepared, evidence, scratch)
            with backend.open(plan) as sandbox:
                files = FileRestorer(sandbox, recorded_steps(evidence), known)
                found, printed = _commands(sandbox, files, script, seen)
            return found if found.divergence else _end(found, workspace, script), printed


def _commands(
    sandbox: Sandbox, files: FileRestorer, script: Script, seen: list[Observation]
) -> tuple[CommandReplay, Printed]:
    """All commands, each compared with the record; then the remaining recorded differences."""
    evidence = script.evidence
    plain, steps = is_plain(evidence), recorded_steps(evidence)
    exact = evidence.manifest["agent"]["kind"] == "builtin"
    printed: Printed = {}
    for number, command in enumerate(script.commands):
        if not plain:
            problem = files.bring(step for step in steps if step.t < command.at_ns)
            if problem:
                return CommandReplay(number, files.placed, *problem), printed
        finished = sandbox.run(_command(command, script, script.briefing if plain else ""))
        if plain and sandbox.guard is not None:
            sandbox.guard.settle()
            other = other_program(recorded_programs(evidence), _shown_programs(script, seen))
            if other:
                return CommandReplay(number, files.placed, command.where, other), printed
        late = 0 if plain else sum(step.t >= command.at_ns for step in steps)
        different = other_ending(command, finished)
        if different:
            note = f" ({late} changes of files were seen only after it began)" if late else ""
            return CommandReplay(number, files.placed, command.where, different + note), printed
        differing = outputs_of(command, finished, NO_NUMBERS, exact=exact)
        if differing:
            if sandbox.guard is not None:
                sandbox.guard.settle()
            differing = outputs_of(command, finished, same_programs(evidence, seen), exact=exact)
        if differing:
            printed[number] = differing
    problem = None if plain else files.bring(steps)
    for number, differing in printed.items():
        if _was_late(files, steps, script.commands[number]):
            printed[number] = tuple(replace(one, why=one.why or LATE) for one in differing)
    return CommandReplay(len(script.commands), files.placed, *(problem or ("", ""))), printed


def _was_late(files: FileRestorer, steps: tuple[RecordedChange, ...], command: RecordedCommand) -> bool:
    """Whether a change that no command made was seen shortly after ``command`` had begun, which may have read it."""
    seen = range(command.at_ns, command.at_ns + SEEN_NS)
    return any(step.t in seen and f"events.jsonl#{step.seq}" in files.placed for step in steps)


def _final_files(prepared: PreparedBase, evidence: Evidence, scratch: Path) -> list[bytes]:
    """The contents of the files of the patch: used for those whose difference is not recorded completely."""
    try:
        application = apply_patch(evidence.patch or b"", base_stack(prepared.layers).file, scratch=scratch)
    except PatchProblem:
        return []
    return [data for _, _, data in application.writes]


def _command(command: RecordedCommand, script: Script, stdin: str) -> Command:
    budget = script.prepared.contract.budget
    varied = variables_of(script.evidence.manifest["configuration"].get("variation") or {})
    patience = max(LEAST_SECONDS, PATIENCE * command.wall_ns // 10**9) if command.wall_ns else budget.wall_seconds
    return Command(
        arguments=command.argv,
        environment={**script.prepared.environment, **varied, **script.variables, "PROCTOR_BRIEFING": BRIEFING},
        directory=command.directory,
        stdin=stdin.encode(),
        timeout_seconds=min(patience, budget.wall_seconds),
        output_bytes=min(OUTPUT_BYTES, budget.output_bytes),
    )


def _shown_programs(script: Script, seen: list[Observation]) -> list[Program]:
    """The programs that were started now, with the placeholders of the record."""
    programs = observed_programs(seen)
    said = script.shown([{"argv": list(argv), "cwd": cwd} for argv, cwd, _ in programs])
    return [(tuple(one["argv"]), one["cwd"], code) for one, (_, _, code) in zip(said, programs, strict=True)]


def _end(found: CommandReplay, workspace: Workspace, script: Script) -> CommandReplay:
    """Hold what the workspace came to against the recorded changes."""
    prepared, evidence = script.prepared, script.evidence
    unwanted = ExcludedPaths(prepared.contract, prepared)
    kept, _ = exclude_paths(unwanted, workspace.changes(counts=unwanted.counts))
    names = script.shown([{"path": name_text(change.path)} for change in kept.changes])
    now = {
        name["path"]: (f"{change.after.mode:o}", change.after.sha256) if change.after else None
        for name, change in zip(names, kept.changes, strict=True)
    }
    recorded = {item["path"]: _after(item["after"]) for item in (evidence.changes or {}).get("changes", ())}
    for path in sorted({*now, *recorded}):
        if path not in recorded:
            problem = "changed now and not in the run"
        elif path not in now:
            problem = "changed in the run and not now"
        elif now[path] != recorded[path]:
            problem = f"ended as {_shown(now[path])}; recorded: {_shown(recorded[path])}"
        else:
            continue
        return CommandReplay(found.commands, found.placed, "workspace/changes.json", f"{path}: {problem}")
    return found


def _after(side: Mapping[str, Any] | None) -> tuple[str, str] | None:
    return None if side is None else (str(side["mode"]), str(side["sha256"]))


def _shown(state: tuple[str, str] | None) -> str:
    return f"{state[0]} {state[1]}" if state else "nothing"


FILE_BYTES = 16 << 20
LINK = "120000"

_LOOK = """
if [ -L "$1" ]; then printf 120000; readlink -n -- "$1"
elif [ -x "$1" ] && [ -f "$1" ]; then printf 100755; cat -- "$1"
elif [ -f "$1" ]; then printf 100644; cat -- "$1"; fi
"""
_PUT = """
rm -f -- "$1"
case "$2" in
"") exit 0;;
120000) mkdir -p -- "$(dirname -- "$1")"; ln -s -- "$(cat)" "$1";;
*) mkdir -p -- "$(dirname -- "$1")"; cat > "$1"; chmod "${2#100}" -- "$1";;
esac
"""


class FileRestorer:
    """Applies the chain of changes in ``steps`` to files."""

    def __init__(self, sandbox: Sandbox, steps: tuple[RecordedChange, ...], known: Iterable[bytes] = ()) -> None:
        self._sandbox = sandbox
        self._chains: dict[str, list[RecordedChange]] = {}
        for step in steps:
            self._chains.setdefault(step.path, []).append(step)
        self._known = {sha256(data).hexdigest(): data for data in known}
        self._placed: list[str] = []

    @property
    def placed(self) -> tuple[str, ...]:
        """The events whose changes no command made, and which were put in place."""
        return tuple(self._placed)

    def bring(self, steps: Iterable[RecordedChange]) -> tuple[str, str] | None:
        """Let every file be at least where ``steps`` left it; where and why one cannot be, otherwise."""
        last = {step.path: step for step in steps}
        for path, goal in last.items():
            problem = self._bring(path, goal)
            if problem:
                return f"events.jsonl#{goal.seq}", f"{path}: {problem}"
        return None

    def _bring(self, path: str, goal: RecordedChange) -> str:
        chain = self._chains[path]
        state, data = self._look(path)
        end = chain.index(goal)
        if any(step.after == state for step in chain[end:]):
            return ""
        start = next((at + 1 for at in range(end - 1, -1, -1) if chain[at].after == state), None)
        if start is None:
            if chain[0].before != state:
                earlier, later = _state_text(chain[0].before), _state_text(goal.after)
                now = _state_text(state)
                return f"is {now}; recorded: {earlier} before the change, {later} after it"
            start = 0
        for step in chain[start : end + 1]:
            after = self._content(step, data)
            if step.after is not None and after is None:
                return "its change was not recorded in full"
            data = after
            self._placed.append(f"events.jsonl#{step.seq}")
        self._put(path, goal.after[0] if goal.after else "", data or b"")
        return ""

    def _content(self, step: RecordedChange, before: bytes | None) -> bytes | None:
        """The content of the file after ``step``, from its difference or from the patch."""
        if step.after is None:
            return None
        mode, digest = step.after
        for data in (before, None if mode == LINK else text_after(before, step.diff), self._known.get(digest)):
            if data is not None and sha256(data).hexdigest() == digest:
                return data
        return None

    def _look(self, path: str) -> tuple[State, bytes | None]:
        done = self._run(_LOOK, path)
        if not done:
            return None, None
        mode, data = done[:6].decode(), done[6:]
        return (mode, sha256(data).hexdigest()), data

    def _put(self, path: str, mode: str, data: bytes) -> None:
        self._run(_PUT, path, mode, stdin=data)

    def _run(self, script: str, path: str, *more: str, stdin: bytes = b"") -> bytes:
        name = "./" + os.fsdecode(name_bytes(path))
        finished = self._sandbox.run(
            Command(
                ("/bin/sh", "-c", script, "sh", name, *more),
                environment={"PATH": "/usr/bin:/bin", "LC_ALL": "C"},
                stdin=stdin,
                output_bytes=FILE_BYTES,
            )
        )
        return finished.stdout.prefix


def _state_text(state: State) -> str:
    return f"{state[0]} {state[1]}" if state else "absent"
