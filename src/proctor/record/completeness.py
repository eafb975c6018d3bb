"""Whether the records of a run are complete: the manifest has every field (R2), the trace every result (T7).

``REQUIRED`` names every field of the manifest by its path; ``[]`` is each entry of a list. A field counts as
missing when it is absent, null or an empty text, and so does an empty group; only the fields marked as open may be null
or empty. A manifest with problems makes its run invalid.

Every attempt in ``acceptance/results.json`` has its ``check.finished`` event with the same outcome, and every such
event is in the results. Every file in ``workspace/changes.json`` has a ``workspace.mutation`` event, and the last one
for a file ends in the content that the list names; so has every path of a patch that applied, which is read from the
headers of the patch alone. A gap makes a run invalid. The shapes that are read:

    changes  {"changes": [{"path", "change", "before", "after"}, ...]}
    results  {"checks": [{"id", "attempts": [{"tree", "attempt", "outcome"}, ...]}, ...]}

Pure except for reading the patch file. These files may contain anything, and an unexpected shape is itself a gap.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO

from proctor.base.reversible_escapes import name_text
from proctor.record.schema_versions import MANIFEST
from proctor.record.trace.event import Event


@dataclass(frozen=True)
class Field:
    """One required field: its path, its shape, and what it is for. ``open`` fields may be null or empty."""

    path: str
    shape: str
    description: str
    open: bool = False


REQUIRED = (
    Field("schema", "count", "version of this layout"),
    Field("kind", "text", "what this file is"),
    Field("run", "text", "id of the run"),
    Field("contract.id", "text", "content id of the contract"),
    Field("contract.name", "text", "name of the contract"),
    Field("contract.version", "any", "version of the contract"),
    Field("repository.kind", "text", "git or archive"),
    Field("repository.identity", "any", "commit or archive digest"),
    Field("repository.submodules", "any", "resolved submodule revisions", open=True),
    Field("repository.tree_digest", "text", "digest of the pristine tree"),
    Field("inputs", "list", "what was fetched, by digest", open=True),
    Field("inputs[].name", "text", "name of an input"),
    Field("inputs[].file", "text", "file name of an input"),
    Field("inputs[].sha256", "text", "digest of an input"),
    Field("setup.commands", "list", "command lines of setup", open=True),
    Field("setup.layer", "any", "key of the layer that setup made", open=True),
    Field("sandbox.backend", "text", "what isolates"),
    Field("sandbox.identity", "group", "what identifies the root that sandboxes see"),
    Field("sandbox.isolation", "group", "which isolation this machine gave"),
    Field("toolchain", "group", "versions of interpreters and package managers", open=True),
    Field("harness.version", "text", "version of the harness"),
    Field("harness.python", "text", "version of its interpreter"),
    Field("harness.digest", "text", "digest of its code"),
    Field("agent.name", "text", "name of the agent"),
    Field("agent.kind", "text", "kind of the agent"),
    Field("agent.command", "any", "its command line", open=True),
    Field("agent.digest", "text", "digest of what identifies it"),
    Field("checks", "list", "entry points of the oracle"),
    Field("checks[].id", "text", "id of a check"),
    Field("checks[].command", "any", "its command line"),
    Field("environment.variables", "group", "every variable that is declared", open=True),
    Field("environment.absent", "yes", "what is not declared is absent"),
    Field("seeds", "group", "seeds and how they are exposed"),
    Field("os", "group", "operating system"),
    Field("locale", "any", "locale and time zone"),
    Field("machine.cpus", "count", "number of processors"),
    Field("machine.memory_bytes", "count", "memory"),
    Field("limits", "group", "resource limits of the run"),
    Field("started.wall_ns", "number", "start by the wall clock"),
    Field("started.text", "text", "the same for people"),
    Field("started.boot_id", "text", "boot of the machine"),
    Field("configuration", "group", "configuration of the run", open=True),
    Field("price_table", "any", "digest of the price table, or null", open=True),
)


def check_manifest(manifest: Any) -> list[str]:
    """Every problem of ``manifest``; an empty list if it is complete."""
    if not isinstance(manifest, Mapping):
        return ["the manifest is not an object"]
    problems = [problem for field in REQUIRED for problem in _check(manifest, field.path.split("."), "", field)]
    if manifest.get("kind") not in (None, "", MANIFEST.kind):
        problems.append(f"kind is not {MANIFEST.kind!r}")
    return problems


def _check(value: Any, parts: list[str], done: str, field: Field) -> Iterator[str]:
    name = parts[0].removesuffix("[]")
    path = f"{done}.{name}" if done else name
    if not isinstance(value, Mapping) or name not in value:
        yield f"{path} is missing ({field.description})"
        return
    inner = value[name]
    if len(parts) == 1:
        problem = _mismatch(inner, field)
        if problem:
            yield f"{path} {problem} ({field.description})"
    elif not parts[0].endswith("[]"):
        yield from _check(inner, parts[1:], path, field)
    elif isinstance(inner, list | tuple):
        for index, item in enumerate(inner):
            yield from _check(item, parts[1:], f"{path}[{index}]", field)


def _mismatch(value: Any, field: Field) -> str:
    """What is wrong with a value that is present; empty if nothing is."""
    if value is None:
        return "" if field.open else "is null"
    if not _fits(value, field.shape):
        return f"is not a {field.shape}" if field.shape != "yes" else "is not true"
    if not field.open and not isinstance(value, bool | int) and not value:
        return "is empty"
    return ""


def _fits(value: Any, shape: str) -> bool:
    if shape == "text":
        return isinstance(value, str)
    if shape == "list":
        return isinstance(value, list | tuple)
    if shape == "group":
        return isinstance(value, Mapping)
    if shape == "count":
        return type(value) is int and value > 0
    if shape == "number":
        return (isinstance(value, str) and value.isascii() and value.isdigit()) or (type(value) is int and value >= 0)
    return value is True if shape == "yes" else True


LINE_BYTES = 1 << 16
"""More than two of the longest possible paths, fully escaped."""

_QUOTED = re.compile(rb'"((?:[^"\\]|\\.)*)"')
_ESCAPE = re.compile(rb"\\([0-3][0-7]{2}|.)", re.DOTALL)
_LETTERS = {b"a": b"\a", b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t", b"v": b"\v"}


def bounded_lines(file: BinaryIO) -> Iterator[bytes]:
    """The lines of ``file`` without their ends; of a longer line only the first ``LINE_BYTES`` bytes."""
    while line := file.readline(LINE_BYTES):
        whole = line.endswith(b"\n")
        yield line.removesuffix(b"\n")
        while not whole and (rest := file.readline(LINE_BYTES)):
            whole = rest.endswith(b"\n")


def patch_paths(lines: Iterable[bytes]) -> set[bytes]:
    """Every path that is added, modified, deleted, renamed or copied to; ``ValueError`` for an unknown header."""
    paths: set[bytes] = set()
    title: bytes | None = None
    named: list[bytes] = []
    for line in lines:
        if line.startswith(b"diff --git "):
            paths.update(_finished(title, named))
            title, named = line[len(b"diff --git ") :], []
        elif title is not None:
            if line.startswith((b"@@ ", b"GIT binary patch")):
                paths.update(_finished(title, named))
                title = None
            else:
                named.extend(_named(line))
    paths.update(_finished(title, named))
    return paths


def _named(line: bytes) -> Iterator[bytes]:
    for prefix in (b"rename from ", b"rename to ", b"copy to "):
        if line.startswith(prefix):
            yield _unquoted(line[len(prefix) :])


def _finished(title: bytes | None, named: list[bytes]) -> Iterable[bytes]:
    """The paths of one file's header, once all of its lines were seen."""
    if title is None or named:
        return named if title is not None else ()
    if title.startswith(b'"'):
        parts = _QUOTED.findall(title)
        if len(parts) == 2 and title == b'"%b" "%b"' % (parts[0], parts[1]):
            return [_same(_unescaped(parts[0]), _unescaped(parts[1]))]
        raise ValueError("a quoted name that does not end")
    middle = len(title) // 2
    if title[middle : middle + 1] != b" ":
        raise ValueError("two names that differ without a rename")
    return [_same(title[:middle], title[middle + 1 :])]


