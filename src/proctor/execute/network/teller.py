"""One voice for all the threads of a network: what is told comes in one order, is counted, and is bounded.

When nobody can be told any more, nothing passes any more.
"""

from __future__ import annotations

import threading

from proctor.execute.network.told import Exchange, Lookup, Tell, Told


class Teller:
    """Passes on what is told, one at a time."""

    def __init__(self, tell: Tell, limit: int) -> None:
        self._tell = tell
        self._limit = limit
        self._turn = threading.Lock()
        self._untold = 0
        self.passed = 0
        self.refused = 0
        self.problem: BaseException | None = None

    @property
    def full(self) -> bool:
        """Whether an exchange more could not be told."""
        return self.problem is not None or self.passed + self.refused >= self._limit

    def __call__(self, told: Told) -> None:
        with self._turn:
            if self._is_counted_only(told):
                return
            try:
                self._tell(told)
            except BaseException as error:
                self.problem = error
                raise

    def close(self) -> None:
        """Tell how many exchanges were refused because there had been too many."""
        with self._turn:
            count, self._untold = self._untold, 0
        if count and self.problem is None:
            self._tell(Exchange("", 0, "", "", 503, allowed=False, reason=f"{count} more than the network's limit"))

    def _is_counted_only(self, told: Told) -> bool:
        if isinstance(told, Lookup):
            return False
        over = self.passed + self.refused >= self._limit
        if told.allowed:
            self.passed += not told.reason.startswith("ended")
            return False
        self.refused += 1
        self._untold += over
        return over
