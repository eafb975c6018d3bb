"""Engines and an image for the tests of containers: each engine is started once for a whole test run, in its own place.

With several workers the first one that needs an engine starts it and the others use it; it belongs to the process that
runs the workers and ends with it. The image is built once and kept, so that later runs only load it.
"""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from proctor.execute.sandbox.container import debian_image_build, images
from proctor.execute.sandbox.container.engine import Engine

PROJECT = Path(__file__).resolve().parents[4]
KEPT = Path("/var/cache/proctor-test")
PACKAGES = ("python3",)
KINDS = ("docker", "podman")
START_SECONDS = 600


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """One process at a time."""
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def image_archive() -> Path:
    """The archive of the test image, built when there is none yet."""
    KEPT.mkdir(parents=True, exist_ok=True)
    archive = KEPT / f"{debian_image_build.machine_suite()}-{'-'.join(PACKAGES)}.tar"
    with locked(KEPT / "lock"):
        if not archive.exists():
            debian_image_build.build("proctor-test", PACKAGES, archive)
    return archive


def running_engine(kind: str, shared: Path) -> str:
    """The socket of the engine ``kind`` that has the test image; ``shared`` is a directory that all workers see."""
    owner = os.getppid() if os.environ.get("PYTEST_XDIST_WORKER") else os.getpid()
    note = shared / f"engine-{kind}-{owner}"
    with locked(shared / f"engine-{kind}-{owner}.lock"):
        if note.exists():
            return note.read_text()
        archive = image_archive()
        directory = Path(tempfile.mkdtemp(prefix=f"pt-{kind[0]}-"))
        completed = subprocess.run(
            [sys.executable, PROJECT / "tools/engine", "start", kind, directory, "--owner", str(owner)],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=START_SECONDS,
        )
        assert completed.returncode == 0, completed.stderr
        path = completed.stdout.strip().removeprefix("DOCKER_HOST=unix://")
        images.load(Engine(path), archive)
        note.write_text(path)
        return path


def layers(path: str) -> tuple[str, ...]:
    """The digests of the test image."""
    return images.inspect(Engine(path), "proctor-test").layers
