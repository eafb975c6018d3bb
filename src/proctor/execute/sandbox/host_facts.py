"""Facts about this machine that are slow to determine: the identity of the sandbox's root, whether overlays work.

Answers are stored in one small file next to the sessions, keyed by what they depend on (file times, kernel, boot,
user), so asking again takes a few system calls. The kernel is not part of the identity; the packages and tools are.
"""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from proctor.base.canonical import canonical, digest, parse
from proctor.base.errors import InfrastructureFault
from proctor.base.files import read_bounded, write_whole
from proctor.base.process import run
from proctor.base.untrusted_directories import erase
from proctor.execute.sandbox.bubblewrap.init_protocol import PROGRAM

FILE = "machine.json"
FILE_BYTES = 1 << 16
PACKAGES = Path("/var/lib/dpkg/status")
TOOLS = ("python3", "node", "gcc", "git")
ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}
VERSION = re.compile(rb"[0-9]+(?:\.[0-9A-Za-z_-]+)+")


def identity(home: Path) -> Mapping[str, str]:
    """Kind, operating system, digest of the packages and versions of the tools of the root that sandboxes see."""
    found: Mapping[str, str] = remembered(home, "identity", _identity_key(), _find_identity)
    return found


def overlay_problem(home: Path) -> str:
    """Why overlays cannot be mounted over files in ``home``; empty when they can."""
    home.mkdir(parents=True, exist_ok=True)
    release = os.uname()
    key = digest([release.release, release.version, str(os.geteuid()), str(home.stat().st_dev), stamp(PROGRAM)])
    found: Mapping[str, str] = remembered(home, "overlay", key, lambda: {"problem": _try_overlay(home)})
    return found["problem"]


def remembered(home: Path, name: str, key: str, find: Any) -> Any:
    """The answer stored under ``name`` if its key is ``key``, or a new one. If ``find`` raises, nothing is stored."""
    path = home / FILE
    facts: dict[str, Any] = {}
    try:
        loaded = parse(read_bounded(path, FILE_BYTES))
        if isinstance(loaded, dict):
            facts = loaded
    except (OSError, ValueError, InfrastructureFault):
        pass
    kept = facts.get(name)
    if isinstance(kept, dict) and kept.get("key") == key and isinstance(kept.get("found"), dict):
        return kept["found"]
    found = find()
    facts[name] = {"key": key, "found": found}
    with suppress(OSError):  # if the home cannot be written to, the answer is determined again
        home.mkdir(parents=True, exist_ok=True)
        write_whole(path, canonical({"kind": "machine-facts", "schema": 1, **facts}), sync=False)
    return found


def forget(home: Path) -> None:
    """Drop all stored answers, so that each is determined again."""
    with suppress(OSError):
        (home / FILE).unlink()


def stamp(path: Path) -> str:
    """A text that changes when the file at ``path`` is replaced or written to."""
    try:
        information = path.stat()
    except OSError:
        return "absent"
    return f"{information.st_dev}:{information.st_ino}:{information.st_size}:{information.st_mtime_ns}"


def _identity_key() -> str:
    watched = (PACKAGES, Path("/usr/lib/os-release"), *(Path("/usr/bin") / tool for tool in TOOLS))
    return digest([stamp(path) for path in watched])


def _find_identity() -> dict[str, str]:
    found = {"kind": "host", "os": _operating_system(), "packages": _packages()}
    for tool in TOOLS:
        if os.access(f"/usr/bin/{tool}", os.X_OK):
            found[tool] = _version(tool)
    return found


def _operating_system() -> str:
    try:
        lines = Path("/usr/lib/os-release").read_text().splitlines()
    except OSError:
        return "unknown"
    fields = dict(line.split("=", 1) for line in lines if "=" in line)
    return " ".join(fields[key].strip('"') for key in ("ID", "VERSION_ID") if key in fields) or "unknown"


def _packages() -> str:
    """The digest of the package list; without one, of the names and sizes of the programs."""
    if PACKAGES.is_file():
        with PACKAGES.open("rb") as file:
            return "sha256:" + hashlib.file_digest(file, "sha256").hexdigest()
    with os.scandir("/usr/bin") as entries:
        return digest(sorted(f"{entry.name} {entry.stat(follow_symlinks=False).st_size}" for entry in entries))


def _version(tool: str) -> str:
    option = "-dumpfullversion" if tool == "gcc" else "--version"
    completed = run([f"/usr/bin/{tool}", option], environment=ENVIRONMENT, timeout_seconds=60)
    match = VERSION.search(completed.stdout + completed.stderr)
    return match[0].decode() if match else "unknown"


def _try_overlay(home: Path) -> str:
    """Mount one in namespaces of its own, the way a sandbox does it."""
    top = Path(tempfile.mkdtemp(dir=home, prefix=".overlay-"))
    try:
        directories = [top / name for name in ("lower", "upper", "work")]
        for directory in directories:
            directory.mkdir()
        try:
            completed = run([PROGRAM, "probe", "overlay", *directories], environment=ENVIRONMENT, timeout_seconds=60)
        except InfrastructureFault as fault:
            return fault.message
        if completed.exit_code == 0:
            return ""
        return completed.stderr.decode("utf-8", "replace").strip() or "the overlay could not be mounted"
    finally:
        erase(top)
