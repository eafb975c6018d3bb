"""What is left out of a patch: generated files, products of setup, and what no patch can carry.

A path is a product of setup when the base has it, or a directory above it, and the pristine tree does not: a virtual
environment, installed packages, build output. The judge makes its own base, so changes there could only mislead it.
"""

from __future__ import annotations

from collections.abc import Mapping

from proctor.base.reversible_escapes import name_text
from proctor.contract.model import Contract
from proctor.execute.prepare import PreparedBase
from proctor.execute.workspace.diff import Changes
from proctor.execute.workspace.layer_stack import Stack
from proctor.execute.workspace.path_patterns import matches
from proctor.execute.workspace.workspace import base_stack
from proctor.judge.patch_policy.tree_overlay import ancestors

GENERATED, SETUP_PRODUCT, SPECIAL, TOO_LARGE, TRUNCATED = "generated", "setup-product", "special", "too-large", "limit"
EVERY = b"*"
"""The entry for paths that are not listed."""


class ExcludedPaths:
    """Recognises the paths that are never part of a patch."""

    def __init__(self, contract: Contract, prepared: PreparedBase) -> None:
        self._generated = contract.policy.generated
        has_setup = prepared.layers != (prepared.source,)
        self._products = Products(base_stack(prepared.layers), base_stack((prepared.source,))) if has_setup else None

    def why(self, path: bytes) -> str:
        """The reason to leave ``path`` out; empty for one that a patch carries."""
        if any(matches(path, pattern) for pattern in self._generated):
            return GENERATED
        return SETUP_PRODUCT if self._products is not None and self._products.has(path) else ""

    def counts(self, path: bytes) -> bool:
        """Whether ``path`` counts for the limits of a patch."""
        return not self.why(path)


def exclude_paths(unwanted: ExcludedPaths, changes: Changes) -> tuple[Changes, tuple[Mapping[str, str], ...]]:
    """The changes that a patch is made of, and the paths that are left out with the reason for each."""
    reasons = {change.path: unwanted.why(change.path) for change in changes.changes}
    kept = tuple(change for change in changes.changes if not reasons[change.path])
    dropped = [(path, why) for path, why in reasons.items() if why]
    dropped += [(path, SPECIAL) for path in changes.special]
    dropped += [(path, unwanted.why(path) or TOO_LARGE) for path in changes.too_large]
    if changes.omitted:
        dropped.append((EVERY, GENERATED))
    if changes.truncated:
        dropped.append((EVERY, TRUNCATED))
    listed = tuple({"path": name_text(path), "why": why} for path, why in sorted(dropped))
    return Changes(kept), listed


class Products:
    """Distinguishes the products of setup from the pristine tree; caches what it has looked up."""

    def __init__(self, base: Stack, source: Stack) -> None:
        self._base = base
        self._source = source
        self._known: dict[bytes, bool] = {}

    def has(self, path: bytes) -> bool:
        """Whether ``path``, or a directory above it, was made by setup."""
        return any(self._made(part) for part in (path, *ancestors(path)))

    def _made(self, path: bytes) -> bool:
        if path not in self._known:
            self._known[path] = _exists(self._base, path) and not _exists(self._source, path)
        return self._known[path]


def _exists(stack: Stack, path: bytes) -> bool:
    parent, _, name = path.rpartition(b"/")
    with stack.directory(parent) as directory:
        return directory is not None and directory.find(name) is not None
