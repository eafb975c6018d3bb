"""Small images for tests: a static busybox and the files that a test gives, loaded into an engine in a moment.

They have no Python, compiler, git, dynamic linker or package database.
"""

from __future__ import annotations

import hashlib
import io
import json
import subprocess
import tarfile
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from proctor.execute.sandbox.container import images
from proctor.execute.sandbox.container.debian_image_build import _architecture
from proctor.execute.sandbox.container.engine import Engine
from tests.execute.sandbox.container.engines import KEPT, locked

APPLETS = (
    *("sh", "cat", "ls", "grep", "sed", "env", "sleep", "find", "head", "wc", "touch", "rm", "mkdir", "cp", "true"),
    *("test", "id", "seq", "tr", "cut", "date", "kill", "echo", "printf", "dd", "stat", "readlink", "sha256sum"),
)


class Link(str):
    """A symbolic link to this path."""


class HardLink(str):
    """Another name of this path."""


Content = bytes | Link | HardLink


@cache
def busybox() -> bytes:
    """The program, from Debian's package of a statically linked busybox; kept for later test runs."""
    KEPT.mkdir(parents=True, exist_ok=True)
    kept = KEPT / "busybox-static"
    with locked(KEPT / "lock"):
        if not kept.exists():
            with tempfile.TemporaryDirectory() as top:
                subprocess.run(["apt-get", "download", "busybox-static"], cwd=top, check=True, capture_output=True)
                (package,) = Path(top).glob("*.deb")
                subprocess.run(["dpkg-deb", "-x", package, top], check=True)
                kept.write_bytes((Path(top) / "bin/busybox").read_bytes())
    return kept.read_bytes()


def small_image(path: str, name: str, files: Mapping[str, Content]) -> tuple[str, ...]:
    """Load an image with ``files`` into the engine at ``path``; the digests of its layers."""
    shell: dict[str, Content] = {f"bin/{applet}": Link("busybox") for applet in APPLETS}
    layer = _layer({"bin/busybox": busybox(), **shell, **files})
    digest = hashlib.sha256(layer).hexdigest()
    configuration = {
        "architecture": _architecture(),
        "os": "linux",
        "config": {},
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{digest}"]},
    }
    text = json.dumps(configuration).encode()
    config = f"{hashlib.sha256(text).hexdigest()}.json"
    manifest = [{"Config": config, "RepoTags": [f"{name}:latest"], "Layers": [f"{digest}/layer.tar"]}]
    with tempfile.NamedTemporaryFile(suffix=".tar") as archive:
        with tarfile.open(fileobj=archive, mode="w") as tar:
            for member, data in (
                (config, text),
                ("manifest.json", json.dumps(manifest).encode()),
                (f"{digest}/layer.tar", layer),
            ):
                _add(tar, member, data)
        archive.flush()
        images.load(Engine(path), Path(archive.name))
    return (f"sha256:{digest}",)


def _layer(files: Mapping[str, Content]) -> bytes:
    data = io.BytesIO()
    made: set[str] = set()
    with tarfile.open(fileobj=data, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for path, content in files.items():
            for parent in reversed([str(parent) for parent in Path(path).parents][:-1]):
                if parent not in made:
                    made.add(parent)
                    directory = tarfile.TarInfo(parent)
                    directory.type, directory.mode = tarfile.DIRTYPE, 0o755
                    tar.addfile(directory)
            _add(tar, path, content)
    return data.getvalue()


def _add(tar: tarfile.TarFile, path: str, content: Content) -> None:
    member = tarfile.TarInfo(path)
    member.mode = 0o755
    if isinstance(content, Link):
        member.type, member.linkname = tarfile.SYMTYPE, str(content)
        tar.addfile(member)
    elif isinstance(content, HardLink):
        member.type, member.linkname = tarfile.LNKTYPE, str(content)
        tar.addfile(member)
    else:
        member.size = len(content)
        tar.addfile(member, io.BytesIO(content))
