"""The files that a contract names: read within bounds, digested, and never outside the contract's directory.

A link inside the directory may lead to another place inside it. Everything else that is not a plain file is a mistake,
reported at the place that names it. What was read is kept, so that a file named twice is read once.
"""

from __future__ import annotations

import hashlib
import os
import stat
from pathlib import Path

from proctor.base.errors import InfrastructureFault
from proctor.base.files import read_bounded
from proctor.base.reversible_escapes import name_text
from proctor.contract.model import NamedFile
from proctor.contract.scalar_types import quoted
from proctor.contract.strict_yaml import Node, Report

MIB = 1 << 20
TEXT_BYTES = MIB
IDS_BYTES = 10 * MIB
PLACED_BYTES = 16 * MIB
PATCH_BYTES = 64 * MIB
CASSETTE_BYTES = 64 * MIB
DIRECTORY_BYTES = 256 * MIB
DIRECTORY_FILES = 10_000
DIRECTORY_DEPTH = 64

BLANK = NamedFile("", "")


class NamedFiles:
    """Reads named files below ``directory`` and reports what is wrong with them."""

    def __init__(self, directory: str, report: Report) -> None:
        self.directory = directory
        self.root = os.path.realpath(directory)
        self.report = report
        self._read: dict[str, tuple[NamedFile, bytes]] = {}

    def file(self, node: Node, path: str, limit_bytes: int) -> tuple[NamedFile, bytes]:
        """The file ``path`` with its bytes; blank after a mistake. An empty path was reported before."""
        if not path:
            return BLANK, b""
        if path not in self._read:
            self._read[path] = self._load(node, path, limit_bytes)
        return self._read[path]

    def text(self, node: Node, path: str, limit_bytes: int = TEXT_BYTES) -> tuple[NamedFile, str]:
        """Like :meth:`file`, for a file that must hold UTF-8 text and not only space."""
        file, data = self.file(node, path, limit_bytes)
        if not file.path:
            return file, ""
        try:
            text = data.decode()
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start) + 1
            self.report.add(node, f"{quoted(path)} is not UTF-8 text (line {line})")
            return BLANK, ""
        if not text.strip() or "\0" in text:
            self.report.add(node, f"{quoted(path)} " + ("is empty" if not text.strip() else "holds a zero byte"))
            return BLANK, ""
        return file, text

    def ids(self, node: Node, path: str) -> tuple[NamedFile, tuple[str, ...]]:
        """The test ids in ``path``, one per line; blank lines and lines that begin with ``#`` are skipped."""
        file, text = self.text(node, path, IDS_BYTES)
        seen: dict[str, int] = {}
        for number, line in enumerate(text.split("\n"), 1):
            name = line.strip()
            if not name or name.startswith("#"):
                continue
            if name in seen:
                hint = f"first given in line {seen[name]}"
                place = os.path.join(self.directory, path)
                self.report.add((number, 1), f"{quoted(name)} is given twice", hint, file=place)
            else:
                seen[name] = number
        if file.path and not seen:
            self.report.add(node, f"{quoted(path)} lists no test ids")
        return file, tuple(seen)

    def exists(self, node: Node, path: str) -> None:
        """Report ``path`` unless it is a plain file; its bytes are not read."""
        real = self._inside(node, path)
        if real and not stat.S_ISREG(os.stat(real).st_mode):
            self.report.add(node, f"{quoted(path)} is not a plain file")

    def is_directory(self, path: str) -> bool:
        """Whether ``path`` is a directory, wherever it leads."""
        return os.path.isdir(os.path.join(self.directory, path))

    def tree(self, node: Node, path: str) -> tuple[NamedFile, ...]:
        """Every file below the directory ``path``, sorted by path."""
        real = self._inside(node, path)
        if not real:
            return ()
        found: list[NamedFile] = []
        try:
            self._walk(os.fsencode(real), path, 0, found, [0])
        except _Refused as refusal:
            self.report.add(node, str(refusal))
            return ()
        except OSError as error:
            self.report.add(node, f"cannot read {quoted(path)}: {error.strerror}")
            return ()
        if not found:
            self.report.add(node, f"the directory {quoted(path)} holds no files")
        return tuple(sorted(found, key=lambda file: file.path))

    def _walk(self, directory: bytes, path: str, depth: int, found: list[NamedFile], total: list[int]) -> None:
        if depth > DIRECTORY_DEPTH:
            raise _Refused(f"{quoted(path)} is nested more than {DIRECTORY_DEPTH} levels deep")
        with os.scandir(directory) as entries:
            for entry in entries:
                try:
                    inner = f"{path}/{entry.name.decode()}"
                except UnicodeDecodeError:
                    raise _Refused(
                        f"{quoted(path)} holds a file name that is not UTF-8: {name_text(entry.name)}"
                    ) from None
                if entry.is_symlink():
                    raise _Refused(f"{quoted(inner)} is a link; only plain files can be placed")
                if entry.is_dir():
                    self._walk(entry.path, inner, depth + 1, found, total)
                elif not entry.is_file():
                    raise _Refused(f"{quoted(inner)} is not a plain file")
                else:
                    found.append(_digested(entry.path, inner, total))
                if len(found) > DIRECTORY_FILES:
                    raise _Refused(f"{quoted(path)} holds more than {DIRECTORY_FILES} files")

    def _load(self, node: Node, path: str, limit_bytes: int) -> tuple[NamedFile, bytes]:
        real = self._inside(node, path)
        if not real:
            return BLANK, b""
        try:
            data = read_bounded(Path(real), limit_bytes)
            executable = bool(os.stat(real).st_mode & 0o100)
        except InfrastructureFault as fault:
            self.report.add(node, f"{quoted(path)} is {fault.message}")
            return BLANK, b""
        except OSError as error:
            self.report.add(node, f"cannot read {quoted(path)}: {error.strerror}")
            return BLANK, b""
        return NamedFile(path, hashlib.sha256(data).hexdigest(), executable), data

    def _inside(self, node: Node, path: str) -> str:
        """The resolved ``path``, or nothing after a mistake."""
        real = os.path.realpath(os.path.join(self.root, path))
        if real != self.root and not real.startswith(self.root.rstrip("/") + "/"):
            self.report.add(node, f"{quoted(path)} is outside of the contract's directory")
            return ""
        if not os.path.exists(real):
            self.report.add(node, f"{quoted(path)} does not exist", "paths are relative to the contract's directory")
            return ""
        return real


class _Refused(Exception):
    """Why a directory cannot be used."""


def _digested(place: bytes, path: str, total: list[int]) -> NamedFile:
    """The file at ``place``, counted into ``total``."""
    handle = os.open(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(handle, "rb") as file:
        information = os.fstat(handle)
        block = file.read(MIB)
        digest = hashlib.sha256(block)
        while block:
            total[0] += len(block)
            if total[0] > DIRECTORY_BYTES:
                raise _Refused(f"{quoted(path)} and the other files hold more than {DIRECTORY_BYTES} bytes")
            block = file.read(MIB)
            digest.update(block)
    return NamedFile(path, digest.hexdigest(), bool(information.st_mode & 0o100))
