"""Setup steps that run again after the patch, as dependency upgrades need.

They run once, offline, on the patched tree; what they leave becomes a layer above the base that every attempt starts
from. A step that fails blocks the checks: the same step succeeded on the base. A step that a signal ended is repeated
before it counts. If the machine is too loaded or has no memory left, a failed step is a fault of the harness. Code of
the patch runs in these steps and can write to ``/setup``; steering files that it leaves in the tree are restored like
those of the patch, products that setup leaves by nature (installed packages, byte code) are not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from proctor.base.clock import seconds_text
from proctor.base.errors import InfrastructureFault
from proctor.base.untrusted_directories import erase
from proctor.contract.model import Policy, SetupStep
from proctor.execute.inputs.input_files import inputs_directory
from proctor.execute.prepare import run_setup_step, setup_plan, step_problem
from proctor.execute.sandbox.interface import CommandLost, Sandbox
from proctor.execute.workspace.layer_store import Layer
from proctor.execute.workspace.patch import Application
from proctor.execute.workspace.path_patterns import matches
from proctor.execute.workspace.workspace import Workspace
from proctor.judge.checks.check_decision import killed_by
from proctor.judge.checks.judge_context import JudgeContext
from proctor.judge.patch_policy.paths_of_tests import is_product, steers
from proctor.judge.patch_policy.tree_overlay import TreeOverlay


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

    def steering(self, patched: tuple[bytes, ...], policy: Policy) -> TreeOverlay:
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
        return TreeOverlay(tuple(writes), tuple(removals))

    def discard(self) -> None:
        """Remove the layer."""
        if self._workspace is not None:
            self._workspace.discard()
            erase(self._place)


def repeat_setup(bench: JudgeContext, placement: TreeOverlay) -> Repeated:
    """Run the steps that are declared to run after the patch.

    Steps that the machine may have disturbed are repeated once from the start, in a fresh sandbox.
    """
    contract = bench.prepared.contract
    steps = [(index, step) for index, step in enumerate(contract.setup) if step.repeat == "after_patch"]
    if not steps:
        return Repeated()
    try:
        return _repeat(bench, placement, steps)
    except _Disturbed:
        return _repeat(bench, placement, steps, last=True)


class _Disturbed(Exception):
    """The machine may have caused the way in which a step ended."""


def _repeat(
    bench: JudgeContext, placement: TreeOverlay, steps: Sequence[tuple[int, SetupStep]], *, last: bool = False
) -> Repeated:
    overlays = bench.backend.overlays()
    application = Application(placement.writes(), placement.removals())
    place = bench.scratch / f"repeat-{bench.entropy(4).hex()}"
    workspace = Workspace.create(bench.prepared.layers, place / "tree", overlays=overlays, application=application)
    done: list[Mapping[str, Any]] = []
    try:
        contract = bench.prepared.contract
        shown = inputs_directory(contract, bench.prepared.inputs, place / "inputs")
        with bench.backend.open(setup_plan(contract, workspace, shown)) as sandbox:
            for index, step in steps:
                problem = _step(bench, sandbox, index, step, done, last=last)
                if problem:
                    problem = f"setup step {index + 1} after the patch {problem}"
                    return Repeated(workspace, (), tuple(done), problem, place)
    except BaseException:
        workspace.discard()
        erase(place)
        raise
    layer = Layer(workspace.upper, "after-patch", "", "", {})
    return Repeated(workspace, (layer, *bench.prepared.layers) if overlays else (layer,), tuple(done), "", place)


def _step(
    bench: JudgeContext, sandbox: Sandbox, index: int, step: SetupStep, done: list[Mapping[str, Any]], *, last: bool
) -> str:
    """Run one step and record it; returns why it failed. A second disturbance by the machine is a fault."""
    with bench.slot() as waited_ns:
        try:
            finished = run_setup_step(sandbox, step, bench.prepared.contract, bench.prepared.environment)
        except CommandLost as lost:
            finished = lost.finished
    problem = step_problem(step, finished)
    machine = "the machine was too loaded" if finished.starved(step.timeout_seconds) else ""
    if problem and sandbox.usage().machine_oom_kills:
        machine = "the machine had no memory left"
    disturbed = bool(machine or (problem and not finished.timed_out and killed_by(finished.exit_code)))
    record = {
        "index": index,
        "command": list(step.run),
        "cached": False,
        "after_patch": True,
        "exit_code": finished.exit_code,
        "wall_seconds": seconds_text(finished.wall_ns),
        "waited_seconds": seconds_text(waited_ns),
        "stalled_seconds": seconds_text(finished.stalled_ns),
        "set_aside": disturbed and not last,
    }
    bench.trace.append("setup.step", record)
    done.append(record)
    if disturbed and not last:
        raise _Disturbed
    if machine:
        raise InfrastructureFault(f"setup step {index + 1} after the patch {problem}: {machine}")
    return problem
