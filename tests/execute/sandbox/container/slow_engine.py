"""A proxy in front of an engine's socket that waits before it passes on each request."""

from __future__ import annotations

import socket
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


class SlowEngine:
    """Passes bytes on in both directions. ``seconds`` may be changed at any time; ``requests`` counts."""

    def __init__(self, listener: socket.socket, path: str, target: str, seconds: float) -> None:
        self.path = path
        self.seconds = seconds
        self.requests = 0
        self._listener = listener
        self._target = target

    def serve(self) -> None:
        while True:
            try:
                link, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._pass_on, args=(link,), daemon=True).start()

    def _pass_on(self, link: socket.socket) -> None:
        self.requests += 1
        time.sleep(self.seconds)
        with link, socket.socket(socket.AF_UNIX) as engine:
            engine.connect(self._target)
            forward = threading.Thread(target=_copy, args=(link, engine), daemon=True)
            forward.start()
            _copy(engine, link)
            with suppress(OSError):
                link.shutdown(socket.SHUT_RDWR)
            forward.join(30)


def _copy(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(1 << 16):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)


@contextmanager
def slow_engine(target: str, seconds: float) -> Iterator[SlowEngine]:
    """An engine that takes so many seconds longer for each request than the one at ``target``."""
    with tempfile.TemporaryDirectory(prefix="pt-s-") as top, socket.socket(socket.AF_UNIX) as listener:
        path = str(Path(top) / "engine.sock")
        listener.bind(path)
        listener.listen(64)
        slow = SlowEngine(listener, path, target, seconds)
        thread = threading.Thread(target=slow.serve)
        thread.start()
        try:
            yield slow
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join(30)
