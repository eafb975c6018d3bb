"""A fix as two trees: what it changed, what it says of itself, and where its base comes from.

A fix is a commit, a range of commits, or the step from one release to the next. Nothing here runs anything; the files
are data of others and bounded.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from proctor.author.mine.path_kinds import GENERATED, TEST, kind_of, usable_path
from proctor.base.errors import ProctorError, UsageFault
from proctor.contract.lock import Locked, spec_text
from proctor.contract.model import InputFile, Source
from proctor.execute.inputs.input_cache import InputCache, resolve
from proctor.execute.inputs.interface import InputRequest
from proctor.execute.workspace.archive_extraction import members, read_members
from proctor.execute.workspace.archive_reader import ArchiveLimits
from proctor.execute.workspace.diff import Change, Changes
from proctor.execute.workspace.file_tree import entry_with
from proctor.execute.workspace.git_history import LINK, SUBMODULE, CommitFacts, History
from proctor.execute.workspace.patch import make_patch

MOST_CHANGES = 400
TOTAL_BYTES = 32 << 20
EARLIEST = 315_619_200
"""The first day of 1980 and a day: archives without times of their own carry this or less."""
WITHOUT_TIME = frozenset((0, 1_580_601_600))
"""Times that build back ends write when they have none: the epoch, and 2 February 2020."""
RELEASE_BYTES = 512 << 20

File = tuple[int, bytes]


class UnfitFix(ProctorError):
    """A fix from which no contract can be made; ``reason`` is a code that ``mine`` counts."""

    exit_code = 2

    def __init__(self, reason: str, message: str, *, where: str = "", hint: str = "") -> None:
        super().__init__(message, where=where, hint=hint)
        self.reason = reason


@dataclass(frozen=True)
class ChangedFile:
    """One file that the fix changed; ``None`` where it does not exist."""

    path: str
    kind: str
    before: File | None
    after: File | None


@dataclass(frozen=True)
class KnownFix:
    """A fix. ``time`` is when it was made, in seconds, or 0; ``repository`` is that part of the contract."""

    name: str
    base: str
    fix: str
    repository: Mapping[str, Any]
    locked: Locked | None
    time: int
    version: str
    changes: tuple[ChangedFile, ...]
    messages: tuple[str, ...]
    base_paths: frozenset[str]
    fix_paths: frozenset[str]
    read_base: Callable[[str], bytes | None] = field(repr=False)
    read_fix: Callable[[str], bytes | None] = field(repr=False)
    read_many: Callable[[Sequence[str]], Mapping[str, bytes]] = field(repr=False)
    """Files of the fixed tree, all at once."""
    author: str = ""

    @property
    def tests(self) -> tuple[ChangedFile, ...]:
        """The changed files that are tests, or steer them."""
        return tuple(one for one in self.changes if one.kind == TEST)

    @property
    def others(self) -> tuple[ChangedFile, ...]:
        """The changed files that are part of the solution: all but tests and what tools generate."""
        return tuple(one for one in self.changes if one.kind not in (TEST, GENERATED))

    def reference(self, scratch: Path | None = None) -> bytes:
        """The patch of the solution."""
        before = {one.path.encode(): one.before for one in self.others if one.before is not None}
        after = {one.path.encode(): one.after for one in self.others if one.after is not None}
        changes = []
        for path in sorted(before.keys() | after.keys()):
            old = entry_with(path, *before[path]) if path in before else None
            new = entry_with(path, *after[path]) if path in after else None
            change = "modified" if old and new else "added" if new else "deleted"
            changes.append(Change(path, change, old, new))
        return make_patch(
            Changes(tuple(changes)), lambda path: before[path][1], lambda path: after[path][1], scratch=scratch
        )


def fix_range(history: History, name: str) -> tuple[str, str]:
    """The commits before and after the fix called ``name``: a commit, ``A..B``, a tag, or an open branch."""
    start, dots, end = name.partition("..")
    if dots:
        if not start or not end or end.startswith("."):
            raise UsageFault(f"{name!r} is not a range of commits", hint="write it as BASE..FIX, both named")
        return history.resolve(start), history.resolve(end)
    fix = history.resolve(name)
    head = history.resolve("HEAD")
    shared = history.merge_base(head, fix)
    if shared and shared != fix:
        return shared, fix
    parents = history.commit(fix).parents
    if not parents:
        raise UnfitFix("no-parent", "the first commit of a repository has no base", where=history.source)
    return parents[0], fix


def fix_of_commits(history: History, base: str, fix: str, git: str, version: str = "") -> KnownFix:
    """The fix between two commits; ``git`` is what the contract names as its repository."""
    facts = history.commit(fix)
    changes = history.changes(base, fix)
    if len(changes) > MOST_CHANGES:
        raise UnfitFix("too-large", f"the fix changes {len(changes)} files; the most are {MOST_CHANGES}")
    for one in changes:
        if not usable_path(one.path):
            raise UnfitFix("file-names", "a changed file has a name that a contract cannot carry")
        if SUBMODULE in (one.before, one.after):
            raise UnfitFix("submodule", f"the fix changes the submodule {one.path.decode()}")
        if one.after == LINK and kind_of(one.path.decode()) == TEST:
            raise UnfitFix("link-in-tests", f"the fix makes {one.path.decode()} a link, which hidden tests cannot be")
    paths = history.paths(base)
    if SUBMODULE in paths.values():
        raise UnfitFix("submodule", "the repository has submodules", hint="declare them in a contract written by hand")
    total = 0
    files = []
    for one in changes:
        path = one.path.decode()
        before = history.read(base, one.path) if one.before else None
        after = history.read(fix, one.path) if one.after else None
        total += len(before[1] if before else b"") + len(after[1] if after else b"")
        if total > TOTAL_BYTES:
            raise UnfitFix("too-large", f"the changed files have more than {TOTAL_BYTES} bytes")
        files.append(ChangedFile(path, kind_of(path), before, after))
    return KnownFix(
        name=fix[:10],
        base=base,
        fix=fix,
        repository={"git": git, "commit": base},
        locked=None,
        time=history.latest_time(fix),
        version=version or described_version(*history.describe(base)),
        changes=tuple(files),
        messages=_messages(history, base, facts),
        base_paths=frozenset(text for path in paths if (text := usable_path(path))),
        fix_paths=frozenset(text for path in history.paths(fix) if (text := usable_path(path))),
        read_base=lambda path: _data(history.read(base, path.encode())),
        read_fix=lambda path: _data(history.read(fix, path.encode())),
        read_many=lambda wanted: _many(history, fix, wanted),
        author=facts.author,
    )


def described_version(version: str, distance: int) -> str:
    """The version of a commit that is ``distance`` after the tag of ``version``, as build back ends guess it."""
    if not version or not distance:
        return version
    match = re.match(r"([0-9.]*?)([0-9]+)\Z", version)
    return f"{match[1]}{int(match[2]) + 1}.dev{distance}" if match else f"{version}.post{distance}"


def _messages(history: History, base: str, facts: CommitFacts) -> tuple[str, ...]:
    """The message of the fix, and those of the commits that it brought."""
    others = [one.message for one in history.between(base, facts.id) if one.id != facts.id and len(one.parents) < 2]
    return (facts.message, *others[:20])


def _many(history: History, commit: str, wanted: Sequence[str]) -> dict[str, bytes]:
    asked = {path.encode() for path in wanted}
    return {path.decode(): data for path, data in history.read_all(commit, asked.__contains__, TOTAL_BYTES).items()}


def _data(found: File | None) -> bytes | None:
    return None if found is None or found[0] == LINK else found[1]


def fix_of_releases(spec: str, cache: InputCache) -> KnownFix:
    """The fix between two releases of a package on the Python index, such as ``sqlparse==0.5.1..0.5.2``."""
    name, separator, versions = spec.partition("==")
    old, dots, new = versions.partition("..")
    if not (name and separator and old and dots and new):
        raise UsageFault(f"{spec!r} does not name two releases", hint="write it as NAME==OLD..NEW")
    before, after = (Source("pypi", f"{name}=={version}") for version in (old, new))
    trees = []
    for source in (before, after):
        files = resolve(InputRequest(source), Path(), cache)
        trees.append((files, *_release_tree(source, files, cache)))
    (old_files, base, _), (_, fixed, time) = trees
    changed = sorted(path for path in base.keys() | fixed.keys() if base.get(path) != fixed.get(path))
    if len(changed) > MOST_CHANGES:
        raise UnfitFix("too-large", f"the releases differ in {len(changed)} files; the most are {MOST_CHANGES}")
    differing = tuple(ChangedFile(path, _release_kind(path), base.get(path), fixed.get(path)) for path in changed)
    return KnownFix(
        name=f"{name}-{new}",
        base=old,
        fix=new,
        repository={"pypi": before.spec, "strip": 1},
        locked=Locked(spec_text(before), old_files),
        time=time,
        version=old,
        changes=differing,
        messages=(),
        base_paths=frozenset(base),
        fix_paths=frozenset(fixed),
        read_base=lambda path: _data(base.get(path)),
        read_fix=lambda path: _data(fixed.get(path)),
        read_many=lambda wanted: {path: fixed[path][1] for path in wanted if path in fixed},
    )


def _release_kind(path: str) -> str:
    """Metadata that a build back end writes into a source release is generated."""
    generated = posixpath.basename(path) == "PKG-INFO" or ".egg-info/" in path
    return GENERATED if generated else kind_of(path)


def _release_tree(source: Source, files: tuple[InputFile, ...], cache: InputCache) -> tuple[dict[str, File], int]:
    """The files of a source release, and when it was made."""
    (path,) = cache.ensure(Source(source.kind, source.spec, files), Path())
    limits = ArchiveLimits(total_bytes=RELEASE_BYTES)
    found = {}
    for name, mode, data in read_members(path, lambda _: True, strip=1, limits=limits):
        if text := usable_path(name):
            found[text] = (mode, data)
    times = {one.mtime for one in members(path, limits)} - WITHOUT_TIME
    latest = max(times, default=0)
    return found, latest if latest > EARLIEST else 0
