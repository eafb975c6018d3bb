"""What a manifest must say before anything acts (R2).

``REQUIRED`` names every field by its path; ``[]`` stands for each entry of a list. A field counts as missing when it
is absent, null or an empty text, and a group in which nothing stands counts as missing too; only the fields marked as
open may be null or empty. A manifest with problems makes its run invalid. Whether the identities are true is checked
where they can be observed, not here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from proctor.record.versions import MANIFEST


@dataclass(frozen=True)
class Field:
    """One required field: its path, its shape, and what it is for. ``open`` fields may be null or empty."""

    path: str
    shape: str
    words: str
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
    """Every problem of ``manifest`` in words; an empty list when it is complete."""
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
        yield f"{path} is missing ({field.words})"
        return
    inner = value[name]
    if len(parts) == 1:
        problem = _mismatch(inner, field)
        if problem:
            yield f"{path} {problem} ({field.words})"
    elif not parts[0].endswith("[]"):
        yield from _check(inner, parts[1:], path, field)
    elif isinstance(inner, list | tuple):
        for index, item in enumerate(inner):
            yield from _check(item, parts[1:], f"{path}[{index}]", field)


def _mismatch(value: Any, field: Field) -> str:
    """What is wrong with a value that is there; empty when nothing is."""
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
