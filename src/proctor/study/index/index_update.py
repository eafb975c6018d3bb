"""The index of a home: one Parquet file that follows the run directories.

``index/runs.parquet`` holds a row for every run that has one, and beside each row a stamp of the files it was made of.
Bringing it up to date reads only runs whose stamp is new, drops those that are gone, and puts a whole new file in the
place of the old; two processes that do so take turns. Runs without a row are reported with their reason each time; none
is left out silently. A file that cannot be read, or is of another version, is built again from the run directories,
which are the only record.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from shutil import rmtree
from typing import Any

from proctor.base.clock import RUN_ID
from proctor.base.dataclass_fields import EMPTY
from proctor.base.errors import ProctorError, UsageFault
from proctor.execute.proctor_home import Home
from proctor.record.retain import NAME as RETENTION
from proctor.record.reviews import NAME as REVIEWS
from proctor.record.reviews import Heads, noted_heads
from proctor.record.run_directory import RunDirectory
from proctor.study.index.parquet_file import connect, ingest, merge, read_stamps, read_table
from proctor.study.index.run_row import STRATA, row_of
from proctor.study.run_table import Table

DIRECTORY, FILE, LOCK = "index", "runs.parquet", ".lock"
VERSION = 5
"""Increased when rows are made in another way, so that every older row is made again."""


@dataclass(frozen=True)
class LeftOut:
    """A run directory without a row, and why."""

    run: str
    source: str
    reason: str
    broken: bool = False


@dataclass(frozen=True)
class Rows:
    """The rows of run directories, and the directories that gave none."""

    rows: tuple[dict[str, Any], ...]
    left_out: tuple[LeftOut, ...]


@dataclass(frozen=True)
class Indexed:
    """The index after it was brought up to date: how many rows it has, and how many of them were read this time."""

    path: Path
    runs: int
    read: int
    left_out: tuple[LeftOut, ...]

    def table(self) -> Table:
        """The rows of the index."""
        return read_table(self.path)


def directories(home: Home) -> list[RunDirectory]:
    """Every run directory of ``home``, by id."""
    try:
        with os.scandir(home.runs) as entries:
            names = sorted(
                entry.name for entry in entries if RUN_ID.fullmatch(entry.name) and entry.is_dir(follow_symlinks=False)
            )
    except FileNotFoundError:
        return []
    return [RunDirectory(home.runs / name) for name in names]


def rows_of(home: Home, strata: tuple[str, ...] = STRATA) -> Rows:
    """The rows of all runs of ``home``, without the index."""
    rows: list[dict[str, Any]] = []
    left_out: list[LeftOut] = []
    runs = directories(home)
    heads = noted_heads(runs[0]) if runs else EMPTY
    for run in runs:
        found = _row_or_reason(run, strata, heads)
        left_out.append(found) if isinstance(found, LeftOut) else rows.append(found)
    return Rows(tuple(rows), tuple(left_out))


def refresh(home: Home, tell: Callable[[int, int], None] | None = None) -> Indexed:
    """Bring the index of ``home`` up to date; ``tell`` is called with the number of runs read and of all runs."""
    path = home.path / DIRECTORY / FILE
    with _alone(path.parent):
        return _refreshed(home, path, tell)


def _refreshed(home: Home, path: Path, tell: Callable[[int, int], None] | None) -> Indexed:
    known = _known(path)
    stamps = {run.path.name: stamp_of(run) for run in directories(home)}
    fresh = [name for name, stamp in stamps.items() if known.get(name) != stamp]
    left_out: list[LeftOut] = []
    read = 0

    def rows() -> Iterator[Mapping[str, Any]]:
        nonlocal read
        heads = noted_heads(RunDirectory(home.runs / fresh[0])) if fresh else EMPTY
        for number, name in enumerate(fresh, 1):
            found = _row_or_reason(RunDirectory(home.runs / name), STRATA, heads)
            if isinstance(found, LeftOut):
                left_out.append(found)
            else:
                read += 1
                yield found
            if tell is not None:
                tell(number, len(fresh))

    stale = known.keys() - stamps.keys() | known.keys() & set(fresh)
    if fresh or stale or not path.exists():
        part = path.with_name(f".new.{os.urandom(8).hex()}.parquet")
        try:
            ingest(rows(), part)
            if read or stale or not path.exists():
                merge(path if known else None, stale, part, {name: stamps[name] for name in fresh}, path, VERSION)
        finally:
            part.unlink(missing_ok=True)
    return Indexed(path, len(known) - len(stale) + read, read, tuple(left_out))


def stamp_of(run: RunDirectory) -> str:
    """A value that changes when a file from which a row is made is replaced, written to or removed."""
    names = (run.seal, run.manifest, run.report, run.contract, run.events, run.path / REVIEWS, run.path / RETENTION)
    return " ".join(map(_stamp, names))


def _stamp(path: Path) -> str:
    try:
        found = os.lstat(path)
    except OSError:
        return "-"
    return f"{found.st_size}.{found.st_ctime_ns}.{found.st_ino}"


def _row_or_reason(run: RunDirectory, strata: tuple[str, ...], heads: Heads) -> dict[str, Any] | LeftOut:
    name = run.path.name
    try:
        row = row_of(run, strata, heads)
    except (ProctorError, OSError) as error:
        why = error.message if isinstance(error, ProctorError) else f"cannot be read: {error.strerror}"
        return LeftOut(name, str(run.path), why, broken=not isinstance(error, UsageFault))
    return row


def _known(path: Path) -> dict[str, str]:
    """The runs of the index with their stamps; none when there is no index of this version that can be read."""
    if not path.exists():
        return {}
    try:
        with connect() as database:
            return read_stamps(database, path, VERSION)
    except UsageFault:
        return {}


@contextmanager
def _alone(directory: Path) -> Iterator[None]:
    """Lock the index against other updates, and remove the files that a killed update left."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        handle = os.open(directory / LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise UsageFault(
            f"the index cannot be written: {error.strerror}",
            where=str(directory),
            hint="set PROCTOR_HOME to a directory that you can write to",
        ) from None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        for left in directory.glob(".*"):
            if left.name != LOCK:
                rmtree(left) if left.is_dir() and not left.is_symlink() else left.unlink()
        yield
    finally:
        os.close(handle)
