"""The runs of a home: which there are, in what state, and which one a short name means.

A run is ``running`` while a process holds its lock, ``waiting`` while it also waits for an operator's answer,
``paused`` while an operator has paused its agent, ``finished`` once it is sealed and ``cut`` otherwise. It is
``broken`` when its manifest, its report or the size of any file differs from the seal; only ``verify`` reads every
byte. It is ``newer`` when a newer Proctor wrote it in a form that this version cannot read. A directory that is named
like one run and contains another is a ``copy``: it has no status, and no command counts it. A directory without
readable records is listed with empty fields and never stops the list.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import groupby
from pathlib import Path
from typing import Any

from proctor.base.clock import RUN_ID
from proctor.base.errors import BrokenSeal, InfrastructureFault, NewerSchema, UsageFault
from proctor.base.files import read_bounded
from proctor.record.retain import NAME, read_retention
from proctor.record.run_directory import RunDirectory, is_held
from proctor.record.seal import Seal, load_seal
from proctor.record.trace.reader import read_finished_events

LAST = "last"
"""The short name of the newest run."""

NEWER = "newer"
"""The state of a run that a newer Proctor wrote, and the value that is read instead of its files."""

STATES = ("running", "waiting", "paused", "finished", "cut", "broken", "copy", NEWER)

_SHORT = re.compile(r"[0-9A-Za-z-]{1,40}\Z")
_MOST_NAMED = 5


@dataclass(frozen=True)
class StoredRun:
    """One run in the list; ``status`` is empty unless the run has a final report."""

    id: str
    contract: str
    agent: str
    status: str
    started: str
    state: str
    path: Path
    replay_of: str = ""
    model: str = ""
    """The model that the agent was given; empty for none."""
    method: str = ""
    """The condition of the pilot that the run belongs to; empty outside of pilots."""
    retry_of: str = ""
    """The invalid run that this one replaces; empty for none."""
    copy_of: str = ""
    """The run in the directory, if the directory is named like another run."""
    report: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)
    """The report of a run that has one; empty for any other."""

    @property
    def word(self) -> str:
        """The status of a run that has a final one, and the state of any other run."""
        return self.status if self.status and self.state == "finished" else self.state


class RunStore:
    """The directory that holds run directories."""

    def __init__(self, runs: Path) -> None:
        self.runs = runs

    def ids(self) -> list[str]:
        """The ids of all runs, oldest first."""
        return list(self.newest())[::-1]

    def newest(self) -> Iterator[str]:
        """The ids of all runs, newest first. Manifests are read only where runs began in the same second."""
        try:
            with os.scandir(self.runs) as entries:
                found = sorted(
                    entry.name
                    for entry in entries
                    if RUN_ID.fullmatch(entry.name) and entry.is_dir(follow_symlinks=False)
                )
        except FileNotFoundError:
            return
        except (NotADirectoryError, PermissionError) as error:
            raise UsageFault(
                f"the runs cannot be listed: {error.strerror}",
                where=str(self.runs),
                hint="set PROCTOR_HOME to a directory that Proctor created and that you can read",
            ) from None
        for _, same in groupby(reversed(found), _second):
            yield from reversed(self._in_order(tuple(same)))

    def list(self) -> tuple[StoredRun, ...]:
        """Every run, oldest first."""
        return tuple(self.describe(RunDirectory(self.runs / name)) for name in self.ids())

    def find(self, name: str) -> RunDirectory:
        """Find a run by ``name``: an id, a path, or the beginning of an id or of its last part, in this order.

        ``last`` means the newest. A name that means both a run in the home and another directory in the working
        directory is refused.
        """
        at_hand = RunDirectory(Path(name)) if _holds_a_run(Path(name)) else None
        if "/" in name:
            if at_hand is None:
                what = "this directory holds no run" if os.path.isdir(name) else "there is no run directory"
                raise UsageFault(what, where=name, hint="`proctor runs` lists the runs in the home")
            return at_hand
        if name == LAST:
            runs = (RunDirectory(self.runs / name) for name in self.newest())
            newest = next((run for run in runs if not copy_of(run)), None)
            if newest is None:
                raise UsageFault(
                    "there are no runs yet", where=str(self.runs), hint="proctor run CONTRACT --agent AGENT"
                )
            return newest
        ids = self.ids() if _SHORT.fullmatch(name) else []
        if at_hand is not None and name not in ids:
            return at_hand
        if at_hand is not None and not os.path.samefile(at_hand.path, self.runs / name):
            raise UsageFault(
                f"two runs have the name {name!r}: one in the home and one in the working directory",
                hint=f"write ./{name} for the latter, or {self.runs / name} for the former",
            )
        fitting = [name] if name in ids else [run for run in ids if _fits(run, name)]
        if len(fitting) == 1:
            return RunDirectory(self.runs / fitting[0])
        if not fitting:
            besides = f"; the directory {name!r} holds no run" if os.path.isdir(name) else ""
            raise UsageFault(f"there is no run {name!r}", hint=f"`proctor runs` lists them{besides}")
        shown = ", ".join(fitting[:_MOST_NAMED]) + (", ..." if len(fitting) > _MOST_NAMED else "")
        raise UsageFault(f"{len(fitting)} runs match {name!r}: {shown}", hint="write more characters of the id")

    def _in_order(self, ids: Sequence[str]) -> Sequence[str]:
        """Runs that began in the same second, in the order in which they began."""
        if len(ids) == 1:
            return ids
        runs = {name: RunDirectory(self.runs / name) for name in ids}
        starts = {name: _text(_read(run, run.manifest), "started", "wall_ns") for name, run in runs.items()}
        return sorted(ids, key=lambda name: (len(starts[name]), starts[name], name))

    def describe(self, run: RunDirectory) -> StoredRun:
        """The entry of ``run`` in the list."""
        manifest, report, other = _read(run, run.manifest), _read(run, run.report), copy_of(run)
        current = state(run)
        return StoredRun(
            id=run.path.name,
            contract=_text(manifest, "contract", "name"),
            agent=_text(manifest, "agent", "name"),
            status="" if other else _text(report, "status"),
            started=_text(manifest, "started", "text"),
            state=NEWER if current == "finished" and NEWER in (manifest, report) else current,
            path=run.path,
            replay_of=_text(manifest, "configuration", "replay_of"),
            retry_of=_text(manifest, "configuration", "retry_of"),
            model=_text(manifest, "configuration", "model"),
            method=_text(manifest, "configuration", "method"),
            copy_of=other,
            report=report if isinstance(report, Mapping) and not other else {},
        )


def state(run: RunDirectory) -> str:
    """One of :data:`STATES`."""
    if is_held(run):
        return _live_state(run)
    if not os.path.lexists(run.seal):
        return "cut"
    if copy_of(run):
        return "copy"
    try:
        return "finished" if _as_sealed(run) else "broken"
    except NewerSchema:
        return NEWER


def copy_of(run: RunDirectory) -> str:
    """The run in the directory of ``run``, if the directory is named like another run; empty otherwise."""
    name = os.path.basename(os.path.abspath(run.path))
    held = _text(_read(run, run.manifest), "run")
    return held if held and RUN_ID.fullmatch(name) and held != name else ""


def _holds_a_run(path: Path) -> bool:
    run = RunDirectory(path)
    return os.path.isdir(path) and any(os.path.lexists(one) for one in (run.manifest, run.events, run.seal))


def _live_state(run: RunDirectory) -> str:
    """The state of a run in progress. A question takes precedence over a pause, because it has a deadline."""
    try:
        events = read_finished_events(run.events)[0]
    except (BrokenSeal, NewerSchema):
        return "running"
    asks = paused = False
    for event in events:
        if event.type in ("operator.asked", "operator.decided"):
            asks = event.type == "operator.asked"
        elif event.type == "operator.acted" and event.payload.get("done") is True:
            paused = event.payload.get("action") == "pause"
        elif event.type in ("agent.rested", "agent.finished"):
            paused = False
    return "waiting" if asks else "paused" if paused else "running"


def _as_sealed(run: RunDirectory) -> bool:
    """Whether manifest and report match the seal, and every file that was not removed with approval has its size."""
    try:
        seal = load_seal(run)
        gone = _removed(run, seal)
        shown = [run.name(path) for path in (run.manifest, run.report)]
        return all(
            os.lstat(run.path / name).st_size in (sealed.bytes, *gone.get(name, ()))
            and (name not in shown or sha256(read_bounded(run.path / name, sealed.bytes)).hexdigest() == sealed.sha256)
            for name, sealed in seal.files.items()
            if gone.get(name) != ()
        )
    except (BrokenSeal, InfrastructureFault, OSError):
        return False


def _removed(run: RunDirectory, seal: Seal) -> Mapping[str, tuple[int, ...]]:
    """The files that a retention act removed, and the size of the log after it."""
    if not os.path.lexists(run.path / NAME):
        return {}
    act = read_retention(run, seal)
    return {**dict.fromkeys(act.files, ()), run.name(run.events): (act.log_bytes,)} if act else {}


def _second(run: str) -> str:
    return run.partition("-")[0]


def _fits(run: str, name: str) -> bool:
    return run.startswith(name) or run.rpartition("-")[2].startswith(name)


def _read(run: RunDirectory, path: Path) -> Any:
    """The value of a file; :data:`NEWER` for a newer form, ``None`` if it cannot be read."""
    try:
        return run.read_json(path)
    except NewerSchema:
        return NEWER
    except BrokenSeal:
        return None


def _text(value: Any, *keys: str) -> str:
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value if isinstance(value, str) else ""
