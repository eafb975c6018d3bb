"""What the judge puts back before it looks: files that steer runners, and files that the contract protects.

Only paths that the patch touched are looked at. A steering file that the patch added is taken away; one that it changed
or removed is the base's again; of a file that steers with some tables, those are the base's again. Globs in
``free_steering`` exempt paths from steering, never from protection. Pure but for reading the base.
"""

from __future__ import annotations

from collections.abc import Callable

from proctor.base.frozen import frozen
from proctor.contract.model import Policy
from proctor.execute.workspace.glob import matches
from proctor.judge import tables
from proctor.judge.placement import Placement, ReadBase
from proctor.judge.steering import TABLES, WHOLE, steers

LINK = 0o120000


@frozen
class Restored:
    """A path that is the base's again, and why: ``protected``, ``steering`` or ``steering-tables``."""

    path: bytes
    why: str


def restore(placement: Placement, policy: Policy, read_base: ReadBase) -> tuple[Restored, ...]:
    """Put back in ``placement`` what the patch may not decide; what that was, in order of path."""
    done = []
    for path in placement.touched():
        why = _restore_one(placement, path, policy, read_base)
        if why:
            done.append(Restored(path, why))
    return tuple(done)


def _restore_one(placement: Placement, path: bytes, policy: Policy, read_base: ReadBase) -> str:
    if _any(path, policy.protected):
        return "protected" if placement.restore(path, read_base) else ""
    kind = steers(path)
    if not kind or _any(path, policy.free_steering):
        return ""
    if kind == WHOLE:
        return "steering" if placement.restore(path, read_base) else ""
    assert kind == TABLES
    return _restore_tables(placement, path, read_base)


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
