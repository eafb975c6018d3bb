"""Pilots: freeze a comparison, run what is left of it, and report what its runs show. These need the extra `study`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from proctor.api.arguments import MOST_JOBS, MOST_JUDGE_SLOTS, AnyHome, home_of, machine_of, require_count
from proctor.base.process import user_name
from proctor.conduct.batch.batch_runs import BatchWatcher
from proctor.present.package_sections import require_sections
from proctor.present.report_files import check_folder, write_report
from proctor.study.pilot.ledger.journal import require_head
from proctor.study.pilot.plan.frozen_plan import PROTOCOL, freeze, plan_folder
from proctor.study.pilot.plan.frozen_plan import Plan as FrozenPlan
from proctor.study.pilot.plan.pilot_draft import draft, plan_alone, planned
from proctor.study.pilot.plan.plan_files import make_artefacts
from proctor.study.pilot.report.pilot_findings import report_of
from proctor.study.pilot.report.pilot_status import status_of
from proctor.study.pilot.running.conduct_pilot import conduct_pilot, require_machine
from proctor.study.pilot.running.pilot_runner import Paused, is_busy
from proctor.study.pilot.running.pilot_state import read_pilot_state

AnyPath = Path | str


@dataclass(frozen=True)
class PilotPlan:
    """A frozen pilot: its digest, its folder, how many runs it has, and the whole protocol as data."""

    digest: str
    folder: Path
    runs: int
    protocol: Mapping[str, Any]


@dataclass(frozen=True)
class PilotStage:
    """A stage of a pilot: its verdict, the ids of its criteria that are not met, and whether the next may begin."""

    name: str
    verdict: str
    unmet: tuple[str, ...]
    good: bool


@dataclass(frozen=True)
class PilotRun:
    """What a call of :func:`run_pilot` reached. ``stopped`` is whether the watcher asked to stop."""

    plan: PilotPlan
    stages: tuple[PilotStage, ...]
    stopped: bool

    @property
    def complete(self) -> bool:
        """Whether the plan is complete, or was ended for efficacy."""
        return not self.stopped and bool(self.stages) and self.stages[-1].good


def plan_pilot(pilot: AnyPath, plan: AnyPath = "", *, home: AnyHome = None) -> PilotPlan:
    """Freeze the pilot file ``pilot`` in the folder ``plan``; planning again gives the same plan.

    A pilot file that has changed since is refused. Without ``plan`` the folder is the file with the suffix ``.plan``.
    """
    machine = machine_of(home)
    made = draft(machine, Path(pilot))
    folder = Path(plan) if plan else plan_folder(made.pilot)
    before = (folder / PROTOCOL).exists()
    frozen = freeze(folder, made.protocol, lambda: make_artefacts(made.protocol, made.prices))
    if before:
        require_head(frozen, machine.home)
    return _plan(frozen)


def run_pilot(
    pilot: AnyPath,
    plan: AnyPath = "",
    *,
    jobs: int = 1,
    judge_slots: int | None = None,
    accept_machine: str = "",
    home: AnyHome = None,
    watcher: BatchWatcher | None = None,
) -> PilotRun:
    """Run what is left of a planned pilot. After a stop or a crash the same call continues.

    ``accept_machine`` is why the pilot may continue on a machine that has changed; every report shows the reason.
    """
    require_count("jobs", jobs, 1, MOST_JOBS)
    if judge_slots is not None:
        require_count("judge_slots", judge_slots, 1, MOST_JUDGE_SLOTS)
    machine = machine_of(home, judge_slots)
    made, frozen = planned(machine, Path(pilot), Path(plan) if plan else None)
    require_machine(machine, made)
    try:
        _, stages = conduct_pilot(
            machine, made, frozen, watcher or BatchWatcher(), jobs, accept_machine.strip(), user_name()
        )
    except Paused:
        return PilotRun(_plan(frozen), (), stopped=True)
    found = (PilotStage(one.name, one.verdict, tuple(each.id for each in one.unmet), one.good) for one in stages)
    return PilotRun(_plan(frozen), tuple(found), stopped=False)


def pilot_status(pilot: AnyPath, plan: AnyPath = "", *, home: AnyHome = None) -> Mapping[str, Any]:
    """The progress of a pilot as ``proctor pilot status --json`` prints it: stages, runs, spending, stopping rules."""
    place, frozen = home_of(home), plan_alone(Path(pilot), Path(plan) if plan else None)
    return status_of(read_pilot_state(frozen, place), is_busy(place, frozen))


def report_pilot(
    pilot: AnyPath, plan: AnyPath = "", out: AnyPath = "", *, sections: Sequence[str] = (), home: AnyHome = None
) -> Mapping[str, Any]:
    """The findings of a pilot from its plan and its runs alone; ``out`` is a folder for the report.

    ``sections`` are names of report sections that installed packages provide.
    """
    require_sections(sections)
    if out:
        check_folder(Path(out))
    frozen = plan_alone(Path(pilot), Path(plan) if plan else None)
    found, table = report_of(read_pilot_state(frozen, home_of(home)), lambda part: None)
    if out:
        write_report(found, table, Path(out), sections)
    return found


def _plan(frozen: FrozenPlan) -> PilotPlan:
    return PilotPlan(frozen.digest, frozen.folder, len(frozen.slots), frozen.protocol)
