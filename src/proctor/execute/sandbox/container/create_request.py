"""The body of the request that creates a sandbox's container. Pure.

Nothing is taken from the image's configuration, and nothing is left to the engine's defaults that would widen what the
inside can do. The engine's own seccomp profile is switched off because it would answer before the filter that
``proctor-init`` installs, which refuses more.
"""

from __future__ import annotations

import os
import resource
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from proctor.base.errors import UsageFault
from proctor.execute.sandbox.bubblewrap import init_protocol
from proctor.execute.sandbox.container.container_cgroup import ContainerGroup
from proctor.execute.sandbox.container.host_directory import RUN, inside_files
from proctor.execute.sandbox.interface import HOME, SETUP, WORKSPACE, Limits, Overlay, SandboxPlan, check_target, owner

SESSION_LABEL = "proctor.session"
PID_1_FILES = 1024
"""Open files that pid 1 may need, whatever commands are allowed."""

MOST_PROCESSES = 1 << 15
"""Processes of one user on the whole machine, which all sandboxes share; what bounds one of them is its container."""

MASKED = (
    *("/proc/acpi", "/proc/asound", "/proc/interrupts", "/proc/kcore", "/proc/keys", "/proc/latency_stats"),
    *("/proc/sched_debug", "/proc/scsi", "/proc/timer_list", "/proc/timer_stats", "/sys"),
)
READ_ONLY = ("/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger")


@dataclass(frozen=True)
class HiddenPath:
    """A path of an image that sandboxes do not show."""

    path: str
    is_directory: bool


def container(
    plan: SandboxPlan, image: str, place: Path, name: str, hidden: tuple[HiddenPath, ...] = (), *, podman: bool
) -> dict[str, Any]:
    """The body for ``plan`` with the pieces in ``place``; ``hidden`` are paths of the image that do not show."""
    return {
        "Image": image,
        "Hostname": plan.hostname,
        "User": "{}:{}".format(*owner()),
        "Env": [],
        "Entrypoint": [f"{RUN}/init"],
        "Cmd": ["connect", f"{RUN}/control", *_command_limits(plan.limits), *init_protocol.guard_words(plan.guard)],
        "WorkingDir": "/",
        "Labels": {SESSION_LABEL: name},
        "Tty": False,
        "OpenStdin": False,
        "NetworkDisabled": True,
        "Healthcheck": {"Test": ["NONE"]},
        "HostConfig": _host(plan, place, hidden, podman=podman),
    }


def _host(plan: SandboxPlan, place: Path, hidden: tuple[HiddenPath, ...], *, podman: bool) -> dict[str, Any]:
    limits = plan.limits
    size = min(limits.tmp_bytes, limits.memory_bytes // 4)
    options = ["no-new-privileges", "seccomp=unconfined"]
    if podman:
        options.append("mask=" + ":".join(MASKED))
    host: dict[str, Any] = {
        "Privileged": False,
        "CapAdd": [],
        "CapDrop": ["ALL"],
        "SecurityOpt": options,
        "Devices": [],
        "NetworkMode": "none",
        "IpcMode": "private",
        "CgroupnsMode": "private",
        "ReadonlyRootfs": True,
        "Init": False,
        "AutoRemove": False,
        "RestartPolicy": {"Name": "no"},
        "LogConfig": {"Type": "none"},
        "Memory": limits.memory_bytes,
        "MemorySwap": limits.memory_bytes,
        "PidsLimit": limits.processes + ContainerGroup.overhead,
        "OomScoreAdj": 500,
        "Ulimits": list(_ceilings(limits)),
        "ShmSize": size,
        "Tmpfs": dict.fromkeys(("/tmp", HOME), f"rw,nosuid,nodev,exec,size={size},mode=1777"),
        "Mounts": [*_mounts(plan, place), *_covers(plan, place, hidden)],
        "MaskedPaths": list(MASKED),
        "ReadonlyPaths": list(READ_ONLY),
    }
    if limits.cpu_cores < (os.cpu_count() or 1):
        host["NanoCpus"] = limits.cpu_cores * 1_000_000_000
    return host


def _ceilings(limits: Limits) -> Iterator[dict[str, Any]]:
    """Resource limits of processes, none above our own: an engine without full privileges could not set it."""
    wanted = {"nofile": max(limits.open_files, PID_1_FILES), "nproc": MOST_PROCESSES, "core": 0}
    for name, value in wanted.items():
        own = resource.getrlimit(getattr(resource, f"RLIMIT_{name.upper()}"))[1]
        lower = value if own == resource.RLIM_INFINITY else min(value, own)
        yield {"Name": name, "Soft": lower, "Hard": lower}


def _command_limits(limits: Limits) -> Iterator[str]:
    """What pid 1 sets for each command; the container bounds memory and processes."""
    yield f"file_bytes={limits.file_bytes}"
    yield f"open_files={limits.open_files}"


def _mounts(plan: SandboxPlan, place: Path) -> Iterator[dict[str, Any]]:
    staged = os.geteuid() == 0
    if staged:
        root = place / "root"
    else:
        assert not isinstance(plan.workspace, Overlay)
        root = plan.workspace.path.absolute()
    yield _bind(place / "run", "/run")
    yield _bind(root / "workspace", WORKSPACE, writable=plan.workspace_writable)
    yield _bind(root / "setup", SETUP, writable=plan.setup_writable)
    taken = {mount.target for mount in plan.mounts}
    if "/var/tmp" not in taken:
        yield _bind(place / "empty", "/var/tmp")  # podman would make it writable, without a bound
    for file in inside_files():
        if f"/etc/{file}" not in taken:
            yield _bind(place / "etc" / file, f"/etc/{file}")
    for index, mount in enumerate(plan.mounts):
        check_target(mount.target)
        if mount.target.split("/")[1] == "sys":
            raise UsageFault(f"{mount.target} belongs to the sandbox itself", hint="choose another place")
        source = place / f"mount{index}" if staged else mount.source.absolute()
        yield _bind(source, mount.target, writable=mount.writable)


def _covers(plan: SandboxPlan, place: Path, hidden: tuple[HiddenPath, ...]) -> Iterator[dict[str, Any]]:
    """Empty things over what the contract hides of the image; a file that no user may read, or an empty directory."""
    for one in hidden:
        below = [mount.target for mount in plan.mounts if f"{mount.target}/".startswith(f"{one.path}/")]
        if below:
            raise UsageFault(
                f"{below[0]} is below {one.path}, which environment.hide hides", hint="show the file at another place"
            )
        yield _bind(place / ("empty" if one.is_directory else "nothing"), one.path)


def _bind(source: Path, target: str, *, writable: bool = False) -> dict[str, Any]:
    return {
        "Type": "bind",
        "Source": str(source),
        "Target": target,
        "ReadOnly": not writable,
        "BindOptions": {"Propagation": "rprivate", "NonRecursive": True},
    }
