"""A sandbox's place on the host: its control socket, the files made for it, and the mounts that the engine shows.

    PLACE/run/proctor/init, control    proctor-init, and the socket until pid 1 has connected; PLACE/run is /run inside
    PLACE/etc/*                        accounts and hosts files that say nothing about this machine
    PLACE/empty                        hides what engines make writable by themselves, and what the contract hides
    PLACE/nothing                      an empty file that no user may read, over files that the contract hides
    PLACE/root, mountN                 the merged workspace and the plan's mounts, under plain names (root only)

For root the place is a small file system of its own, so that no path of the host shows inside, and taking it down means
detaching it: what is mounted there is never looked into. For anyone else it is a directory with known files.
"""

from __future__ import annotations

import errno
import os
import shutil
import socket
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from proctor.base.errors import InfrastructureFault, MissingIsolation
from proctor.base.process import run
from proctor.execute.sandbox.bubblewrap import init_protocol
from proctor.execute.sandbox.interface import HOME, SandboxPlan, owner

RUN = "/run/proctor"
DIRECTORIES = ("run", "run/proctor", "etc", "empty")
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
    """Make everything; the socket that pid 1 will connect to."""
    if not os.access(init_protocol.PROGRAM, os.X_OK):
        raise InfrastructureFault(
            "the sandbox's helper program has not been built",
            where=str(init_protocol.PROGRAM),
            hint="reinstall Proctor",
        )
    place.mkdir(mode=0o700)
    if os.geteuid() == 0:
        _merge(place, plan)
    for name in DIRECTORIES:
        (place / name).mkdir()
        (place / name).chmod(0o755)
    shutil.copyfile(init_protocol.PROGRAM, place / "run/proctor/init")
    (place / "run/proctor/init").chmod(0o755)
    for name, text in inside_files().items():
        (place / "etc" / name).write_text(f"{plan.hostname}\n" if name == "hostname" else text)
        (place / "etc" / name).chmod(0o644)
    (place / "nothing").touch(mode=0)
    return _listen(place / "run/proctor")


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


def _merge(place: Path, plan: SandboxPlan) -> None:
    """Mount the workspace and the plan's mounts in ``place``; root alone can."""
    plan_words = init_protocol.pack_words("pieces", _pieces(place, plan))
    try:
        completed = subprocess.run(
            [init_protocol.PROGRAM, "merge", "0"],
            stdin=plan_words,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env={},
            timeout=MERGE_SECONDS,
        )
    finally:
        os.close(plan_words)
    if completed.returncode != 0:
        reason = completed.stderr.decode("utf-8", "replace").strip() or f"exit code {completed.returncode}"
        raise MissingIsolation(f"a sandbox cannot be made here: {reason}", hint="proctor doctor says what is missing")


def _pieces(place: Path, plan: SandboxPlan) -> Iterator[str | bytes | os.PathLike[str]]:
    yield from init_protocol.workspace_words(plan.workspace)
    for index, mount in enumerate(plan.mounts):
        yield from ("bind", f"mount{index}", mount.source)
    yield from ("target", place)


def own_home(init_pid: int) -> None:
    """Give the home to its user; engines differ in which owners they let a memory file system have."""
    if os.geteuid() == 0:
        with _directory(init_pid, HOME) as home:
            os.fchown(home, *owner())
            os.fchmod(home, 0o755)


def put_inside(init_pid: int, files: Mapping[str, bytes]) -> None:
    """Make files in a container in which nothing but pid 1 runs yet."""
    for path, content in files.items():
        above, _, name = path.rpartition("/")
        with _directory(init_pid, above) as directory:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            with os.fdopen(os.open(name, flags, 0o600, dir_fd=directory), "wb") as file:
                file.write(content)
                os.fchown(file.fileno(), *owner())


@contextmanager
def _directory(init_pid: int, path: str) -> Iterator[int]:
    """A directory inside, made where it is missing. Links are refused: from out here they would lead into the host."""
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
    handle = os.open(f"/proc/{init_pid}/root", flags)
    try:
        for part in path.strip("/").split("/"):
            try:
                inner = os.open(part, flags | os.O_NOFOLLOW, dir_fd=handle)
            except FileNotFoundError:
                os.mkdir(part, 0o755, dir_fd=handle)
                os.chown(part, *owner(), dir_fd=handle, follow_symlinks=False)
                inner = os.open(part, flags | os.O_NOFOLLOW, dir_fd=handle)
            except OSError as error:
                if error.errno not in (errno.ELOOP, errno.ENOTDIR):
                    raise
                raise MissingIsolation(
                    f"{path} is not a plain directory in the image: {part} is a link or a file",
                    hint="build the image with a directory there, or with nothing",
                ) from None
            os.close(handle)
            handle = inner
        yield handle
    finally:
        os.close(handle)


def part(place: Path) -> None:
    """Remove a place; it may already be removed."""
    if not place.is_dir():
        return
    if os.geteuid() == 0:
        completed = run([init_protocol.PROGRAM, "part", place], environment={}, timeout_seconds=MERGE_SECONDS)
        if completed.exit_code != 0:
            raise InfrastructureFault(completed.stderr.decode("utf-8", "replace").strip(), where=str(place))
        return
    for path in (*(place / "run/proctor" / name for name in ("init", "control")), place / "nothing", *_etc(place)):
        path.unlink(missing_ok=True)
    for directory in (*(place / name for name in reversed(DIRECTORIES)), place):
        try:
            directory.rmdir()
        except FileNotFoundError:
            pass


def _etc(place: Path) -> Iterator[Path]:
    return (place / "etc" / name for name in inside_files())
