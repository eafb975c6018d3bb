"""Check this machine.

What every run requires, and which optional features work. ``proctor doctor`` prints it; no run starts if a
requirement is missing.
"""

from __future__ import annotations

import os
import secrets
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from proctor.base.canonical import digest
from proctor.base.errors import InfrastructureFault, MissingIsolation, ProctorError
from proctor.base.files import read_bounded
from proctor.base.process import run
from proctor.base.untrusted_directories import erase, owned_directory
from proctor.execute.proctor_home import Home
from proctor.execute.sandbox import host_facts
from proctor.execute.sandbox.bubblewrap import init_protocol
from proctor.execute.sandbox.bubblewrap.backend import INSTALL, BubblewrapBackend, find_bubblewrap
from proctor.execute.sandbox.cgroup import Place, detect
from proctor.execute.sandbox.container.backend import AS_ROOT, ROOT_ENGINE, cannot_watch, lacks
from proctor.execute.sandbox.container.engine import Engine, find_socket
from proctor.execute.sandbox.interface import UNPRIVILEGED, Command, Limits, SandboxPlan, Tree, owner

OK, REDUCED, MISSING = "ok", "reduced", "missing"

LEAST_FREE_BYTES = 32 << 20
"""The least free space with which a run may begin; a run may write this much before a full disk is noticed."""

GIT_VERSION = (2, 32)
"""The first git that takes its whole configuration from the caller (``GIT_CONFIG_GLOBAL``)."""

BUBBLEWRAP_VERSION = (0, 8)
"""The first bubblewrap that can forbid further user namespaces (``--disable-userns``)."""

EMPTY_FILE = b"e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"
"""What git calls a file without content."""

HELPER_USAGE = 70
"""The exit code of the helper when it is started without a task."""

PROBE_SECONDS = 60
COMPILERS = ("cc", "gcc", "clang")

NAMESPACE_SETTINGS = (
    ("kernel/unprivileged_userns_clone", "0", "sysctl kernel.unprivileged_userns_clone=1"),
    ("kernel/apparmor_restrict_unprivileged_userns", "1", "allow user namespaces to bwrap in AppArmor"),
    ("user/max_user_namespaces", "0", "sysctl user.max_user_namespaces=10000"),
)
"""Kernel settings below ``/proc/sys``, the value that forbids user namespaces, and how to change it."""

NO_LINUX = f"sandboxes need Linux, and this system is {sys.platform}"
STILL_WORKS = "commands that read contracts, runs and results work here: docs/installation.md lists them"


@dataclass(frozen=True)
class Finding:
    """The result of one test: ``state`` is ok, reduced (a weaker method is used) or missing.

    ``detail`` says what was found, ``advice`` what to do about it.
    """

    name: str
    state: str
    detail: str
    advice: str = ""


def requirements(home: Home, *, sandbox: bool = True) -> tuple[Finding, ...]:
    """Everything that a run needs; without ``sandbox``, only what contracts on images need besides their engine."""
    needed = [_home(home), _git(home)]
    if sys.platform != "linux":
        return (*needed, Finding("system", MISSING, NO_LINUX, STILL_WORKS))
    needed.append(_helper(home))
    return (*needed, _bubblewrap(home), _sandbox(home), _tool_chain()) if sandbox else tuple(needed)


def require_linux() -> None:
    """Refuse to run or judge anything on another system than Linux."""
    if sys.platform != "linux":
        raise MissingIsolation(f"this machine cannot run or judge anything: {NO_LINUX}", hint=STILL_WORKS)


def require_machine(home: Home, *, sandbox: bool = True) -> None:
    """Raise an error if a run cannot work here, with what is missing and how to get it."""
    require_linux()
    missing = [one for one in requirements(home, sandbox=sandbox) if one.state == MISSING]
    if missing:
        raise MissingIsolation(
            "this machine cannot run or judge anything: " + "; ".join(f"{one.name}: {one.detail}" for one in missing),
            hint="; ".join([*(one.advice for one in missing if one.advice), "proctor doctor tests every part"]),
        )


