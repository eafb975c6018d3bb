"""The first half of a run again, command by command: recorded commands and differences, without a model.

The commands run in order in one fresh sandbox of the run's own kind. A plain program does everything itself, so what it
prints, starts and leaves must be as recorded. For any other agent, what it wrote by itself between its commands is put
in place from the recorded differences before each command that came after it; a file that is then neither as it was
nor as it became is a divergence, and so is another exit code. In the end the workspace must hold the recorded changes
and no others. The first divergence is named; there is no network here, and no secrets are planted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from proctor.base.files import write_whole
from proctor.base.frozen import frozen
from proctor.base.names import name_text
from proctor.conduct.machine import Machine
from proctor.conduct.recorded import (
    Program,
    Recorded,
    is_plain,
    observed_programs,
    recorded_commands,
    recorded_programs,
    recorded_steps,
)
from proctor.conduct.refile import Refile
from proctor.execute.agents.interface import BRIEFING
from proctor.execute.prepare import Prepared, declared_mounts, limits_of, secret_directories
from proctor.execute.sandbox.guard import GuardPlan, Observation
from proctor.execute.sandbox.interface import Command, Finished, Mount, Sandbox, SandboxPlan
from proctor.execute.workspace.patch import PatchProblem, apply_patch
from proctor.execute.workspace.workspace import Workspace, base_stack
from proctor.judge.dropped import Unwanted, drop_unwanted
from proctor.judge.evidence import Evidence

LEAST_SECONDS = 10
PATIENCE = 10
"""How many times as long as recorded a command may take."""

OUTPUT_BYTES = 1 << 20


@frozen
class Retraced:
    """What came of it: how many commands ran, which changes were put in place, and the first divergence, if any."""

    commands: int
    placed: tuple[str, ...]
    where: str = ""
    divergence: str = ""


def retrace(machine: Machine, prepared: Prepared, evidence: Evidence, mounts: tuple[Mount, ...]) -> Retraced:
    """Run the recorded commands again; ``mounts`` shows the files that the agent brought along."""
    briefing = next((str(event.payload["text"]) for event in evidence.of("briefing")), "")
    seen: list[Observation] = []
    with machine.scratch("retrace") as scratch:
        note = scratch / "briefing.md"
        write_whole(note, briefing.encode(), sync=False)
        backend = machine.backend(prepared.contract)
        with Workspace.create(prepared.layers, scratch / "agent", overlays=backend.overlays()) as workspace:
            plan = SandboxPlan(
                workspace=workspace.view(),
                limits=limits_of(prepared.contract.budget),
                mounts=(Mount(note, BRIEFING), *mounts, *declared_mounts(prepared.contract)),
                masked=secret_directories(prepared.contract),
                guard=GuardPlan(tell=seen.append),
            )
            known = _final_files(prepared, evidence, scratch)
            with backend.open(plan) as sandbox:
                files = Refile(sandbox, recorded_steps(evidence), known)
                found = _commands(sandbox, files, prepared, evidence, briefing, seen)
            return found if found.divergence else _end(found, workspace, prepared, evidence)


def _commands(
    sandbox: Sandbox, files: Refile, prepared: Prepared, evidence: Evidence, briefing: str, seen: list[Observation]
) -> Retraced:
    """All commands, each held against the record; then what is left of the recorded differences."""
    plain, steps = is_plain(evidence), recorded_steps(evidence)
    commands = recorded_commands(evidence)
    for number, command in enumerate(commands):
        if not plain:
            problem = files.bring(step for step in steps if step.t < command.at_ns)
            if problem:
                return Retraced(number, files.placed, *problem)
        finished = sandbox.run(_command(command, prepared, briefing if plain else ""))
        if plain and sandbox.guard is not None:
            sandbox.guard.settle()
            other = other_program(recorded_programs(evidence), observed_programs(seen))
            if other:
                return Retraced(number, files.placed, command.where, other)
        different = _different(command, finished)
        if different:
            late = 0 if plain else sum(step.t >= command.at_ns for step in steps)
            note = f" ({late} changes of files were seen only after it began)" if late else ""
            return Retraced(number, files.placed, command.where, different + note)
    problem = None if plain else files.bring(steps)
    return Retraced(len(commands), files.placed, *(problem or ("", "")))


def _final_files(prepared: Prepared, evidence: Evidence, scratch: Path) -> list[bytes]:
    """What the files of the patch hold: all that is known of those that no difference tells in full."""
    try:
        application = apply_patch(evidence.patch or b"", base_stack(prepared.layers).file, scratch=scratch)
    except PatchProblem:
        return []
    return [data for _, _, data in application.writes]


def _command(command: Recorded, prepared: Prepared, stdin: str) -> Command:
    budget = prepared.contract.budget
    patience = max(LEAST_SECONDS, PATIENCE * command.wall_ns // 10**9) if command.wall_ns else budget.wall_seconds
    return Command(
        arguments=command.argv,
        environment={**prepared.environment, "PROCTOR_BRIEFING": BRIEFING},
        directory=command.directory,
        stdin=stdin.encode(),
        timeout_seconds=min(patience, budget.wall_seconds),
        output_bytes=min(OUTPUT_BYTES, budget.output_bytes),
    )


def _different(command: Recorded, finished: Finished) -> str:
    """How a command came out otherwise than recorded; empty when it did not."""
    words = " ".join(command.argv)[:200]
    if not finished.started:
        return f"{words}: could not be started: {finished.problem}"
    if command.exit_code is not None and finished.timed_out:
        return f"{words}: had to be ended, recorded was exit code {command.exit_code}"
    if command.exit_code is not None and finished.exit_code != command.exit_code:
        return f"{words}: exit code {finished.exit_code}, recorded was {command.exit_code}"
    for name, output, recorded in (
        ("stdout", finished.stdout, command.stdout),
        ("stderr", finished.stderr, command.stderr),
    ):
        if recorded is not None and output.sha256 != recorded:
            return f"{words}: {name} has the digest {output.sha256}, recorded was {recorded}"
    return ""


def other_program(recorded: list[Program], now: list[Program]) -> str:
    """The first program that came out otherwise; programs side by side may have changed places.

    How a program ended does not count where it was not seen on one side.
    """
    unsure = {program[:2] for program in (*recorded, *now) if program[2] is None}
    recorded, now = (
        [(*program[:2], None if program[:2] in unsure else program[2]) for program in side] for side in (recorded, now)
    )
    missing, new = Counter(recorded) - Counter(now), Counter(now) - Counter(recorded)
    if not missing and not new:
        return ""
    for number, program in enumerate(recorded, 1):
        if program in missing:
            for other in now:
                if other in new and other[:2] == program[:2]:
                    return f"program {number}, {_words(program)}: exit code {other[2]}, recorded was {program[2]}"
            return f"program {number}, {_words(program)}: was not started now"
    return f"{_words(next(program for program in now if program in new))}: was not started then"


def _words(program: Program) -> str:
    return " ".join(program[0])[:200]


def _end(found: Retraced, workspace: Workspace, prepared: Prepared, evidence: Evidence) -> Retraced:
    """Hold what the workspace came to against the recorded changes."""
    unwanted = Unwanted(prepared.contract, prepared)
    kept, _ = drop_unwanted(unwanted, workspace.changes(counts=unwanted.counts))
    now = {
        name_text(change.path): (f"{change.after.mode:o}", change.after.sha256) if change.after else None
        for change in kept.changes
    }
    recorded = {item["path"]: _after(item["after"]) for item in (evidence.changes or {}).get("changes", ())}
    for path in sorted({*now, *recorded}):
        if path not in recorded:
            problem = "changed now and not in the run"
        elif path not in now:
            problem = "changed in the run and not now"
        elif now[path] != recorded[path]:
            problem = f"came to {_shown(now[path])}, recorded was {_shown(recorded[path])}"
        else:
            continue
        return Retraced(found.commands, found.placed, "workspace/changes.json", f"{path}: {problem}")
    return found


def _after(side: Mapping[str, Any] | None) -> tuple[str, str] | None:
    return None if side is None else (str(side["mode"]), str(side["sha256"]))


def _shown(state: tuple[str, str] | None) -> str:
    return f"{state[0]} {state[1]}" if state else "nothing"
