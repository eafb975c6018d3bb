"""Conflict markers that a patch leaves in the tree. Pure but for reading the base.

A file is conflicted when it holds an opening, a middle and a closing marker in that order, and the base's version does
not: documents and tests about merging stay what they are. Tests that a patch adds may hold markers on purpose.
"""

from __future__ import annotations

from proctor.base.names import name_text
from proctor.execute.workspace.patch import Application
from proctor.judge.placement import ReadBase
from proctor.judge.testpaths import is_test


def conflicted_paths(application: Application, read_base: ReadBase) -> tuple[bytes, ...]:
    """The files in which the patch leaves conflict markers that were not there before."""
    found = []
    for path, _, data in application.writes:
        if has_markers(data):
            before = read_base(path)
            if not (before and has_markers(before[1])) and not (before is None and is_test(name_text(path))):
                found.append(path)
    return tuple(found)


def has_markers(data: bytes) -> bool:
    """Whether ``data`` holds a whole set of conflict markers, each at the start of a line."""
    if b"<<<<<<< " not in data or b">>>>>>> " not in data:
        return False
    seen = 0
    for line in data.split(b"\n"):
        if seen == 0 and line.startswith(b"<<<<<<< "):
            seen = 1
        elif seen == 1 and line.rstrip(b"\r") == b"=======":
            seen = 2
        elif seen == 2 and line.startswith(b">>>>>>> "):
            return True
    return False
