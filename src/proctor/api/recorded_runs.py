"""Recorded runs: their reports, events and patches, whether their evidence is intact, and how they differ.

What is read here is what was sealed. ``verify`` says whether it can be trusted; reading a report does not check it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from proctor.api.arguments import AnyHome, home_of
from proctor.base.errors import UsageFault
from proctor.conduct.recompute import recompute
from proctor.conduct.recompute import rescore as rescored
from proctor.conduct.replay.trace_replay import replay_breakers
from proctor.conduct.run_comparison import Side
from proctor.conduct.run_comparison import compare as compared
from proctor.execute.monitor.breakers.breaker_panel import Replay
from proctor.judge.evidence_consistency.sealed_report import Rescoring
from proctor.record.manifest_model import Manifest, read_manifest
from proctor.record.report_model import Report, read_report
from proctor.record.run_directory import RunDirectory
from proctor.record.run_store import RunStore, state
from proctor.record.trace.event import Event
from proctor.record.trace.reader import read_finished_events
from proctor.record.verify import Verification

PATCH_BYTES = 1 << 30


@dataclass(frozen=True)
class Run:
    """One run directory. Nothing is read before it is asked for."""

    directory: RunDirectory

    @property
    def id(self) -> str:
        """The name of the run directory."""
        return self.directory.path.name

    @property
    def path(self) -> Path:
        return self.directory.path

    @property
    def state(self) -> str:
        """running, waiting, paused, finished, cut, broken, copy or newer."""
        return state(self.directory)

    @cached_property
    def report(self) -> Report:
        """The report; :class:`~proctor.BrokenSeal` if the run has none, or one that Proctor did not write."""
        return read_report(self.directory)

    @cached_property
    def manifest(self) -> Manifest:
        """The contract, agent, model, machine and settings of the run."""
        return read_manifest(self.directory)

    @property
    def patch(self) -> bytes:
        """What the agent changed, as a binary-safe patch."""
        return self.directory.read(self.directory.patch, PATCH_BYTES)

    def events(self, *types: str) -> Iterator[Event]:
        """The events of the trace, all of them or those of ``types``, such as ``model.request``."""
        for event in read_finished_events(self.directory.events)[0]:
            if not types or event.type in types:
                yield event

    def verify(self) -> Verification:
        """Check every byte, and compute every value that follows from others again."""
        return recompute(self.directory).verification


def open_run(name: str | Path, home: AnyHome = None) -> Run:
    """The run that ``name`` means: its id, the beginning of its id, ``last``, or the path of its directory."""
    text = str(name)
    if isinstance(name, Path) and "/" not in text:
        text = f"./{text}"
    return Run(RunStore(home_of(home).runs).find(text))


def runs(home: AnyHome = None) -> tuple[Run, ...]:
    """All runs of a home, the oldest first."""
    store = RunStore(home_of(home).runs)
    return tuple(Run(RunDirectory(store.runs / name)) for name in store.ids())


def verify(run: Run | str | Path, home: AnyHome = None) -> Verification:
    """Whether the evidence of a run is intact: ``status`` is intact, partial, unsealed or broken."""
    return _run(run, home).verify()


def rescore(run: Run | str | Path, home: AnyHome = None) -> Rescoring:
    """Compute the report of an intact run again from its evidence, and compare it with the sealed one."""
    return rescored(_run(run, home).directory)


def replay(run: Run | str | Path, home: AnyHome = None) -> Replay:
    """Let the breakers decide again over the recorded events: ``agree`` says whether they decide the same."""
    return replay_breakers(_run(run, home).directory)


def _run(run: Run | str | Path, home: AnyHome) -> Run:
    return run if isinstance(run, Run) else open_run(run, home)


@dataclass(frozen=True)
class Comparison:
    """Runs side by side: each with its differences from the first, and whether they may be counted together."""

    sides: tuple[Side, ...]
    comparable: bool


def compare(runs: Sequence[Run], vary: Sequence[str] = ()) -> Comparison:
    """Compare runs with the first of them. Differences in the groups of ``vary`` do not make them incomparable."""
    if len(runs) < 2:
        raise UsageFault("one run cannot be compared", hint="give at least two runs")
    return Comparison(*compared([run.directory for run in runs], vary))
