"""Recognise git history by the names and the first bytes of files: objects, packs and bundles.

Their contents are compressed and often stored as differences, so they are not compared with the project under test. A
history may contain every later version of it.
"""

from __future__ import annotations

import re
from collections.abc import Callable

_OBJECT = re.compile(
    r"(?:(?P<root>.*)/)?objects/(?:[0-9a-f]{2}/(?:[0-9a-f]{38}|[0-9a-f]{62})|pack/(?:pack|tmp_pack)[-_][^/]+(?<!\.idx))"
)
_PACKS = ((b"PACK\0\0\0", "a pack of objects"), (b"# v2 git bundle\n", "a bundle"), (b"# v3 git bundle\n", "a bundle"))


class GitHistory:
    """Collects the git history among files. ``name`` gives the place of a path in an archive, as a text."""

    def __init__(self, name: Callable[[str, str], str]) -> None:
        self.places: dict[str, str] = {}
        """Each place, and what is there."""
        self._name = name

    def look(self, archive: str, path: str, head: bytes = b"") -> None:
        """Take the file ``path`` in ``archive`` into account; ``head`` are its first bytes."""
        match = _OBJECT.fullmatch(path)
        if match is not None:
            root = match["root"] or path.partition("/")[0]
            self.places.setdefault(self._name(archive, root), "git objects")
        for magic, what in _PACKS:
            place = self._name(archive, path)
            if head.startswith(magic) and not any(place.startswith(one) for one in self.places):
                self.places.setdefault(place, what)
