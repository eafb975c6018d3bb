"""Stand-ins for the registries: a loopback server, a package index on it, and client programs on the PATH."""

from __future__ import annotations

import hashlib
import io
import os
import tarfile
import threading
import zipfile
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from proctor.execute.inputs import package_clients


class LocalServer:
    """A loopback server: ``files`` by path, ``broken`` paths answer with fewer bytes than they announce."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.statuses: dict[str, list[int]] = {}
        self.broken: set[str] = set()
        self.asked: list[str] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.answer(self)

            def log_message(self, *arguments: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_address[1]}"
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05})
        self.thread.start()

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        path = handler.path.partition("?")[0]
        self.asked.append(path)
        planned = self.statuses.get(path)
        if planned:
            handler.send_error(planned.pop(0))
            return
        data = self.files.get(path)
        if data is None:
            handler.send_error(404)
            return
        handler.send_response(200)
        handler.send_header("Content-Type", "text/html" if path.endswith("/") else "application/octet-stream")
        handler.send_header("Content-Length", str(len(data)))
        handler.end_headers()
        handler.wfile.write(data[: len(data) // 2] if path in self.broken else data)

    def close(self) -> None:
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


@pytest.fixture
def server() -> Iterator[LocalServer]:
    local = LocalServer()
    yield local
    local.close()


class LocalIndex:
    """A package index in the simple form, on a local server."""

    def __init__(self, server: LocalServer, marks: Path) -> None:
        self.server = server
        self.marks = marks
        self.links: dict[str, list[str]] = {}

    def add(self, project: str, name: str, data: bytes) -> str:
        """Publish a file; its digest."""
        self.server.files[f"/files/{name}"] = data
        self.links.setdefault(project, []).append(f'<a href="../../files/{name}">{name}</a>')
        self.server.files[f"/simple/{project}/"] = "\n".join(self.links[project]).encode()
        return hashlib.sha256(data).hexdigest()

    def add_sources(self, project: str, version: str) -> str:
        """Publish a source release that leaves a mark if anyone runs its build."""
        marker = f"open({str(self.marks / project)!r}, 'w').close()\nfrom setuptools import setup\nsetup()\n".encode()
        data = io.BytesIO()
        with tarfile.open(fileobj=data, mode="w:gz") as tar:
            for name, content in (("setup.py", marker), ("tests/test_it.py", b"assert True\n")):
                member = tarfile.TarInfo(f"{project}-{version}/{name}")
                member.size = len(content)
                tar.addfile(member, io.BytesIO(content))
        return self.add(project, f"{project}-{version}.tar.gz", data.getvalue())

    def add_wheel(self, project: str, version: str, requires: str = "", tag: str = "py3-none-any") -> str:
        """Publish a wheel."""
        info = f"{project}-{version}.dist-info"
        needs = f"Requires-Dist: {requires}\n" if requires else ""
        data = io.BytesIO()
        with zipfile.ZipFile(data, "w") as wheel:
            wheel.writestr(f"{project}.py", f"version = {version!r}\n")
            wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {project}\nVersion: {version}\n{needs}")
            wheel.writestr(f"{info}/WHEEL", f"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: {tag}\n")
            wheel.writestr(f"{info}/RECORD", "")
        return self.add(project, f"{project}-{version}-{tag}.whl", data.getvalue())


@pytest.fixture
def index(server: LocalServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LocalIndex:
    """A package index that pip is told to use, and nothing else."""
    for name in [name for name in os.environ if name.upper().startswith("PIP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_INDEX_URL", f"{server.address}/simple/")
    monkeypatch.setenv("PIP_NO_CACHE_DIR", "1")
    monkeypatch.setenv("PIP_RETRIES", "0")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    marks = tmp_path / "marks"
    marks.mkdir()
    return LocalIndex(server, marks)


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], Path]:
    """Puts a shell program of a name first on the PATH; its calls are lines of the returned file."""
    directory = tmp_path / "programs"
    directory.mkdir()
    monkeypatch.setenv("PATH", f"{directory}:{os.environ['PATH']}")

    def put(name: str, text: str) -> Path:
        calls = tmp_path / f"{name}.calls"
        path = directory / name
        path.write_text(f'#!/bin/sh\necho "$*" >> {calls}\n{text}\n')
        path.chmod(0o755)
        return calls

    return put


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tries follow each other at once."""
    monkeypatch.setattr(package_clients, "PAUSES_SECONDS", (0.0, 0.0))
