"""Patches made from files: what turns the base of a contract into a tree with other contents."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from proctor.execute.prepare import Prepared
from proctor.execute.workspace.diff import Change, Changes
from proctor.execute.workspace.patch import Application, make_patch
from proctor.execute.workspace.tree import entry_with
from proctor.execute.workspace.workspace import base_stack

FILE = 0o100644


def patch_to(
    prepared: Prepared, after: Mapping[bytes, bytes | None], scratch: Path, modes: Mapping[bytes, int] | None = None
) -> bytes:
    """The patch after which every path of ``after`` holds its bytes, or is gone for ``None``.

    ``modes`` are those of paths that do not keep the base's.
    """
    base = base_stack(prepared.layers)
    changes: list[Change] = []
    for path, data in sorted(after.items()):
        before = base.file(path)
        mode = (modes or {}).get(path) or (before[0] if before else FILE)
        if before == (None if data is None else (mode, data)):
            continue
        old = entry_with(path, *before) if before else None
        new = entry_with(path, mode, data) if data is not None else None
        kind = "deleted" if new is None else "modified" if old else "added"
        changes.append(Change(path, kind, old, new))
    return make_patch(Changes(tuple(changes)), base.read, lambda path: after[path] or b"", scratch=scratch)


def files_of(application: Application) -> dict[bytes, bytes | None]:
    """What an applied patch leaves at the paths that it touches."""
    return {**{path: data for path, _, data in application.writes}, **dict.fromkeys(application.removals)}
