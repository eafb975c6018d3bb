"""The folder of a frozen pilot: written once, checked at every reading, and changed by amendments only.

    protocol.json        what was fixed, canonical; its digest is the pilot's and never changes
    randomisation.csv    and the other artefacts, whose digests the protocol has
    manifest.json        the digest of the protocol and of every artefact, and the seeds
    amendments/001.json  what was changed later, why, when and after how many runs; each names the one before it
    amendments/001/      protocol and artefacts that hold since then
    journal.jsonl        a chained log, in which each amendment is noted by its digest, so that none can be taken back

Writing ends with the file that makes the rest count, so a crash leaves the old plan or none. An amendment without
a note is accepted: it was made before there were notes, or a crash came between it and its note.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from pathlib import Path
from typing import Any

from proctor.base.canonical import canonical, parse_canonical, sha256
from proctor.base.errors import BrokenSeal, InfrastructureFault, UsageFault
from proctor.base.files import read_bounded, write_whole
from proctor.base.json_records import OTHER_FORM
from proctor.record.chained_log import ANCHOR, ChainedLog
from proctor.study.pilot.plan.pilot_model import Pilot
from proctor.study.pilot.plan.protocol import ARTEFACTS, DEVIATIONS, changes, deviations, with_artefacts
from proctor.study.pilot.plan.randomisation import Slot, from_csv
from proctor.study.statements import Statement, statement

PROTOCOL, MANIFEST, AMENDMENTS, RANDOMISATION = "protocol.json", "manifest.json", "amendments", "randomisation.csv"
JOURNAL, AMENDMENT = "journal.jsonl", "proctor.pilot-amendment"
FILE_BYTES = 256 << 20
SHOWN_CHANGES = 40
SHOWN_CHARACTERS = 60
REMOVED = ": removed"
BUDGETS = ("run_usd", "task_usd", "pilot_usd")


@dataclass(frozen=True)
class Plan:
    """A frozen pilot. ``protocol`` and ``slots`` are those in force; ``digest`` is that of the first protocol.

    ``current`` is the folder of the artefacts in force.
    """

    folder: Path
    current: Path
    digest: str
    protocol: Mapping[str, Any]
    slots: tuple[Slot, ...]
    amendments: tuple[Mapping[str, Any], ...] = ()

    @property
    def deviations(self) -> tuple[Statement, ...]:
        """How the plan departs from the usual design, and its amendments."""
        return (*deviations(self.protocol), *map(_amended, self.amendments))

    def log(self, path: Path, anchor: str = ANCHOR) -> ChainedLog:
        """The log at ``path``, each time the same one: what it has checked it does not check again for every run."""
        return self._logs.setdefault(path, ChainedLog(path, anchor=anchor))

    @cached_property
    def _logs(self) -> dict[Path, ChainedLog]:
        return {}


def plan_folder(pilot: Pilot) -> Path:
    """The default folder of a pilot's plan: beside its file."""
    return pilot.file.with_suffix(".plan")


def freeze(folder: Path, protocol: Mapping[str, Any], make: Callable[[], Mapping[str, bytes]]) -> Plan:
    """Write a plan down with the artefacts that ``make`` gives, or find the same one there.

    A plan that differs is refused and left as it is.
    """
    if (folder / PROTOCOL).exists():
        plan = load_plan(folder)
        refuse_changes(plan, protocol)
        return plan
    if (folder / AMENDMENTS).exists():
        raise BrokenSeal("there are amendments, and the protocol is gone", where=str(folder))
    artefacts = make()
    known = {PROTOCOL, MANIFEST, *artefacts}
    strange = sorted(path.name for path in folder.glob("[!.]*") if path.name not in known) if folder.is_dir() else []
    if strange:
        hint = "name an empty folder with --out"
        raise UsageFault(f"the folder holds other things, such as {strange[0]}", where=str(folder), hint=hint)
    _write(folder, protocol, artefacts)
    return load_plan(folder)


