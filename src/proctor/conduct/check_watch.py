"""Samples of what checks use while the judge runs them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

from proctor.conduct.machine import Machine
from proctor.contract.model import Contract
from proctor.execute.observe.resources import Alert, Sample, Sampler, ceilings_of
from proctor.execute.observe.watching import Watching
from proctor.execute.sandbox.interface import Sandbox
from proctor.execute.workspace.workspace import Workspace
from proctor.record.trace.log import TraceWriter


def check_watch(
    machine: Machine, contract: Contract, trace: TraceWriter
) -> Callable[[Sandbox, Workspace], AbstractContextManager[None]]:
    """What the judge puts around each check: samples go into ``trace``."""

    @contextmanager
    def over(sandbox: Sandbox, workspace: Workspace) -> Iterator[None]:
        sampler = Sampler(sandbox, workspace, machine.clock, ceilings_of(contract.budget))

        def sampled(sample: Sample, alerts: tuple[Alert, ...]) -> None:
            trace.append("monitor.sample", sample.payload("acceptance"))

        with Watching(sampler, sampled):
            yield
        if sandbox.guard is not None:
            sandbox.guard.settle()

    return over
