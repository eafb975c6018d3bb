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
    if entries and _noted(plan, home) != (len(entries), entries[-1].hash):
        head = {"pilot": plan.digest, "count": len(entries), "head": entries[-1].hash}
        _log(home).append({"kind": KIND, "schema": SCHEMA, **head})


def require_head(plan: Plan, home: Home) -> None:
    """Refuse a journal that is not, or no longer, what ``home`` notes of it."""
    count, head = _noted(plan, home)  # before the journal: what is noted by now is in it
    entries = journal_log(plan).read()
    hint = "put the journal back from a copy; what a pilot learnt and decided is never taken back"
    if count > len(entries):
        words = f"the journal was cut: it had {count} records and has {len(entries)}"
        raise BrokenSeal(words, where=str(plan.folder / JOURNAL), hint=hint)
    if count and entries[count - 1].hash != head:
        words = f"record {count - 1} of the journal is not the one that the home notes"
        raise BrokenSeal(words, where=str(plan.folder / JOURNAL), hint=hint)


def _log(home: Home) -> ChainedLog:
    return ChainedLog(home.path / HEADS_NAME)


def _entries(home: Home) -> list[Entry]:
    try:
        return _log(home).read()
    except BrokenSeal as broken:
        broken.where = str(home.path / broken.where)
        broken.hint = broken.hint or "put it back from a copy; it notes how long the journals of pilots are"
        raise


def _noted(plan: Plan, home: Home) -> tuple[int, str]:
    """How many records the home notes last of this pilot's journal, and the hash of the last; 0 for none."""
    found = (0, "")
    for entry in _entries(home):
        try:
            if entry.record["pilot"] == plan.digest:
                found = int(entry.record["count"]), str(entry.record["head"])
        except (KeyError, TypeError, ValueError) as error:
            raise BrokenSeal(f"the record notes no journal: {error}", where=f"{HEADS_NAME}#{entry.seq}") from None
    return found
