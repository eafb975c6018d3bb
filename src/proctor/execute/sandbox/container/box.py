"""A live container: the same requests to the same pid 1 as in any sandbox, frozen through the engine."""

from __future__ import annotations

from proctor.execute.sandbox.bubblewrap.box import Box
from proctor.execute.sandbox.container.start import Contained


class ContainerBox(Box):
    """Implements ``Sandbox`` on a started container."""

    def __init__(self, contained: Contained) -> None:
        super().__init__(contained)
        self._contained = contained

    def _outer(self) -> tuple[int, ...]:
        """Nothing but pid 1 and its descendants is in a container's group."""
        return ()

    def _why_lost(self) -> tuple[str, bool]:
        if not self._closed:
            self._contained.container.ended()
        return super()._why_lost()