def room_problem(home: Home) -> str:
    """Why no run may begin on the disk of the home; empty if it has room."""
    free = shutil.disk_usage(home.path).free
    if free >= LEAST_FREE_BYTES:
        return ""
    return f"{free >> 20} MiB are free for runs, and a run needs at least {LEAST_FREE_BYTES >> 20} to begin"


def _home(home: Home) -> Finding:
    advice = "set PROCTOR_HOME to a directory that you can write to"
    try:
        home.create()
        with tempfile.TemporaryFile(dir=home.runs):
            pass
        problem, advice = room_problem(home), "free some space, or set PROCTOR_HOME to a directory on another disk"
    except ProctorError as error:
        problem = str(error).splitlines()[0]
    except OSError as error:
        problem = f"{home.path} cannot be written to: {error.strerror}"
    return Finding("home", MISSING, problem, advice) if problem else Finding("home", OK, str(home.path))


def _git(home: Home) -> Finding:
    path = shutil.which("git")
    if path is None:
        return Finding("git", MISSING, "git is not installed: not on PATH", "apt-get install git")
    advice = f"install git {_text(GIT_VERSION)} or later"
    return _program(home, "git", os.path.abspath(path), GIT_VERSION, advice, _git_problem)


def _git_problem(path: str) -> str:
    """Why the git at ``path`` cannot be used: it must know the name of the empty file."""
    done = run([path, "hash-object", "--stdin"], environment=host_facts.ENVIRONMENT, timeout_seconds=PROBE_SECONDS)
    if done.exit_code == 0 and done.stdout.strip() == EMPTY_FILE:
        return ""
    return f"{path} prints a version, but `git hash-object` fails (exit code {done.exit_code})"


def _bubblewrap(home: Home) -> Finding:
    try:
        path = find_bubblewrap(os.environ)
    except MissingIsolation as error:
        detail = f"{error.where}: {error.message}" if error.where else error.message
        return Finding("bubblewrap", MISSING, detail, error.hint)
    return _program(home, "bubblewrap", path, BUBBLEWRAP_VERSION, INSTALL)


def _program(
    home: Home,
    name: str,
    path: str,
    least: tuple[int, ...],
    advice: str,
    problem_of: Callable[[str], str] = lambda path: "",
) -> Finding:
    """A program that must start, have the version ``least`` or later, and work."""

    def find() -> dict[str, str]:
        done = run([path, "--version"], environment=host_facts.ENVIRONMENT, timeout_seconds=PROBE_SECONDS)
        match = host_facts.VERSION.search(done.stdout)
        if done.exit_code != 0 or match is None:
            raise InfrastructureFault(f"{path} does not print its version (exit code {done.exit_code})")
        version = match[0].decode()
        if _numbers(version) < least:
            raise InfrastructureFault(f"{path} has version {version}, and {_text(least)} or later is needed")
        problem = problem_of(path)
        if problem:
            raise InfrastructureFault(problem)
        return {"version": version}

    try:
        found = host_facts.remembered(home.path, name, digest([path, host_facts.stamp(Path(path)), _text(least)]), find)
    except (ProctorError, OSError) as error:
        return Finding(name, MISSING, _message(error), advice)
    return Finding(name, OK, f"{found['version']} at {path}")


def _helper(home: Home) -> Finding:
    name, path = "helper program", init_protocol.PROGRAM
    if not os.access(path, os.X_OK):
        compiler = next(filter(None, map(shutil.which, COMPILERS)), "")
        again = "install the wheel for this machine, or the source archive"
        advice = again if compiler else f"{again} after apt-get install gcc libc6-dev"
        without = "" if compiler else ", and there is no C compiler to build it with"
        return Finding(name, MISSING, f"{path.name} is not built{without}", advice)

    def find() -> dict[str, str]:
        done = run([path], environment=host_facts.ENVIRONMENT, timeout_seconds=PROBE_SECONDS)
        if done.exit_code != HELPER_USAGE:
            raise InfrastructureFault(f"{path} does not start correctly (exit code {done.exit_code})")
        return {"state": "starts"}

    try:
        found = host_facts.remembered(home.path, "helper", digest([str(path), host_facts.stamp(path)]), find)
    except (ProctorError, OSError) as error:
        return Finding(name, MISSING, _message(error), "reinstall Proctor on this machine")
    return Finding(name, OK, f"built, {found['state']}")


