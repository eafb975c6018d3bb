"""What identifies a container's root: its layers, its operating system, its packages and its tools.

Found by running the tools in a sandbox of that image, and kept in a small file by the digests of the layers, which
never change their meaning.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from proctor.base.canonical import canonical, digest, parse
from proctor.base.erase import erase
from proctor.base.errors import InfrastructureFault
from proctor.base.files import read_bounded, write_whole
from proctor.execute.sandbox.facts import TOOLS, VERSION
from proctor.execute.sandbox.interface import Backend, Command, Limits, Sandbox, SandboxPlan, Tree, owner

FILE = "images.json"
FILE_BYTES = 1 << 20
PACKAGES_BYTES = 64 << 20
ENVIRONMENT = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8"}


def of_image(home: Path, layers: tuple[str, ...], hide: tuple[str, ...], backend: Backend) -> Mapping[str, str]:
    """Kind, layers, operating system, digest of the packages and versions of the tools of the image ``layers``.

    What ``hide`` names in the image is not looked at.
    """
    path = home / FILE
    kept: dict[str, dict[str, str]] = {}
    try:
        found = parse(read_bounded(path, FILE_BYTES))
        if isinstance(found, dict) and isinstance(found.get("images"), dict):
            kept = found["images"]
    except (OSError, ValueError, InfrastructureFault):
        pass
    key = digest({"layers": list(layers), "hide": list(hide)} if hide else list(layers))
    if key not in kept:
        kept[key] = {"kind": "image", "layers": " ".join(layers), **_find(home, backend)}
        write_whole(path, canonical({"kind": "image-facts", "schema": 1, "images": kept}), sync=False)
    return kept[key]


def _find(home: Path, backend: Backend) -> dict[str, str]:
    top = Path(tempfile.mkdtemp(dir=home, prefix=".image-"))
    try:
        for directory in (top / "workspace", top / "setup"):
            directory.mkdir()
            os.chown(directory, *owner())
        with backend.open(SandboxPlan(Tree(top), Limits())) as sandbox:
            return _look(sandbox)
    finally:
        erase(top)


def _look(sandbox: Sandbox) -> dict[str, str]:
    release = _said(sandbox, ("cat", "/usr/lib/os-release"))
    fields = dict(line.split("=", 1) for line in release.decode("utf-8", "replace").splitlines() if "=" in line)
    found = {
        "os": " ".join(fields[key].strip('"') for key in ("ID", "VERSION_ID") if key in fields) or "unknown",
        "packages": "sha256:" + hashlib.sha256(_said(sandbox, ("cat", "/var/lib/dpkg/status"))).hexdigest(),
    }
    for tool in TOOLS:
        option = "-dumpfullversion" if tool == "gcc" else "--version"
        match = VERSION.search(_said(sandbox, (tool, option)))
        if match:
            found[tool] = match[0].decode()
    return found


def _said(sandbox: Sandbox, arguments: tuple[str, ...]) -> bytes:
    """What a program prints; nothing when the image has no such program or file."""
    command = Command(arguments, ENVIRONMENT, directory="/", timeout_seconds=120, output_bytes=PACKAGES_BYTES)
    finished = sandbox.run(command)
    return finished.stdout.prefix if finished.started and finished.exit_code == 0 else b""
