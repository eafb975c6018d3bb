"""Changes to the files of a workspace during a run: each change relative to the one reported before it.

For every path the mutations form a chain: the first starts at the layers, each further one where the last ended, and
after :meth:`Mutations.final` the last one ends in the content of the patch. :func:`chain_gaps` checks exactly that,
from the recorded payloads alone. What a scan could not read (see ``workspace_scan``) is reported by a later one, at the
latest at the end; states that existed only between two scans are not reported. Reports are bounded: after very many
mutations the rest is reported at the end, and after very long differences without them.

Small texts come with their difference as hunks. Other files come with digests and sizes, and a pointer to their bytes
where ``keep`` stored them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from proctor.base.reversible_escapes import name_text
from proctor.execute.monitor.sensors.text_hunks import HunkLimits, structured_diff
from proctor.execute.monitor.sensors.workspace_scan import Pair, ScanLimits, WorkspaceScanner
from proctor.execute.workspace.diff import Changes
from proctor.execute.workspace.file_tree import Entry
from proctor.execute.workspace.workspace import Workspace

CONTENTS_BYTES = 16 << 20
"""How much former text is remembered for the next difference."""


@dataclass(frozen=True)
class TellLimits:
    """The limits of reports on one workspace: mutations before the end, and characters of differences in all."""

    mutations: int = 200_000
    difference: int = 32 << 20


@dataclass(frozen=True)
class Mutation:
    """One change of one path; ``change`` is ``added``, ``modified`` or ``deleted``."""

    path: bytes
    change: str
    before: Entry | None
    after: Entry | None
    diff: Mapping[str, Any] = field(default_factory=dict)

    def payload(self) -> dict[str, Any]:
        """The payload of a ``workspace.mutation`` event."""
        return {
            "path": name_text(self.path),
            "change": self.change,
            "before": side(self.before),
            "after": side(self.after),
            "diff": dict(self.diff),
        }


def side(entry: Entry | None) -> dict[str, Any] | None:
    """One side of a mutation as it is recorded."""
    return None if entry is None else {"sha256": entry.sha256, "bytes": entry.size, "mode": f"{entry.mode:o}"}


class Mutations:
    """Reports the mutations of one workspace. ``wanted`` selects the paths that are reported before the end."""

    def __init__(
        self,
        workspace: Workspace,
        *,
        limits: ScanLimits | None = None,
        telling: TellLimits | None = None,
        wanted: Callable[[bytes], bool] = lambda path: True,
        keep: Callable[[bytes], str] | None = None,
    ) -> None:
        self._workspace = workspace
        limits = limits or ScanLimits()
        self._picture = WorkspaceScanner(workspace, limits)
        self._data_bytes = limits.data_bytes
        telling = telling or TellLimits()
        self._mutations_left = telling.mutations
        self._difference_left = telling.difference
        self._wanted = wanted
        self._keep = keep
        self._text_bytes = HunkLimits().text_bytes
        self._reported: dict[bytes, Pair] = {}
        self._contents: dict[bytes, bytes] = {}
        self._contents_bytes = 0

    def since_last(self) -> list[Mutation]:
        """What has changed since the last call, as far as it can be seen now and was not too much already."""
        if self._mutations_left <= 0:
            return []
        look = self._picture.look()
        targets: dict[bytes, Pair] = {path: pair for path, pair in look.pairs.items() if self._wanted(path)}
        for path, pair in self._reported.items():
            if path not in targets and look.saw(path):
                targets[path] = Pair(pair.base, pair.base)
        found = self._notify(targets, look.data.get)
        self._mutations_left -= len(found)
        return found

    def final(self, changes: Changes) -> list[Mutation]:
        """The remaining mutations, so that every chain ends in ``changes``: all of them, not only the kept ones."""
        targets = {change.path: Pair(change.before, change.after) for change in changes.changes}
        unknown = set(changes.too_large)
        for path, pair in self._reported.items():
            if path not in targets and path not in unknown and not changes.truncated:
                targets[path] = Pair(pair.base, pair.base)
        return self._notify(targets, self._text_now)

    def _notify(self, targets: Mapping[bytes, Pair], read: Callable[[bytes], bytes | None]) -> list[Mutation]:
        found: list[Mutation] = []
        for path in sorted(targets):
            base, after = targets[path].base, targets[path].now
            before = self._reported[path].now if path in self._reported else base
            if _same(before, after):
                continue
            old = self._former_text(path, base, before)
            new = self._new_text(path, base, after, read)
            change = "added" if before is None else "deleted" if after is None else "modified"
            found.append(Mutation(path, change, before, after, self._diff(before, old, after, new)))
            self._reported[path] = Pair(base, after)
            self._remember(path, new)
        return found

    def _diff(self, before: Entry | None, old: bytes | None, after: Entry | None, new: bytes | None) -> dict[str, Any]:
        """The difference of two texts, or why there is none and where the bytes are."""
        unknown = (before is not None and old is None) or (after is not None and new is None)
        if unknown or self._difference_left <= 0:
            found: dict[str, Any] = {"kind": "large"}
        else:
            found = structured_diff(old, new)
            self._difference_left -= sum(len(line) for hunk in found.get("hunks", ()) for line in hunk["lines"])
        if found["kind"] != "text" and after is not None:
            found["pointer"] = self._keep(new) if self._keep and new is not None else ""
        return found

    def _former_text(self, path: bytes, base: Entry | None, before: Entry | None) -> bytes | None:
        """The bytes that were reported last, if they are still in memory or those of the layers."""
        return self._contents[path] if path in self._contents else self._base_text(path, base, before)

    def _new_text(
        self, path: bytes, base: Entry | None, after: Entry | None, read: Callable[[bytes], bytes | None]
    ) -> bytes | None:
        if after is None or after.size > self._data_bytes:
            return None
        data = read(path)
        return self._base_text(path, base, after) if data is None else data

    def _base_text(self, path: bytes, base: Entry | None, entry: Entry | None) -> bytes | None:
        """The bytes of the layers' file, where that is small and ``entry`` is just that file."""
        if base is None or not _same(base, entry) or base.size > self._text_bytes:
            return None
        found = self._workspace.base_file(path)
        return found[1] if found else None

    def _text_now(self, path: bytes) -> bytes | None:
        """The bytes of a file once nothing is at work any more."""
        found = self._workspace.file(path)
        return found[1] if found else None

    def _remember(self, path: bytes, data: bytes | None) -> None:
        self._contents_bytes -= len(self._contents.pop(path, b""))
        if data is not None and len(data) <= self._text_bytes:
            self._contents[path] = data
            self._contents_bytes += len(data)
        while self._contents_bytes > CONTENTS_BYTES:
            self._contents_bytes -= len(self._contents.pop(next(iter(self._contents))))


