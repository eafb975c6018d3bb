"""Setup steps that run again after the patch, as dependency upgrades need.

They run once, offline, on the patched tree; what they leave becomes a layer above the base that every attempt starts
from. A step that fails blocks the checks: the same step succeeded on the base. Code of the patch runs in these steps
and can write to ``/setup``; steering files that it leaves in the tree are restored like those of the patch, products
that setup leaves by nature (installed packages, byte code) are not.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from proctor.base.clock import seconds_text
from proctor.base.erase import erase
from proctor.contract.model import Policy
from proctor.execute.inputs.place import inputs_directory
from proctor.execute.prepare import run_setup_step, setup_plan, step_problem
from proctor.execute.workspace.glob import matches
from proctor.execute.workspace.patch import Application
from proctor.execute.workspace.store import Layer
from proctor.execute.workspace.workspace import Workspace
from proctor.judge.bench import Bench
from proctor.judge.placement import Placement
from proctor.judge.steering import is_product, steers


class Repeated:
    """What the repeated steps left: layers to start from, or nothing where the contract repeats none."""

    def __init__(
        self,
        workspace: Workspace | None = None,
        layers: tuple[Layer, ...] = (),
        steps: tuple[Mapping[str, Any], ...] = (),
        problem: str = "",
        place: Path = Path(),
    ) -> None:
        self._workspace = workspace
        self._place = place
        self.layers = layers
        self.steps = steps
        self.problem = problem

    def steering(self, patched: tuple[bytes, ...], policy: Policy) -> Placement:
        """What is now at the paths of the patch, and what setup left at others that may have to be restored."""
        assert self._workspace is not None
        mine = set(patched)
        writes, removals = [], []
        for change in self._workspace.changes().changes:
            path = change.path
            guarded = any(matches(path, pattern) for pattern in policy.protected)
            if not guarded and path not in mine and not (steers(path) and not is_product(path)):
                continue
            found = self._workspace.file(path)
            if found is None:
                removals.append(path)
            else:
                writes.append((path, *found))
        return Placement(tuple(writes), tuple(removals))

    def discard(self) -> None:
        """Take the layer away again."""
        if self._workspace is not None:
            self._workspace.discard()
            erase(self._place)


def repeat_setup(bench: Bench, placement: Placement) -> Repeated:
    """Run the steps that are declared to run after the patch."""
    contract = bench.prepared.contract
    steps = [(index, step) for index, step in enumerate(contract.setup) if step.repeat == "after_patch"]
    if not steps:
        return Repeated()
    overlays = bench.backend.overlays()
    application = Application(placement.writes(), placement.removals())
    place = bench.scratch / f"repeat-{bench.entropy(4).hex()}"
    workspace = Workspace.create(bench.prepared.layers, place / "tree", overlays=overlays, application=application)
    done: list[Mapping[str, Any]] = []
    try:
        shown = inputs_directory(contract, bench.prepared.inputs, place / "inputs")
        with bench.backend.open(setup_plan(contract, workspace, shown)) as sandbox:
            for index, step in steps:
                finished = run_setup_step(sandbox, step, contract, bench.prepared.environment)
                record = {
                    "index": index,
                    "command": list(step.run),
                    "cached": False,
                    "after_patch": True,
                    "exit_code": finished.exit_code,
                    "wall_seconds": seconds_text(finished.wall_ns),
                }
                bench.trace.append("setup.step", record)
                done.append(record)
                problem = step_problem(step, finished)
                if problem:
                    problem = f"setup step {index + 1} after the patch {problem}"
                    return Repeated(workspace, (), tuple(done), problem, place)
    except BaseException:
        workspace.discard()
        erase(place)
        raise
    layer = Layer(workspace.upper, "after-patch", "", "", {})
    return Repeated(workspace, (layer, *bench.prepared.layers) if overlays else (layer,), tuple(done), "", place)
