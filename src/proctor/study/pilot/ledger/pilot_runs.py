"""The runs of a pilot, read from their directories: which run fills which place of the plan, with its result.

The progress of a pilot follows from its runs alone. A place is one method on one task at one repeat. It is filled by
the first sealed run that is evidence about it. A run that a fault of the machine spoilt is repeated as often as the
protocol allows; the last of these fills the place whatever its result is, and a later one does not count. A run that
was cut off or that an operator stopped fills no place. A run that ended for safety always fills its place.

The conditions of a run leave out envelopes that never limited it. An envelope is shared by all runs of a task, or of
the pilot. If it leaves room for everything that a run may cost by its own cap, it changes nothing in that run. So an
amendment that gives a pilot more money does not change the conditions. If less is left than the cap of the run, the
envelope limits the run, and counts as a condition.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from pathlib import Path
from typing import Any

from proctor.base.canonical import sha256
from proctor.base.errors import BrokenSeal, ProctorError
from proctor.conduct.batch.spending_limits import spent_by, spent_usd
from proctor.conduct.run.lifecycle import STOPPED
from proctor.execute.proctor_home import Home
from proctor.judge.human_review import risks
from proctor.judge.run_report import comparability
from proctor.judge.run_verdict import HARNESS, INVALID, SAFETY_CODES, SUCCESS
from proctor.record.report_model import CheckResult, Report, read_report
from proctor.record.reviews import Review, read_reviews
from proctor.record.run_directory import RunDirectory, is_held
from proctor.record.run_store import state
from proctor.record.seal import load_seal
from proctor.study.pilot.ledger.interim_look import Look
from proctor.study.pilot.ledger.machine_identity import Identity, identity_of
from proctor.study.pilot.plan.randomisation import Slot

CHECKS = "checks"
"""The stage of the runs that show whether a task can be used; they fill no place."""

SEALED, RUNNING, CUT = "sealed", "running", "cut"
FAILED = "failed"
"""How an agent ends by itself with an error."""

ACCEPTANCE = "acceptance"
"""The gate whose checks decide whether a task is solved."""

CRITICAL = ("os-risk", "exfiltration", "evidence-loss")
"""The kinds of violations that are a breach of the boundary, and not only of a rule about the patch."""

Key = tuple[str, int, str]
"""What names a place: content id, repeat and method."""


@dataclass(frozen=True)
class Run:
    """One run of a pilot. What a report says is empty for a run without one, but for what it has cost so far.

    ``violations`` are kinds: the tags of the safety gate, and the code of an end for safety. ``agent`` is the digest of
    the agent, and ``seal`` that of the seal. ``reviews`` are the later verdicts of people, and ``risks`` the kinds of
    indicators for which they should look at it, the most urgent first. ``variation`` names the one that it was made
    under, and ``preface`` is the digest of the text that it puts before the task.
    ``machine`` made it, and ``comparability`` is its class: runs of one class were made under the same conditions;
    ``conditions`` is the same without envelopes, and empty where one of them bound the run.
    ``changed`` is whether the agent left any change, and ``exit_code`` is what it ended with, where it had one.
    ``forgeable`` says for each check that decides its task whether the code under test could forge its result.
    """

    run: str
    path: Path
    stage: str
    method: str
    task: str
    contract: str
    repeat: int
    begun: int
    state: str
    status: str = ""
    attribution: str = ""
    scorable: bool = False
    success: bool = False
    reason: str = ""
    code: str = ""
    usd: Decimal | None = None
    scored: bool = False
    rules: tuple[tuple[str, int], ...] = ()
    violations: tuple[str, ...] = ()
    problem: str = ""
    agent: str = ""
    seal: str = ""
    reviews: tuple[Review, ...] = ()
    risks: tuple[str, ...] = ()
    variation: str = ""
    preface: str = ""
    machine: Identity = ()
    comparability: str = ""
    conditions: str = ""
    exit_code: int | None = None
    changed: bool = True
    forgeable: tuple[bool, ...] = ()

    @property
    def key(self) -> Key:
        """The place that the run was made for."""
        return self.contract, self.repeat, self.method

    @property
    def spoilt(self) -> bool:
        """Whether a fault of the machine or the harness took the verdict."""
        return self.status == INVALID and self.attribution == HARNESS

    @property
    def stopped(self) -> bool:
        """Whether an operator stopped it."""
        return self.code == STOPPED

    @property
    def unsafe(self) -> bool:
        """Whether it was ended for safety."""
        return self.code.startswith(SAFETY_CODES)

    @property
    def critical(self) -> bool:
        """Whether it escaped from the sandbox or was ended for safety before it could."""
        return self.unsafe or any(kind in CRITICAL for kind in self.violations)

    @property
    def vain(self) -> bool:
        """Whether the agent ended by itself with an error, and had changed nothing: it may never have worked."""
        return not self.changed and self.reason == FAILED and not self.code and bool(self.exit_code)

    @property
    def values(self) -> dict[str, str]:
        """The run as a value of a statement."""
        return {"run": self.run, "task": self.task, "method": self.method, "status": self.status or self.state}


def key_of(slot: Slot) -> Key:
    """What names the place of a slot."""
    return slot.contract, slot.repeat, slot.method


def read_runs(home: Home, pilot: str) -> tuple[Run, ...]:
    """Every run of the pilot with this digest, oldest first; :class:`BrokenSeal` for one that was changed."""
    found: list[Run] = []
    for path in sorted(home.runs.iterdir()) if home.runs.is_dir() else ():
        run = RunDirectory(path)
        try:
            manifest = run.read_json(run.manifest)
            mine = manifest["configuration"].get("pilot") == pilot
        except (ProctorError, KeyError, TypeError, AttributeError):
            continue
        if mine:
            found.append(_run(run, manifest))
    return tuple(sorted(found, key=lambda one: (one.begun, one.run)))


def in_order(runs: Sequence[Run], noted: Sequence[str]) -> tuple[Run, ...]:
    """The runs by their clocks; those of one place as the journal notes them, since a clock may have gone back."""
    number = {name: number for number, name in enumerate(noted)}
    found = sorted(runs, key=lambda one: (one.begun, one.run))
    places: dict[tuple[bool, Key], list[int]] = {}
    for index, run in enumerate(found):
        if run.run in number:
            places.setdefault((run.stage == CHECKS, run.key), []).append(index)
    for indices in places.values():
        made = sorted((found[index] for index in indices), key=lambda one: number[one.run])
        for index, run in zip(indices, made, strict=True):
            found[index] = run
    return tuple(found)


def read_run(path: Path) -> Run:
    """One run of a pilot, read from its directory."""
    run = RunDirectory(path)
    return _run(run, run.read_json(run.manifest))


def _run(run: RunDirectory, manifest: Mapping[str, Any]) -> Run:
    path = run.path
    bound: Mapping[str, Any] = manifest["configuration"]
    varied = bound.get("variation") or {}
    preface = str(varied.get("preface") or "")
    known: dict[str, Any] = {
        "run": path.name,
        "path": path,
        "stage": str(bound.get("stage", "")),
        "method": str(bound.get("method", "")),
        "task": str(manifest["contract"]["name"]),
        "contract": str(manifest["contract"]["id"]),
        "repeat": int(bound["repeat"]),
        "begun": int(manifest["started"]["wall_ns"]),
        "agent": str(manifest["agent"]["digest"]),
        "variation": str(varied.get("name") or ""),
        "preface": sha256(preface.encode()) if preface else "",
        "machine": identity_of(manifest),
    }
    if manifest.get("run") != path.name:
        raise BrokenSeal(
            f"the directory of a run of the pilot has another name than the run, {manifest.get('run')}",
            where=str(path),
            hint="restore its name; if it is a copy, move it out of the home",
        )
    standing = state(run)
    if standing == "broken":
        raise BrokenSeal("a run of the pilot is not what was sealed", where=str(path), hint=f"proctor verify {path}")
    if standing != "finished":
        return Run(**known, state=RUNNING) if is_held(run) else Run(**known, state=CUT, usd=spent_by(run))
    seal = load_seal(run).digest
    reviews = read_reviews(run, seal)
    told = _told(read_report(run))
    known["conditions"] = conditions_of(manifest, told["comparability"])
    return Run(**known, state=SEALED, seal=seal, reviews=reviews, **told)


def _told(report: Report) -> dict[str, Any]:
    ended = report.termination
    code = ended.code or ""
    kinds = {tag.id.partition(":")[0] for tag in report.tags if tag.gate == "G4"}
    cost, patch = report.usage.cost, report.patch
    return {
        "status": report.status,
        "attribution": report.attribution,
        "scorable": report.endpoint.scorable,
        "success": report.status == SUCCESS,
        "reason": ended.reason,
        "code": code,
        "usd": None if cost is None else spent_usd(cost),
        "scored": report.scores is not None,
        "rules": tuple(_rule(check) for check in report.checks if check.mandatory and check.attempts),
        "violations": tuple(sorted(kinds | ({code} if code.startswith(SAFETY_CODES) else set()))),
        "problem": report.problems[0] if report.problems else "",
        "comparability": report.comparability.group,
        "exit_code": ended.exit_code,
        "changed": bool(patch.bytes or patch.files or patch.dropped),
        "risks": tuple(risks(report)),
        "forgeable": tuple(_is_forgeable(check) for check in report.checks if _decides(check)),
    }


def _is_forgeable(check: CheckResult) -> bool:
    """Whether no inverted test confirms the check, or, if the run reports none, it has no sentinels."""
    return not check.inverted.variants if check.inverted else check.forgeable


def _decides(check: CheckResult) -> bool:
    """Whether the task counts as solved only where this check passes."""
    return check.mandatory and check.gate == ACCEPTANCE


def _rule(check: CheckResult) -> tuple[str, int]:
    """How the attempts at a check decide, and how many there were on the patched tree."""
    return check.rule, sum(one.tree == "patched" for one in check.attempts)


@dataclass(frozen=True)
class Ledger:
    """The places of a plan and the runs that fill them; ``removed`` are names of tasks that were removed.

    ``looks`` are the recorded ones, as they were taken.
    """

    slots: tuple[Slot, ...]
    runs: tuple[Run, ...]
    retries: int
    removed: frozenset[str] = frozenset()
    looks: tuple[Look, ...] = ()

    def attempts(self, slot: Slot) -> tuple[Run, ...]:
        """Every run that was made for a place, oldest first."""
        return self._placed.get(key_of(slot), ())

    def run_that_fills(self, slot: Slot) -> Run | None:
        """The run that fills a place; nothing while it is open."""
        return run_that_fills(self.attempts(slot), self.retries)

    def wanted(self) -> tuple[Slot, ...]:
        """The places of the tasks that are in the pilot."""
        return tuple(slot for slot in self.slots if slot.task not in self.removed)

    def blocks(self, stage: str = "") -> Iterator[tuple[Slot, ...]]:
        """The blocks of a stage, or of all, in their order, without those of removed tasks."""
        found: dict[int, list[Slot]] = {}
        for slot in self.wanted():
            if stage in ("", slot.stage):
                found.setdefault(slot.block, []).append(slot)
        yield from map(tuple, found.values())

    def filled(self, block: Sequence[Slot]) -> tuple[Run, ...] | None:
        """The runs of a block that is complete; nothing for any other."""
        found = [self.run_that_fills(slot) for slot in block]
        return tuple(run for run in found if run is not None) if None not in found else None

    def held(self, stage: str = "") -> tuple[Run, ...]:
        """The runs that fill places of a stage, or of all, in the order of the plan."""
        found = (self.run_that_fills(slot) for slot in self.wanted() if stage in ("", slot.stage))
        return tuple(run for run in found if run is not None)

    def counts(self, stage: str = "") -> dict[str, int]:
        """How many places of each method are filled."""
        found = dict.fromkeys((slot.method for slot in self.wanted()), 0)
        for run in self.held(stage):
            found[run.method] += 1
        return found

    def checks(self, task: str) -> tuple[Run, ...]:
        """The sealed runs that show whether a task can be used, oldest first."""
        return tuple(run for run in self.runs if run.stage == CHECKS and run.task == task and run.state == SEALED)

    def with_runs(self, runs: Iterable[Run]) -> Ledger:
        """The same with more runs."""
        return Ledger(self.slots, (*self.runs, *runs), self.retries, self.removed, self.looks)

    @cached_property
    def _placed(self) -> dict[Key, tuple[Run, ...]]:
        found: dict[Key, tuple[Run, ...]] = {}
        for run in self.runs:
            if run.stage != CHECKS:
                found[run.key] = (*found.get(run.key, ()), run)
        return found


def run_that_fills(attempts: Sequence[Run], retries: int) -> Run | None:
    """Which of the runs that were made for a place fills it: the first that is not spoilt, or the last repeat."""
    sealed = _evidence(attempts)
    count = _until_filled(sealed, retries)
    return sealed[count - 1] if count else None


def surplus(attempts: Sequence[Run], retries: int) -> tuple[Run, ...]:
    """The sealed runs of a place that the rule for repeats does not explain: those after the one that fills it."""
    sealed = _evidence(attempts)
    count = _until_filled(sealed, retries)
    return tuple(sealed[count:]) if count else ()


def _evidence(attempts: Sequence[Run]) -> list[Run]:
    return [run for run in attempts if run.state == SEALED and not run.stopped]


def _until_filled(sealed: Sequence[Run], retries: int) -> int:
    """How many sealed runs it took to fill a place; 0 while it is open."""
    return next((number for number, run in enumerate(sealed, 1) if not run.spoilt or number > retries), 0)


ENVELOPES = {"task_usd": "task_spent_usd", "batch_usd": "batch_spent_usd"}
"""The settings of a run that are envelopes, each with what others had spent of it."""


def conditions_of(manifest: Mapping[str, Any], recorded: str) -> str:
    """The class of a run without its envelopes, if none of them limited it; ``recorded`` is the class in its report.

    Empty if one did, or if the class was computed in another way.
    """
    configuration: Mapping[str, Any] = manifest.get("configuration") or {}
    watch: Mapping[str, Any] = configuration.get("watch") or {}
    if comparability(manifest).group != recorded or _bound(watch):
        return ""
    free = {name: value for name, value in watch.items() if name not in ENVELOPES}
    return comparability({**manifest, "configuration": {**configuration, "watch": free}}).group


def _bound(watch: Mapping[str, Any]) -> bool:
    """Whether less was left of an envelope than the run might cost."""
    cap = (watch.get("caps") or {}).get("usd")
    for name, spent in ENVELOPES.items():
        whole = watch.get(name)
        if whole is not None and (cap is None or Decimal(whole) - Decimal(watch.get(spent) or 0) < Decimal(cap)):
            return True
    return False
