"""Private git repositories of the harness.

Git runs with our configuration only and executes nothing; index and loose objects are read and written without git.
"""

from __future__ import annotations

import hashlib
import os
import struct
import tempfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from proctor.base.errors import InfrastructureFault
from proctor.base.process import Completed, run

OPTIONS = (
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "core.fsmonitor=false",
    "-c",
    "core.attributesFile=/dev/null",
    "-c",
    "core.excludesFile=/dev/null",
    "-c",
    "core.protectNTFS=false",
    "-c",
    "core.protectHFS=false",
    "-c",
    "core.quotePath=true",
    "-c",
    "core.autocrlf=false",
    "-c",
    "core.symlinks=true",
    "-c",
    "core.fileMode=true",
    "-c",
    "core.fsync=none",
    "-c",
    "safe.directory=*",
    "-c",
    "credential.helper=",
    "-c",
    "gc.auto=0",
    "-c",
    "maintenance.auto=false",
    "-c",
    "protocol.ext.allow=never",
    "-c",
    "protocol.file.allow=never",
    "-c",
    "fastimport.unpackLimit=0",
    "-c",
    "fetch.unpackLimit=1",
    "-c",
    "pack.threads=1",
    "-c",
    "index.version=2",
)

NETWORK = (
    *("http_proxy", "https_proxy", "no_proxy", "all_proxy", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY"),
    *("SSL_CERT_FILE", "SSL_CERT_DIR", "GIT_SSL_CAINFO", "SSH_AUTH_SOCK"),
)
"""The variables of the harness that say how this machine reaches others; they run nothing."""

_CONFIG = b"[core]\n\trepositoryformatversion = 0\n\tbare = %s\n"


def git_environment(home: Path) -> dict[str, str]:
    """The whole environment of a git process; ``home`` is a directory without configuration."""
    return {
        **{name: os.environ[name] for name in NETWORK if name in os.environ},
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": str(home),
        "LC_ALL": "C",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_SYSTEM": os.devnull,
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_ASKPASS": "true",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_CEILING_DIRECTORIES": str(home),
    }


class OwnRepository:
    """A repository that the harness made, and git on it."""

    def __init__(self, path: Path, home: Path, *, tree: Path | None = None) -> None:
        self.path = path
        self._home = home
        self._tree = tree

    def git(
        self,
        *arguments: str | bytes,
        stdin: bytes = b"",
        timeout_seconds: float = 600,
        output_bytes: int = 1 << 30,
    ) -> Completed:
        """Run git here. New files get the usual permissions whatever the harness's own mask is."""
        place: list[str] = [f"--git-dir={self.path}"]
        if self._tree is not None:
            place.append(f"--work-tree={self._tree}")
        command: Sequence[str | bytes] = ("git", *place, *OPTIONS, *arguments)
        if self._tree is not None:
            command = ("/bin/sh", "-c", 'umask 022 && exec "$@"', "sh", *command)
        return run(
            command,
            environment=git_environment(self._home),
            directory=self._tree or self.path,
            stdin=stdin,
            timeout_seconds=timeout_seconds,
            output_bytes=output_bytes,
        )


def new_repository(path: Path, *, bare: bool = True) -> None:
    """Write an empty repository to ``path``, with as little as git needs."""
    path.mkdir(exist_ok=True)
    for directory in ("objects", "refs"):
        (path / directory).mkdir()
    (path / "HEAD").write_bytes(b"ref: refs/heads/main\n")
    (path / "config").write_bytes(_CONFIG % (b"true" if bare else b"false"))


@contextmanager
def scratch_repository(scratch: Path | None = None) -> Iterator[OwnRepository]:
    """A temporary bare repository in a directory below ``scratch`` (the system's if none is given)."""
    with tempfile.TemporaryDirectory(prefix="proctor-git-", dir=scratch) as name:
        new_repository(Path(name))
        yield OwnRepository(Path(name), Path(name))


_HEADER = struct.Struct(">4sII")
_ENTRY = struct.Struct(">10I20sH")
_NAME_MASK = 0xFFF
_STAGES = 0x3000


@dataclass(frozen=True)
class IndexEntry:
    """One file of an index: its path, mode and the name of its blob."""

    path: bytes
    mode: int
    blob: bytes


def write_blob(objects: Path, data: bytes) -> bytes:
    """Store ``data`` as a blob; its binary name."""
    content = b"blob %d\0" % len(data) + data
    name = hashlib.sha1(content, usedforsecurity=False).digest()
    place = _place(objects, name)
    if not place.exists():
        place.parent.mkdir(exist_ok=True)
        place.write_bytes(zlib.compress(content, 1))
    return name


def read_blob(objects: Path, name: bytes, limit_bytes: int) -> bytes | None:
    """The bytes of a blob, or ``None`` where they are more than ``limit_bytes``."""
    machine = zlib.decompressobj()
    content = machine.decompress(_place(objects, name).read_bytes(), limit_bytes + 64)
    header, _, data = content.partition(b"\0")
    kind, _, size = header.partition(b" ")
    if kind != b"blob" or not size.isdigit():
        raise InfrastructureFault("git wrote an object that is not a blob")
    if int(size) > limit_bytes:
        return None
    if len(data) != int(size):
        raise InfrastructureFault("git wrote an object that is cut short")
    return data


def write_index(path: Path, entries: Iterable[IndexEntry]) -> None:
    """Write an index that holds ``entries``."""
    ordered = sorted(entries, key=lambda entry: entry.path)
    parts = [_HEADER.pack(b"DIRC", 2, len(ordered))]
    for entry in ordered:
        flags = min(len(entry.path), _NAME_MASK)
        fixed = _ENTRY.pack(0, 0, 0, 0, 0, 0, entry.mode, 0, 0, 0, entry.blob, flags)
        parts.append(fixed + entry.path + b"\0" * _padding(len(entry.path)))
    body = b"".join(parts)
    path.write_bytes(body + hashlib.sha1(body, usedforsecurity=False).digest())


def read_index(path: Path) -> list[IndexEntry]:
    """The entries of the index at ``path``."""
    data = path.read_bytes()
    signature, version, count = _HEADER.unpack_from(data)
    if signature != b"DIRC" or version != 2:
        raise InfrastructureFault("git wrote an index of another version")
    entries: list[IndexEntry] = []
    place = _HEADER.size
    for _ in range(count):
        fields = _ENTRY.unpack_from(data, place)
        start = place + _ENTRY.size
        length = fields[11] & _NAME_MASK
        end = data.index(b"\0", start) if length == _NAME_MASK else start + length
        if fields[11] & _STAGES:
            raise InfrastructureFault("git left an index with conflicts")
        entries.append(IndexEntry(data[start:end], fields[6], fields[10]))
        place = end + _padding(end - start)
    return entries


def _padding(length: int) -> int:
    """The zero bytes after a name, at least one, that bring an entry to a multiple of eight."""
    return 8 - (_ENTRY.size + length) % 8


def _place(objects: Path, name: bytes) -> Path:
    text = name.hex()
    return objects / os.path.join(text[:2], text[2:])