def chain_gaps(
    mutations: Iterable[Mapping[str, Any]], changes: Iterable[Mapping[str, Any]], left_out: Collection[str] = ()
) -> list[str]:
    """The gaps of the recorded mutations between the layers and the recorded changes, as messages.

    Both are payloads with ``path``, ``before`` and ``after``, mutations in the order of their events. ``left_out`` are
    paths that changed and are not part of the patch; their chains may end anywhere.
    """
    first: dict[str, Any] = {}
    last: dict[str, Any] = {}
    gaps: list[str] = []
    for mutation in mutations:
        path = str(mutation.get("path"))
        before = _content(mutation.get("before"))
        if path not in last:
            first[path] = before
        elif last[path] != before:
            gaps.append(f"{path}: a mutation starts from other content than the event before it ended with")
        last[path] = _content(mutation.get("after"))
    listed: set[str] = set()
    for change in changes:
        path = str(change.get("path"))
        listed.add(path)
        if path not in last:
            gaps.append(f"{path}: changed without a mutation")
            continue
        if first[path] != _content(change.get("before")):
            gaps.append(f"{path}: the first mutation does not start at the base")
        if last[path] != _content(change.get("after")):
            gaps.append(f"{path}: the last mutation does not end in the patch")
    for path in sorted(last.keys() - listed - set(left_out)):
        if last[path] != first[path]:
            gaps.append(f"{path}: the mutations end in a change that the patch does not have")
    return gaps


def _content(value: Any) -> tuple[str, str] | None:
    """What a recorded side is: digest and mode; ``None`` for no file."""
    if not isinstance(value, Mapping):
        return None
    return str(value.get("sha256")), str(value.get("mode"))


def _same(one: Entry | None, other: Entry | None) -> bool:
    if one is None or other is None:
        return one is other
    return (one.mode, one.size, one.sha256) == (other.mode, other.size, other.sha256)