def load_plan(folder: Path) -> Plan:
    """The plan in ``folder``; :class:`BrokenSeal` when anything in it is not as it was written."""
    if not (folder / PROTOCOL).is_file():
        if (folder / AMENDMENTS).exists():
            raise BrokenSeal("there are amendments, and the protocol is gone", where=str(folder))
        hint = "proctor pilot plan PILOT freezes it"
        raise UsageFault("the pilot is not planned yet", where=str(folder), hint=hint)
    protocol, digest = _checked(folder)
    current, previous = folder, digest
    amendments: list[Mapping[str, Any]] = []
    for file in _amendment_files(folder):
        record, current, after = _checked_amendment(file, len(amendments) + 1, digest, previous)
        if record["changed"] != changes(protocol, after):
            raise BrokenSeal("the amendment does not name the changes that it made", where=str(file))
        protocol, previous = after, sha256(canonical(record))
        amendments.append(record)
    slots = from_csv(_read(current / RANDOMISATION), str(current / RANDOMISATION))
    plan = Plan(folder, current, digest, protocol, slots, tuple(amendments))
    _noted(plan)
    return plan


def journal_log(plan: Plan) -> ChainedLog:
    """The log of a plan: its first record follows from the pilot's digest."""
    return plan.log(plan.folder / JOURNAL, plan.digest.removeprefix("sha256:"))


def note_amendments(plan: Plan) -> None:
    """Record the digest of every amendment that has no note yet."""
    log = journal_log(plan)
    for record in plan.amendments[_noted(plan) :]:
        noted = {"number": record["number"], "digest": sha256(canonical(record))}
        log.append({"schema": 1, "kind": AMENDMENT, **noted})


def _noted(plan: Plan) -> int:
    """How many amendments have notes; :class:`BrokenSeal` if one of them is missing or differs."""
    notes = [entry.record for entry in journal_log(plan).read() if entry.record.get("kind") == AMENDMENT]
    made = [{"number": one["number"], "digest": sha256(canonical(one))} for one in plan.amendments]
    for number, note in enumerate(notes, 1):
        if {name: note.get(name) for name in ("number", "digest")} not in made[number - 1 : number]:
            raise BrokenSeal(
                f"amendment {number} is recorded, but {'missing' if number > len(made) else 'differs from its record'}",
                where=str(plan.folder / AMENDMENTS),
                hint="restore it from a copy; only another amendment can undo an amendment",
            )
    return len(notes)


def refuse_changes(plan: Plan, protocol: Mapping[str, Any]) -> None:
    """Refuse a pilot that is no longer what was frozen, naming each field."""
    lines = changed_lines(plan, protocol)
    if not lines:
        return
    hint = 'undo the change, or record it for every later report: proctor pilot amend PILOT --why "..."'
    if any(line.startswith("tasks[") and line.endswith(REMOVED) for line in lines):
        hint += "; once there are runs, only proctor pilot remove can remove a task"
    elif any(line.startswith(("methods[", "tasks[")) for line in lines):
        hint += "; once there are runs, methods and tasks cannot change, and proctor pilot report needs neither"
    if len(lines) > SHOWN_CHANGES:
        lines = [*lines[:SHOWN_CHANGES], f"and {len(lines) - SHOWN_CHANGES} more"]
    what = "the pilot has changed since it was frozen:\n  " + "\n  ".join(lines)
    raise UsageFault(what, where=str(plan.folder), hint=hint)


def changed_lines(plan: Plan, protocol: Mapping[str, Any]) -> list[str]:
    """What differs from the plan in force, a line for each field; what was added or removed as a whole is one line."""
    lines: list[str] = []
    listed: list[str] = []
    for part in ("methods", "tasks", "variations"):
        before, after = ([one["name"] for one in each.get(part, ())] for each in (plan.protocol, protocol))
        gone, come = [name for name in before if name not in after], [name for name in after if name not in before]
        lines += [f"{part}[{name}]{REMOVED}" for name in gone] + [f"{part}[{name}]: added" for name in come]
        listed += [f"{part}[{name}]." for name in (*gone, *come)]
        if [name for name in before if name not in gone] == [name for name in after if name not in come]:
            listed.append(f"{part} (order)")
    listed.append(DEVIATIONS)  # they follow from the rest
    for one in changes(plan.protocol, protocol):
        if not str(one["field"]).startswith(tuple(listed)):
            lines.append(f"{one['field']}: {shown(one['before'])} -> {shown(one['after'])}")
    return lines


