"""What the judge puts back before it looks: files that steer runners, and files that the contract protects.

Only paths that the patch touched are looked at. A steering file that the patch added is taken away; one that it changed
or removed is the base's again; of a file that steers with some tables, those are the base's again. Globs in
``free_steering`` exempt paths from steering, never from protection. A file that would be imported in place of a module
of the standard library, or a link that stands for a directory from which tests import, is taken away unless the base
has such a module there. Pure but for reading the base.
"""

from __future__ import annotations

from collections.abc import Callable

from proctor.base.frozen import frozen
from proctor.contract.model import Policy
from proctor.execute.workspace.glob import matches
from proctor.judge import tables
from proctor.judge.modules import Places, other_forms, shadowing
from proctor.judge.placement import Placement, ReadBase
from proctor.judge.steering import TABLES, WHOLE, steers

LINK = 0o120000


@frozen
class Restored:
    """A path that is the base's again, and why: ``protected``, ``steering`` or ``steering-tables``."""

    path: bytes
    why: str


def restore(
    placement: Placement, policy: Policy, read_base: ReadBase, places: Places | None = None
) -> tuple[Restored, ...]:
    """Put back in ``placement`` what the patch may not decide; what that was, in order of path."""
    done = []
    roots = (places or Places()).roots(lambda path: placement.read(path, read_base) is not None)
    for path in placement.touched():
        why = _restore_one(placement, path, policy, read_base, roots)
        if why:
            done.append(Restored(path, why))
    return tuple(done)


def _restore_one(
    placement: Placement, path: bytes, policy: Policy, read_base: ReadBase, roots: frozenset[bytes]
) -> str:
    if _any(path, policy.protected):
        return "protected" if placement.restore(path, read_base) else ""
    kind = steers(path) or (WHOLE if _stands_in(placement, path, read_base, roots) else "")
    if not kind or _any(path, policy.free_steering):
        return ""
    if kind == WHOLE:
        return "steering" if placement.restore(path, read_base) else ""
    assert kind == TABLES
    return _restore_tables(placement, path, read_base)


def _stands_in(placement: Placement, path: bytes, read_base: ReadBase, roots: frozenset[bytes]) -> bool:
    """Whether ``path`` brings a module of others' name, or a link in place of a directory that imports start from."""
    now = placement.read(path, lambda _: None)
    if now is None or read_base(path) is not None:
        return False
    if now[0] == LINK and any(root == path or root.startswith(path + b"/") for root in roots):
        return True
    if now[0] != LINK and b"." not in path.rpartition(b"/")[2]:
        return False
    return bool(shadowing(path, roots)) and not any(read_base(form) for form in other_forms(path))


def _restore_tables(placement: Placement, path: bytes, read_base: ReadBase) -> str:
    """Put the steering tables back where the patch changed the file, or all of it where it is gone or no file."""
    now, base = placement.read(path, lambda _: None), read_base(path)
    if now is None or now[0] == LINK or (base is not None and base[0] == LINK):
        return "steering" if placement.restore(path, read_base) else ""
    made = tables.restored(path.rpartition(b"/")[2], base[1] if base else None, now[1])
    if made is None:
        return "steering" if placement.restore(path, read_base) else ""
    if made == now[1]:
        return ""
    placement.put(path, now[0], made)
    return "steering-tables"


def _any(path: bytes, patterns: tuple[str, ...], match: Callable[[bytes, str], bool] = matches) -> bool:
    return any(match(path, pattern) for pattern in patterns)
