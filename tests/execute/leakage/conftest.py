"""Archives of every form that an input can have, made in memory, and a small project to search them for."""

from __future__ import annotations

import gzip
import io
import subprocess
import tarfile
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal

import pytest

from proctor.execute.leakage.input_entries import SearchLimits
from proctor.execute.leakage.leakage_finding import Finding
from proctor.execute.leakage.project_copies import search_file
from proctor.execute.leakage.project_features import Project
from proctor.execute.leakage.source_similarity import SourceIndex, SourceText, read_source

Files = Mapping[str, str | bytes]


def module(start: int, lines: int = 60) -> str:
    """The text of a module; modules with other starts have no line in common."""
    return "".join(f"def compute_{start + n}(value):\n    return value * {start + n} + 1\n" for n in range(lines // 2))


PROJECT = {"sums/core.py": module(0), "sums/extra.py": module(1000), "sums/__init__.py": "from .core import *\n"}
FIXED = {**PROJECT, "sums/core.py": module(0).replace("value * 7 + 1", "value * 7 - 1")}
"""The next release: one line of one file differs."""


class Pack:
    """Packs files."""

    project = PROJECT
    fixed = FIXED

    @staticmethod
    def zip(files: Files) -> bytes:
        data = io.BytesIO()
        with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
            for path, text in files.items():
                archive.writestr(path, text)
        return data.getvalue()

    @staticmethod
    def tar(files: Files, form: str = "gz") -> bytes:
        data = io.BytesIO()
        modes: dict[str, Literal["w:gz", "w:bz2", "w:xz", "w"]] = {"gz": "w:gz", "bz2": "w:bz2", "xz": "w:xz"}
        with tarfile.open(fileobj=data, mode=modes.get(form, "w")) as archive:
            for path, text in files.items():
                raw = text.encode() if isinstance(text, str) else text
                member = tarfile.TarInfo(path)
                member.size = len(raw)
                archive.addfile(member, io.BytesIO(raw))
        if form != "zst":
            return data.getvalue()
        return subprocess.run(["zstd", "-q", "-c"], input=data.getvalue(), capture_output=True, check=True).stdout

    @staticmethod
    def gzip(text: str) -> bytes:
        return gzip.compress(text.encode())

    @classmethod
    def deb(cls, control: str, files: Files, form: str = "xz") -> bytes:
        members = {
            "debian-binary": b"2.0\n",
            f"control.tar.{form}": cls.tar({"./control": control}, form),
            f"data.tar.{form}": cls.tar(files, form),
        }
        return b"!<arch>\n" + b"".join(cls._ar_member(name, data) for name, data in members.items())

    @staticmethod
    def _ar_member(name: str, data: bytes) -> bytes:
        header = f"{name:<16}{0:<12}{0:<6}{0:<6}{'100644':<8}{len(data):<10}`\n".encode()
        return header + data + b"\n" * (len(data) % 2)

    @classmethod
    def wheel(cls, name: str, version: str, files: Files) -> bytes:
        metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n\nName: not this\n"
        return cls.zip({**files, f"{name}-{version}.dist-info/METADATA": metadata})


@pytest.fixture
def pack() -> type[Pack]:
    return Pack


@pytest.fixture
def project() -> Project:
    """The project ``sums`` 1.0, on PyPI and on npm, whose repository has a ``src`` directory."""
    sources: list[tuple[str, SourceText]] = []
    for path, text in PROJECT.items():
        read = read_source(text.encode())
        assert read is not None
        sources.append((f"src/{path}", read))
    names = {("pypi", "sums"), ("npm", "@scope/sums"), ("deb", "python3-sums"), ("deb", "sums")}
    return Project({name: frozenset(["1.0"]) for name in names}, SourceIndex(sources))


Search = Callable[..., list[Finding]]


@pytest.fixture
def search(project: Project, tmp_path: Path) -> Search:
    """Searches bytes that are called ``name`` for the project."""

    def run(name: str, data: bytes, limits: SearchLimits | None = None, of: Project | None = None) -> list[Finding]:
        file = tmp_path / "input"
        file.write_bytes(data)
        scratch = tmp_path / "scratch"
        scratch.mkdir(exist_ok=True)
        found = search_file(of or project, file, name, scratch, limits)
        assert list(scratch.iterdir()) == []
        return found

    return run
