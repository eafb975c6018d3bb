"""The taxonomy of failures, as data: ``data/taxonomy.jsonl``, one tag a line. Read once, never written.

id           what reports call it
gates        the gates that it can explain; an empty text is a run without a failed gate
evidence     the types of events of which at least one must show it
codes        codes of findings and terminations that lead to it; a star matches anything
signatures   words one of which must be in the event, if its type alone is not enough
format       whether it says in which format the cause came: natural, code, shell or config
about        its meaning, and ``remedy``: what to do about it
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from proctor.base.canonical import parse, sha256

PATH = Path(__file__).parent / "data" / "taxonomy.jsonl"


@dataclass(frozen=True)
class Entry:
    """One tag of the taxonomy."""

    id: str
    gates: tuple[str, ...]
    evidence: tuple[str, ...]
    codes: tuple[str, ...]
    signatures: tuple[str, ...]
    format: bool
    about: str
    remedy: str

    def claims(self, code: str) -> bool:
        """Whether a finding or a termination with ``code`` leads to this tag."""
        return any(fnmatchcase(code, one) for one in self.codes)

    def shows(self, text: str) -> bool:
        """Whether ``text`` has one of the signatures."""
        lower = text.lower()
        return any(one in lower for one in self.signatures)


@cache
def taxonomy() -> MappingProxyType[str, Entry]:
    """Every tag by its id, in the order of the file."""
    found: dict[str, Entry] = {}
    for line in PATH.read_bytes().splitlines():
        value: Any = {key: tuple(item) if isinstance(item, list) else item for key, item in parse(line).items()}
        found[value["id"]] = Entry(**value)
    return MappingProxyType(found)


@cache
def taxonomy_digest() -> str:
    """The digest of the file, by which a report names its taxonomy."""
    return sha256(PATH.read_bytes())


def matching_tags(code: str, gate: str, types: Iterable[str]) -> tuple[Entry, ...]:
    """The tags that ``code`` leads to at ``gate``, shown by an event of one of ``types``."""
    shown = set(types)
    return tuple(
        entry
        for entry in taxonomy().values()
        if gate in entry.gates and shown & set(entry.evidence) and entry.claims(code)
    )
