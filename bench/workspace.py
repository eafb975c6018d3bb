"""A fresh workspace over a warm layer against a plain copy of the tree, for few files and for many."""

from __future__ import annotations

import itertools
import statistics
import subprocess
from pathlib import Path

from bench.measure import Row, milliseconds, ratio, seconds
from proctor.execute.sandbox.bubblewrap.backend import BubblewrapBackend
from proctor.execute.sandbox.interface import Limits, SandboxPlan
from proctor.execute.workspace.layer_store import LayerStore
from proctor.execute.workspace.workspace import Workspace

MANY = 20_000
FEW = 2_000
BAR_SECONDS = 0.020
FLAT = 1.5
SLACK_SECONDS = 0.001


def build(files: int) -> object:
    """Something that fills a layer with ``files`` small files, a hundred to a directory."""

    def fill(place: Path) -> dict[str, str]:
        for number in range(files):
            path = place / "workspace" / f"package{number // 100:03d}" / f"module{number % 100:02d}.py"
            if number % 100 == 0:
                path.parent.mkdir(parents=True)
            path.write_text(f"value = {number}\n")
        (place / "setup").mkdir(exist_ok=True)
        return {}

    return fill


def materialise(directory: Path, files: int, times: int) -> tuple[float, Path]:
    """The median time from a key to a workspace, and where the layer lies."""
    store = LayerStore(directory / "layers")
    key = f"{files:064x}"
    layer = store.make(key, build(files))  # type: ignore[arg-type]
    numbers = itertools.count()

    def once() -> None:
        found = LayerStore(directory / "layers").get(key)
        assert found is not None
        scratch = directory / f"scratch-{files}-{next(numbers)}"
        scratch.mkdir()
        Workspace.create((found,), scratch, overlays=True, application=None).view()

    once()
    return statistics.median(seconds(once) for _ in range(times)), layer.path


def mounted(directory: Path, files: int, times: int) -> float:
    """The median time to open and close a sandbox over such a workspace."""
    sessions = directory / "sessions"
    sessions.mkdir(exist_ok=True)
    backend = BubblewrapBackend(sessions)
    layer = LayerStore(directory / "layers").get(f"{files:064x}")
    assert layer is not None
    taken: list[float] = []
    for number in range(times):
        scratch = directory / f"mounted-{files}-{number}"
        scratch.mkdir()
        workspace = Workspace.create((layer,), scratch, overlays=backend.overlays(), application=None)
        plan = SandboxPlan(workspace=workspace.view(), limits=Limits())
        taken.append(seconds(lambda: backend.open(plan).close()))  # noqa: B023
    return statistics.median(taken)


def measure(directory: Path, *, quick: bool) -> list[Row]:
    times = 5 if quick else 31
    directory.chmod(0o755)
    few, _ = materialise(directory, FEW, times)
    many, layer = materialise(directory, MANY, times)
    copied = seconds(lambda: subprocess.run(["cp", "-a", layer, directory / "copy"], check=True))
    return [
        Row(
            f"workspace of {MANY:,} files",
            milliseconds(many),
            milliseconds(copied),
            ratio(many, copied),
            f"<= {milliseconds(BAR_SECONDS)}",
            many <= BAR_SECONDS,
        ),
        Row(
            f"{MANY:,} files against {FEW:,}",
            milliseconds(many),
            milliseconds(few),
            ratio(many, few),
            f"<= {FLAT:g} x + {milliseconds(SLACK_SECONDS)}",
            many <= FLAT * few + SLACK_SECONDS,
        ),
        Row(
            "the same, mounted in a sandbox",
            milliseconds(mounted(directory, MANY, times)),
            milliseconds(mounted(directory, FEW, times)),
            "",
            "",
            None,
        ),
    ]
