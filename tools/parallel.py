"""Run several commands at once and fail when any of them fails: ``make test`` runs the types beside the tests.

    tools/parallel.py NAME=COMMAND NAME=COMMAND...

The first command writes to the terminal. What the others write is printed when all have ended, each followed by a line
that says how it ended. Every command runs to its end, also when another one fails. SIGINT, SIGTERM and SIGHUP are
passed on as SIGINT to every command and its children; those that are still there after a while are killed.
"""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from types import FrameType
from typing import IO

GRACE_SECONDS = 30
"""How long commands may clean up after a signal."""
POLL_SECONDS = 0.2
STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def parse(argument: str) -> tuple[str, list[str]]:
    """The name and the command in ``NAME=COMMAND``."""
    name, sign, command = argument.partition("=")
    words = shlex.split(command)
    if not (name and sign and words):
        sys.exit(f"parallel: {argument!r} is not NAME=COMMAND")
    return name, words


def start(command: Sequence[str], output: IO[bytes] | None) -> subprocess.Popen[bytes]:
    """Start ``command`` in a process group of its own, so that its children can be stopped with it."""
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, process_group=0)


def signal_group(child: subprocess.Popen[bytes], number: signal.Signals) -> None:
    try:
        os.killpg(child.pid, number)
    except ProcessLookupError:
        pass


def stop(children: Sequence[subprocess.Popen[bytes]]) -> None:
    """Interrupt every command, wait for it, and kill what is left of its process group."""
    for child in children:
        signal_group(child, signal.SIGINT)
    deadline = time.monotonic() + GRACE_SECONDS
    for child in children:
        try:
            child.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            pass
        signal_group(child, signal.SIGKILL)
        child.wait()


def report(name: str, code: int, output: IO[bytes] | None) -> None:
    """Print what a command wrote, and how it ended."""
    if output is not None:
        output.seek(0)
        sys.stderr.buffer.write(output.read())
    ended = "passed" if code == 0 else f"FAILED, exit code {code}" if code > 0 else f"FAILED, signal {-code}"
    print(f"{name}: {ended}", file=sys.stderr, flush=True)


def main(arguments: Sequence[str]) -> int:
    """0 when every command ended with 0, 1 when one did not, 130 after a signal."""
    commands = [parse(argument) for argument in arguments]
    with ExitStack() as stack:
        kept = [stack.enter_context(tempfile.TemporaryFile()) for _ in commands[1:]]
        return run(commands, [None, *kept])


def run(commands: Sequence[tuple[str, list[str]]], outputs: Sequence[IO[bytes] | None]) -> int:
    """Run the commands until all have ended or a signal asks to stop; the exit code."""
    caught: list[signal.Signals] = []

    def catch(number: int, _: FrameType | None) -> None:
        caught.append(signal.Signals(number))

    for number in STOPPING:
        signal.signal(number, catch)
    children = [start(command, output) for (_, command), output in zip(commands, outputs, strict=True)]
    while not caught and any(child.poll() is None for child in children):
        time.sleep(POLL_SECONDS)
    if caught:
        stop(children)
        print(f"parallel: stopped by {caught[0].name}", file=sys.stderr)
        return 130
    for (name, _), child, output in zip(commands, children, outputs, strict=True):
        report(name, child.returncode, output)
    return int(any(child.returncode for child in children))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
