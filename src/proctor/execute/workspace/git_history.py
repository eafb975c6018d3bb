"""Read the history of a repository that anyone may have written, without running anything that it holds.

Git works in a repository of the harness's own that borrows the objects and gets a copy of the references. The
configuration, hooks, filters and attributes of the source are never read. Names of references that git would refuse are
left out. Paths are bytes; whether a path can be used is for the caller to decide.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from proctor.base.errors import InfrastructureFault
from proctor.base.files import read_bounded
from proctor.execute.workspace.git_checkout import BadRepository, address_of, borrow, git_directory
from proctor.execute.workspace.git_repository import OwnRepository, scratch_repository

__all__ = ["CommitFacts", "History", "PathChange", "open_history"]

MOST_REFERENCES = 50_000
MOST_DEPTH = 12
"""How many references are copied, and how deep their directories are searched."""
REFERENCES_BYTES = 64 << 20
MESSAGE_CHARACTERS = 64 << 10
TRANSFER_SECONDS = 3600
BLOB_BYTES = 32 << 20
MOST_HEAD = 100
WHOLE = "give a whole clone: one without --filter and --depth"
LATEST = 1 << 33
"""The latest time of a commit that is believed, in the year 2242."""

LINK, SUBMODULE = 0o120000, 0o160000

_REFERENCE = re.compile(r"refs/(?:heads|tags|remotes)/[^\x00-\x20\x7f~^:?*\[\\]{1,250}\Z")
_OBJECT = re.compile(r"[0-9a-f]{40}\Z")
_VERSION_TAG = re.compile(r"(?:.*?[^0-9.])??([0-9]+(?:\.[0-9]+)+(?:\.?(?:a|b|rc|post|dev)[0-9]+)?)\Z")


@dataclass(frozen=True)
class CommitFacts:
    """One commit: its parents, the times of author and committer in seconds, who wrote it, and its message."""

    id: str
    parents: tuple[str, ...]
    author: str
    authored: int
    committed: int
    message: str


@dataclass(frozen=True)
class PathChange:
    """One path that differs between two trees; a mode of 0 means that the path is not there."""

    path: bytes
    before: int
    after: int


class History:
    """The commits and files of one repository, read only."""

    def __init__(self, repository: OwnRepository, source: str) -> None:
        self._git = repository
        self.source = source

    def resolve(self, name: str) -> str:
        """The full id of the commit that ``name`` means: an id, a short one, a tag or a branch."""
        if name.startswith("-") or not name.strip() or "\0" in name:
            raise BadRepository(f"{name!r} does not name a commit", where=self.source)
        forms = (name, f"refs/remotes/origin/{name}")
        for form in forms:
            done = self._git.git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{form}^{{commit}}")
            found = done.stdout.decode("ascii", "replace").strip()
            if done.exit_code == 0 and _OBJECT.match(found):
                return found
        hint = "give a commit id, a tag or a branch of the repository; a short id must mean one commit only"
        raise BadRepository(f"there is no commit {name!r}", where=self.source, hint=hint)

    def commit(self, commit: str) -> CommitFacts:
        """The facts of one commit."""
        return next(iter(self._log("--max-count=1", commit)))

    def first_parents(self, tip: str, since: int = 0) -> Iterator[CommitFacts]:
        """The commits from ``tip`` along first parents, newest first, until one was committed before ``since``."""
        for one in self._log("--first-parent", tip):
            if one.committed < since:
                return
            yield one

    def between(self, base: str, tip: str) -> tuple[CommitFacts, ...]:
        """The commits that ``tip`` reaches and ``base`` does not, newest first."""
        return tuple(self._log("--max-count=200", tip, f"^{base}"))

    def _log(self, *arguments: str) -> Iterator[CommitFacts]:
        form = "--format=%H%x00%P%x00%an%x00%at%x00%ct%x00%B%x00%x01"
        done = self._git.git("log", "--no-show-signature", "--no-patch", form, *arguments, "--")
        if done.exit_code:
            raise BadRepository(f"the history cannot be read: {_said(done.stderr)}", where=self.source)
        for entry in done.stdout.split(b"\0\x01\n"):
            fields = entry.decode("utf-8", "replace").split("\0")
            if len(fields) == 6:
                name, parents, author, authored, committed, message = fields
                times = (_seconds(authored), _seconds(committed))
                yield CommitFacts(name, tuple(parents.split()), author, *times, message[:MESSAGE_CHARACTERS])

    def latest_time(self, commit: str) -> int:
        """The latest committer time of ``commit`` and its first parents: clocks of committers may be wrong."""
        done = self._git.git("log", "--first-parent", "--format=%ct", commit, "--")
        return max((_seconds(line) for line in done.stdout.decode("ascii", "replace").split()), default=0)

    def merge_base(self, one: str, other: str) -> str:
        """The best common ancestor of two commits; empty if there is none."""
        done = self._git.git("merge-base", one, other)
        return done.stdout.decode("ascii", "replace").strip() if done.exit_code == 0 else ""

    def changes(self, before: str, after: str) -> tuple[PathChange, ...]:
        """The paths that differ between two commits."""
        done = self._git.git("diff-tree", "-r", "-z", "--raw", "--no-renames", "--full-index", before, after, "--")
        if done.exit_code:
            raise BadRepository(f"the trees cannot be compared: {_said(done.stderr)}", where=self.source)
        parts = done.stdout.split(b"\0")
        found = []
        for facts, path in zip(parts[::2], parts[1::2], strict=False):
            modes = facts.lstrip(b":").split(b" ")[:2]
            found.append(PathChange(path, int(modes[0], 8), int(modes[1], 8)))
        return tuple(found)

    def paths(self, commit: str) -> dict[bytes, int]:
        """The paths of a commit's tree, with their modes."""
        done = self._git.git("ls-tree", "-r", "-z", "--full-tree", commit)
        if done.exit_code:
            raise BadRepository(f"the tree cannot be read: {_said(done.stderr)}", where=self.source)
        found = {}
        for line in done.stdout.split(b"\0"):
            facts, _, path = line.partition(b"\t")
            if path:
                found[path] = int(facts.split(b" ")[0], 8)
        return found

    def read(self, commit: str, path: bytes) -> tuple[int, bytes] | None:
        """Mode and bytes of a file or link of a commit's tree."""
        listed = self._git.git("--literal-pathspecs", "ls-tree", "-z", "--full-tree", commit, "--", path)
        facts, _, found = listed.stdout.rstrip(b"\0").partition(b"\t")
        mode, kind, name = facts.split(b" ") if found == path else (b"", b"", b"")
        if kind != b"blob":
            return None
        done = self._git.git("cat-file", "blob", name, output_bytes=BLOB_BYTES)
        if done.exit_code:
            message = f"a file of the tree is missing or damaged: {_said(done.stderr)}"
            raise BadRepository(message, where=self.source, hint=WHOLE)
        return int(mode, 8), done.stdout

    def read_all(self, commit: str, wanted: Callable[[bytes], bool], total_bytes: int) -> dict[bytes, bytes]:
        """The bytes of all files of a commit's tree whose path is ``wanted``, as far as ``total_bytes`` go."""
        listed = self._git.git("ls-tree", "-r", "-z", "-l", "--full-tree", commit)
        names: list[tuple[bytes, bytes, int]] = []
        for line in listed.stdout.split(b"\0"):
            facts, _, path = line.partition(b"\t")
            mode, kind, name, size = (*facts.split(), b"", b"", b"", b"")[:4]
            known = kind == b"blob" and size.isdigit()  # the size of an object that is not there is a word
            if known and int(mode, 8) != LINK and wanted(path) and int(size) <= total_bytes:
                total_bytes -= int(size)
                names.append((path, name, int(size)))
        done = self._git.git("cat-file", "--batch", stdin=b"".join(name + b"\n" for _, name, _ in names))
        found: dict[bytes, bytes] = {}
        place = 0
        for path, name, length in names:
            head, _, _ = done.stdout[place : place + MOST_HEAD].partition(b"\n")
            if head != b"%s blob %d" % (name, length):
                raise BadRepository("files of the tree are missing or damaged", where=self.source, hint=WHOLE)
            place += len(head) + 1
            found[path] = done.stdout[place : place + length]
            place += length + 1
        return found

    def describe(self, commit: str) -> tuple[str, int]:
        """The version of the nearest tag that names one, and how many commits were made since; empty without such."""
        arguments = ("describe", "--tags", "--long", "--abbrev=40", "--match=*[0-9]*", "--candidates=30", commit)
        done = self._git.git(*arguments)
        name, _, rest = done.stdout.decode("utf-8", "replace").strip().rpartition("-g")
        tag, _, distance = name.rpartition("-")
        match = _VERSION_TAG.match(tag)
        if done.exit_code or not rest or match is None or not distance.isdigit():
            return "", 0
        return match[1], int(distance)


