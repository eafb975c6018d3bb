"""Scripts that an agent wrote and runs, read for the rules on text: a command line may hide its purpose in a file.

A script of the workspace that is the same in the base is not read, because the agent did not write it. The guard sends
the text of a script as it starts, so that one that deletes itself is read too. What could not be read, in whole or in
part, is a hit of the rule ``unread``. A script that is piped into a shell is not seen; what it starts is seen in any
case.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from hashlib import sha256

from proctor.base.errors import InfrastructureFault
from proctor.base.reversible_escapes import name_bytes
from proctor.execute.monitor.program_kinds import script_of
from proctor.execute.monitor.text_rules.text_scan import Reading, format_of, scan_text, with_unread
from proctor.execute.sandbox.guard_observations import Observation
from proctor.execute.sandbox.interface import WORKSPACE
from proctor.execute.workspace.workspace import Workspace

SCRIPT_BYTES = 256 << 10
"""How much of a script is read; the guard sends no more."""
MOST_READ = 500
"""How many different scripts are read in one run; a policy choice."""
NOTHING = Reading((), 0, 0)


class Scripts:
    """The scripts of one agent; the same text is read once."""

    def __init__(self, workspace: Workspace, off: tuple[str, ...]) -> None:
        self._workspace = workspace
        self._off = off
        self._left = MOST_READ
        self._seen: set[bytes] = set()
        self._kept: list[Observation] = []

    def keep(self, script: Observation) -> None:
        """Keep the text of a script; the next program that starts is the one that runs it."""
        self._kept.append(script)

    def read(self, program: Observation) -> tuple[Reading, ...]:
        """What the scripts say that a program runs, if the agent wrote them and they were not read before."""
        kept, self._kept = self._kept, []
        scripts = [one for one in kept if one.pid == program.pid] or list(self._from_workspace(program))
        return tuple(reading for one in scripts if (reading := self._read(one)) is not None)

    def _from_workspace(self, program: Observation) -> Iterator[Observation]:
        """The script of a program of which the guard sent none."""
        place = posixpath.normpath(posixpath.join(program.cwd or WORKSPACE, script_of(program.argv) or program.path))
        data = self._file(place)
        if data and b"\0" not in data:
            yield Observation("script", program.time_ns, path=place, detail="whole", size=len(data), text=data)

    def _read(self, script: Observation) -> Reading | None:
        place, data = script.path, script.text
        mark = f"{place}\0{script.detail}\0{script.size}\0".encode("utf-8", "replace")
        digest = sha256(mark + data).digest()
        if digest in self._seen or self._left < 0:
            return None
        if script.detail != "unread" and self._is_base(script):
            self._seen.add(digest)
            return None
        self._left -= 1
        if self._left < 0:
            return with_unread(NOTHING, f"{place}, and scripts after it")
        self._seen.add(digest)
        text = data.decode("utf-8", "replace")
        reading = scan_text(text, format_of(place, text), off=self._off, where=place)
        return reading if script.detail == "whole" else with_unread(reading, place)

    def _file(self, place: str) -> bytes:
        """The file of the workspace at ``place``; empty if it does not exist, or is elsewhere."""
        if not place.startswith(f"{WORKSPACE}/"):
            return b""
        try:
            found = self._workspace.file(_inner(place), SCRIPT_BYTES)
        except (InfrastructureFault, OSError):
            return b""
        return found[1] if found is not None else b""

    def _is_base(self, script: Observation) -> bool:
        """Whether a script is the same in the base. Of one that was cut, only the start is known: it must be older."""
        if not script.path.startswith(f"{WORKSPACE}/") or script.detail == "cut":
            return False
        try:
            base = self._workspace.base_file(_inner(script.path), script.size + 1)
        except (InfrastructureFault, OSError):
            return False
        if base is None or len(base[1]) != script.size:
            return False
        return base[1][:SCRIPT_BYTES].replace(b"\0", b"") == script.text


def _inner(place: str) -> bytes:
    return name_bytes(place.removeprefix(f"{WORKSPACE}/"))
