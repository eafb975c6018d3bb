"""The lock of an agent's installation: its releases with their digests.

A lock says everything that is needed to make the same installation again: the releases for the reader, and the document
that the registry's own client works from (npm's lock file; nothing for pip, whose list follows from the releases).
Addresses of registries are not part of it, so it means the same behind any mirror.

A lock may come from another person, and clients accept much more than names and versions: options in a list of
requirements, addresses of repositories that then decide what runs. So every value of a lock is checked before a client
sees it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from proctor.base.canonical import digest
from proctor.base.errors import UsageFault

KIND = "proctor.agent-lock"
SCHEMA = 1
LOCK_BYTES = 64 << 20

_NAME = re.compile(r"(?:@[a-z0-9][\w.-]{0,100}/)?[A-Za-z0-9][\w.-]{0,200}", re.ASCII)
_VERSION = re.compile(r"[0-9][\w.+!-]{0,100}", re.ASCII)
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}|sha(?:1|256|384|512)-[A-Za-z0-9+/]{1,200}={0,2}")
_RANGE = re.compile(r"(?:npm:(?:@[\w.-]+/)?[\w.-]+(?:@|$))?[\w.^~<>=|*+, -]{0,500}", re.ASCII)
_PLACE = re.compile(r"(?:(?:^|/)node_modules/(?:@[\w.-]+/)?[\w-][\w.-]*)+", re.ASCII)
_ASKS = ("dependencies", "devDependencies", "optionalDependencies", "peerDependencies")


@dataclass(frozen=True)
class Release:
    """One release: ``digest`` is what the registry's client checks, as it spells it."""

    name: str
    version: str
    digest: str


@dataclass(frozen=True)
class AgentLock:
    """Everything that one installation is made from."""

    agent: str
    version: str
    registry: str
    releases: tuple[Release, ...]
    python: str = ""
    node: tuple[str, str] | None = None
    """The name and the digest of the file that Node comes from."""
    document: Mapping[str, Any] = field(default_factory=dict)

    @property
    def digest(self) -> str:
        return digest(self.payload())

    def payload(self) -> dict[str, Any]:
        """The lock as JSON holds it."""
        return {
            "kind": KIND,
            "schema": SCHEMA,
            "agent": self.agent,
            "version": self.version,
            "registry": self.registry,
            "python": self.python,
            "node": list(self.node) if self.node else None,
            "releases": [[one.name, one.version, one.digest] for one in self.releases],
            "document": dict(self.document),
        }


def read_lock(value: Any, where: str) -> AgentLock:
    """The lock that JSON holds; a message names ``where`` otherwise."""
    try:
        if value["kind"] != KIND or value["schema"] != SCHEMA:
            raise ValueError
        lock = AgentLock(
            agent=str(value["agent"]),
            version=str(value["version"]),
            registry=str(value["registry"]),
            releases=tuple(Release(str(name), str(version), str(sum_)) for name, version, sum_ in value["releases"]),
            python=str(value["python"]),
            node=(str(value["node"][0]), str(value["node"][1])) if value["node"] else None,
            document=dict(value["document"]),
        )
        strange = next(_strange(lock), None)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError):
        raise UsageFault(
            "not a lock of an agent", where=where, hint="proctor agents show NAME --lock prints one"
        ) from None
    if strange is not None:
        raise UsageFault(f"a lock of an agent cannot contain {strange[:100]!r}", where=where, hint="do not use it")
    return lock


def _strange(lock: AgentLock) -> Iterator[str]:
    """The values that a client might not treat as a release of its registry."""
    if not lock.releases:
        yield "no releases"
    expected = [(_VERSION, lock.version), (re.compile(r"(?:3\.\d{1,2})?"), lock.python)]
    for one in lock.releases:
        expected += [(_NAME, one.name), (_VERSION, one.version), (_DIGEST, one.digest)]
    if lock.node:
        expected += [(_NAME, lock.node[0]), (re.compile(r"[0-9a-f]{64}"), lock.node[1])]
    yield from (text for pattern, text in expected if not pattern.fullmatch(text))
    for place, entry in lock.document.get("packages", {}).items():
        if place:
            yield from _strange_package(place, entry)
        for names in _ASKS:
            ranges = entry.get(names, {}).items()
            yield from (f"{name}: {text}" for name, text in ranges if not (_NAME.fullmatch(name) and _range(text)))


def _strange_package(place: str, entry: Mapping[str, Any]) -> Iterator[str]:
    """What of one package in npm's lock file does not come from the registry with a digest."""
    if not _PLACE.fullmatch(place) or not _VERSION.fullmatch(entry["version"]):
        yield place
    if "resolved" in entry or "link" in entry or not (entry.get("inBundle") or _DIGEST.fullmatch(entry["integrity"])):
        yield place


def _range(text: Any) -> bool:
    return isinstance(text, str) and _RANGE.fullmatch(text) is not None
