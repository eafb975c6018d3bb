"""A file that a contract names: the smallest part of the model, which all the others may use."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class NamedFile:
    """A file that the contract names, with a path relative to the contract's directory."""

    path: str
    sha256: str
    executable: bool = False
