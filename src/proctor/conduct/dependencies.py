"""Gather what the judge needs to speak about new dependencies: declarations before and after, installations seen."""

from __future__ import annotations

import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from proctor.base.names import name_bytes, name_text
from proctor.execute.prepare import Prepared
from proctor.execute.watch.installs import installs_in
from proctor.execute.workspace.patch import PatchProblem, apply_patch
from proctor.execute.workspace.stack import Stack
from proctor.execute.workspace.workspace import base_stack
from proctor.judge.declared import FILE_BYTES, declares
from proctor.judge.dependencies import Files, dependency_findings
from proctor.judge.policy import Finding
from proctor.record.rundir import RunDirectory
from proctor.record.trace.read import read_finished_events

MOST_FILES = 2000
"""How many files of declarations of one tree are read."""

INSTALLED = frozenset({b"node_modules", b"site-packages", b"vendor", b".venv", b"venv", b".tox", b".git"})
"""Directories of what is installed: what dependencies depend on themselves, the project does not declare."""


def find_dependencies(
    prepared: Prepared, patch: bytes, changes: Mapping[str, Any], run: RunDirectory, scratch: Path
) -> tuple[Finding, ...]:
    """What the contract's policy has to say about the dependencies that a patch and its agent bring in."""
    stack = base_stack(prepared.layers)

    def base() -> Files:
        with stack.reading(FILE_BYTES) as read:
            found = {name_text(path): read(path) for path in sorted(_declarations(stack))[:MOST_FILES]}
        return {path: one[1] for path, one in found.items() if one}

    listed = {str(item["path"]) for item in changes["changes"] if item["after"] and declares(str(item["path"]))}
    changed: dict[str, bytes] = {}
    if listed:
        try:
            writes = apply_patch(patch, stack.file, scratch=scratch).writes
        except PatchProblem:
            writes = ()
        changed = {name_text(path): data for path, _, data in writes if path in {name_bytes(text) for text in listed}}
    installs = installs_in(read_finished_events(run.events)[0])
    return dependency_findings(prepared.contract.policy, changed, base, installs)


def _declarations(stack: Stack) -> Iterator[bytes]:
    """The paths of the files in a tree that declare dependencies and are small enough to be read."""
    for directory, shown in stack.walk():
        shown[:] = [found for found in shown if found.name not in INSTALLED]
        for found in shown:
            path = directory + b"/" + found.name if directory else found.name
            small = stat.S_ISREG(found.status.st_mode) and found.status.st_size <= FILE_BYTES
            if small and declares(name_text(path)):
                yield path
