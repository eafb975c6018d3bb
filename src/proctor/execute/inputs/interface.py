"""The interface of sources of inputs, and their errors.

A source fetches into a directory of the cache and does not check the bytes: the cache checks every digest. There are
four errors: a registry that cannot be reached (worth another try, exit 3), a release
or file that does not exist, bytes that are not the pinned ones, and a source that is not pinned at all (all exit 2).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from proctor.base.errors import InfrastructureFault, ProctorError
from proctor.contract.model import InputFile, Source

MAX_FILE_BYTES = 2 << 30
"""The largest file that is fetched."""


class Unreachable(InfrastructureFault):
    """A registry, a mirror or an address did not answer as it should; it may do so later."""


class NoSuchInput(ProctorError):
    """The release or the file that a contract names does not exist."""

    exit_code = 2


class DigestMismatch(ProctorError):
    """A file is there, but its bytes are not those that the contract pins."""

    exit_code = 2


class NotPinned(ProctorError):
    """A source whose files and digests are not pinned."""

    exit_code = 2


@dataclass(frozen=True)
class InputRequest:
    """A request of ``proctor lock``: a source, its form, and whether its dependencies are included.

    ``built`` asks for the built form (a wheel) if there is a choice; otherwise for the sources.
    """

    source: Source
    built: bool = False
    with_dependencies: bool = False


class InputSource(Protocol):
    """One kind of source. It fetches outside every sandbox; what it fetches is compared with the pinned digests."""

    def fetch(self, source: Source, files: tuple[InputFile, ...], contract_directory: Path, into: Path) -> None:
        """Put ``files`` of the pinned ``source`` into the directory ``into``, each under its name."""
        ...

    def resolve(self, request: InputRequest, contract_directory: Path, into: Path) -> tuple[str, ...]:
        """Fetch what ``request`` resolves to now into ``into`` and return the names of the files."""
        ...


def split_spec(source: Source, separator: str) -> tuple[str, str]:
    """Name and version of a spec such as ``parse==1.22.2`` or ``@types/node@1.0.0``."""
    name, found, version = source.spec.rpartition(separator)
    if not found or not name or not version or name.startswith("-") or any(sign.isspace() for sign in source.spec):
        raise NoSuchInput(
            f"{source.kind} source {source.spec!r} does not name a release",
            hint=f"write it as name{separator}version",
        )
    return name, version
