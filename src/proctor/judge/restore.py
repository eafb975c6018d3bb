"""What the judge puts back before it looks: files that steer runners, and files that the contract protects.

Only paths that the patch touched are looked at. A steering file that the patch added is taken away; one that it changed
or removed is the base's again; of a file that steers with some tables, those are the base's again. Globs in
``free_steering`` exempt paths from steering, never from protection. A file that would be imported in place of a module
of a test runner or of the standard library, or a link in place of a directory from which tests import, is removed,
unless the project has such a module itself. Pure but for reading the base.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from proctor.contract.model import Policy
from proctor.execute.workspace.glob import matches
from proctor.judge import tables
from proctor.judge.modules import Places, shadowing
from proctor.judge.placement import Placement, ReadBase
from proctor.judge.steering import TABLES, Has, has_module, shadows_runner, steers

LINK = 0o120000

PROTECTED, STEERING, STEERING_TABLES, SHADOWING = "protected", "steering", "steering-tables", "shadowing"


@dataclass(frozen=True)
class Restored:
    """A path that was restored to the base's version, and why: one of the four codes above, or ``hidden``."""

    path: bytes
    why: str


def restore(
    placement: Placement, policy: Policy, read_base: ReadBase, places: Places | None = None, has: Has | None = None
) -> tuple[Restored, ...]:
    """Put back in ``placement`` what the patch may not decide; what that was, in order of path.

    ``has`` says which files the pristine tree has; these are the project's own. Without it, the files of the base
    count.
    """
    done = []
    roots = (places or Places()).roots(lambda path: placement.read(path, read_base) is not None)
    own = has or (lambda path: read_base(path) is not None)
    for path in placement.touched():
        why = _restore_one(placement, path, policy, read_base, roots, own)
        if why:
            done.append(Restored(path, why))
    return tuple(done)


def _restore_one(
    placement: Placement, path: bytes, policy: Policy, read_base: ReadBase, roots: frozenset[bytes], own: Has
) -> str:
    if _any(path, policy.protected):
        return PROTECTED if placement.restore(path, read_base) else ""
    kind = steers(path, own)
    shadow = shadows_runner(path, own) or (not kind and _stands_in(placement, path, read_base, roots))
    if not (kind or shadow) or _any(path, policy.free_steering):
        return ""
    if kind == TABLES:
        return _restore_tables(placement, path, read_base)
    return (SHADOWING if shadow else STEERING) if placement.restore(path, read_base) else ""


def _stands_in(placement: Placement, path: bytes, read_base: ReadBase, roots: frozenset[bytes]) -> bool:
    """Whether ``path`` brings a module of others' name, or a link in place of a directory that imports start from."""
    now = placement.read(path, lambda _: None)
    if now is None or read_base(path) is not None:
        return False
    if now[0] == LINK and any(root == path or root.startswith(path + b"/") for root in roots):
        return True
    if now[0] != LINK and b"." not in path.rpartition(b"/")[2]:
        return False
    module = shadowing(path, roots).encode()
    above = tuple(root + b"/" if root else b"" for root in roots)
    return bool(module) and not has_module(module, above, lambda form: read_base(form) is not None)


def _restore_tables(placement: Placement, path: bytes, read_base: ReadBase) -> str:
    """Put the steering tables back where the patch changed the file, or all of it where it is gone or no file."""
    now, base = placement.read(path, lambda _: None), read_base(path)
    if now is None or now[0] == LINK or (base is not None and base[0] == LINK):
        return STEERING if placement.restore(path, read_base) else ""
    made = tables.restored(path.rpartition(b"/")[2], base[1] if base else None, now[1])
    if made is None:
        return STEERING if placement.restore(path, read_base) else ""
    if made == now[1]:
        return ""
    placement.put(path, now[0], made)
    return STEERING_TABLES


def _any(path: bytes, patterns: tuple[str, ...], match: Callable[[bytes, str], bool] = matches) -> bool:
    return any(match(path, pattern) for pattern in patterns)
