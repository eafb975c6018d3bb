"""What a pilot records besides its runs: screens, looks, removals and others, in one log that only grows.

``journal.jsonl`` is in the folder of the plan. Each record covers the one before it, and the first follows from the
pilot's digest, so that none can be changed, left out or carried to another pilot. Each sealed run and each amendment is
recorded here, so that none can be removed and repeated. Older journals do not have such records.

The home records the length of the journal of each pilot as well, because a chain cannot show that its end is missing.
``pilot-heads.jsonl`` is a log of the home that all its pilots share: after each record of a journal it contains the
number of records and the hash of the last. A journal with fewer records, or with others, was cut or replaced by an old
copy. One that has more was left by a crash between the two. To hide a cut, a user has to cut the home's log as well,
with everything that other pilots recorded since.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from proctor.author.flaky_tests import Screened
from proctor.base.dataclass_fields import field_items
from proctor.base.errors import BrokenSeal
from proctor.execute.proctor_home import Home
from proctor.record.chained_log import ChainedLog, Entry
from proctor.study.pilot.ledger.costs_besides_runs import Charge, screened
from proctor.study.pilot.ledger.interim_look import Look, look_from
from proctor.study.pilot.ledger.machine_identity import Change
from proctor.study.pilot.plan.frozen_plan import AMENDMENT, JOURNAL, Plan, journal_log
from proctor.study.statements import Statement, statement

SCREEN, REMOVAL, RUNS = "proctor.pilot-screen", "proctor.pilot-removal", "proctor.pilot-runs"
LOOK, MACHINE = "proctor.pilot-look", "proctor.pilot-machine"
SCHEMA = 1
REMOVAL_SCHEMA = 2
"""From 2 on what the evidence shows is a statement; in 1 it is a sentence."""


@dataclass(frozen=True)
class Screen:
    """How stable the checks of one task were: the largest share of deviating attempts, and the record of all."""

    task: str
    contract: str
    attempts: int
    deviating: int
    of: int
    check: str
    pointer: str


@dataclass(frozen=True)
class Removal:
    """A task that was removed for an objective reason that its evidence shows."""

    task: str
    contract: str
    reason: str
    evidence: tuple[Mapping[str, Any], ...]
    found: Statement
    why: str
    by: str
    at: str
    after_runs: int
    pointer: str

    def record(self) -> dict[str, Any]:
        """All of it as data."""
        evidence = [dict(one) for one in self.evidence]
        return {**dict(field_items(self)), "evidence": evidence, "found": self.found.record()}

    @property
    def deviation(self) -> Statement:
        """The removal as every report shows it."""
        known = {"task": self.task, "reason": self.reason, "found": self.found, "why": self.why}
        return statement("task-removed", **known, after_runs=self.after_runs)


@dataclass(frozen=True)
class AcceptedMachine:
    """A change of the machine that a user accepted; ``identities`` are the digests of what may make runs since."""

    changed: tuple[Change, ...]
    identities: tuple[str, ...]
    why: str
    by: str
    at: str
    after_runs: int

    def record(self) -> dict[str, Any]:
        """All of it as data."""
        changed = [one.record() for one in self.changed]
        return {**dict(field_items(self)), "changed": changed, "identities": list(self.identities)}

    @property
    def deviation(self) -> Statement:
        """The change as every report shows it."""
        changed = [{"field": one.field, "before": one.before, "after": one.after} for one in self.changed]
        return statement("machine-changed", after_runs=self.after_runs, changed=changed, by=self.by, why=self.why)


@dataclass(frozen=True)
class Journal:
    """Everything in the journal; of several screens of a task the last counts.

    ``runs`` are the recorded runs with the digests of their seals, ``looks`` are as they were taken, and ``charges`` is
    the known cost of the screens; ``machines`` are changes that were accepted.
    """

    screens: Mapping[str, Screen]
    removals: tuple[Removal, ...]
    runs: Mapping[str, str] = field(default_factory=dict)
    looks: tuple[Look, ...] = ()
    charges: tuple[Charge, ...] = ()
    machines: tuple[AcceptedMachine, ...] = ()

    @property
    def removed(self) -> frozenset[str]:
        """The names of the tasks that were removed."""
        return frozenset(one.task for one in self.removals)


def read_journal(plan: Plan) -> Journal:
    """The journal of a plan; :class:`BrokenSeal` when it does not hold."""
    screens: dict[str, Screen] = {}
    removals: list[Removal] = []
    runs: dict[str, str] = {}
    looks: list[Look] = []
    charges: list[Charge] = []
    machines: list[AcceptedMachine] = []
    for entry in journal_log(plan).read():
        pointer = f"{JOURNAL}#{entry.seq}"
        try:
            if entry.record["kind"] == SCREEN:
                screen = _screen(entry.record, pointer)
                screens[screen.task] = screen
                if "usd" in entry.record:  # older screens have no cost
                    cost = (str(entry.record["seconds"]), str(entry.record["usd"]))
                    charges.append(screened(screen.task, screen.contract, *cost, pointer))
            elif entry.record["kind"] == REMOVAL:
                removals.append(_removal(entry.record, pointer))
            elif entry.record["kind"] == LOOK:
                looks.append(look_from(entry.record))
            elif entry.record["kind"] == MACHINE:
                machines.append(_accepted(entry.record))
            elif entry.record["kind"] == RUNS:
                for one in entry.record["runs"]:
                    runs.setdefault(str(one["run"]), str(one["seal"]))
            elif entry.record["kind"] != AMENDMENT:
                raise ValueError(f"a record of kind {entry.record['kind']!r}")
        except (KeyError, TypeError, ValueError, ArithmeticError) as error:
            raise BrokenSeal(f"this is not a record of a pilot: {error}", where=str(plan.folder / pointer)) from None
    return Journal(screens, tuple(removals), runs, tuple(looks), tuple(charges), tuple(machines))


def add_screen(
    plan: Plan,
    task: str,
    contract: str,
    attempts: int,
    found: tuple[Screened, ...],
    seconds: str = "0",
    usd: str = "0",
) -> None:
    """Record how stable the checks of a task were, how many seconds they took, and the cost."""
    checks = [
        {
            "check": one.check,
            "primary": one.primary,
            "tree": one.tree,
            "deviating": one.deviating,
            "attempts": one.attempts,
            "bound": f"{one.bound:.6f}",
            "order_varied": one.order_varied,
            "tests": list(one.tests),
        }
        for one in found
    ]
    head = {"schema": SCHEMA, "kind": SCREEN, "task": task, "contract": contract}
    journal_log(plan).append({**head, "attempts": attempts, "seconds": seconds, "usd": usd, "checks": checks})


def add_runs(plan: Plan, runs: Mapping[str, str]) -> None:
    """Record sealed runs with the digests of their seals."""
    if runs:
        noted = [{"run": run, "seal": seal} for run, seal in sorted(runs.items())]
        journal_log(plan).append({"schema": SCHEMA, "kind": RUNS, "runs": noted})


def add_look(plan: Plan, look: Look) -> None:
    """Record a look as it was taken: what it showed, and the runs that it was taken from."""
    journal_log(plan).append({"schema": SCHEMA, "kind": LOOK, **look.record()})


def add_machine(plan: Plan, accepted: AcceptedMachine) -> None:
    """Record that the pilot continues on a machine that has changed."""
    journal_log(plan).append({"schema": SCHEMA, "kind": MACHINE, **accepted.record()})


def add_removal(plan: Plan, removal: Mapping[str, Any]) -> None:
    """Record that a task was removed; the caller has checked the evidence."""
    journal_log(plan).append({"schema": REMOVAL_SCHEMA, "kind": REMOVAL, **removal})


def _screen(record: Mapping[str, Any], pointer: str) -> Screen:
    primary = [one for one in record["checks"] if one["primary"]]
    worst = max(primary, key=lambda one: int(one["deviating"]) / max(int(one["attempts"]), 1), default=None)
    return Screen(
        task=record["task"],
        contract=record["contract"],
        attempts=int(record["attempts"]),
        deviating=int(worst["deviating"]) if worst else 0,
        of=int(worst["attempts"]) if worst else 0,
        check=str(worst["check"]) if worst else "",
        pointer=pointer,
    )


def _accepted(record: Mapping[str, Any]) -> AcceptedMachine:
    fields = ("field", "before", "after", "run")
    changed = tuple(Change(*(str(one[name]) for name in fields)) for one in record["changed"])
    why, by, at = (str(record[name]) for name in ("why", "by", "at"))
    return AcceptedMachine(changed, tuple(map(str, record["identities"])), why, by, at, int(record["after_runs"]))


def _removal(record: Mapping[str, Any], pointer: str) -> Removal:
    texts = {name: str(record[name]) for name in ("task", "contract", "reason", "why", "by", "at")}
    evidence = tuple(dict(one) for one in record["evidence"])
    shown = record["found"]
    found = statement("as-recorded", text=shown) if isinstance(shown, str) else statement(**shown)
    return Removal(**texts, found=found, evidence=evidence, after_runs=int(record["after_runs"]), pointer=pointer)


HEADS_NAME = "pilot-heads.jsonl"
HEAD_KIND = "proctor.pilot-head"
HEAD_SCHEMA = 1
REMOVAL_SCHEMA = 2
"""From 2 on what the evidence shows is a statement; in 1 it is a sentence."""


def note_head(plan: Plan, home: Home) -> None:
    """Record in ``home`` how long the journal is now, unless that is recorded."""
    entries = journal_log(plan).read()
    if entries and (len(entries), entries[-1].hash) not in _noted(plan, home):
        head = {"pilot": plan.digest, "count": len(entries), "head": entries[-1].hash}
        _log(plan, home).append({"kind": HEAD_KIND, "schema": HEAD_SCHEMA, **head})


def require_head(plan: Plan, home: Home) -> None:
    """Refuse a journal that does not fit what ``home`` recorded of it."""
    noted = _noted(plan, home)  # before the journal: what is recorded by now is in it
    entries = journal_log(plan).read()
    most = max((count for count, _ in noted), default=0)
    hint = "restore the journal from a copy; planning the pilot again does not undo its records"
    if most > len(entries):
        what = f"the journal was cut: it had {most} records and has {len(entries)}"
        raise BrokenSeal(what, where=str(plan.folder / JOURNAL), hint=hint)
    for count, head in noted:
        if entries[count - 1].hash != head:
            what = f"record {count - 1} of the journal is not the one that the home recorded"
            raise BrokenSeal(what, where=str(plan.folder / JOURNAL), hint=hint)


def _log(plan: Plan, home: Home) -> ChainedLog:
    return plan.log(home.path / HEADS_NAME)


def _entries(plan: Plan, home: Home) -> list[Entry]:
    try:
        return _log(plan, home).read()
    except BrokenSeal as broken:
        broken.where = str(home.path / broken.where)
        broken.hint = broken.hint or "restore it from a copy; it records how long the journals of pilots are"
        raise


def _noted(plan: Plan, home: Home) -> list[tuple[int, str]]:
    """What the home recorded of this pilot's journal: each time how many records it had, and the hash of the last.

    Parallel runs may record them in another order.
    """
    found = []
    for entry in _entries(plan, home):
        count, head = entry.record.get("count"), entry.record.get("head")
        if type(count) is not int or count < 1 or not isinstance(head, str):
            raise BrokenSeal("the record has no count or no hash", where=f"{HEADS_NAME}#{entry.seq}")
        if entry.record.get("pilot") == plan.digest:
            found.append((count, head))
    return found
