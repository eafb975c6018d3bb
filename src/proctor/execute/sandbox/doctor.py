"""What this machine can isolate, found out by trying, with advice for what it cannot."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from proctor.base.erase import erase
from proctor.base.errors import ProctorError
from proctor.base.frozen import frozen
from proctor.base.process import run
from proctor.execute.sandbox import facts
from proctor.execute.sandbox.bubblewrap.backend import BubblewrapBackend
from proctor.execute.sandbox.bubblewrap.start import BWRAP
from proctor.execute.sandbox.bubblewrap.wire import PROGRAM
from proctor.execute.sandbox.cgroup import Place, detect
from proctor.execute.sandbox.interface import UNPRIVILEGED, Command, Limits, SandboxPlan, Tree, owner

OK, REDUCED, MISSING = "ok", "reduced", "missing"
DELEGATE = "systemd-run --user --scope -p Delegate=yes proctor ..., or run as root"


@frozen
class Finding:
    """One thing that isolation rests on: ``state`` is ok, reduced (a weaker means stands in) or missing."""

    name: str
    state: str
    detail: str
    advice: str = ""


def probe() -> tuple[Finding, ...]:
    """Everything worth knowing before the first run."""
    top = Path(tempfile.mkdtemp(prefix="proctor-doctor-"))
    try:
        place = detect()
        own = (_bubblewrap(), _helper(), _identity(), _sandbox(top, place), _overlay(top), *control_groups(place))
        return (*own, container_engine(os.environ))
    finally:
        erase(top)


def _bubblewrap() -> Finding:
    if not os.access(BWRAP, os.X_OK):
        return Finding("bubblewrap", MISSING, f"no {BWRAP}", "apt-get install bubblewrap")
    try:
        version = run([BWRAP, "--version"], environment=facts.ENVIRONMENT, timeout_seconds=60).stdout.decode().strip()
    except ProctorError as error:
        return Finding("bubblewrap", MISSING, error.message, "reinstall bubblewrap")
    return Finding("bubblewrap", OK, version)


def _helper() -> Finding:
    if os.access(PROGRAM, os.X_OK):
        return Finding("helper program", OK, "built")
    return Finding("helper program", MISSING, f"no {PROGRAM.name}", "reinstall Proctor where a C compiler is at hand")


def _identity() -> Finding:
    if os.geteuid() == 0:
        return Finding("unprivileged user", OK, f"sandboxed processes have uid {UNPRIVILEGED} on the host")
    return Finding("unprivileged user", OK, f"sandboxed processes have your own uid {os.geteuid()} on the host")


def _sandbox(top: Path, place: Place) -> Finding:
    """A whole sandbox, with its namespaces and its system call filter, and one command in it."""
    tree = top / "tree"
    for directory in (tree, tree / "workspace", tree / "setup"):
        directory.mkdir()
        os.chown(directory, *owner())
    try:
        with BubblewrapBackend(top / "sessions", place=place).open(SandboxPlan(Tree(tree), Limits())) as sandbox:
            finished = sandbox.run(Command(("true",), timeout_seconds=60))
    except ProctorError as error:
        return Finding("sandbox", MISSING, error.message, _namespace_advice())
    if not finished.started or finished.exit_code != 0:
        return Finding("sandbox", MISSING, finished.problem or "a command failed inside")
    return Finding("sandbox", OK, "namespaces, read-only root, no network, system call filter")


def _namespace_advice() -> str:
    for name, wrong, advice in (
        ("kernel/unprivileged_userns_clone", "0", "sysctl kernel.unprivileged_userns_clone=1"),
        ("kernel/apparmor_restrict_unprivileged_userns", "1", "allow user namespaces to bwrap in AppArmor"),
        ("user/max_user_namespaces", "0", "sysctl user.max_user_namespaces=10000"),
    ):
        path = Path("/proc/sys") / name
        if path.exists() and path.read_text().strip() == wrong:
            return advice
    return "in a container: allow user namespaces and mounting /proc" if shutil.which("bwrap") else ""


def _overlay(top: Path) -> Finding:
    problem = facts.overlay_problem(top)
    if not problem:
        return Finding("overlay", OK, "workspaces are layers")
    return Finding(
        "overlay", REDUCED, f"workspaces are copied: {problem}", "use a disk file system and Linux 5.11 or later"
    )


def container_engine(variables: Mapping[str, str]) -> Finding:
    """Whether an engine is there for contracts that ask for an image; nothing else needs one."""
    from proctor.execute.sandbox.container.backend import lacks
    from proctor.execute.sandbox.container.engine import Engine, find_socket

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
        return Finding(name, REDUCED, f"{version}: {problem}", advice)
    return Finding(name, OK, f"{version} at {path}")


def control_groups(place: Place) -> Iterator[Finding]:
    """What control groups bound here and what stands in for them."""
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
