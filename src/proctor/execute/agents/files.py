"""The files that an agent brings along: a read-only copy by their content, verified for each run.

The directory that a user names can change at any time. So its files are copied into a layer whose key is the digest of
their content; the layer is what the sandbox shows, and its digest is what the manifest names. ``.git`` is not copied.
As everywhere, the digest does not cover empty directories and permissions other than the executable bit.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from proctor.base.errors import UsageFault
from proctor.base.handles import in_reach
from proctor.execute.agents.interface import FILES_CONTENT, AgentFiles, AgentRequest
from proctor.execute.workspace.store import DamagedLayer, LayerStore
from proctor.execute.workspace.tree import scan_tree, tree_digest

NAME_CHARACTERS = 200
"""How much of a name a message shows."""


def copied_files(request: AgentRequest) -> AgentFiles | None:
    """A verified copy of the files that ``request`` names; ``None`` if it names none."""
    if request.files is None:
        return None
    return copy_directory(request.files, request.copied_to, {} if request.copies is None else request.copies)


def copy_directory(directory: Path, copied_to: Path | None, copies: dict[Path, AgentFiles]) -> AgentFiles:
    """A verified copy of ``directory`` below ``copied_to``; ``copies`` are those that were made before."""
    if not directory.is_dir():
        raise UsageFault("the agent's files must be a directory", where=str(directory))
    if copied_to is None:
        raise UsageFault("an agent with files cannot be used here", where=str(directory))
    source = directory.resolve()
    if copied_to.resolve().is_relative_to(source):
        raise UsageFault("the agent's files and Proctor's home overlap", where=str(directory))
    store = LayerStore(copied_to)
    if source not in copies:
        copies[source] = _copied(source, store)
    return AgentFiles(copies[source].digest, store.verify(copies[source].layer))


def _copied(source: Path, store: LayerStore) -> AgentFiles:
    try:
        found = scan_tree(source, open_up=False)
    except OSError as error:
        name = os.fsdecode(error.filename or source.name)
        raise UsageFault(f"the agent's files cannot be read: {name}: {error.strerror}", where=str(source)) from None
    if found.special:
        name = found.special[0].decode("utf-8", "backslashreplace")
        problem = "something that is not a file" if in_reach(found.special[0]) else "a path that is too long"
        raise UsageFault(f"the agent's files contain {problem}: {name[:NAME_CHARACTERS]}", where=str(source))
    digest = tree_digest(found.entries)

    def copy(content: Path) -> Mapping[str, Any]:
        _copy(source, content / FILES_CONTENT)
        if tree_digest(scan_tree(content / FILES_CONTENT).entries) != digest:
            raise UsageFault("the agent's files changed while they were copied", where=str(source), hint="try again")
        return {}

    layer = store.make(f"files-{digest.removeprefix('sha256:')}", copy)
    if tree_digest(scan_tree(layer.path / FILES_CONTENT).entries) != digest:  # changed between the copy and the seal
        hint = "remove this layer's directory; it is made again when it is needed"
        raise DamagedLayer("the copy of the agent's files was changed", where=str(layer.path), hint=hint)
    return AgentFiles(digest, layer)


def _copy(source: Path, target: Path) -> None:
    """Copy a tree without its ``.git``, links as links."""
    try:
        shutil.copytree(source, target, symlinks=True, ignore=shutil.ignore_patterns(".git"))
    except shutil.Error as error:
        raise UsageFault(f"the agent's files cannot be copied: {error.args[0][0][2]}", where=str(source)) from None
    target.chmod(0o755)
