"""Patches in git's format: made from changes, and applied to files that are handed in.

git does the work, in a repository of the harness's own that never sees an agent's directory: it gets bytes and gives
bytes. Patches carry binary files, modes, links, renames, deletions and names of any bytes, and applying one to the
tree that it was made from gives the other tree byte for byte. The options fix everything that could vary, so the same
changes give the same patch.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from proctor.base.errors import InfrastructureFault, ProctorError
from proctor.base.process import Completed
from proctor.base.reversible_escapes import name_text
from proctor.base.untrusted_directories import FILE, LINK, PROGRAM, in_reach, parents_of
from proctor.execute.workspace.diff import Changes
from proctor.execute.workspace.file_tree import GIT, Entry
from proctor.execute.workspace.git_repository import (
    IndexEntry,
    read_blob,
    read_index,
    scratch_repository,
    write_blob,
    write_index,
)
from proctor.execute.workspace.patch_parser import (
    FilePatch,
    FileStat,
    NotAPatch,
    clarify,
    parse_patch,
    parse_stat,
    quote,
)

__all__ = [
    "Application",
    "FileStat",
    "PatchProblem",
    "apply_patch",
    "conflict_markers",
    "has_conflict_markers",
    "known_stat",
    "make_patch",
    "parse_stat",
]

FILE_BYTES = 64 << 20

_DIFF = (
    *("diff-tree", "-r", "-p", "--binary", "--full-index", "-l400", "-U3", "--inter-hunk-context=0"),
    *("--diff-algorithm=myers", "--indent-heuristic", "--src-prefix=a/", "--dst-prefix=b/", "--no-color"),
    *("--no-ext-diff", "--no-textconv", "--submodule=short", "--ignore-submodules=none", "--no-relative"),
)
_APPLY = ("apply", "--cached", "--whitespace=nowarn", "-p1", "-")
_FITTING = b"diff --git a/a b/a\nnew file mode 100644\n--- /dev/null\n+++ b/a\n@@ -0,0 +1 @@\n+a\n"
"""A patch that fits an empty tree: a git that does not apply it says nothing about any other patch."""
_COMMIT = b"commit refs/heads/%s\ncommitter proctor <proctor> 0 +0000\ndata 0\n"


class PatchProblem(ProctorError):
    """A patch that does not apply, with the reason and what git said. A verdict about the patch, not a fault."""

    exit_code = 2

    def __init__(self, reason: str, log: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.log = log


@dataclass(frozen=True)
class Application:
    """The effect of a patch on a tree: files to write as (path, mode, bytes), and paths to remove.

    ``marked_before`` are the written files whose former text already held conflict markers.
    """

    writes: tuple[tuple[bytes, int, bytes], ...] = ()
    removals: tuple[bytes, ...] = ()
    marked_before: tuple[bytes, ...] = ()


def make_patch(
    changes: Changes,
    read_before: Callable[[bytes], bytes | None],
    read_after: Callable[[bytes], bytes | None],
    *,
    scratch: Path | None = None,
) -> bytes:
    """The patch that turns the tree before ``changes`` into the one after; empty for no changes.

    git works in a directory below ``scratch``, where a harness that was killed would leave it.
    """
    if not changes.changes:
        return b""
    stream = [b"feature done\n"]
    for name, read in ((b"before", read_before), (b"after", read_after)):
        stream.append(_COMMIT % name)
        for change in changes.changes:
            entry = change.before if name == b"before" else change.after
            if entry is not None:
                stream.extend(_import(entry, read(entry.path) if entry.size else b""))
    stream.append(b"done\n")
    with scratch_repository(scratch) as repository:
        loaded = repository.git("fast-import", "--quiet", stdin=b"".join(stream))
        if loaded.exit_code:
            raise InfrastructureFault(f"git fast-import failed: {_said(loaded.stderr)}")
        renames = "--no-renames" if _takes_places(changes) else "-M50%"
        made = repository.git(*_DIFF, renames, "refs/heads/before", "refs/heads/after")
        if made.exit_code:
            raise InfrastructureFault(f"git diff-tree failed: {_said(made.stderr)}")
    return clarify(made.stdout)


def apply_patch(
    patch: bytes, read_base: Callable[[bytes], tuple[int, bytes] | None], *, scratch: Path | None = None
) -> Application:
    """What ``patch`` makes of the tree whose files ``read_base`` gives; :class:`PatchProblem` where it does not fit."""
    if not patch:
        return Application()
    try:
        files = parse_patch(patch)
    except NotAPatch as error:
        raise PatchProblem(f"the patch is malformed: {error}") from None
    if not files:
        raise PatchProblem("the patch names no file")
    base = _base_files(files, read_base)
    with scratch_repository(scratch) as repository:
        objects = repository.path / "objects"
        before = {path: (mode, write_blob(objects, data)) for path, (mode, data) in base.items()}
        index = repository.path / "index"
        write_index(index, (IndexEntry(path, mode, blob) for path, (mode, blob) in before.items()))
        applied = repository.git(*_APPLY, stdin=patch)
        if applied.exit_code:
            _require_sound(applied, scratch)
            raise PatchProblem("the patch does not apply", _said(applied.stderr))
        after = {entry.path: (entry.mode, entry.blob) for entry in read_index(index)}
        writes: list[tuple[bytes, int, bytes]] = []
        for path, (mode, blob) in sorted(after.items()):
            if before.get(path) != (mode, blob):
                writes.append((path, _checked_mode(path, mode), _result(path, read_blob(objects, blob, FILE_BYTES))))
    return Application(
        writes=tuple(writes),
        removals=tuple(sorted(set(before) - set(after))),
        marked_before=tuple(path for path, _, _ in writes if path in base and _is_marked(*base[path])),
    )


def _require_sound(failed: Completed, scratch: Path | None) -> None:
    """Raise :class:`InfrastructureFault` if git ``failed`` because of the machine and not because of the patch."""
    if failed.exit_code < 0:
        raise InfrastructureFault(f"git apply was ended by signal {-failed.exit_code}")
    with scratch_repository(scratch) as repository:
        again = repository.git(*_APPLY, stdin=_FITTING)
    if again.exit_code:
        said = f"(exit code {again.exit_code}) {_said(again.stderr)}".strip()
        raise InfrastructureFault(f"git apply does not work on this machine {said}")


def known_stat(patch: bytes) -> tuple[FileStat, ...]:
    """The size of every change in ``patch``; nothing for text that is not a patch, which does not apply anyway."""
    try:
        return parse_stat(patch)
    except NotAPatch:
        return ()


def has_conflict_markers(application: Application) -> bool:
    """Whether the patch brings conflict markers into a file that had none."""
    return bool(conflict_markers(application))


def conflict_markers(application: Application) -> tuple[bytes, ...]:
    """The files into which the patch brings conflict markers."""
    return tuple(
        path
        for path, mode, data in application.writes
        if path not in application.marked_before and _is_marked(mode, data)
    )


def _takes_places(changes: Changes) -> bool:
    """Whether a directory takes the place of a link, which ``git apply`` gets wrong when the link is also renamed."""
    links = {item.path for item in changes.changes if item.before and item.before.mode == LINK}
    return any(parent in links for item in changes.changes if item.after for parent in parents_of(item.path))


def _import(entry: Entry, data: bytes | None) -> list[bytes]:
    """The lines that give one file to ``git fast-import``."""
    if data is None or len(data) != entry.size:
        raise InfrastructureFault("a file changed while its patch was made", where=name_text(entry.path))
    return [b"M %o inline %s\ndata %d\n" % (entry.mode, quote(entry.path), len(data)), data, b"\n"]


def _base_files(
    files: tuple[FilePatch, ...], read_base: Callable[[bytes], tuple[int, bytes] | None]
) -> dict[bytes, tuple[int, bytes]]:
    """The files of the base in the patch, under either name."""
    base: dict[bytes, tuple[int, bytes]] = {}
    for path in sorted({path for file in files for path in (file.old, file.new) if path is not None}):
        parts = path.split(b"/")
        if any(part in (b"", b".", b"..") or part.lower() == GIT or b"\0" in part for part in parts):
            raise PatchProblem(f"the patch names a path that is not allowed: {name_text(path)}")
        if not in_reach(path):
            raise PatchProblem(f"the patch names a path that is too long: {name_text(path[:200])}…")
        found = read_base(path)
        if found is not None:
            base[path] = found
    return base


def _checked_mode(path: bytes, mode: int) -> int:
    if mode not in (FILE, PROGRAM, LINK):
        raise PatchProblem(f"the patch gives {name_text(path)} a mode that is not allowed: {mode:o}")
    return mode


def _result(path: bytes, data: bytes | None) -> bytes:
    if data is None:
        raise PatchProblem(f"the patch makes {name_text(path)} larger than {FILE_BYTES} bytes")
    return data


def _is_marked(mode: int, data: bytes) -> bool:
    """Whether a text file holds the three conflict markers, in order, each at the start of a line."""
    if mode == LINK or b"\0" in data[:8000]:
        return False
    place = 0
    lines = b"\n" + data
    for marker in (b"\n<<<<<<< ", b"\n=======", b"\n>>>>>>> "):
        place = lines.find(marker, place)
        if place < 0:
            return False
        place += 1
    return True


def _said(stderr: bytes) -> str:
    """What git said, bounded."""
    return stderr[:8192].decode("utf-8", "replace").strip()
