"""git as the harness runs it: with a repository of the harness's own, no configuration but ours, nothing executed.

No system, user or repository configuration of anyone else is read, no hook, filter, pager, editor, credential helper
or file system monitor runs, and it never asks a question. Repositories that others wrote lend their objects only.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

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
    """A bare repository in a directory of its own below ``scratch`` (the system's where none is given), gone after."""
    with tempfile.TemporaryDirectory(prefix="proctor-git-", dir=scratch) as name:
        new_repository(Path(name))
        yield OwnRepository(Path(name), Path(name))
