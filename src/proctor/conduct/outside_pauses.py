"""Pauses of an agent's sandbox that come from outside Proctor, such as ``docker pause``: recorded, and not its time.

A thread looks at the kernel's own state many times a second. The breakers' clock stops at ``sandbox.paused``, the
timeouts of commands stop with the sandbox's clock. ``lost`` is called when the state cannot be read any more.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Self

from proctor.base.clock import seconds_text
from proctor.base.errors import ProctorError
from proctor.execute.sandbox.bubblewrap.box import Box
from proctor.record.trace.log import TraceWriter

LOOK_SECONDS = 0.1


class OutsidePauses:
    """Watches one sandbox for the time of a ``with`` block."""

    def __init__(self, sandbox: Box, trace: TraceWriter, lost: Callable[[str], None]) -> None:
        self._sandbox = sandbox
        self._trace = trace
        self._lost = lost
        self._since: int | None = None
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="proctor-pauses", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join()
        self._note(False)

    def _watch(self) -> None:
        try:
            while not self._stop.wait(LOOK_SECONDS):
                self._note(self._sandbox.paused_outside())
        except (ProctorError, OSError) as error:
            self._lost(str(error))

    def _note(self, paused: bool) -> None:
        if paused and self._since is None:
            self._since = time.monotonic_ns()
            self._trace.append("sandbox.paused", {"reason": "frozen from outside"})
        elif not paused and self._since is not None:
            seconds = seconds_text(time.monotonic_ns() - self._since)
            self._since = None
            self._trace.append("sandbox.resumed", {"seconds": seconds})