def amend(
    plan: Plan, protocol: Mapping[str, Any], make: Callable[[], Mapping[str, bytes]], why: str, at: str, after_runs: int
) -> Plan:
    """Replace the protocol from now on, on record; ``after_runs`` is how many runs there were by then.

    Once there are runs, no task is added, and a task is removed only for a reason that was checked. The rules of the
    decision stay too, or get stricter, because a user who knows the runs could otherwise choose the result.
    """
    if not changed_lines(plan, protocol):
        raise UsageFault("nothing has changed since the pilot was frozen", where=str(plan.folder))
    if not why.strip():
        raise UsageFault("an amendment needs a reason", hint='--why "..."')
    if after_runs and plan.protocol["tasks"] != protocol["tasks"]:
        raise UsageFault(
            f"{after_runs} runs were made, and the frozen suite cannot change",
            where=str(plan.folder),
            hint="proctor pilot remove removes an invalid task; it is not replaced",
        )
    if after_runs and (looser := _looser(plan.protocol, protocol)):
        raise UsageFault(
            f"{after_runs} runs were made, and the rules of the decision were fixed before them: {'; '.join(looser)}",
            where=str(plan.folder),
            hint="undo the change; another question is another pilot with runs of its own",
        )
    number = len(plan.amendments) + 1
    place = plan.folder / AMENDMENTS / f"{number:03d}"
    digest = _write(place, protocol, make())
    record = {
        "schema": 1,
        "kind": "proctor.amendment",
        "number": number,
        "pilot": plan.digest,
        "previous": sha256(canonical(plan.amendments[-1])) if plan.amendments else plan.digest,
        "protocol": digest,
        "changed": changes(plan.protocol, protocol),
        "why": why.strip(),
        "at": at,
        "after_runs": after_runs,
    }
    write_whole(place.with_suffix(".json"), canonical(record))
    amended = load_plan(plan.folder)
    note_amendments(amended)
    return amended


