"""What an installation consists of: the lock of an agent, release by release, with digests.

A lock says everything that is needed to make the same installation again: the releases for the reader, and the document
that the registry's own client works from (npm's lock file; nothing for pip, whose list follows from the releases).
Addresses of registries are not part of it, so it means the same behind any mirror.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from proctor.base.canonical import digest
from proctor.base.errors import UsageFault
from proctor.base.frozen import EMPTY, frozen

KIND = "proctor.agent-lock"
SCHEMA = 1
LOCK_BYTES = 64 << 20


@frozen
class Release:
    """One release: ``digest`` is what the registry's client checks, as it spells it."""

    name: str
    version: str
    digest: str


@frozen
class AgentLock:
    """Everything that one installation is made from."""

    agent: str
    version: str
    registry: str
    releases: tuple[Release, ...]
    python: str = ""
    node: tuple[str, str] | None = None
    """The name and the digest of the file that Node comes from."""
    document: Mapping[str, Any] = EMPTY

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
        return AgentLock(
            agent=str(value["agent"]),
            version=str(value["version"]),
            registry=str(value["registry"]),
            releases=tuple(Release(str(name), str(version), str(sum_)) for name, version, sum_ in value["releases"]),
            python=str(value["python"]),
            node=(str(value["node"][0]), str(value["node"][1])) if value["node"] else None,
            document=dict(value["document"]),
        )
    except (KeyError, TypeError, ValueError, IndexError):
        raise UsageFault(
            "not a lock of an agent", where=where, hint="proctor agents show NAME --lock prints one"
        ) from None
