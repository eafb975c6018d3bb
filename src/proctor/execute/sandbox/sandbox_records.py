"""Records of live sandboxes, so that what a killed harness leaves behind can be found and removed.

Normally nothing is left: a guardian ends a sandbox when its harness ends, whatever the reason. The records are for the
case that both were killed. A record names its owner by pid, start time and boot, so a number that was given to another
process is never mistaken for it; sandboxes of running owners are not touched.
"""

from __future__ import annotations

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from proctor.base.canonical import canonical, parse
from proctor.base.errors import InfrastructureFault
from proctor.base.files import read_bounded, write_whole
from proctor.execute.sandbox.cgroup import remove_group
from proctor.execute.sandbox.container.container_cleanup import remove_session

RECORD_BYTES = 1 << 20
SWEEP_SECONDS = 30


@dataclass(frozen=True)
class Session:
    """One sandbox of one owner: who made it, its guardian (once there is one), its control groups.

    A container has an ``engine`` (the path of its socket) and a ``place`` with mounts instead.
    """

    name: str
    owner_pid: int
    owner_start: str
    boot: str
    groups: tuple[str, ...] = ()
    guardian_pid: int = 0
    guardian_start: str = ""
    engine: str = ""
    place: str = ""


def start_time(pid: int) -> str:
    """When process ``pid`` started, in the kernel's ticks; empty if there is no process."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return ""
    return "" if fields[0] in (b"Z", b"X") else fields[19].decode()


def boot_id() -> str:
    """An id of this boot of the machine."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def write(directory: Path, session: Session) -> Path:
    """Leave a record; the file that holds it."""
    path = directory / f"{session.name}.json"
    record = {
        "kind": "sandbox-session",
        "schema": 1,
        "owner": {"pid": session.owner_pid, "start": session.owner_start, "boot": session.boot},
        "guardian": {"pid": session.guardian_pid, "start": session.guardian_start},
        "groups": list(session.groups),
    }
    if session.engine:
        record["container"] = {"engine": session.engine, "place": session.place}
    write_whole(path, canonical(record), sync=False)
    return path


def sweep(directory: Path) -> list[str]:
    """End and remove what owners that have ended left behind; one line for each removed sandbox."""
    lines: list[str] = []
    if not directory.is_dir():
        return lines
    boot = boot_id()
    for path in sorted(directory.glob("*.json")):
        session = _read(path)
        if session is None:
            continue
        if session.boot == boot:
            if start_time(session.owner_pid) == session.owner_start:
                continue
            _end(session)
        if session.engine and not _end_container(session, directory):
            continue
        path.unlink(missing_ok=True)
        lines.append(f"the sandbox {session.name} of process {session.owner_pid}, which has ended")
    return lines


def _read(path: Path) -> Session | None:
    """The record in ``path``; ``None`` if it was removed or was cut while it was written."""
    try:
        record: Any = parse(read_bounded(path, RECORD_BYTES))
        owner, guardian = record["owner"], record["guardian"]
        groups = tuple(str(group) for group in record["groups"])
        container = record.get("container", {"engine": "", "place": ""})
        return Session(
            path.stem,
            int(owner["pid"]),
            str(owner["start"]),
            str(owner["boot"]),
            groups,
            int(guardian["pid"]),
            str(guardian["start"]),
            str(container["engine"]),
            str(container["place"]),
        )
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError, InfrastructureFault):
        path.unlink(missing_ok=True)
        return None


def _end(session: Session) -> None:
    if session.guardian_pid and start_time(session.guardian_pid) == session.guardian_start:
        _kill(session.guardian_pid)
    for group in session.groups:
        # Only what carries the sandbox's own name is ever touched, whatever the record says.
        if Path(group).name == session.name:
            _empty(Path(group))
    for group in session.groups:
        if Path(group).name == session.name:
            remove_group(Path(group))


def _end_container(session: Session, directory: Path) -> bool:
    """Containers outlive a boot, so they are looked for whenever they were made; false when that has to wait."""
    # Only the place next to the record is ever touched, whatever the record says.
    return remove_session(session.name, session.engine, directory.absolute() / session.name)


def _empty(group: Path) -> None:
    """Thaw a group and kill until nothing is in it."""
    deadline = time.monotonic() + SWEEP_SECONDS
    while time.monotonic() < deadline:
        try:
            pids = [int(pid) for pid in (group / "cgroup.procs").read_text().split()]
        except FileNotFoundError:
            return
        for pid in pids:
            _kill(pid)
        for name, value in (("cgroup.freeze", "0"), ("freezer.state", "THAWED")):
            if (group / name).exists():
                (group / name).write_text(value)
        if not pids:
            return
        time.sleep(0.002)
    raise InfrastructureFault("processes of a lost sandbox cannot be ended", where=str(group))


def _kill(pid: int) -> None:
    if pid <= 0:
        return  # a process of another pid namespace is shown as 0, and killing 0 means ourselves
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