def _looser(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """Changes by which the same runs could show more: another question, fewer comparisons, a lower bar, other runs.

    A rule that may have ended the pilot can only get stricter, and no envelope can get smaller.
    """
    names = [sorted((one["name"], one["baseline"]) for one in each["methods"]) for each in (before, after)]
    arms = [{one["name"]: one for one in each["methods"]} for each in (before, after)]
    alpha, effect = ([Decimal(each[name]) for each in (before, after)] for name in ("alpha", "minimum_effect"))
    most = [int(each["stopping"]["violations"]) for each in (before, after)]
    caps = {name: [Decimal(each["budgets"][name] or "Infinity") for each in (before, after)] for name in BUDGETS}
    found = {
        "the question stays": before["pilot"]["question"] != after["pilot"]["question"],
        "the name stays": before["pilot"]["name"] != after["pilot"]["name"],
        "the comparison stays": before["comparison"] != after["comparison"],
        "methods and baselines cannot be added or removed": names[0] != names[1],
        "methods cannot change": names[0] == names[1] and arms[0] != arms[1],
        "the endpoint stays": before["endpoints"]["primary"] != after["endpoints"]["primary"],
        f"alpha may not rise above {before['alpha']}": alpha[1] > alpha[0],
        f"the minimum effect may not fall below {before['minimum_effect']}": effect[1] < effect[0],
        "the number of runs of a task cannot change": before["runs_per_task"] != after["runs_per_task"],
        "the stages stay": before["stages"] != after["stages"] and before["runs_per_task"] == after["runs_per_task"],
        "the looks stay": before["stopping"]["looks"] != after["stopping"]["looks"],
        "the rule for flakes cannot change": before["flakes"] != after["flakes"],
        "the seed stays": before["seeds"]["observed"] != after["seeds"]["observed"],
        "the number of retries cannot change": before["retries"] != after["retries"],
        "the variations stay": before.get("variations", []) != after.get("variations", []),
        f"violations that end the pilot may not rise above {most[0]}": most[1] > most[0],
        "the cap of a run cannot change": caps["run_usd"][0] != caps["run_usd"][1],
        "the budget of a task may only rise": caps["task_usd"][1] < caps["task_usd"][0],
        "the budget of the pilot may only rise": caps["pilot_usd"][1] < caps["pilot_usd"][0],
    }
    return [rule for rule, broken in found.items() if broken]


def _amended(record: Mapping[str, Any]) -> Statement:
    changed = [one for one in record["changed"] if one["field"] != DEVIATIONS]
    known = {name: record[name] for name in ("number", "at", "after_runs", "why")}
    return statement("amended", **known, changed=changed)


def shown(value: object) -> str:
    """A value of a protocol in a message."""
    text = value if isinstance(value, str) else "nothing" if value is None else canonical(value).decode()  # type: ignore[arg-type]
    return text if len(text) <= SHOWN_CHARACTERS else text[: SHOWN_CHARACTERS - 3] + "..."


def _write(folder: Path, protocol: Mapping[str, Any], artefacts: Mapping[str, bytes]) -> str:
    """Write protocol, artefacts and manifest; the protocol comes last. Returns its digest."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in artefacts.items():
        write_whole(folder / name, data)
    whole = with_artefacts(protocol, artefacts)
    data = canonical(whole)
    write_whole(folder / MANIFEST, canonical(_manifest(whole, sha256(data))))
    write_whole(folder / PROTOCOL, data)
    return sha256(data)


def _manifest(protocol: Mapping[str, Any], digest: str) -> dict[str, Any]:
    return {
        "schema": 1,
        "kind": "proctor.pilot-manifest",
        "pilot": protocol["pilot"]["name"],
        "protocol": digest,
        ARTEFACTS: protocol[ARTEFACTS],
        "seeds": protocol["seeds"],
    }


def _checked(folder: Path) -> tuple[dict[str, Any], str]:
    """The protocol of ``folder`` with its digest, once everything there is as it was written."""
    data = _read(folder / PROTOCOL)
    manifest = _parsed(folder / MANIFEST, _read(folder / MANIFEST))
    if manifest.get("protocol") != sha256(data):
        raise BrokenSeal("the protocol is not the one that was frozen", where=str(folder / PROTOCOL))
    protocol = _parsed(folder / PROTOCOL, data)
    try:
        written, artefacts = _manifest(protocol, sha256(data)), tuple(protocol[ARTEFACTS].items())
    except OTHER_FORM as error:
        message = f"not a protocol as Proctor writes it: {type(error).__name__}: {error}"
        raise BrokenSeal(message, where=str(folder / PROTOCOL)) from None
    if manifest != written:
        raise BrokenSeal("the manifest is not the one that was frozen", where=str(folder / MANIFEST))
    for name, digest in artefacts:
        if sha256(_read(folder / name)) != digest:
            raise BrokenSeal("the artefact is not the one that was frozen", where=str(folder / name))
    return protocol, sha256(data)


def _amendment_files(folder: Path) -> Iterator[Path]:
    """The amendments in order; a gap is a broken seal."""
    found = sorted((folder / AMENDMENTS).glob("[0-9]*.json"))
    for number, file in enumerate(found, 1):
        if file.name != f"{number:03d}.json":
            raise BrokenSeal(f"amendment {number} is missing", where=str(folder / AMENDMENTS))
        yield file


def _checked_amendment(
    file: Path, number: int, pilot: str, previous: str
) -> tuple[dict[str, Any], Path, dict[str, Any]]:
    record = _parsed(file, _read(file))
    place = file.with_suffix("")
    if (record.get("number"), record.get("pilot"), record.get("previous")) != (number, pilot, previous):
        raise BrokenSeal("the amendment does not follow the one before it", where=str(file))
    protocol, digest = _checked(place)
    if record.get("protocol") != digest:
        raise BrokenSeal("the amendment made another protocol", where=str(place / PROTOCOL))
    return record, place, protocol


def _read(path: Path) -> bytes:
    try:
        return read_bounded(path, FILE_BYTES)
    except FileNotFoundError:
        raise BrokenSeal("a file of the plan is missing", where=str(path)) from None
    except InfrastructureFault as fault:
        raise BrokenSeal(f"a file of the plan is {fault.message}", where=str(path)) from None


def _parsed(path: Path, data: bytes) -> dict[str, Any]:
    try:
        value = parse_canonical(data)
    except ValueError as error:
        raise BrokenSeal(f"not a record of a plan: {error}", where=str(path)) from None
    if not isinstance(value, dict):
        raise BrokenSeal("not a record of a plan", where=str(path))
    return value
