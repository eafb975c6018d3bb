"""How strong an oracle is: the share of faults in the reference that its checks notice.

Every mutant, every adversary and every alternative solution is judged as a patch, on the base that runs use. A mutant
that is accepted is a false negative of its category, an alternative that is refused a false positive. A trial without a
verdict, because a check ran out of time or its runner broke, shows neither: it is not in a share and is reported
separately. So are mutants that the author declares equivalent, a claim that is not checked here. Verdicts are stored in
a file, line by line, and those patches are not judged again; patches without a verdict are.
"""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from proctor.author.adversarial_patches import Adversary, adversaries
from proctor.author.binomial_bounds import Share, share
from proctor.author.mutants.mutant import CATEGORIES
from proctor.author.mutants.mutation_plan import CALLER, PATCH, MutationPlan, Sited, plan_mutants
from proctor.author.patch_trial import ACCEPTED, NO_VERDICT, REFUSED, try_patch, with_changed_checks
from proctor.base.canonical import canonical, parse_canonical
from proctor.base.dataclass_fields import field_items
from proctor.base.errors import InfrastructureFault, UsageFault
from proctor.base.files import read_bounded
from proctor.base.parallel import parallel_map
from proctor.base.reversible_escapes import name_text
from proctor.conduct.machine_setup import Machine
from proctor.contract.model import Check
from proctor.execute.agents.patch_agent import PATCH_BYTES
from proctor.execute.prepare import PreparedBase
from proctor.execute.workspace.diff import Change, Changes
from proctor.execute.workspace.file_tree import entry_with
from proctor.execute.workspace.patch import Application, make_patch
from proctor.execute.workspace.workspace import base_stack
from proctor.judge.checks.inverted_tests.variant_pool import Pool

FILE = 0o100644


def patch_to(
    prepared: PreparedBase, after: Mapping[bytes, bytes | None], scratch: Path, modes: Mapping[bytes, int] | None = None
) -> bytes:
    """The patch after which every path of ``after`` holds its bytes, or is removed for ``None``.

    ``modes`` are those of paths that do not keep the base's.
    """
    base = base_stack(prepared.layers)
    changes: list[Change] = []
    for path, data in sorted(after.items()):
        before = base.file(path)
        mode = (modes or {}).get(path) or (before[0] if before else FILE)
        if before == (None if data is None else (mode, data)):
            continue
        old = entry_with(path, *before) if before else None
        new = entry_with(path, mode, data) if data is not None else None
        kind = "deleted" if new is None else "modified" if old else "added"
        changes.append(Change(path, kind, old, new))
    return make_patch(Changes(tuple(changes)), base.read, lambda path: after[path] or b"", scratch=scratch)


def files_of(application: Application) -> dict[bytes, bytes | None]:
    """What an applied patch leaves at the paths that it touches."""
    return {**{path: data for path, _, data in application.writes}, **dict.fromkeys(application.removals)}


SCHEMA = 2
KIND = "proctor.strength"
RESULTS_BYTES = 64 << 20
TIMES_AS_LONG = 10
LEAST_SECONDS = 10
"""A mutant may take ten times as long as the reference; one that hangs gets no verdict."""


@dataclass(frozen=True)
class Verdict:
    """The oracle's decision on one patch: ``verdict``, and the check that did not pass and why.

    ``kind`` is mutant, adversary or alternative, ``scope`` the place of a mutant. A mutant that was left out as
    equivalent has the author's reason as ``why``, and no verdict.
    """

    kind: str
    id: str
    category: str
    scope: str
    path: str
    line: int
    diff: str
    verdict: str = NO_VERDICT
    by: str = ""
    why: str = ""

    @property
    def accepted(self) -> bool:
        """Whether the oracle let it pass."""
        return self.verdict == ACCEPTED


