"""Tidying up that nobody has to wait for until the end.

Taking a sandbox down keeps the kernel busy for longer than the judge needs for its next step. What is handed in here
is done on a thread of its own; leaving the block waits for all of it, and raises the first thing that went wrong.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import TracebackType
from typing import Self

from proctor.base.errors import ProctorError


class Afterwards:
    """Acts that are done while others go on, and are all done when the block is left."""

    def __init__(self) -> None:
        self._threads: list[threading.Thread] = []
        self._problems: list[ProctorError | OSError] = []

    def __call__(self, act: Callable[[], None]) -> None:
        """Begin ``act``."""
        thread = threading.Thread(target=self._do, args=(act,), name="afterwards")
        self._threads.append(thread)
        thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for thread in self._threads:
            thread.join()
        if self._problems and error is None:
            raise self._problems[0]

    def _do(self, act: Callable[[], None]) -> None:
        try:
            act()
        except (ProctorError, OSError) as problem:
            self._problems.append(problem)
