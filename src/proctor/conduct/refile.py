"""Files of a live sandbox brought to their recorded states, through commands in that sandbox alone."""

from __future__ import annotations

import os
from collections.abc import Iterable
from hashlib import sha256

from proctor.base.names import name_bytes
from proctor.conduct.recorded import State, Step
from proctor.execute.observe.hunks import text_after
from proctor.execute.sandbox.interface import Command, Sandbox

FILE_BYTES = 16 << 20
LINK = "120000"

_LOOK = """
if [ -L "$1" ]; then printf 120000; readlink -n -- "$1"
elif [ -x "$1" ] && [ -f "$1" ]; then printf 100755; cat -- "$1"
elif [ -f "$1" ]; then printf 100644; cat -- "$1"; fi
"""
_PUT = """
rm -f -- "$1"
case "$2" in
"") exit 0;;
120000) mkdir -p -- "$(dirname -- "$1")"; ln -s -- "$(cat)" "$1";;
*) mkdir -p -- "$(dirname -- "$1")"; cat > "$1"; chmod "${2#100}" -- "$1";;
esac
"""


class Refile:
    """Brings files along the chain of changes that ``steps`` tells."""

    def __init__(self, sandbox: Sandbox, steps: tuple[Step, ...], known: Iterable[bytes] = ()) -> None:
        self._sandbox = sandbox
        self._chains: dict[str, list[Step]] = {}
        for step in steps:
            self._chains.setdefault(step.path, []).append(step)
        self._known = {sha256(data).hexdigest(): data for data in known}
        self._placed: list[str] = []

    @property
    def placed(self) -> tuple[str, ...]:
        """The events whose changes no command made, and which were put in place."""
        return tuple(self._placed)

    def bring(self, steps: Iterable[Step]) -> tuple[str, str] | None:
        """Let every file be at least where ``steps`` left it; where and why one cannot be, otherwise."""
        last = {step.path: step for step in steps}
        for path, goal in last.items():
            problem = self._bring(path, goal)
            if problem:
                return f"events.jsonl#{goal.seq}", f"{path}: {problem}"
        return None

    def _bring(self, path: str, goal: Step) -> str:
        chain = self._chains[path]
        state, data = self._look(path)
        end = chain.index(goal)
        if any(step.after == state for step in chain[end:]):
            return ""
        start = next((at + 1 for at in range(end - 1, -1, -1) if chain[at].after == state), None)
        if start is None:
            if chain[0].before != state:
                return f"is {_shown(state)}, and was {_shown(chain[0].before)} before and {_shown(goal.after)} after"
            start = 0
        for step in chain[start : end + 1]:
            after = self._content(step, data)
            if step.after is not None and after is None:
                return "its change was not recorded in full"
            data = after
            self._placed.append(f"events.jsonl#{step.seq}")
        self._put(path, goal.after[0] if goal.after else "", data or b"")
        return ""

    def _content(self, step: Step, before: bytes | None) -> bytes | None:
        """What the file held after ``step``, by its difference or by what is known otherwise."""
        if step.after is None:
            return None
        mode, digest = step.after
        for data in (before, None if mode == LINK else text_after(before, step.diff), self._known.get(digest)):
            if data is not None and sha256(data).hexdigest() == digest:
                return data
        return None

    def _look(self, path: str) -> tuple[State, bytes | None]:
        done = self._run(_LOOK, path)
        if not done:
            return None, None
        mode, data = done[:6].decode(), done[6:]
        return (mode, sha256(data).hexdigest()), data

    def _put(self, path: str, mode: str, data: bytes) -> None:
        self._run(_PUT, path, mode, stdin=data)

    def _run(self, script: str, path: str, *more: str, stdin: bytes = b"") -> bytes:
        name = "./" + os.fsdecode(name_bytes(path))
        finished = self._sandbox.run(
            Command(
                ("/bin/sh", "-c", script, "sh", name, *more),
                environment={"PATH": "/usr/bin:/bin", "LC_ALL": "C"},
                stdin=stdin,
                output_bytes=FILE_BYTES,
            )
        )
        return finished.stdout.prefix


def _shown(state: State) -> str:
    return f"{state[0]} {state[1]}" if state else "absent"