@dataclass(frozen=True)
class Strength:
    """What was measured. ``planned`` mutants could be tried; those that the author calls ``equivalent`` were not.

    ``unknown`` are names in the author's list without a mutant, for example after a change of the reference.
    """

    planned: int
    verdicts: tuple[Verdict, ...]
    equivalent: tuple[Verdict, ...]
    unknown: tuple[str, ...]
    not_made: tuple[Adversary, ...]

    def tried(self, kind: str) -> list[Verdict]:
        """All of a kind that were tried, also those without a verdict."""
        return [one for one in self.verdicts if one.kind == kind]

    def of(self, kind: str, **wanted: str) -> list[Verdict]:
        """The verdicts of a kind: accepted or refused."""
        return [
            one
            for one in self.tried(kind)
            if one.verdict != NO_VERDICT and all(getattr(one, name) == value for name, value in wanted.items())
        ]

    def undecided(self, kind: str) -> list[Verdict]:
        """Those of a kind that got no verdict."""
        return [one for one in self.tried(kind) if one.verdict == NO_VERDICT]

    def caught(self, **wanted: str) -> Share:
        """The share of mutants that were noticed."""
        mutants = self.of("mutant", **wanted)
        return share(sum(not one.accepted for one in mutants), len(mutants))

    @property
    def survivors(self) -> list[Verdict]:
        """The mutants that the oracle accepted."""
        return [one for one in self.of("mutant") if one.accepted]

    def false_negatives(self) -> dict[str, Share]:
        """The share of accepted faults in each category that was tried."""
        tried = {category: self.of("mutant", category=category) for category in CATEGORIES}
        return {
            category: share(sum(one.accepted for one in found), len(found))
            for category, found in tried.items()
            if found
        }

    def false_positives(self) -> Share:
        """The share of alternative solutions that were refused."""
        others = self.of("alternative")
        return share(sum(not one.accepted for one in others), len(others))

    @property
    def passed_adversaries(self) -> list[Verdict]:
        """The adversaries that the oracle accepted."""
        return [one for one in self.of("adversary") if one.accepted]

    def record(self) -> dict[str, Any]:
        """All of it as data."""
        return {
            "planned": self.planned,
            "tried": len(self.tried("mutant")),
            "caught": self.caught().record(),
            "scopes": {scope: self.caught(scope=scope).record() for scope in (PATCH, CALLER)},
            "false_negatives": {name: found.record() for name, found in self.false_negatives().items()},
            "false_positives": self.false_positives().record(),
            "survivors": [dict(field_items(one)) for one in self.survivors],
            "no_verdict": [dict(field_items(one)) for one in self.undecided("mutant")],
            "adversaries": [dict(field_items(one)) for one in self.tried("adversary")],
            "alternatives": [dict(field_items(one)) for one in self.tried("alternative")],
            "not_made": [{"name": one.name, "why": one.why_not} for one in self.not_made],
            "equivalent": {one.id: one.why for one in self.equivalent},
            "left_out": [dict(field_items(one)) for one in self.equivalent],
            "unknown_equivalent": list(self.unknown),
        }


class Results:
    """The file of what was judged already; without a path nothing is kept."""

    def __init__(self, path: Path | None, prepared: PreparedBase, reference: bytes) -> None:
        self.path = path
        self.known: dict[tuple[str, str], Verdict] = {}
        head = {"schema": SCHEMA, "kind": KIND, "contract": prepared.content_id}
        head["reference"] = hashlib.sha256(reference).hexdigest()
        if path is None:
            return
        lines = _read(path).split(b"\n") if os.path.lexists(path) else []
        if not any(lines):
            self._begin(path, canonical(head) + b"\n")
            return
        try:
            if parse_canonical(lines[0]) != head:
                words = "these results belong to another contract or reference, or to an older Proctor"
                raise UsageFault(words, where=str(path), hint="name a file that does not exist yet")
            for line in lines[1:-1]:  # what follows the last line end was cut off
                one = Verdict(**parse_canonical(line))
                if one.verdict not in (ACCEPTED, REFUSED):
                    raise ValueError
                self.known[one.kind, one.id] = one
        except (ValueError, TypeError):
            raise UsageFault("these are not results of `proctor strength`", where=str(path)) from None
        whole = sum(len(line) + 1 for line in lines[:-1])
        with path.open("r+b") as file:
            file.truncate(whole)

    def _begin(self, path: Path, line: bytes) -> None:
        try:
            path.write_bytes(line)
        except OSError as error:
            raise UsageFault(f"cannot be written: {error.strerror}", where=str(path)) from None

    def add(self, verdict: Verdict) -> None:
        """Keep a verdict; what has none may get one another time."""
        if self.path is not None and verdict.verdict != NO_VERDICT:
            with self.path.open("ab") as file:
                file.write(canonical(dict(field_items(verdict))) + b"\n")


@dataclass(frozen=True)
class Job:
    """One patch to be judged, as the files that differ from the base."""

    verdict: Verdict
    files: Mapping[bytes, bytes | None]
    patch: bytes = b""


