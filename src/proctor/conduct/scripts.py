"""Scripts that an agent wrote and runs, read for the rules on words: a command line may hide its words in a file.

Only files of the workspace that differ from the base are read: what the project's own scripts say is not the agent's
word. A script elsewhere (in ``/tmp``, or piped into a shell) is not seen, nor is one that is gone before its start was
told; what it starts is seen in any case.
"""

from __future__ import annotations

import posixpath
from hashlib import sha256

from proctor.base.errors import InfrastructureFault
from proctor.base.names import name_bytes
from proctor.execute.sandbox.interface import WORKSPACE
from proctor.execute.watch.programs import script_of
from proctor.execute.watch.words import Reading, format_of, read_words
from proctor.execute.workspace.workspace import Workspace

SCRIPT_BYTES = 256 << 10
MOST_READ = 500
"""How often a script is read in one run; a policy choice."""


class Scripts:
    """The scripts of one agent; the same text is read once."""

    def __init__(self, workspace: Workspace, off: tuple[str, ...]) -> None:
        self._workspace = workspace
        self._off = off
        self._left = MOST_READ
        self._seen: set[bytes] = set()

    def read(self, argv: tuple[str, ...], path: str, directory: str) -> Reading | None:
        """What the script says that a command line runs, if the agent wrote it and it was not read before."""
        place = posixpath.normpath(posixpath.join(directory or WORKSPACE, script_of(argv) or path))
        if not place.startswith(f"{WORKSPACE}/") or self._left <= 0:
            return None
        self._left -= 1
        inner = name_bytes(place.removeprefix(f"{WORKSPACE}/"))
        try:
            found = self._workspace.file(inner, SCRIPT_BYTES)
            if found is None or found == self._workspace.base_file(inner, SCRIPT_BYTES):
                return None
        except (InfrastructureFault, OSError):
            return None
        data = found[1]
        digest = sha256(place.encode("utf-8", "replace") + b"\0" + data).digest()
        if digest in self._seen or b"\0" in data:
            return None
        self._seen.add(digest)
        text = data.decode("utf-8", "replace")
        return read_words(text, format_of(place, text), off=self._off, where=place)
