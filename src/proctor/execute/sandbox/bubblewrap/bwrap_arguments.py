"""The view of a sandbox: the arguments for bubblewrap, and the list of host paths that are staged for it.

Sources are on a stage that ``proctor-init launch`` builds at ``/tmp`` of a private mount namespace; only staged names
and fixed system paths appear here, so no path of the harness ever does. Pure, except for checking which system paths
exist.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from glob import glob
from pathlib import Path

from proctor.base.errors import UsageFault
from proctor.execute.sandbox.interface import HOME, SETUP, SYSTEM, WORKSPACE, SandboxPlan, check_target

STAGE = "/tmp"
INIT = "/run/proctor/init"
INSIDE_ID = "1000"
MASK_BYTES = "4096"
PACKAGE = Path(__file__).parents[3]
"""The harness's own code, which may be installed where everything is shown."""

ETC = (
    "/etc/ld.so.cache",
    "/etc/alternatives",
    "/etc/ssl/certs",
    "/etc/ssl/openssl.cnf",
    "/etc/java-*-openjdk",
    "/etc/mime.types",
    "/etc/protocols",
    "/etc/services",
)
"""What programs in ``/usr`` need of ``/etc``: no accounts, no names of machines, no secrets."""

FILES = {
    "/etc/passwd": b"root:x:0:0:root:/nonexistent:/usr/sbin/nologin\n"
    b"agent:x:1000:1000:agent:/home/agent:/bin/sh\nnobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n",
    "/etc/group": b"root:x:0:\nagent:x:1000:\nnogroup:x:65534:\n",
    "/etc/hosts": b"127.0.0.1 localhost\n::1 localhost\n",
    "/etc/nsswitch.conf": b"passwd: files\ngroup: files\nhosts: files\nservices: files\nprotocols: files\n",
    "/etc/resolv.conf": b"",
}

LINKS = {
    "/etc/localtime": "/usr/share/zoneinfo/Etc/UTC",
    "/etc/os-release": "../usr/lib/os-release",
    "/etc/mtab": "/proc/self/mounts",
}

NAMESPACES = (
    *("--unshare-user", "--uid", INSIDE_ID, "--gid", INSIDE_ID, "--disable-userns", "--assert-userns-disabled"),
    *("--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"),
    *("--die-with-parent", "--new-session", "--as-pid-1", "--cap-drop", "ALL", "--clearenv"),
)


@dataclass(frozen=True)
class View:
    """``stage`` are names on the stage with their host paths, ``arguments`` those of bubblewrap."""

    stage: tuple[tuple[str, str | os.PathLike[str]], ...]
    arguments: tuple[str, ...]


def make_view(plan: SandboxPlan, init: str | os.PathLike[str], files: dict[str, int], own: dict[str, int]) -> View:
    """The view of ``plan``. ``files`` gives for each path of :data:`FILES` a descriptor that holds its bytes, ``own``
    for each of the plan's files.

    The three memory file systems together get at most three quarters of the memory, so that files alone can never leave
    too little to start a command.
    """
    stage: list[tuple[str, str | os.PathLike[str]]] = [("init", init)]
    mounts: list[str] = []
    for index, mount in enumerate(plan.mounts):
        check_target(mount.target)
        stage.append((f"mount{index}", mount.source))
        mounts += ("--bind" if mount.writable else "--ro-bind", f"{STAGE}/mount{index}", mount.target)
    size = str(min(plan.limits.tmp_bytes, plan.limits.memory_bytes // 4))
    arguments = (
        *NAMESPACES,
        *("--hostname", plan.hostname, "--dir", "/run", "--dir", "/etc/ssl"),
        *_system(),
        *_masks(plan.masked),
        *_etc(files),
        *("--proc", "/proc", "--dev", "/dev"),
        *("--perms", "1777", "--size", size, "--tmpfs", "/dev/shm", "--remount-ro", "/dev"),
        *("--perms", "1777", "--size", size, "--tmpfs", "/tmp", "--size", size, "--tmpfs", HOME),
        *("--ro-bind", f"{STAGE}/init", INIT),
        *("--bind" if plan.workspace_writable else "--ro-bind", f"{STAGE}/workspace", WORKSPACE),
        *("--bind" if plan.setup_writable else "--ro-bind", f"{STAGE}/setup", SETUP),
        *mounts,
        *(word for path, handle in own.items() for word in ("--perms", "0600", "--file", str(handle), path)),
        *("--remount-ro", "/", "--chdir", "/"),
    )
    return View(tuple(stage), arguments)


def _system() -> Iterator[str]:
    yield from ("--ro-bind", "/usr", "/usr")
    for path in SYSTEM:
        if os.path.islink(path):
            yield from ("--symlink", os.readlink(path), path)
        elif os.path.isdir(path):
            yield from ("--ro-bind", path, path)


def _masks(masked: tuple[Path, ...]) -> Iterator[str]:
    """Empty directories over what a sandbox must not see: the harness's own code, and the paths of a plan."""
    shown = ("/usr", *(path for path in SYSTEM if not os.path.islink(path)))
    places = {_top_closed(os.path.realpath(path)) for path in (PACKAGE, *masked)}
    for place in sorted(places):
        if place in shown or place == "/":
            raise UsageFault(f"{place} cannot be hidden from a sandbox, which needs it", hint="move the files there")
        above = place.split("/")
        if any("/".join(above[:depth]) in places for depth in range(2, len(above))):
            continue
        if place.startswith(tuple(f"{path}/" for path in shown)) and os.path.isdir(place):
            yield from ("--perms", "0755", "--size", MASK_BYTES, "--tmpfs", place, "--remount-ro", place)


def _top_closed(place: str) -> str:
    """The first directory on the way to ``place`` that not every user may enter, or ``place`` itself.

    The user that sandboxes belong to cannot reach anything below it, neither to look nor to mount something there.
    """
    parts = place.split("/")
    for depth in range(2, len(parts)):
        above = "/".join(parts[:depth])
        try:
            if not os.stat(above).st_mode & 0o001:
                return above
        except OSError:
            break
    return place


def _etc(files: dict[str, int]) -> Iterator[str]:
    for path, handle in files.items():
        yield from ("--perms", "0644", "--file", str(handle), path)
    for path, target in LINKS.items():
        yield from ("--symlink", target, path)
    for pattern in ETC:
        for path in glob(pattern) if "*" in pattern else (pattern,):
            yield from ("--ro-bind-try", path, path)
