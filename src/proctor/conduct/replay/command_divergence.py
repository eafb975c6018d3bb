"""Where commands that ran again part from their record: how they ended, what they started, what they printed. Pure."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

from proctor.conduct.replay.output_comparison import (
    UNSTEADY,
    Numbers,
    OutputDifference,
    masked,
    result_difference,
    stream_difference,
)
from proctor.conduct.replay.recorded_commands import Program, RecordedCommand
from proctor.execute.sandbox.interface import CommandResult


@dataclass(frozen=True)
class Notice:
    """One output of one call, counted from 1, that is not as recorded and decides nothing, and why it does not."""

    where: str
    call: int
    command: str
    stream: str
    recorded: str
    seen: str
    why: str


@dataclass(frozen=True)
class CommandReplay:
    """The result: how many commands ran, which changes were written, and the first divergence, if any.

    ``unheard`` counts the commands that ran and have no recorded output to compare, and ``own`` the programs that the
    agent had started by itself and that were not run again.
    """

    commands: int
    placed: tuple[str, ...]
    where: str = ""
    divergence: str = ""
    notices: tuple[Notice, ...] = ()
    unheard: int = 0
    own: int = 0


Printed = dict[int, tuple[OutputDifference, ...]]
"""The outputs that are not as recorded, by the number of the command."""


def other_ending(command: RecordedCommand, finished: CommandResult) -> str:
    """How a command ended otherwise than recorded; empty when it did not."""
    message = _joined(command.argv)
    if not finished.started:
        return f"{message}: could not be started: {finished.problem}"
    if command.timed_out and not finished.timed_out:
        return f"{message}: exit code {finished.exit_code}; recorded: it had to be ended"
    if command.exit_code is not None and command.exit_code < 0 and finished.timed_out:
        return ""  # it was ended from outside then, too
    if command.exit_code is not None and finished.timed_out:
        return f"{message}: had to be ended; recorded: exit code {command.exit_code}"
    if command.exit_code is not None and finished.exit_code != command.exit_code:
        return f"{message}: exit code {finished.exit_code}; recorded: {command.exit_code}"
    return ""


def outputs_of(
    command: RecordedCommand, finished: CommandResult, numbers: Numbers, *, exact: bool
) -> tuple[OutputDifference, ...]:
    """What a command printed otherwise than recorded."""
    found = [
        stream_difference(name, recorded, output, numbers)
        for name, recorded, output in (
            ("stdout", command.stdout, finished.stdout),
            ("stderr", command.stderr, finished.stderr),
        )
        if recorded is not None
    ]
    if command.result_text is not None:
        found.append(result_difference(command.result_text, finished, exact=exact, numbers=numbers))
    return tuple(one for one in found if one is not None)


def settled(
    found: CommandReplay,
    commands: tuple[RecordedCommand, ...],
    printed: Printed,
    again: Printed,
    second: CommandReplay | None = None,
) -> CommandReplay:
    """The first divergence of all, outputs included; differences that do not decide become notices.

    ``again`` and ``second`` are the results of another replay, if there was one. If that one diverges, and not in its
    output, that is a divergence as well.
    """
    if second is not None and second.divergence and not found.divergence:
        found = replace(second, divergence=f"in a second replay: {second.divergence}")
    notices: list[Notice] = []
    for number, differing in sorted(printed.items()):
        if number > found.commands:
            break
        command = commands[number]
        steady = {one.stream: one.again for one in again.get(number, ())}
        for one in differing:
            why = one.why or ("" if steady.get(one.stream) == one.again else UNSTEADY)
            if not why:
                message = f"call {number + 1}, {_joined(command.argv)}: {one.message}"
                found = CommandReplay(number, found.placed, command.where, message, tuple(notices))
                return replace(found, unheard=_unheard(commands[:number]))
            notices.append(
                Notice(command.where, number + 1, _joined(command.argv), one.stream, one.recorded, one.seen, why)
            )
    return replace(found, notices=tuple(notices), unheard=_unheard(commands[: found.commands]))


def _unheard(commands: tuple[RecordedCommand, ...]) -> int:
    return sum(one.stdout is None and one.result_text is None for one in commands)


def other_program(recorded: list[Program], now: list[Program]) -> str:
    """The first program with a different result; the order of parallel programs does not count.

    The end of a program does not count if it was not seen on one side, nor do arguments that differ in every run.
    """
    recorded, now = ([(tuple(map(masked, one[0])), *one[1:]) for one in side] for side in (recorded, now))
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
                    return f"program {number}, {_words(program)}: exit code {other[2]}; recorded: {program[2]}"
            return f"program {number}, {_words(program)}: was not started now"
    return f"{_words(next(program for program in now if program in new))}: was not started in the recorded run"


def _words(program: Program) -> str:
    return _joined(program[0])


def _joined(argv: tuple[str, ...]) -> str:
    return " ".join(argv)[:200]
