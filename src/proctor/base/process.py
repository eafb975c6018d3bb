"""Run trusted programs outside the sandbox, with bounded time and output and an explicit environment.

For git, pip, npm and the like. Nothing that an agent or a repository supplies runs here.
"""

from __future__ import annotations

import os
import pwd
import selectors
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from proctor.base.errors import InfrastructureFault

OUTPUT_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True)
class Completed:
    """How a program ended. ``exit_code`` is negative when a signal ended it."""

    exit_code: int
    stdout: bytes
    stderr: bytes


def run(
    arguments: Sequence[str | bytes | os.PathLike[str]],
    *,
    environment: Mapping[str, str],
    directory: Path | None = None,
    stdin: bytes = b"",
    timeout_seconds: float = 600,
    output_bytes: int = OUTPUT_BYTES,
) -> Completed:
    """Run a program to its end. A missing program, a timeout and too much output are infrastructure faults."""
    name = os.fsdecode(arguments[0])
    try:
        child = subprocess.Popen(
            arguments,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=dict(environment),
            cwd=directory,
            start_new_session=True,
        )
    except FileNotFoundError:
        raise InfrastructureFault(
            f"{name} is not installed", hint="run proctor doctor to see what is missing"
        ) from None
    except OSError as error:
        raise InfrastructureFault(f"{name} cannot be run: {error.strerror}") from None
    with child:
        try:
            deadline = time.monotonic() + timeout_seconds
            outputs = _exchange(child, stdin, deadline, output_bytes)
            code = _ended(child, deadline)
        except BaseException as error:
            _end(child)
            if isinstance(error, TimeoutError):
                raise InfrastructureFault(f"{name} took more than {timeout_seconds:g} s") from None
            if isinstance(error, OverflowError):
                raise InfrastructureFault(f"{name} printed more than {output_bytes} bytes") from None
            raise
        return Completed(code, outputs[0], outputs[1])


def _exchange(child: subprocess.Popen[bytes], stdin: bytes, deadline: float, limit: int) -> tuple[bytes, bytes]:
    """Feed ``stdin`` and collect both outputs until they are closed."""
    assert child.stdin and child.stdout and child.stderr
    collected = {child.stdout.fileno(): bytearray(), child.stderr.fileno(): bytearray()}
    rest = memoryview(stdin)
    with selectors.DefaultSelector() as selector:
        for handle in collected:
            selector.register(handle, selectors.EVENT_READ)
        if rest:
            os.set_blocking(child.stdin.fileno(), False)
            selector.register(child.stdin, selectors.EVENT_WRITE)
        else:
            child.stdin.close()
        while selector.get_map():
            remaining = deadline - time.monotonic()
            if remaining <= 0:
                raise TimeoutError
            for key, _ in selector.select(remaining):
                if key.fileobj is child.stdin:
                    try:
                        rest = rest[os.write(key.fd, rest[:65536]) :]
                    except BrokenPipeError:
                        rest = rest[:0]
                    if not rest:
                        selector.unregister(child.stdin)
                        child.stdin.close()
                    continue
                data = os.read(key.fd, 65536)
                if not data:
                    selector.unregister(key.fileobj)
                collected[key.fd] += data
                if len(collected[key.fd]) > limit:
                    raise OverflowError
    return bytes(collected[child.stdout.fileno()]), bytes(collected[child.stderr.fileno()])


def _ended(child: subprocess.Popen[bytes], deadline: float) -> int:
    """The exit code. A program may close its outputs and continue, but not longer than its timeout."""
    try:
        return child.wait(max(0.0, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        raise TimeoutError from None


def _end(child: subprocess.Popen[bytes]) -> None:
    """Kill the session that ``child`` leads."""
    try:
        os.killpg(child.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    child.wait()


def user_name() -> str:
    """The name of the user who runs this process, or the number of a user without a name."""
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return str(os.getuid())
