"""A place to work in for tests: directories that an ordinary user can reach, workspaces, a child without privileges.

Forking rather than starting a new interpreter: the one that runs the tests may lie where an ordinary user cannot read.
"""

from __future__ import annotations

import os
import tempfile
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from proctor.base.untrusted_directories import erase
from proctor.execute.sandbox.bubblewrap import command_pipes  # noqa: F401 - an ordinary user may not be able to load it
from proctor.execute.sandbox.bubblewrap.backend import BubblewrapBackend
from proctor.execute.sandbox.interface import Command, CommandResult, Limits, Overlay, Sandbox, SandboxPlan, owner

ORDINARY = 64200
PYTHON = "/usr/bin/python3"
VARIABLES = {"PATH": "/usr/bin:/bin", "HOME": "/home/agent", "LANG": "C.UTF-8"}


@contextmanager
def open_directory() -> Iterator[Path]:
    """A temporary directory that every user may enter."""
    path = Path(tempfile.mkdtemp(prefix="proctor-test-"))
    path.chmod(0o755)
    try:
        yield path
    finally:
        erase(path)


def owned(path: Path) -> Path:
    """Make directory ``path`` for the sandboxed user."""
    path.mkdir(parents=True)
    os.chown(path, *owner())
    return path


def layer(path: Path, files: dict[str, bytes] | None = None) -> Path:
    """A layer below ``path`` with the given files of the workspace."""
    for name in ("workspace", "setup"):
        owned(path / name)
    for name, data in (files or {}).items():
        target = path / "workspace" / name
        for parent in reversed(target.relative_to(path).parents):
            if not (path / parent).exists():
                owned(path / parent)
        target.write_bytes(data)
        os.chown(target, *owner())
    return path


def overlay(top: Path, *lowers: Path, removals: tuple[bytes, ...] = ()) -> Overlay:
    """A new overlay below ``top``."""
    return Overlay(lowers, owned(top / "upper"), owned(top / "work"), removals)


@contextmanager
def opened(backend: BubblewrapBackend, top: Path, limits: Limits | None = None) -> Iterator[Sandbox]:
    """A sandbox on an empty workspace below ``top``."""
    plan = SandboxPlan(overlay(top / "box", layer(top / "base")), limits or Limits())
    with backend.open(plan) as sandbox:
        yield sandbox


def shell(sandbox: Sandbox, text: str, timeout_seconds: float = 120, **fields: object) -> CommandResult:
    """Run shell ``text`` inside."""
    return sandbox.run(Command(("/bin/sh", "-c", text), VARIABLES, timeout_seconds=timeout_seconds, **fields))  # type: ignore[arg-type]


def python(sandbox: Sandbox, text: str, timeout_seconds: float = 120) -> CommandResult:
    """Run Python ``text`` inside."""
    return sandbox.run(Command((PYTHON, "-I", "-c", text), VARIABLES, timeout_seconds=timeout_seconds))


def as_ordinary_user(action: Callable[[], None]) -> None:
    """Run ``action`` in a forked child that has given up root, and fail with its traceback if it fails."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        message = b""
        try:
            os.close(reading)
            os.setgroups([])
            os.setresgid(ORDINARY, ORDINARY, ORDINARY)
            os.setresuid(ORDINARY, ORDINARY, ORDINARY)
            action()
        except BaseException:
            message = traceback.format_exc().encode()
        finally:
            os.write(writing, message[-60000:])
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        message = pipe.read()
    os.waitpid(child, 0)
    assert not message, message.decode()
