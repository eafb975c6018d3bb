"""Whether the machine still is the one that made the runs of a pilot so far.

A pilot stops before the first block that another machine would make, and goes on only where somebody accepts the change
by name and reason, on record.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from proctor.base.errors import InfrastructureFault
from proctor.study.pilot.identity import Change, Identity, digest_of
from proctor.study.pilot.ledger import Run


def changes_since(
    runs: Sequence[Run], now: Mapping[str, Identity], accepted: Collection[str] = ()
) -> tuple[Change, ...]:
    """In what the machine differs from the one that made the last run of each contract, each field once.

    ``now`` is the identity for each contract, ``accepted`` holds the digests of those that may go on all the same.
    """
    last = {run.contract: run for run in runs if run.machine}
    found: dict[tuple[str, str, str], Change] = {}
    for contract, identity in now.items():
        before = last.get(contract)
        if before is None or digest_of(identity) in accepted:
            continue
        old, new = dict(before.machine), dict(identity)
        for field in sorted({*old, *new}):
            values = old.get(field, ""), new.get(field, "")
            if values[0] != values[1]:
                found.setdefault((field, *values), Change(field, *values, before.run))
    return tuple(found.values())


def require_same(changes: Sequence[Change], where: str) -> None:
    """Begin nothing on a machine that is not the one that made the runs so far."""
    if changes:
        told = "\n  ".join(one.words for one in changes)
        raise InfrastructureFault(
            f"the machine has changed since {changes[0].run}, and runs on both are no longer comparable:\n  {told}",
            where=where,
            hint='put it back; or proctor pilot run PILOT --accept-machine "WHY" goes on, and every report tells it',
        )
