"""The stages of a run, and the server for an agent's requests to change the stage.

The server listens at a socket of the harness, shown inside the sandbox together with a tiny client (``native/ask.c``).
A request is one word and its answer is one sentence. Requests are served one after the other. They are untrusted:
bounded in length and in time, and frequent requests wait.
"""

from __future__ import annotations

import os
import select
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from proctor.contract.policy import STAGES
from proctor.execute.sandbox.bubblewrap.init_protocol import PROGRAM
from proctor.execute.sandbox.interface import Mount, owner

CLIENT = "/proctor/stage"
ASK = "/proctor/ask"
WORD_BYTES = 64
ANSWER_BYTES = 500
PATIENCE_SECONDS = 2
BACKLOG = 16
PROMPT_REQUESTS = 200
"""How many requests are served at once; each one after them waits."""
DELAY_SECONDS = 0.1


@dataclass(frozen=True)
class StageStep:
    """The result of a request: the next stage, the stages that it skips, or why it is refused."""

    to: str = ""
    skipped: tuple[str, ...] = ()
    refusal: str = ""


@dataclass(frozen=True)
class Reply:
    """The answer to one request."""

    granted: bool
    text: str


def next_stage(current: str, word: str) -> StageStep:
    """The step to the stage ``word`` from ``current``; a step to ``current`` itself changes nothing."""
    at = STAGES.index(current)
    if word == "next":
        word = STAGES[min(at + 1, len(STAGES) - 1)]
    if word not in STAGES:
        return StageStep(refusal=f"there is no such stage: ask for next, {', '.join(STAGES)}")
    return StageStep(word, STAGES[at + 1 : STAGES.index(word)])


class StageServer:
    """Serves one sandbox. ``answer`` is called for each request, on a thread of the server."""

    def __init__(self, directory: Path, answer: Callable[[str], Reply]) -> None:
        """The socket is made in ``directory``, a new one."""
        directory.mkdir()
        self._path = directory / "ask"
        self._answer = answer
        self._served = 0
        self._stopping = threading.Event()
        self._socket = _listening(directory, self._path.name)
        self._thread = threading.Thread(target=self._serve, name="stages", daemon=True)

    @property
    def mounts(self) -> tuple[Mount, ...]:
        """What shows the client and the socket inside."""
        return (Mount(PROGRAM, CLIENT), Mount(self._path, ASK))

    @property
    def stopping(self) -> bool:
        """Whether no client waits for an answer any more."""
        return self._stopping.is_set()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stopping.set()
        self._socket.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._socket.close()

    def _serve(self) -> None:
        while not self._stopping.is_set():
            try:
                asking, _ = self._socket.accept()
            except OSError:
                if self._stopping.wait(DELAY_SECONDS):
                    return
                continue
            with asking:
                self._served += 1
                if self._served > PROMPT_REQUESTS and self._stopping.wait(DELAY_SECONDS):
                    return
                self._serve_one(asking)

    def _serve_one(self, asking: socket.socket) -> None:
        """Read one word and answer it; a client that does not send or read is dropped."""
        asking.setblocking(False)
        if not select.select([asking], [], [], PATIENCE_SECONDS)[0]:
            return
        try:
            data = asking.recv(WORD_BYTES + 1)
            if not data:
                return
            reply = self._answer(data.rstrip(b"\0").decode("utf-8", "backslashreplace"))
            mark = "+" if reply.granted else "-"
            asking.send(f"{mark}{reply.text}".encode()[:ANSWER_BYTES], socket.MSG_NOSIGNAL)
        except OSError:
            return


def _listening(directory: Path, name: str) -> socket.socket:
    """A socket at ``name`` in ``directory``; through a descriptor, because a socket's path must be short."""
    made = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    handle = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        made.bind(f"/proc/self/fd/{handle}/{name}")
        os.chmod(name, 0o600, dir_fd=handle)
        os.chown(name, *owner(), dir_fd=handle)
        made.listen(BACKLOG)
    except BaseException:
        made.close()
        raise
    finally:
        os.close(handle)
    return made
