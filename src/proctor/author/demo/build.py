"""Writes the bundled contract to a directory, ready to run.

The repository is shipped as plain files and packed here into an archive that is the same, byte for byte, on every
machine: names are sorted, and times, owners and modes are fixed. Its digest is in ``contract.yaml``.
"""

from __future__ import annotations

import hashlib
import io
import tarfile
from collections.abc import Iterator
from pathlib import Path

from proctor.base.errors import InfrastructureFault

HERE = Path(__file__).resolve().parent
ARCHIVE = "repository.tar"
CHEAT_COMMAND = "command:/usr/bin/python3 /agent/forge.py"
"""The agent that :func:`cheating_agent` brings the files for."""


def materialise(directory: Path) -> Path:
    """Write the contract's files and its packed repository into ``directory``, and return that."""
    shipped = HERE / "contract"
    directory.mkdir(parents=True, exist_ok=True)
    for name, path in _files(shipped):
        if not name.startswith("repository/"):
            target = directory / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(path.read_bytes())
    data = packed(shipped / "repository")
    if hashlib.sha256(data).hexdigest() not in (shipped / "contract.yaml").read_text("utf-8"):
        raise InfrastructureFault(
            "the bundled repository is not the one that its contract names",
            where=str(shipped),
            hint="reinstall Proctor",
        )
    (directory / ARCHIVE).write_bytes(data)
    return directory


def cheating_agent(directory: Path) -> Path:
    """Write the files of an agent that forges its results into ``directory``, and return that."""
    directory.mkdir(parents=True, exist_ok=True)
    for name, path in _files(HERE / "cheat"):
        (directory / name).write_bytes(path.read_bytes())
    return directory


def packed(tree: Path) -> bytes:
    """The files below ``tree`` as an uncompressed archive."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, path in _files(tree):
            data = path.read_bytes()
            member = tarfile.TarInfo(name)
            member.size = len(data)
            member.mode = 0o644
            archive.addfile(member, io.BytesIO(data))
    return buffer.getvalue()


def _files(top: Path) -> Iterator[tuple[str, Path]]:
    """Every file below ``top`` with its relative name, sorted; byte code that an installer made is left out."""
    for path in sorted(top.rglob("*"), key=lambda item: item.relative_to(top).as_posix()):
        if path.is_file() and "__pycache__" not in path.parts and path.suffix != ".pyc":
            yield path.relative_to(top).as_posix(), path
