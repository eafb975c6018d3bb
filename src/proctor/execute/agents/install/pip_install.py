"""Installations from a Python package index, through pip, made of wheels alone, so that nothing of theirs runs.

The result is laid out like a virtual environment on an interpreter that sandboxes see: ``/usr/bin/python3``, or a copy
of another one that this machine has. Modules are compiled here, since a read-only layer cannot be compiled into later,
and by their contents, so that the same releases give the same bytes.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

from proctor.base.canonical import parse
from proctor.base.errors import InfrastructureFault
from proctor.base.untrusted_directories import erase
from proctor.execute.agents.adapters.interface import PLACE
from proctor.execute.agents.install.agent_lock import Release
from proctor.execute.inputs.input_cache import hash_file
from proctor.execute.inputs.interface import DigestMismatch, NoSuchInput
from proctor.execute.inputs.package_clients import run_client, unreachable, with_retries
from proctor.execute.inputs.pypi import SANDBOX_PYTHON, python_with_pip

WHEELS = "--only-binary=:all:"
INTERPRETER = "python"
_NOT_COPIED = ("test", "idlelib", "tkinter", "turtledemo", "site-packages", "__pycache__", "config-*", "lib2to3")


def resolve(packages: tuple[str, ...], python: str, links: Path, directory: Path) -> tuple[Release, ...]:
    """What ``packages`` need today on the sandbox's Python, or on version ``python``; ``links`` holds more wheels."""
    report = directory / "report.json"
    arguments = [*_from(links), "--dry-run", "--ignore-installed", "--report", str(report), *packages]
    _pip(python, arguments, packages[0], directory)
    found: dict[str, Any] = parse(report.read_bytes())
    releases = [
        Release(
            entry["metadata"]["name"],
            entry["metadata"]["version"],
            f"sha256:{_digest(entry['download_info'], links)}",
        )
        for entry in found["install"]
    ]
    return tuple(sorted(releases, key=lambda one: one.name.lower()))


def _digest(download: dict[str, Any], links: Path) -> str:
    """The digest of a wheel; old clients do not report it for those in ``links``."""
    known = download["archive_info"].get("hashes", {}).get("sha256")
    return str(known or hash_file(links / str(download["url"]).rpartition("/")[2]))


def install(releases: tuple[Release, ...], python: str, links: Path, into: Path) -> None:
    """Fill ``into`` with an environment of exactly ``releases``."""
    version = _version(python, into)
    (into / "bin").mkdir()
    if python:
        _copy_interpreter(python, into / INTERPRETER)
        base = f"{PLACE}/{INTERPRETER}/bin/python{version}"
    else:
        base = SANDBOX_PYTHON
    os.symlink(base, into / "bin" / "python")
    (into / "pyvenv.cfg").write_text(f"home = {os.path.dirname(base)}\ninclude-system-site-packages = false\n")
    site = into / "lib" / f"python{version}" / "site-packages"
    site.mkdir(parents=True)
    wanted = into / "requirements.txt"
    wanted.write_text("".join(f"{one.name}=={one.version} --hash={one.digest}\n" for one in releases))
    arguments = [
        *_from(links),
        "--no-deps",
        "--require-hashes",
        "--no-compile",
        "--target",
        str(site),
        "-r",
        str(wanted),
    ]
    _pip(python, arguments, releases[0].name, into)
    erase(site / "bin")
    _compile(python, into)


def _from(links: Path) -> list[str]:
    return ["--find-links", str(links)] if any(links.iterdir()) else []


def _pip(python: str, arguments: list[str], what: str, directory: Path) -> None:
    if python:
        command = [interpreter_of(python), "-m", "pip"]
    else:
        command = [*python_with_pip(directory), "-m", "pip"]
        command += [] if command[0] == SANDBOX_PYTHON else ["--python", SANDBOX_PYTHON]

    def attempt() -> None:
        done = run_client([*command, "install", "--quiet", WHEELS, *arguments], directory)
        if done.exit_code == 0:
            return
        if b"DO NOT MATCH THE HASHES" in done.stderr:
            raise DigestMismatch("the package index offers a file whose digest differs from the lock", where=what)
        if b"No matching distribution found" in done.stderr and b"Retrying" not in done.stderr:
            raise NoSuchInput("the package index offers no wheels for this release and its dependencies", where=what)
        raise unreachable(what, "pip", done.stderr)

    with_retries(attempt)


def _compile(python: str, into: Path) -> None:
    """Compile all modules with names as the sandbox will see them; sources that do not compile stay as they are."""
    program = interpreter_of(python) if python else SANDBOX_PYTHON
    flags = ["-q", "-q", "-j", "0", "--invalidation-mode", "unchecked-hash", "-s", str(into), "-p", PLACE]
    run_client([program, "-I", "-m", "compileall", *flags, str(into)], into)


def interpreter_of(version: str) -> str:
    """The path of this machine's Python of one version: the one on the PATH, or one that pyenv has."""
    pyenv = Path(os.environ.get("PYENV_ROOT") or os.path.expanduser("~/.pyenv"))
    candidates = (
        shutil.which(f"python{version}"),
        *sorted(map(str, pyenv.glob(f"versions/{version}.*/bin/python{version}")), reverse=True),
    )
    for found in candidates:
        if found and run_client([found, "-c", ""], Path("/")).exit_code == 0:
            return found
    raise InfrastructureFault(
        f"this agent needs Python {version}, which this machine does not have",
        hint=f"install python{version} and put it on the PATH, or install it with pyenv",
    )


def _version(python: str, directory: Path) -> str:
    if python:
        return python
    script = "import sys; print('%d.%d' % sys.version_info[:2])"
    return run_client([SANDBOX_PYTHON, "-I", "-c", script], directory).stdout.decode().strip()


def _copy_interpreter(version: str, into: Path) -> None:
    """Copy the interpreter and its library, without tests and installed packages; it is relocatable."""
    script = "import sys; print(sys.base_prefix)"
    prefix = Path(run_client([interpreter_of(version), "-I", "-c", script], Path("/")).stdout.decode().strip())
    (into / "bin").mkdir(parents=True)
    name = f"python{version}"
    shutil.copy2(prefix / "bin" / name, into / "bin" / name)
    shutil.copytree(prefix / "lib" / name, into / "lib" / name, ignore=shutil.ignore_patterns(*_NOT_COPIED))
    for library in (prefix / "lib").glob(f"libpython{version}*.so*"):
        shutil.copy2(library, into / "lib" / library.name, follow_symlinks=False)