def measure(
    machine: Machine,
    prepared: PreparedBase,
    reference: bytes,
    pool: Pool | None = None,
    *,
    limit: int,
    seed: int,
    jobs: int,
    results: Path | None,
    equivalent: Mapping[str, str],
    tell: Callable[[int, int], None],
) -> Strength:
    """Judge the reference, then a sample of its mutants, the adversaries and the alternatives.

    Mutants are honest code, so inverted tests from ``pool`` confirm only adversaries and alternatives.
    """
    known = Results(results, prepared, reference)
    quick = _quick(machine, prepared, reference)
    plan = plan_mutants(prepared, reference)
    sample = [one for one in plan.sample(limit, seed) if one.mutant.id not in equivalent]
    foes = list(adversaries(prepared, plan))
    work = [
        *(_mutant(one, plan) for one in sample),
        *(_adversary(number, one) for number, one in enumerate(foes) if not one.why_not),
        *_alternatives(prepared),
    ]
    modes = {path: mode for path, mode, _ in plan.application.writes}

    def judge(job: Job) -> Verdict:
        found = known.known.get((job.verdict.kind, job.verdict.id))
        if found is not None:
            return found
        patch = job.patch
        if not patch:
            with machine.scratch("mutant") as scratch:
                patch = patch_to(prepared, job.files, scratch, modes)
        confirming = None if job.verdict.kind == "mutant" else pool
        verdict, by, why = try_patch(machine, quick, patch, pool=confirming).verdict(quick.contract)
        return replace(job.verdict, verdict=verdict, by=by, why=why)

    verdicts: list[Verdict] = []
    for verdict in parallel_map(judge, work, jobs):
        if (verdict.kind, verdict.id) not in known.known:
            known.add(verdict)
        verdicts.append(verdict)
        tell(len(verdicts), len(work))
    known_ids = {one.mutant.id for one in plan.mutants}
    claimed = [_mutant(one, plan).verdict for one in plan.mutants if one.mutant.id in equivalent]
    return Strength(
        planned=len(plan.mutants),
        verdicts=tuple(verdicts),
        equivalent=tuple(replace(one, why=equivalent[one.id]) for one in claimed),
        unknown=tuple(name for name in equivalent if name not in known_ids),
        not_made=tuple(one for one in foes if one.why_not),
    )


def _quick(machine: Machine, prepared: PreparedBase, reference: bytes) -> PreparedBase:
    """The contract with ceilings that fit the reference, which has to pass, or there is nothing to measure."""
    tried = try_patch(machine, prepared, reference)
    verdict, by, why = tried.verdict(prepared.contract)
    if verdict != ACCEPTED:
        hint = "proctor validate shows more"
        raise UsageFault(f"the reference does not pass {by}: {why}", where=str(prepared.contract.directory), hint=hint)

    def ceiling(check: Check) -> Check:
        seconds = max(LEAST_SECONDS, math.ceil(TIMES_AS_LONG * tried.checks[check.id].seconds))
        return replace(check, timeout_seconds=min(check.timeout_seconds, seconds))

    return with_changed_checks(prepared, ceiling)


def _mutant(sited: Sited, plan: MutationPlan) -> Job:
    one = sited.mutant
    files = {**files_of(plan.application), one.path: one.data}
    diff = one.diff(plan.solved.get(one.path, b""))
    return Job(Verdict("mutant", one.id, one.category, sited.scope, name_text(one.path), one.line, diff), files)


def _adversary(number: int, one: Adversary) -> Job:
    return Job(Verdict("adversary", f"{number}-{one.name}", one.name, "", "", 0, one.what), one.files)


def _alternatives(prepared: PreparedBase) -> list[Job]:
    contract = prepared.contract
    found = []
    for file in contract.reference.alternatives if contract.reference else ():
        data = read_bounded(contract.directory / file.path, PATCH_BYTES)
        verdict = Verdict("alternative", file.sha256, "alternative", "", file.path, 0, "")
        found.append(Job(verdict, {}, data))
    return found


def read_equivalent(path: Path) -> dict[str, str]:
    """Mutants that mean the same as the reference, by id, with the reason: one on each line; # begins a comment."""
    found: dict[str, str] = {}
    try:
        text = _read(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageFault(
            f"byte {error.start + 1} is not UTF-8", where=str(path), hint="save the list as UTF-8"
        ) from None
    for number, line in enumerate(text.splitlines(), 1):
        name, _, why = line.partition(" ")
        if not line.strip() or line.startswith("#"):
            continue
        if not why.strip():
            raise UsageFault(f"line {number} gives no reason", where=str(path), hint="write `ID why it is equivalent`")
        found[name] = why.strip()
    return found


def _read(path: Path) -> bytes:
    """The bytes of a file that a user named."""
    try:
        return read_bounded(path, RESULTS_BYTES)
    except OSError as error:
        raise UsageFault(f"cannot be read: {error.strerror}", where=str(path)) from None
    except InfrastructureFault as error:
        raise UsageFault(error.message, where=error.where) from None
