"""Make a Python on Linux look like one on macOS; a ``.pth`` file of a throwaway environment imports this at start.

``sys.platform`` is ``darwin``, names of the standard library that exist on Linux only are removed, and ``/proc`` cannot
be opened. This finds code that uses such a name where it should not. It is no macOS: file systems, signals and programs
are those of Linux.
"""

from __future__ import annotations

import errno
import fcntl
import os
import posix
import resource
import select
import selectors
import signal
import socket
import sys
import sysconfig
import time
from fnmatch import fnmatchcase
from importlib import import_module, reload
from types import ModuleType
from typing import Any

REMOVED: dict[ModuleType, tuple[str, ...]] = {
    os: (
        *("CLONE_*", "EFD_*", "GRND_*", "MFD_*", "PIDFD_*", "POSIX_FADV_*", "RWF_*", "SPLICE_*", "TFD_*", "XATTR_*"),
        *("O_DIRECT", "O_LARGEFILE", "O_NOATIME", "O_PATH", "O_RSYNC", "O_TMPFILE", "P_PIDFD"),
        *("SCHED_BATCH", "SCHED_IDLE", "SCHED_RESET_ON_FORK"),
        *("copy_file_range", "eventfd", "fdatasync", "getrandom", "getresgid", "getresuid", "memfd_create"),
        *("getxattr", "listxattr", "removexattr", "setxattr", "pidfd_open", "pipe2", "posix_fadvise"),
        *("posix_fallocate", "process_cpu_count", "sched_getaffinity", "sched_getparam", "sched_getscheduler"),
        *("sched_param", "sched_rr_get_interval", "sched_setaffinity", "sched_setparam", "sched_setscheduler"),
        *("setns", "setresgid", "setresuid", "splice", "timerfd_*", "unshare", "waitid"),
    ),
    select: ("EPOLL*", "epoll"),
    signal: (
        *("SIGCLD", "SIGPOLL", "SIGPWR", "SIGRTMAX", "SIGRTMIN", "SIGSTKFLT"),
        *("pidfd_send_signal", "sigtimedwait", "sigwaitinfo"),
    ),
    socket: (
        *("AF_ALG", "AF_NETLINK", "AF_PACKET", "AF_VSOCK", "MSG_CMSG_CLOEXEC", "MSG_NOSIGNAL", "SCM_CREDENTIALS"),
        *("SOCK_CLOEXEC", "SOCK_NONBLOCK", "SO_BINDTODEVICE", "SO_DOMAIN", "SO_MARK", "SO_PASSCRED", "SO_PEERCRED"),
        "SO_PROTOCOL",
    ),
    fcntl: ("DN_*", "F_ADD_SEALS", "F_GETPIPE_SZ", "F_GET_SEALS", "F_NOTIFY", "F_OFD_*", "F_SEAL_*", "F_SETPIPE_SZ"),
    resource: (
        *("RLIMIT_MSGQUEUE", "RLIMIT_NICE", "RLIMIT_OFILE", "RLIMIT_RTPRIO", "RLIMIT_RTTIME", "RLIMIT_SIGPENDING"),
        *("RUSAGE_THREAD", "prlimit"),
    ),
    time: ("CLOCK_BOOTTIME", "CLOCK_TAI", "clock_settime", "pthread_getcpuclockid"),
}
"""Patterns of the names that Python does not have on macOS, in the modules that Proctor uses."""

OPENINGS = ("open", "os.listdir", "os.scandir")


def without_proc(event: str, arguments: tuple[Any, ...]) -> None:
    """An audit hook: nothing below ``/proc`` can be opened."""
    if event in OPENINGS and arguments and isinstance(arguments[0], str | bytes | os.PathLike):
        path = os.fsdecode(arguments[0])
        if path == "/proc" or path.startswith("/proc/"):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)


def simulate() -> None:
    """Change this process for good."""
    sysconfig.get_config_vars()  # reads a file whose name has the platform in it
    for module, patterns in REMOVED.items():
        for place in (module, posix) if module is os else (module,):
            for name in [name for name in vars(place) if any(fnmatchcase(name, pattern) for pattern in patterns)]:
                delattr(place, name)
    reload(selectors)  # it was imported before, and chose what Linux has
    import_module("urllib.request")  # on macOS it imports a module that only macOS has
    sys.platform = "darwin"
    sys.addaudithook(without_proc)


simulate()