def _sandbox(home: Home) -> Finding:
    """A complete sandbox with its namespaces and its system call filter, and one command in it."""
    try:
        host_facts.remembered(home.path, "sandbox", _sandbox_key(), lambda: _try_sandbox(home))
    except (ProctorError, OSError) as error:
        return Finding("sandbox", MISSING, _message(error), _namespace_advice())
    return Finding("sandbox", OK, "namespaces, read-only root, no network, system call filter")


def _sandbox_key() -> str:
    system = os.uname()
    machine = [system.release, system.version, str(os.geteuid()), host_facts.stamp(init_protocol.PROGRAM)]
    program = find_bubblewrap(os.environ)
    return digest(
        [*machine, program, host_facts.stamp(Path(program)), *(value for value, _, _ in _namespace_settings())]
    )


def _try_sandbox(home: Home) -> dict[str, str]:
    """Start a sandbox and one command in it."""
    with _probe_directory(home) as top:
        tree = top / "tree"
        for directory in (tree, tree / "workspace", tree / "setup"):
            directory.mkdir()
            os.chown(directory, *owner())
        with BubblewrapBackend(top / "sessions").open(SandboxPlan(Tree(tree), Limits())) as sandbox:
            finished = sandbox.run(Command(("/bin/sh", "-c", ":"), timeout_seconds=PROBE_SECONDS))
    if not finished.started or finished.exit_code != 0:
        raise InfrastructureFault(f"a command in it failed: {finished.problem or f'exit code {finished.exit_code}'}")
    return {"state": "works"}


@contextmanager
def _probe_directory(home: Home) -> Iterator[Path]:
    """A directory among those of runs, or in the system's temporary directory if the home cannot be used.

    The one among those of runs is owned: other processes that start at the same time sweep directories without an
    owner.
    """
    if os.access(home.scratch, os.W_OK):
        with owned_directory(home.scratch / f"probe.{secrets.token_hex(4)}") as owned:
            yield owned
        return
    top = Path(tempfile.mkdtemp(prefix="proctor-probe-"))
    try:
        yield top
    finally:
        erase(top)


def _namespace_settings() -> Iterator[tuple[str, str, str]]:
    """The value of each existing kernel setting, the value that forbids namespaces, and the advice."""
    for name, forbids, advice in NAMESPACE_SETTINGS:
        try:
            yield read_bounded(Path("/proc/sys") / name, 4096).decode().strip(), forbids, advice
        except OSError:
            continue


def _namespace_advice() -> str:
    advice = [advice for value, forbids, advice in _namespace_settings() if value == forbids]
    return advice[0] if advice else "in a container: allow user namespaces and mounting /proc"


def _tool_chain() -> Finding:
    found = [tool for tool in host_facts.TOOLS if os.access(f"/usr/bin/{tool}", os.X_OK)]
    name, advice = "tool chain", "apt-get install python3"
    if not found:
        return Finding(
            name, MISSING, f"the root of sandboxes has none of {', '.join(host_facts.TOOLS)} in /usr/bin", advice
        )
    if "python3" not in found:
        without = "no /usr/bin/python3: Python contracts and the built-in agent cannot be run"
        return Finding(name, REDUCED, without, advice)
    return Finding(name, OK, f"{', '.join(found)} in /usr/bin")


def _message(error: Exception) -> str:
    return error.message if isinstance(error, ProctorError) else str(error)


def _numbers(version: str) -> tuple[int, ...]:
    """The leading numbers of a version, such as (2, 39, 5)."""
    parts = []
    for part in version.split("."):
        if not part.isdigit():
            break
        parts.append(int(part))
    return tuple(parts)


def _text(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))


DELEGATE = "systemd-run --user --scope -p Delegate=yes proctor ..., or run as root"

