"""A prepared contract as the formats of tasks need it: texts, the base, the solution, and the files of the judge.

The trees are written as tar archives with fixed times, owners and order, so that the same base gives the same bytes.
Guarded files are those that the judge restores: files that steer test runners, and files that the contract protects.
"""

from __future__ import annotations

import hashlib
import os
import stat
import tarfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

from proctor.base.errors import UsageFault
from proctor.base.files import read_bounded
from proctor.base.untrusted_directories import LINK, file_mode, join, opened
from proctor.conduct.briefing import Briefing, brief
from proctor.conduct.reference_patch import reference_patch
from proctor.contract.model import RESULT_FORMATS, Contract
from proctor.execute.inputs.input_files import File, hidden_files
from proctor.execute.prepare import SOURCE_DATE_EPOCH, PreparedBase
from proctor.execute.workspace.diff import Change, Changes
from proctor.execute.workspace.file_tree import GIT, entry_with
from proctor.execute.workspace.layer_stack import Found, Stack
from proctor.execute.workspace.patch import Application, apply_patch, make_patch
from proctor.execute.workspace.path_patterns import matches
from proctor.execute.workspace.workspace import base_stack
from proctor.judge.patch_policy.paths_of_tests import WHOLE, is_product, steers

MTIME = int(SOURCE_DATE_EPOCH)
GUARDED_BYTES = 256 << 20
PLACED_BYTES = 64 << 20
"""The most that the guarded files of a base may hold together, and one file that the contract places."""


@dataclass(frozen=True)
class TaskMaterial:
    """What an exported task is made of. ``solution`` is a patch, ``solved`` what it makes of the base.

    ``hidden`` are the judge's files by check. ``guarded`` are the base's files that the judge restores, ``products``
    the paths of files that steer a runner and that installing leaves by nature, which are not restored.
    """

    contract: Contract
    content_id: str
    briefing: Briefing
    environment: dict[str, str]
    root_digest: str
    solution: bytes
    solved: Application
    hidden: dict[str, list[File]]
    test_patch: bytes
    untold: tuple[str, ...]
    guarded: tuple[File, ...]
    products: tuple[bytes, ...]
    layers: tuple[Path, ...]

    def write_base(self, file: BinaryIO) -> None:
        """The tree at ``/workspace``, what setup left at ``/setup``, and placed files, as a tar archive."""
        with _archive(file) as archive:
            _add_tree(archive, b"workspace", self.workspace)
            _add_tree(archive, b"setup", self.setup)
            _add_placed(archive, self.contract)

    def write_setup(self, file: BinaryIO) -> None:
        """The same without the tree."""
        with _archive(file) as archive:
            _add_tree(archive, b"setup", self.setup)
            _add_placed(archive, self.contract)

    @property
    def workspace(self) -> Stack:
        """The tree of the base."""
        return Stack(tuple(layer / "workspace" for layer in self.layers))

    @property
    def setup(self) -> Stack:
        """What setup left outside of the tree."""
        return Stack(tuple(place for layer in self.layers if (place := layer / "setup").is_dir()))


def task_material(prepared: PreparedBase, scratch: Path) -> TaskMaterial:
    """The material of a prepared contract, made in a directory below ``scratch``."""
    contract = prepared.contract
    _require_exportable(contract)
    base = base_stack(prepared.layers)
    given = reference_patch(prepared, scratch)
    solved = apply_patch(given, base.file, scratch=scratch)
    hidden = {
        check.id: [file for one in check.hidden for file in hidden_files(one, contract, prepared.inputs)]
        for check in contract.checks
        if check.hidden
    }
    texts, untold = _texts(hidden)
    guarded, products = _guarded(contract, base, Stack((prepared.source.path / "workspace",)))
    return TaskMaterial(
        contract=contract,
        content_id=prepared.content_id,
        briefing=brief(contract),
        environment=dict(prepared.environment),
        root_digest=prepared.root_digest,
        solution=given if given.startswith(b"diff --git ") else _patch_of(solved, base, scratch),
        solved=solved,
        hidden=hidden,
        test_patch=_patch_of(Application(texts, ()), base, scratch),
        untold=untold,
        guarded=guarded,
        products=products,
        layers=tuple(layer.path for layer in prepared.layers),
    )


def _require_exportable(contract: Contract) -> None:
    """Refuse contracts whose judging needs a part that no exported task can have."""
    where = str(contract.directory / "contract.yaml")
    if any(step.repeat == "after_patch" for step in contract.setup):
        message = "a setup step repeats after the patch, which an exported task cannot do offline"
        raise UsageFault(message, where=where, hint="make it a part of a check's command")
    foreign = [check.results for check in contract.checks if check.results not in RESULT_FORMATS]
    if foreign:
        message = f"the results {foreign[0]!r} are read by an installed package, which an exported task does not have"
        raise UsageFault(message, where=where, hint=f"use one of {', '.join(RESULT_FORMATS)}")


def tar_bytes(files: Iterable[File]) -> bytes:
    """A tar archive of single files in their order."""
    made = BytesIO()
    with _archive(made) as archive:
        for path, mode, data in files:
            _add(archive, path, mode, data)
    return made.getvalue()


