"""Making the workspace of a live sandbox read-only or writable, from outside, while its processes go on.

Enforced by the mount: nothing that a process inside does or claims changes it. Writing is never taken away while a
file is open for it, so no descriptor survives the change; see ``native/remount.c``.
"""

from __future__ import annotations

import os
import subprocess

from proctor.base.errors import InfrastructureFault
from proctor.execute.sandbox.bubblewrap import wire
from proctor.execute.sandbox.interface import WORKSPACE
from proctor.execute.sandbox.sessions import start_time

BUSY = 2
ANSWER_SECONDS = 60


def remount_workspace(init_pid: int, init_start: str, *, writable: bool) -> bool:
    """Change the workspace's mount in the sandbox of pid 1 ``init_pid``; false while a file is open for writing."""
    try:
        mounts = os.open(f"/proc/{init_pid}/ns/mnt", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        raise InfrastructureFault("the sandbox has ended") from None
    try:
        if start_time(init_pid) != init_start:
            raise InfrastructureFault("the sandbox has ended")
        done = subprocess.run(
            [wire.PROGRAM, "remount", str(mounts), WORKSPACE, "rw" if writable else "ro"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env={},
            cwd="/",
            pass_fds=(mounts,),
            timeout=ANSWER_SECONDS,
        )
    except subprocess.TimeoutExpired:
        raise InfrastructureFault("the workspace could not be remounted in time") from None
    finally:
        os.close(mounts)
    if done.returncode not in (0, BUSY):
        reason = done.stderr.decode("utf-8", "replace").strip() or f"status {done.returncode}"
        raise InfrastructureFault(f"the workspace cannot be remounted: {reason}")
    return done.returncode == 0
