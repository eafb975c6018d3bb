"""How long the journal of each pilot is, noted a second time in the home, so that a journal that was cut is told.

A chain cannot show that its end is missing. ``pilot-heads.jsonl`` is a log of the home that all its pilots share: after
each record of a journal it says how many there are, and the hash of the last. A journal with fewer, or with others, was
cut or put back from an old copy. One that has more is what a crash between the two leaves. To hide a cut somebody has
to cut the home's log as well, with everything that other pilots noted since.
"""

from __future__ import annotations

from proctor.base.errors import BrokenSeal
from proctor.execute.home import Home
from proctor.record.chained import ChainedLog, Entry
from proctor.study.pilot.plan import JOURNAL, Plan, journal_log

HEADS_NAME = "pilot-heads.jsonl"
KIND = "proctor.pilot-head"
SCHEMA = 1


def note_head(plan: Plan, home: Home) -> None:
    """Put down in ``home`` how long the journal is by now, unless that is on record."""
    entries = journal_log(plan).read()
    if entries and (len(entries), entries[-1].hash) not in _noted(plan, home):
        head = {"pilot": plan.digest, "count": len(entries), "head": entries[-1].hash}
        _log(plan, home).append({"kind": KIND, "schema": SCHEMA, **head})


def require_head(plan: Plan, home: Home) -> None:
    """Refuse a journal that is not, or no longer, what ``home`` notes of it: every note of it has to hold."""
    noted = _noted(plan, home)  # before the journal: what is noted by now is in it
    entries = journal_log(plan).read()
    most = max((count for count, _ in noted), default=0)
    hint = "put the journal back from a copy: a pilot takes nothing back, also when it is planned again elsewhere"
    if most > len(entries):
        words = f"the journal was cut: it had {most} records and has {len(entries)}"
        raise BrokenSeal(words, where=str(plan.folder / JOURNAL), hint=hint)
    for count, head in noted:
        if entries[count - 1].hash != head:
            words = f"record {count - 1} of the journal is not the one that the home notes"
            raise BrokenSeal(words, where=str(plan.folder / JOURNAL), hint=hint)


def _log(plan: Plan, home: Home) -> ChainedLog:
    return plan.log(home.path / HEADS_NAME)


def _entries(plan: Plan, home: Home) -> list[Entry]:
    try:
        return _log(plan, home).read()
    except BrokenSeal as broken:
        broken.where = str(home.path / broken.where)
        broken.hint = broken.hint or "put it back from a copy; it notes how long the journals of pilots are"
        raise


def _noted(plan: Plan, home: Home) -> list[tuple[int, str]]:
    """What the home notes of this pilot's journal: each time how many records it had, and the hash of the last.

    Runs that end side by side may note them in another order.
    """
    found = []
    for entry in _entries(plan, home):
        count, head = entry.record.get("count"), entry.record.get("head")
        if type(count) is not int or count < 1 or not isinstance(head, str):
            raise BrokenSeal("the record notes no journal", where=f"{HEADS_NAME}#{entry.seq}")
        if entry.record.get("pilot") == plan.digest:
            found.append((count, head))
    return found
