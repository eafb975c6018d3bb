"""The runs of a home: which there are, in what state, and which one a short name means.

A run is ``running`` while a living process holds its lock, ``finished`` once it is sealed and ``cut`` otherwise. What
a directory says of itself is shown as it stands; only ``verify`` says whether it is true. A directory that says
nothing readable is listed with empty fields and never stops the list.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from proctor.base.errors import BrokenSeal, UsageFault
from proctor.base.frozen import frozen
from proctor.base.ids import RUN_ID
from proctor.base.pattern import pattern
from proctor.record.lock import is_held
from proctor.record.rundir import RunDirectory

_SHORT = pattern(r"[0-9A-Za-z-]{1,40}\Z")
_MOST_NAMED = 5


@frozen
class Shelved:
    """One run as the shelf shows it; ``status`` is empty unless a report stands."""

    id: str
    contract: str
    agent: str
    status: str
    started: str
    state: str
    path: Path


class Shelf:
    """The directory that holds run directories."""

    def __init__(self, runs: Path) -> None:
        self.runs = runs

    def ids(self) -> list[str]:
        """The ids of all runs, oldest first."""
        try:
            with os.scandir(self.runs) as entries:
                return sorted(
                    entry.name
                    for entry in entries
                    if RUN_ID.fullmatch(entry.name) and entry.is_dir(follow_symlinks=False)
                )
        except FileNotFoundError:
            return []

    def list(self) -> tuple[Shelved, ...]:
        """Every run, oldest first."""
        return tuple(self.describe(RunDirectory(self.runs / name)) for name in self.ids())

    def find(self, name: str) -> RunDirectory:
        """The run that ``name`` means: an id, the beginning of an id or of its last part, or a path with a slash."""
        if "/" in name:
            path = Path(name)
            run = RunDirectory(path)
            if not path.is_dir() or not any(os.path.lexists(one) for one in (run.manifest, run.events, run.seal)):
                raise UsageFault("there is no run directory", where=name)
            return run
        ids = self.ids() if _SHORT.fullmatch(name) else []
        fitting = [name] if name in ids else [run for run in ids if _fits(run, name)]
        if len(fitting) == 1:
            return RunDirectory(self.runs / fitting[0])
        if not fitting:
            raise UsageFault(f"no run is called {name!r}", hint="`proctor runs` lists them")
        shown = ", ".join(fitting[:_MOST_NAMED]) + (", ..." if len(fitting) > _MOST_NAMED else "")
        raise UsageFault(f"{len(fitting)} runs are called {name!r}: {shown}", hint="give more of the id")

    def describe(self, run: RunDirectory) -> Shelved:
        """What ``run`` says of itself."""
        manifest = _read(run, run.manifest)
        return Shelved(
            id=run.path.name,
            contract=_text(manifest, "contract", "name"),
            agent=_text(manifest, "agent", "name"),
            status=_text(_read(run, run.report), "status"),
            started=_text(manifest, "started", "text"),
            state=state(run),
            path=run.path,
        )


def state(run: RunDirectory) -> str:
    """``running``, ``finished`` or ``cut``."""
    if is_held(run):
        return "running"
    return "finished" if os.path.lexists(run.seal) else "cut"


def _fits(run: str, name: str) -> bool:
    return run.startswith(name) or run.rpartition("-")[2].startswith(name)


def _read(run: RunDirectory, path: Path) -> Any:
    try:
        return run.read_json(path)
    except BrokenSeal:
        return None


def _text(value: Any, *keys: str) -> str:
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value if isinstance(value, str) else ""
