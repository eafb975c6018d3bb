"""Which checkpoints a run can go back to, folded from ``workspace.checkpoint`` events. Pure."""

from __future__ import annotations

from proctor.execute.watch.readings import text, words
from proctor.record.trace.event import Event


class KeptCheckpoints:
    """The checkpoints that are still there, with the numbers of the events that tell of them."""

    def __init__(self) -> None:
        self._taken: dict[str, int] = {}

    @property
    def ids(self) -> tuple[str, ...]:
        """Their ids, in the order in which they were taken."""
        return tuple(self._taken)

    def see(self, event: Event) -> None:
        """Take in one event."""
        if event.type != "workspace.checkpoint":
            return
        for gone in words(event.payload, "dropped"):
            self._taken.pop(gone, None)
        name = text(event.payload, "id")
        if name:
            self._taken[name] = event.seq

    def before(self, seq: int) -> str:
        """The last one that was taken before the event ``seq``, else the first of all; empty where there is none."""
        earlier = [name for name, taken in self._taken.items() if taken < seq]
        return earlier[-1] if earlier else next(iter(self._taken), "")