def _same(before: bytes, after: bytes) -> bytes:
    if not before.startswith(b"a/") or not after.startswith(b"b/") or before[2:] != after[2:]:
        raise ValueError("two names that differ without a rename")
    return after[2:]


def _unquoted(name: bytes) -> bytes:
    quoted = _QUOTED.fullmatch(name)
    return _unescaped(quoted[1]) if quoted else name


def _unescaped(text: bytes) -> bytes:
    return _ESCAPE.sub(lambda match: _character(match[1]), text)


def _character(code: bytes) -> bytes:
    if code[:1].isdigit():
        return bytes([int(code, 8)])
    return _LETTERS.get(code, code)


Attempt = tuple[str, str, str]
"""The check, the tree it ran on, and the number of the attempt as text."""

MOST_GAPS = 50


class TraceContents:
    """The results and changes in a trace, collected event by event, so the trace is not kept in memory."""

    def __init__(self) -> None:
        self.attempts: dict[Attempt, str] = {}
        self.repeated: list[Attempt] = []
        self.mutations: dict[str, str] = {}
        self.starts: dict[str, str] = {}
        self.broken: list[str] = []
        self.applied = False

    def add(self, event: Event) -> None:
        """Add one event."""
        if event.type == "check.finished":
            key = _attempt(event.payload.get("check"), event.payload)
            if key in self.attempts:
                self.repeated.append(key)
            self.attempts[key] = str(event.payload.get("outcome"))
        elif event.type == "workspace.mutation":
            self._add_mutation(str(event.payload.get("path")), event)
        elif event.type == "patch.applied":
            self.applied = event.payload.get("outcome") == "pass"

    def _add_mutation(self, path: str, event: Event) -> None:
        """Add a link to the chain of a path: it must start where the one before it ended."""
        before = _content(event.payload.get("before"))
        if self.mutations.setdefault(path, before) != before:
            self.broken.append(
                f"{path}: mutation event {event.seq} starts from other content than the event before it ended with"
            )
        self.starts.setdefault(path, before)
        self.mutations[path] = _content(event.payload.get("after"))

    def gaps(self, changes: Any, results: Any, patch_paths: Iterable[bytes] | None = None) -> list[str]:
        """What is missing on either side; ``None`` is a file that is absent."""
        found = [*self._result_gaps(results), *self._change_gaps(changes), *self._patch_gaps(changes, patch_paths)]
        if len(found) > MOST_GAPS:
            found[MOST_GAPS:] = [f"and {len(found) - MOST_GAPS} more gaps"]
        return found

    def _result_gaps(self, results: Any) -> Iterable[str]:
        yield from (f"{_spoken(key)} has more than one event" for key in self.repeated)
        listed: dict[Attempt, str] = {}
        for check in _entries(results, "checks"):
            for attempt in _entries(check, "attempts"):
                key = _attempt(_field(check, "id"), attempt)
                if key in listed:
                    yield f"results.json lists {_spoken(key)} twice"
                listed[key] = str(_field(attempt, "outcome"))
        for key, outcome in listed.items():
            if key not in self.attempts:
                yield f"{_spoken(key)} is in results.json and has no event"
            elif self.attempts[key] != outcome:
                yield f"{_spoken(key)} is {outcome!r} in results.json and {self.attempts[key]!r} in its event"
        for key in self.attempts:
            if key not in listed:
                yield f"{_spoken(key)} has an event and is not in results.json"

    def _change_gaps(self, changes: Any) -> Iterable[str]:
        yield from self.broken
        for change in _entries(changes, "changes"):
            path = str(_field(change, "path"))
            if path not in self.mutations:
                yield f"{path} is in changes.json and has no mutation event"
            elif self.starts[path] != _content(_field(change, "before")):
                yield f"{path} starts from other content in changes.json than in its first mutation event"
            elif self.mutations[path] != _content(_field(change, "after")):
                yield f"{path} ends in other content in changes.json than in its last mutation event"

    def _patch_gaps(self, changes: Any, patch_paths: Iterable[bytes] | None) -> Iterable[str]:
        listed = {str(_field(change, "path")) for change in _entries(changes, "changes")}
        for path in sorted(patch_paths or ()) if self.applied else ():
            text = name_text(path)
            if text not in self.mutations:
                yield f"{text} is in final.patch and has no mutation event"
            if text not in listed:
                yield f"{text} is in final.patch and not in changes.json"


def check_completeness(
    events: Iterable[Event], changes: Any, results: Any, patch_paths: Iterable[bytes] | None = None
) -> list[str]:
    """Every gap between a trace and the files that summarise it; an empty list if there is none."""
    contents = TraceContents()
    for event in events:
        contents.add(event)
    return contents.gaps(changes, results, patch_paths)


def _entries(value: Any, key: str) -> list[Any]:
    """The list under ``key``; one unusable entry where there should be a list, so that the gap shows."""
    if value is None:
        return []
    entries = value.get(key) if isinstance(value, Mapping) else None
    return list(entries) if isinstance(entries, list | tuple) else [{}]


def _field(value: Any, key: str) -> Any:
    return value.get(key) if isinstance(value, Mapping) else None


def _attempt(check: Any, value: Any) -> Attempt:
    return str(check), str(_field(value, "tree")), str(_field(value, "attempt"))


def _content(after: Any) -> str:
    """What identifies the content that a change ends in; empty for a deletion."""
    return str(_field(after, "sha256") or "")


def _spoken(key: Attempt) -> str:
    check, tree, attempt = key
    return f"attempt {attempt} of check {check} on the {tree} tree"
