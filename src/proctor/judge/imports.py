"""Find the modules of the tree that the listed tests of a check import. Sentinels import them as well.

A forgery may begin when the code under test is imported, or look for it among the names of a test file. Imports are
found line by line; nothing is run or parsed, because a patch may have written the file. Only the first few modules that
are in the tree count.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from itertools import islice

from proctor.contract.model import Check
from proctor.execute.sandbox.interface import WORKSPACE
from proctor.judge.bench import Scene
from proctor.judge.modules import Places

MOST_FILES = 8
MOST_MODULES = 6
FILE_BYTES = 1 << 20
"""How many test files are read, how much of each, and how many modules are imported; policy choices."""

_IMPORT = re.compile(rb"^(?:import[ \t]+([A-Za-z_][^\n#;\\]{0,400})|from[ \t]+([A-Za-z_]\w{0,100}))", re.MULTILINE)
_NAME = re.compile(rb"[ \t]*([A-Za-z_][A-Za-z0-9_]{0,100})")


def imported_modules(check: Check, scene: Scene, places: Places) -> tuple[str, ...]:
    """The top-level modules of ``scene`` that the files of listed tests import, in the order of their first import."""
    roots = sorted(places.roots(lambda path: scene.read(path) is not None))
    found: dict[bytes, None] = {}
    for path in listed_files(check, scene):
        _, data = scene.read(path) or (0, b"")
        for module in _imports(data[:FILE_BYTES]):
            if module not in found and any(_has(scene, root, module) for root in roots):
                found[module] = None
    return tuple(module.decode() for module in found)[:MOST_MODULES]


def listed_files(check: Check, scene: Scene) -> tuple[bytes, ...]:
    """The first files that the ids of listed tests name, as paths in the tree."""
    start = posixpath.relpath(check.directory, WORKSPACE)
    start = "" if start == "." or start.startswith("..") else start
    names = dict.fromkeys(test.partition("::")[0] for test in (*check.must_pass, *check.keep_passing))
    paths = (posixpath.normpath(posixpath.join(start, name)) for name in names)
    inside = (path.encode() for path in paths if not path.startswith(".."))
    return tuple(islice((path for path in inside if scene.read(path) is not None), MOST_FILES))


def _imports(source: bytes) -> Iterator[bytes]:
    """The top-level names that a Python file imports at its outermost level."""
    for match in _IMPORT.finditer(source):
        for part in (match[1] or match[2]).split(b","):
            name = _NAME.match(part)
            if name:
                yield name[1]


def _has(scene: Scene, root: bytes, module: bytes) -> bool:
    head = root + b"/" + module if root else module
    return any(scene.read(head + form) is not None for form in (b".py", b"/__init__.py"))
