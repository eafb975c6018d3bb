"""Processes of the command line that need not load it: one process loads every command once, and forks for each call.

A call has its own process, exit code, directory, variables and streams, as if it had been started from a shell. Most of
the time of a short command is the loading of its modules, which a fork has behind it. What tests the loading itself, or
adds packages, starts an interpreter of its own.
"""

from __future__ import annotations

import gc
import json
import os
import pkgutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import IO, Any, NoReturn

REQUEST_BYTES = 1 << 20
STREAMS = 2
PROJECT = Path(__file__).resolve().parent.parent


class Server:
    """A process that runs commands; to be had from :func:`serving`."""

    def __init__(self, place: Path) -> None:
        self._place = place

    def run(
        self, arguments: Sequence[str], *, directory: Path, environment: Mapping[str, str], seconds: float
    ) -> subprocess.CompletedProcess[str]:
        """Run one command to its end and return what it printed."""
        request = {"arguments": list(arguments), "directory": str(directory), "environment": dict(environment)}
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err, self._connection() as wire:
            socket.send_fds(wire, [json.dumps(request).encode()], [out.fileno(), err.fileno()])
            wire.shutdown(socket.SHUT_WR)
            answers = wire.makefile("r")
            number = int(answers.readline())
            wire.settimeout(seconds)
            try:
                code = int(answers.readline())
            except TimeoutError:
                os.kill(number, signal.SIGKILL)
                raise subprocess.TimeoutExpired(list(arguments), seconds, _text(out), _text(err)) from None
            return subprocess.CompletedProcess(["proctor", *arguments], code, _text(out), _text(err))

    def _connection(self) -> socket.socket:
        wire = socket.socket(socket.AF_UNIX)
        wire.connect(str(self._place))
        return wire


def _text(stream: IO[bytes]) -> str:
    stream.seek(0)
    return stream.read().decode()


def interpret(
    arguments: Sequence[str], *, directory: Path, environment: Mapping[str, str], seconds: float
) -> subprocess.CompletedProcess[str]:
    """Run one command in an interpreter of its own."""
    return subprocess.run(
        [sys.executable, "-m", "proctor", *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=seconds,
        cwd=directory,
        env=environment,
    )


@contextmanager
def serving() -> Iterator[Server]:
    """A server for the time of the block."""
    with tempfile.TemporaryDirectory() as directory:
        place = Path(directory) / "s"
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(str(place))
            listening.listen()
            server = subprocess.Popen(
                [sys.executable, "-m", "tests.forked", str(listening.fileno())],
                cwd=PROJECT,
                stdin=subprocess.DEVNULL,
                pass_fds=[listening.fileno()],
            )
        try:
            yield Server(place)
        finally:
            server.kill()
            server.wait()


def serve(listening: socket.socket) -> NoReturn:
    """Answer every connection in a process of its own, until this process is ended."""
    package = import_module("proctor.cli")
    for module in pkgutil.iter_modules(package.__path__):
        import_module(f"proctor.cli.{module.name}")
    gc.freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        wire, _ = listening.accept()
        with wire:
            if os.fork() == 0:
                listening.close()
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                os._exit(_answer(wire))


def _answer(wire: socket.socket) -> int:
    """Fork once more for the command, and tell its number and its exit code."""
    text, streams, _, _ = socket.recv_fds(wire, REQUEST_BYTES, STREAMS)
    while more := wire.recv(REQUEST_BYTES):
        text += more
    number = os.fork()
    if number == 0:
        wire.close()
        _command(json.loads(text), streams)
    wire.sendall(f"{number}\n".encode())
    _, status = os.waitpid(number, 0)
    wire.sendall(f"{os.waitstatus_to_exitcode(status)}\n".encode())
    return 0


def _command(request: Mapping[str, Any], streams: Sequence[int]) -> NoReturn:
    from proctor.cli.main import main

    for target, stream in enumerate(streams, 1):
        os.dup2(stream, target)
        os.close(stream)
    os.environ.clear()
    os.environ.update(request["environment"])
    os.chdir(request["directory"])
    sys.argv = ["proctor"]
    try:
        main(request["arguments"])
    finally:
        sys.stdout.flush()
        sys.stderr.flush()


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])))
