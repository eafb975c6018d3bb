"""The directory in which Proctor keeps runs, layers and fetched inputs.

Everything in ``layers``, ``inputs``, ``agents``, ``parsed`` and ``searches`` can be made again; ``runs`` is evidence
and is never removed by Proctor itself. ``searches`` holds the findings of copy searches.
``vault`` holds originals of redacted secrets, for those who may read them; it is made by ``proctor vault init``.
``index`` holds one row for each run, made from the run directories; it can be made again, too.
``review-heads.jsonl`` notes how many reviews each run has, so that a missing one is noticed, and ``pilot-heads.jsonl``
the length of each pilot's journal.
``baselines`` holds observations of no-ops and references; each run stores the part that it was compared with.
``variants`` holds the altered tests of each contract; no sandbox sees them, and ``proctor validate`` makes them again.
``scratch`` and ``sessions`` belong to running commands and are removed after their owner has ended.
``slots`` holds the lock files of the judging slots, which all commands with this home share.
"""

from __future__ import annotations

import os
import pwd
import stat
from collections.abc import Mapping
from pathlib import Path

from proctor.base.errors import UsageFault

DIRECTORIES = (
    *("runs", "batches", "agents", "baselines", "decisions", "variants"),
    *("layers", "inputs", "parsed", "searches", "scratch", "sessions"),
)


class Home:
    """The places below one home directory."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.runs = path / "runs"
        self.batches = path / "batches"
        self.agents = path / "agents"
        self.baselines = path / "baselines"
        self.decisions = path / "decisions"
        self.variants = path / "variants"
        self.vault = path / "vault"
        self.layers = path / "layers"
        self.inputs = path / "inputs"
        self.parsed = path / "parsed"
        self.searches = path / "searches"
        self.scratch = path / "scratch"
        self.sessions = path / "sessions"
        self.sandboxes = path / "sandboxes"
        self.keys = path / "keys"
        self.slots = path / "slots"

    @classmethod
    def from_environment(cls, variables: Mapping[str, str]) -> Home:
        """``PROCTOR_HOME``, or ``proctor`` in the user's data directory; where it really is, if that is a link."""
        named = variables.get("PROCTOR_HOME")
        if named:
            return cls(_directory(Path(named).resolve()))
        data = variables.get("XDG_DATA_HOME") or os.path.join(variables.get("HOME") or _users_home(), ".local", "share")
        return cls(_directory((Path(data) / "proctor").resolve()))

    def shared(self) -> str:
        """Why other users could change or read what is stored here; empty if they cannot."""
        try:
            status = self.path.stat()
        except OSError:
            return ""
        if status.st_uid != os.geteuid():
            return f"Proctor's home {self.path} belongs to another user (uid {status.st_uid}), who can change evidence"
        if status.st_mode & 0o022:
            return f"other users can write to Proctor's home {self.path} and change evidence: chmod go-w {self.path}"
        for parent in self.path.parents:
            if parent.stat().st_mode & (stat.S_IWOTH | stat.S_ISVTX) == stat.S_IWOTH:
                return f"other users can write to {parent} and replace Proctor's home {self.path}: chmod o-w {parent}"
        return ""

    def create(self) -> None:
        """Make the directories that are not there yet."""
        try:
            if not self.path.exists():
                self.path.parent.mkdir(parents=True, exist_ok=True)
                self.path.mkdir(mode=0o700, exist_ok=True)
            for name in DIRECTORIES:
                (self.path / name).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageFault(
                f"cannot be used as Proctor's home: {error.strerror}",
                where=str(self.path),
                hint="set PROCTOR_HOME to a directory that you can write to",
            ) from None


def _directory(path: Path) -> Path:
    """``path`` unless it, or what it would be created in, is something else than a directory."""
    try:
        there = next(place for place in (path, *path.parents) if place.exists())
        is_directory = there.is_dir()
    except OSError as error:
        hint = "set PROCTOR_HOME to a directory that you can write to"
        raise UsageFault(f"cannot be used as Proctor's home: {error.strerror}", where=str(path), hint=hint) from None
    if not is_directory:
        what = "Proctor's home is not a directory" if there == path else "Proctor's home would be inside a file"
        raise UsageFault(what, where=str(there), hint="set PROCTOR_HOME to a directory")
    return path


def _users_home() -> str:
    """The home directory of the user of this process, as the system knows it."""
    try:
        return pwd.getpwuid(os.getuid()).pw_dir
    except KeyError:
        raise UsageFault(
            "Proctor's home is not known: HOME is not set, and the system does not know this user",
            where=f"uid {os.getuid()}",
            hint="set PROCTOR_HOME to a directory that you can write to",
        ) from None
