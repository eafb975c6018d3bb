"""Samples at a steady pace on a thread of its own, for as long as a sandbox is worked in.

Nothing that happens to the sandbox comes back to whoever started the watch: when the sandbox is closed or lost the
watch ends by itself, ``problem`` says why, and ``lost`` is called with it. What is told of a sample runs on the watch's
thread; the next sample waits for it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import TracebackType
from typing import Self

from proctor.base.errors import ProctorError
from proctor.execute.observe.resources import Alert, Sample, Sampler, alerts

INTERVAL_SECONDS = 1.0

Tell = Callable[[Sample, tuple[Alert, ...]], None]
"""Told of each sample and of what it shows that the one before did not."""


class Watching:
    """A watch over one sandbox. It begins at once; end it with :meth:`stop`, or use it as a context."""

    def __init__(
        self,
        sampler: Sampler,
        tell: Tell,
        interval_seconds: float = INTERVAL_SECONDS,
        lost: Callable[[str], None] = lambda problem: None,
    ) -> None:
        self.problem = ""
        self._sampler = sampler
        self._tell = tell
        self._interval = interval_seconds
        self._lost = lost
        self._previous: Sample | None = None
        self._turn = threading.RLock()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="proctor-watch", daemon=True)
        self._thread.start()

    @property
    def alive(self) -> bool:
        """Whether samples are still being taken."""
        return self._thread.is_alive()

    def look(self) -> bool:
        """Take a sample now, from whatever thread; whether there was anything to take it from."""
        with self._turn:
            try:
                sample = self._sampler.sample()
            except (ProctorError, OSError) as error:
                self.problem = self.problem or str(error)
                return False
            found = alerts(self._previous, sample, self._sampler.limits)
            self._previous = sample
            self._tell(sample, found)
            return True

    def stop(self) -> Sample | None:
        """End the watch, with one last sample where the sandbox is still there; the last sample that was taken."""
        if not self._stop.is_set():
            self._stop.set()
            if threading.current_thread() is self._thread:
                return self._previous
            self._thread.join()
            if not self.problem:
                self.look()
            self._sampler.close()
        return self._previous

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _watch(self) -> None:
        try:
            while not self._stop.is_set() and self.look():
                self._stop.wait(self._interval)
        except (ProctorError, OSError) as error:
            self.problem = self.problem or str(error)
        finally:
            if not self._stop.is_set():
                self._lost(self.problem or "the watch has ended")
