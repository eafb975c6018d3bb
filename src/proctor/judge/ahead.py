"""The next attempt made ready while the one before runs.

Opening a sandbox is mostly waiting for the kernel, and so is running a check. All sandboxes are opened by the judge's
own thread, since what a thread has started ends with it; the command of the present attempt is waited for beside it.
While the last attempt runs, the judge has time to spare.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Generic, Self, TypeVar

from proctor.base.errors import ProctorError

T = TypeVar("T")


class Ahead(Generic[T]):
    """Things that are needed one after the other; leaving the block discards one that was made and never taken.

    ``spare`` is what there is time for when nothing is left to make.
    """

    def __init__(
        self,
        makers: Sequence[Callable[[], T]],
        discard: Callable[[T], None],
        spare: Callable[[], None] = lambda: None,
    ) -> None:
        self._makers = iter(makers)
        self._discard = discard
        self._spare = spare
        self._made: T | None = None
        self._problem: ProctorError | OSError | None = None

    def take(self) -> T:
        """The next one; what went wrong when it was made ahead is raised here."""
        made, problem, self._made, self._problem = self._made, self._problem, None, None
        if problem is not None:
            raise problem
        return made if made is not None else next(self._makers)()

    def prepare(self) -> None:
        """Make the next one now; if there is none, do what there is time for."""
        maker = next(self._makers, None)
        if maker is None:
            self._spare()
            return
        try:
            self._made = maker()
        except (ProctorError, OSError) as problem:
            self._problem = problem

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._made is not None:
            self._discard(self._made)


def beside(act: Callable[[], T], meanwhile: Callable[[], None]) -> T:
    """What ``act`` returns, while ``meanwhile`` is done on this thread."""
    results: list[T] = []
    problems: list[ProctorError | OSError] = []

    def work() -> None:
        try:
            results.append(act())
        except (ProctorError, OSError) as problem:
            problems.append(problem)

    thread = threading.Thread(target=work, name="check")
    thread.start()
    try:
        meanwhile()
    finally:
        thread.join()
    if problems:
        raise problems[0]
    return results[0]
