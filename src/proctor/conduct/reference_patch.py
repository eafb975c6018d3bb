"""The reference solution as a patch, made outside every sandbox."""

from __future__ import annotations

import hashlib
from pathlib import Path

from proctor.base.errors import UsageFault
from proctor.base.files import read_bounded
from proctor.execute.agents.patch_agent import PATCH_BYTES
from proctor.execute.inputs.input_files import reference_files
from proctor.execute.prepare import PreparedBase
from proctor.execute.workspace.diff import Change, Changes
from proctor.execute.workspace.file_tree import entry_with
from proctor.execute.workspace.patch import make_patch
from proctor.execute.workspace.workspace import base_stack


def reference_patch(prepared: PreparedBase, scratch: Path) -> bytes:
    """The patch that turns the base into the reference solution, made in a directory below ``scratch``."""
    contract = prepared.contract
    reference = contract.reference
    if reference is None:
        raise UsageFault(
            "the contract has no reference solution",
            where=str(contract.directory / "contract.yaml"),
            hint="add `reference: {patch: FILE}` or `reference: {from: INPUT, paths: [...]}`",
        )
    if reference.patch is not None:
        data = read_bounded(contract.directory / reference.patch.path, PATCH_BYTES)
        if hashlib.sha256(data).hexdigest() != reference.patch.sha256:
            raise UsageFault("changed since the contract was loaded", where=reference.patch.path)
        return data
    base = base_stack(prepared.layers)
    after = {path: (mode, data) for path, mode, data in reference_files(reference, contract, prepared.inputs)}
    changes = []
    for path, (mode, data) in sorted(after.items()):
        before = base.file(path)
        if before == (mode, data):
            continue
        old = entry_with(path, *before) if before else None
        changes.append(Change(path, "modified" if old else "added", old, entry_with(path, mode, data)))
    return make_patch(Changes(tuple(changes)), base.read, lambda path: after[path][1], scratch=scratch)