@contextmanager
def open_history(source: str | Path, scratch: Path | None = None) -> Iterator[History]:
    """The history of a repository: a directory, or an address, which is fetched with all branches and tags."""
    with scratch_repository(scratch) as repository:
        address = address_of(source)
        if address is not None:
            what = ("+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*")
            options = ("fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules")
            done = repository.git(*options, "--", address, *what, timeout_seconds=TRANSFER_SECONDS)
            if done.exit_code:
                raise InfrastructureFault(f"cannot fetch from {address}: {_said(done.stderr)}")
            _point_head(repository)
        else:
            borrow(repository, Path(source))
            _copy_references(Path(source), repository)
        yield History(repository, str(source))


def _point_head(repository: OwnRepository) -> None:
    """Let HEAD be one of the usual branches; the server's choice is not asked for."""
    for name in ("main", "master", "trunk", "develop"):
        if repository.git("rev-parse", "--verify", "--quiet", f"refs/heads/{name}").exit_code == 0:
            (repository.path / "HEAD").write_bytes(f"ref: refs/heads/{name}\n".encode())
            return


def _copy_references(source: Path, repository: OwnRepository) -> None:
    """Copy branches, tags and HEAD of ``source``, as far as they have the form that git gives them."""
    shared = git_directory(source)
    found = _packed(shared / "packed-refs")
    found.update(_loose(shared))
    text = "# pack-refs with: sorted \n" + "".join(f"{found[name]} {name}\n" for name in sorted(found))
    (repository.path / "packed-refs").write_text(text, encoding="utf-8", errors="surrogateescape")
    head = _head(source, shared)
    if _OBJECT.match(head) or _REFERENCE.match(head.removeprefix("ref: ")):
        (repository.path / "HEAD").write_text(f"{head}\n", encoding="utf-8", errors="surrogateescape")