def _archive(file: BinaryIO) -> tarfile.TarFile:
    return tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT, errors="surrogateescape")


def _member(path: bytes, mode: int) -> tarfile.TarInfo:
    member = tarfile.TarInfo(os.fsdecode(path))
    member.mode, member.mtime = mode & 0o777, MTIME
    return member


def _add(archive: tarfile.TarFile, path: bytes, mode: int, data: bytes) -> None:
    member = _member(path, 0o777 if mode == LINK else mode)
    if mode == LINK:
        member.type, member.linkname = tarfile.SYMTYPE, os.fsdecode(data)
        archive.addfile(member)
        return
    member.size = len(data)
    archive.addfile(member, BytesIO(data))


def _add_tree(archive: tarfile.TarFile, top: bytes, tree: Stack) -> None:
    """Everything in a tree, directories first, without ``.git``."""
    archive.addfile(_directory(top))
    for path, shown in tree.walk():
        shown[:] = [found for found in shown if found.name != GIT]
        for found in shown:
            _add_found(archive, join(top, join(path, found.name)), found)


def _directory(path: bytes) -> tarfile.TarInfo:
    member = _member(path, 0o755)
    member.type = tarfile.DIRTYPE
    return member


def _add_found(archive: tarfile.TarFile, path: bytes, found: Found) -> None:
    kind = stat.S_IFMT(found.status.st_mode)
    if kind == stat.S_IFDIR:
        archive.addfile(_directory(path))
    elif kind == stat.S_IFLNK:
        target = os.readlink(found.name, dir_fd=found.directory)
        _add(archive, path, LINK, target)
    elif kind == stat.S_IFREG:
        member = _member(path, stat.S_IMODE(found.status.st_mode))
        member.size = found.status.st_size
        with opened(found.directory, found.name) as handle, os.fdopen(os.dup(handle), "rb") as content:
            archive.addfile(member, content)


def _add_placed(archive: tarfile.TarFile, contract: Contract) -> None:
    for placed in contract.environment.files:
        data = read_bounded(contract.directory / placed.file.path, PLACED_BYTES)
        if hashlib.sha256(data).hexdigest() != placed.file.sha256:
            raise UsageFault("changed since the contract was loaded", where=placed.file.path)
        mode = 0o100755 if placed.file.executable else 0o100644
        _add(archive, os.fsencode(placed.to.lstrip("/")), mode, data)


def _texts(hidden: Mapping[str, list[File]]) -> tuple[tuple[File, ...], tuple[str, ...]]:
    """The hidden files of all checks as text, and the names of those that a patch in UTF-8 cannot hold."""
    texts: dict[bytes, File] = {}
    untold: set[str] = set()
    for path, mode, data in (file for files in hidden.values() for file in files):
        try:
            (path + b"\n" + data).decode("utf-8")
        except UnicodeDecodeError:
            untold.add(os.fsdecode(path))
            continue
        texts[path] = (path, mode, data)
    return tuple(sorted(texts.values())), tuple(sorted(untold))


def _patch_of(change: Application, base: Stack, scratch: Path) -> bytes:
    """The patch that makes these changes to the base, in the form of git."""
    after = {path: (mode, data) for path, mode, data in change.writes}
    changes = []
    for path in sorted({*after, *change.removals}):
        before = base.file(path)
        if before != after.get(path):
            old = entry_with(path, *before) if before else None
            new = entry_with(path, *after[path]) if path in after else None
            changes.append(Change(path, "modified" if old and new else "added" if new else "deleted", old, new))
    return make_patch(Changes(tuple(changes)), base.read, lambda path: after[path][1], scratch=scratch)


def _guarded(contract: Contract, base: Stack, source: Stack) -> tuple[tuple[File, ...], tuple[bytes, ...]]:
    """The guarded files of the base, and the paths of guarded products."""
    found: list[File] = []
    products: list[bytes] = []
    has = partial(_has, source)
    size = 0
    for path in _paths(base):
        kind = is_guarded(contract, path, has)
        if not kind:
            continue
        if kind == "product":
            products.append(path)
            continue
        held = base.file(path)
        if held is not None:
            found.append((path, *held))
            size += len(held[1])
        if size > GUARDED_BYTES:
            message = f"the files that the judge restores are larger than {GUARDED_BYTES} bytes together"
            raise UsageFault(message, where=contract.name, hint="protect fewer files")
    return tuple(sorted(found)), tuple(sorted(products))


def _has(source: Stack, path: bytes) -> bool:
    return source.file(path) is not None


def _paths(tree: Stack) -> Iterator[bytes]:
    for path, shown in tree.walk():
        shown[:] = [found for found in shown if found.name != GIT]
        yield from (join(path, found.name) for found in shown if file_mode(found.status) is not None)


def is_guarded(contract: Contract, path: bytes, has: partial[bool]) -> str:
    """``file`` for a file that the judge restores, ``product`` for one that installing leaves, else nothing."""
    policy = contract.policy
    if any(matches(path, pattern) for pattern in policy.protected):
        return "file"
    if steers(path, has) != WHOLE or any(matches(path, pattern) for pattern in policy.free_steering):
        return ""
    return "product" if is_product(path) else "file"
