"""One voice for all the threads of a network: what is told comes in one order, is counted, and is bounded.

When nobody can be told any more, nothing passes any more.
"""

from __future__ import annotations

import threading

from proctor.execute.network.told import Bounds, Exchange, Lookup, Tell, Told


class Teller:
    """Passes on what is told, one at a time."""

    def __init__(self, tell: Tell, bounds: Bounds) -> None:
        self._tell = tell
        self._bounds = bounds
        self._bytes = 0
        self._turn = threading.Lock()
        self._untold = 0
        self.passed = 0
        self.refused = 0
        self.problem: BaseException | None = None

    @property
    def full(self) -> bool:
        """Whether there may be no more exchanges, because they could not be told or have been too many or too large."""
        return self.problem is not None or self._is_over() or self._bytes >= self._bounds.total_bytes

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
        over = self._is_over()
        self._bytes += sum(content.size for content in (told.request, told.response) if content is not None)
        if told.allowed:
            self.passed += not told.reason.startswith("ended")
            return False
        self.refused += 1
        self._untold += over
        return over

    def _is_over(self) -> bool:
        return self.passed + self.refused >= self._bounds.exchanges
