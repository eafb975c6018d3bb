"""The environment of a contract as data: what any ecosystem has to provide.

``for_fix`` of an ecosystem looks at the files of a fix and returns an :class:`Environment`, or raises
:class:`~proctor.author.mine.known_fix.UnfitFix` with a reason that ``mine`` counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from proctor.contract.lock import Locked


@dataclass(frozen=True)
class Evidence:
    """Where something was found: a file of the repository, its line (0 if not known), and what it says."""

    file: str
    line: int
    what: str


@dataclass(frozen=True)
class Environment:
    """What a contract declares so that its tests can run.

    ``inputs`` are specs by the name of the input, with their locks. ``tests`` is the command without the test files.
    ``imports`` are the modules under test; a check makes sure that they come from the tree and from nowhere else.
    """

    language: str
    sources: str
    inputs: Mapping[str, Locked]
    variables: Mapping[str, str]
    setup: str
    tests: tuple[str, ...]
    results: str
    imports: tuple[str, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    notes: tuple[str, ...] = ()
    as_of: str = ""