CLIENTS = (
    ("pip", ("pip", "pip3", "uv"), "inputs from PyPI can be fetched", "apt-get install python3-pip, or install uv"),
    ("npm", ("npm",), "inputs and agents from npm can be fetched", "apt-get install npm"),
    ("node", ("node",), "JavaScript contracts can be run", "apt-get install nodejs"),
)
"""Programs that only some contracts need: the name, the accepted programs, their purpose, how to get one."""


def probe(home: Home) -> tuple[Finding, ...]:
    """Everything worth knowing before the first run. Remembered answers of earlier commands are tested again."""
    host_facts.forget(home.path)
    needed = requirements(home)
    usable = needed[0].state == OK
    if sys.platform != "linux":
        return (*needed, _privacy(home), *_clients())
    layers = (_overlay(home),) if usable else ()
    return (
        *needed,
        _identity(),
        _privacy(home),
        *layers,
        *control_groups(detect()),
        *_clients(),
        container_engine(os.environ),
    )


def works(findings: tuple[Finding, ...]) -> bool:
    """Whether runs can work on a machine with these ``findings``."""
    return all(finding.state != MISSING for finding in findings)


def _identity() -> Finding:
    if os.geteuid() == 0:
        return Finding("unprivileged user", OK, f"sandboxed processes have uid {UNPRIVILEGED} on the host")
    return Finding("unprivileged user", OK, f"sandboxed processes have your own uid {os.geteuid()} on the host")


def _privacy(home: Home) -> Finding:
    problem = home.shared()
    if not problem:
        return Finding("privacy", OK, f"no other user can write to {home.path}")
    return Finding("privacy", REDUCED, problem, "use a directory of your own: set PROCTOR_HOME")


def _overlay(home: Home) -> Finding:
    problem = host_facts.overlay_problem(home.path)
    if not problem:
        return Finding("overlay", OK, "workspaces are layers")
    return Finding(
        "overlay", REDUCED, f"workspaces are copied: {problem}", "use a disk file system and Linux 5.11 or later"
    )


def _clients() -> Iterator[Finding]:
    for name, programs, purpose, advice in CLIENTS:
        found = next(filter(None, map(shutil.which, programs)), "")
        if found:
            yield Finding(name, OK, f"{purpose}, with {found}")
        else:
            yield Finding(name, REDUCED, f"none of {', '.join(programs)} on PATH", f"only for some contracts: {advice}")


def container_engine(variables: Mapping[str, str]) -> Finding:
    """Whether there is a container engine. Only contracts with an image need one."""
    name, advice = "container engine", "only for images: apt-get install docker.io, or set DOCKER_HOST"
    try:
        path = find_socket(variables)
        if not path:
            return Finding(name, REDUCED, "none, so images cannot be used", advice)
        engine = Engine(path)
        version, problem = engine.identity(), lacks(engine)
    except ProctorError as error:
        return Finding(name, REDUCED, error.message, error.hint or advice)
    if problem:
        return Finding(name, REDUCED, f"{version}: {problem}", f"only for images: {ROOT_ENGINE}")
    unwatched = cannot_watch()
    if unwatched:
        return Finding(name, REDUCED, f"{version} at {path}: {unwatched}", f"only for images: {AS_ROOT}")
    return Finding(name, OK, f"{version} at {path}")


def control_groups(place: Place) -> Iterator[Finding]:
    """What control groups limit on this machine, and what takes their place where they do not."""
    version = "version 2" if "memory" in place.v2_controllers else "version 1"
    if place.limits_memory:
        yield Finding("memory limit", OK, f"control group {version}")
    else:
        yield Finding("memory limit", REDUCED, "RLIMIT_DATA for each process, not for all together", DELEGATE)
    if place.limits_processes:
        yield Finding("process limit", OK, f"control group {version}")
    else:
        yield Finding("process limit", REDUCED, "RLIMIT_NPROC", DELEGATE)
    if place.freezes:
        yield Finding("freezing", OK, "control group")
    else:
        yield Finding("freezing", REDUCED, "SIGSTOP to every process", DELEGATE)
