"""A sandbox's place on the host: its control socket, the files made for it, and the mounts that the engine shows.

    PLACE/run/init, control    proctor-init, and the socket until pid 1 has connected; /run/proctor inside
    PLACE/etc/*                accounts and hosts files that say nothing about this machine
    PLACE/view/root, mountN    the merged workspace and the plan's mounts, under plain names (root only)

Taking a place down never goes below a mount: a name that is still mounted stays, and so does what it shows.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

from proctor.base.errors import InfrastructureFault, MissingIsolation
from proctor.base.process import run
from proctor.execute.sandbox.bubblewrap import wire
from proctor.execute.sandbox.interface import HOME, Overlay, SandboxPlan, owner

RUN = "/run/proctor"
MERGE_SECONDS = 300

_ROOT = "root:x:0:0:root:/nonexistent:/usr/sbin/nologin\n"
_NOBODY = "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n"


def inside_files() -> dict[str, str]:
    """The files of ``/etc`` that replace those of the image and the engine."""
    uid, gid = owner()
    return {
        "passwd": f"{_ROOT}agent:x:{uid}:{gid}:agent:{HOME}:/bin/sh\n{_NOBODY}",
        "group": f"root:x:0:\nagent:x:{gid}:\nnogroup:x:65534:\n",
        "hosts": "127.0.0.1 localhost\n::1 localhost\n",
        "resolv.conf": "",
        "hostname": "",
    }


def make(place: Path, plan: SandboxPlan) -> socket.socket:
    """Make everything but the mounts; the socket that pid 1 will connect to."""
    place.mkdir(mode=0o700)
    for name in ("run", "etc", "view"):
        (place / name).mkdir()
        (place / name).chmod(0o755)
    try:
        shutil.copyfile(wire.PROGRAM, place / "run/init")
    except FileNotFoundError:
        raise InfrastructureFault(
            "the sandbox's helper program has not been built", where=str(wire.PROGRAM), hint="reinstall Proctor"
        ) from None
    (place / "run/init").chmod(0o755)
    for name, text in inside_files().items():
        (place / "etc" / name).write_text(f"{plan.hostname}\n" if name == "hostname" else text)
        (place / "etc" / name).chmod(0o644)
    return _listen(place / "run")


def _listen(directory: Path) -> socket.socket:
    """A socket at ``directory/control``; bound through a descriptor, because socket paths must be short."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    handle = os.open(directory, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        listener.bind(f"/proc/self/fd/{handle}/control")
        (directory / "control").chmod(0o666)
        listener.listen(1)
    except BaseException:
        listener.close()
        raise
    finally:
        os.close(handle)
    return listener


def merge(place: Path, plan: SandboxPlan) -> None:
    """Mount the workspace and the plan's mounts below ``PLACE/view``; root alone can."""
    words = wire.words("pieces", _pieces(place, plan))
    try:
        completed = subprocess.run(
            [wire.PROGRAM, "merge", "0"],
            stdin=words,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env={},
            timeout=MERGE_SECONDS,
        )
    finally:
        os.close(words)
    if completed.returncode != 0:
        reason = completed.stderr.decode("utf-8", "replace").strip() or f"exit code {completed.returncode}"
        raise MissingIsolation(f"a sandbox cannot be made here: {reason}", hint="proctor doctor says what is missing")


def _pieces(place: Path, plan: SandboxPlan) -> Iterator[str | bytes | os.PathLike[str]]:
    workspace = plan.workspace
    if isinstance(workspace, Overlay):
        for lower in workspace.lowers:
            yield from ("lower", lower)
        yield from ("upper", workspace.upper, "work", workspace.work)
        for removal in workspace.removals:
            yield from ("removal", removal)
    else:
        yield from ("tree", workspace.path)
    for index, mount in enumerate(plan.mounts):
        yield from ("bind", f"mount{index}", mount.source)
    yield from ("target", place / "view")


def part(place: Path) -> None:
    """Take a place down, mounts first; fine when parts of it are gone already."""
    if os.geteuid() == 0 and _holds_something(place / "view"):
        completed = run([wire.PROGRAM, "part", place / "view"], environment={}, timeout_seconds=MERGE_SECONDS)
        if completed.exit_code != 0:
            raise InfrastructureFault(completed.stderr.decode("utf-8", "replace").strip(), where=str(place))
    for path in (place / "run/init", place / "run/control", *(place / "etc" / name for name in inside_files())):
        path.unlink(missing_ok=True)
    for directory in (place / "run", place / "etc", place / "view", place):
        try:
            directory.rmdir()
        except FileNotFoundError:
            pass


def _holds_something(directory: Path) -> bool:
    try:
        return bool(os.listdir(directory))
    except FileNotFoundError:
        return False