def _head(source: Path, shared: Path) -> str:
    """What HEAD says, of the checkout itself where it is a linked one."""
    inner = source / ".git"
    place = shared
    with suppress(OSError, InfrastructureFault):
        if inner.is_file():
            text = read_bounded(inner, 1 << 16).decode("utf-8", "surrogateescape")
            place = (source / text.removeprefix("gitdir:").strip()).resolve()
        return read_bounded(place / "HEAD", 1 << 16).decode("utf-8", "surrogateescape").strip()
    return ""


def _packed(path: Path) -> dict[str, str]:
    try:
        text = read_bounded(path, REFERENCES_BYTES).decode("utf-8", "surrogateescape")
    except (OSError, InfrastructureFault):
        return {}
    found = {}
    for line in text.splitlines():
        name, _, reference = line.partition(" ")
        if _OBJECT.match(name) and _usable(reference):
            found[reference] = name
        if len(found) >= MOST_REFERENCES:
            break
    return found


def _loose(directory: Path) -> dict[str, str]:
    """References in files of their own; links are not followed."""
    found: dict[str, str] = {}
    waiting: list[tuple[Path, int]] = [(directory / "refs", 0)]
    while waiting and len(found) < MOST_REFERENCES:
        place, depth = waiting.pop()
        try:
            entries: Sequence[os.DirEntry[str]] = list(os.scandir(place))
        except OSError:
            continue
        for entry in entries:
            if entry.is_dir(follow_symlinks=False) and depth < MOST_DEPTH:
                waiting.append((Path(entry.path), depth + 1))
            elif entry.is_file(follow_symlinks=False):
                reference = os.path.relpath(entry.path, directory)
                with suppress(OSError, InfrastructureFault):
                    name = read_bounded(Path(entry.path), 1 << 10).decode("ascii", "replace").strip()
                    if _OBJECT.match(name) and _usable(reference):
                        found[reference] = name
    return found


def _usable(reference: str) -> bool:
    """Whether git accepts the name of a reference."""
    parts = reference.split("/")
    return bool(_REFERENCE.match(reference)) and not any(
        not part or part.startswith(".") or part.endswith((".", ".lock")) or ".." in part or "@{" in part
        for part in parts
    )


def _seconds(text: str) -> int:
    return min(int(text[:20]), LATEST) if text.strip().isascii() and text.strip().isdigit() else 0


def _said(data: bytes) -> str:
    text = data[:2000].decode("utf-8", "replace")
    return "; ".join(line.strip() for line in text.splitlines()[:3] if line.strip())
