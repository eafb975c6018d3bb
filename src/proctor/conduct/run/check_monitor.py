"""Watch checks while the judge runs them: their resource use, and observations for the contract's baseline.

Samples of what each check uses go into the trace of every run. ``proctor validate`` also puts a guard over the checks
of its runs, which look up names where agents do. What the project's own programs try there (a test that looks up a
name, a tool that writes outside the tree) is in the traces of those runs. Its keys are stored in the home under the
content id of the contract: the baseline, which never counts against an agent. A later run of the same contract takes
the keys into its manifest before anything acts, so that its grades follow from its own directory.

The checks of an agent's run do not add to the baseline: the agent's patch runs in them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from proctor.base.canonical import canonical, parse
from proctor.base.files import write_whole
from proctor.conduct.machine_setup import Machine
from proctor.contract.model import Contract
from proctor.execute.monitor.breakers.policy_violations import forbidden_form, observe
from proctor.execute.monitor.sensors.resource_sampling import Alert, Sample, Sampler, SamplingThread, ceilings_of
from proctor.execute.monitor.text_rules.text_scan import hit_payload, scan_patch
from proctor.execute.proctor_home import Home
from proctor.execute.sandbox.guard_observations import GuardPlan, Observation
from proctor.execute.sandbox.interface import Sandbox
from proctor.execute.workspace.workspace import Workspace
from proctor.record.run_directory import RunDirectory
from proctor.record.trace.event import Event
from proctor.record.trace.reader import read_finished_events
from proctor.record.trace.writer import TraceWriter

Key = tuple[str, str, str]

MOST_KEYS = 2000
"""The most that one run adds to a baseline, and that a baseline holds; what is beyond it counts against agents."""

_ID = re.compile(r"(?:sha256:)?[0-9a-f]{64}")


def rehearsal(contract: Contract, trace: TraceWriter, patch: bytes) -> GuardPlan:
    """The guard over the checks of a run that makes a baseline; observations about policy go into ``trace``."""
    policy = contract.policy
    for hit in scan_patch(patch.decode("utf-8", "replace"), off=policy.words.off).hits:
        trace.append("words.hit", hit_payload(hit))

    def notify(seen: Observation) -> None:
        forbidden = seen.kind == "exec" and forbidden_form(seen.argv, seen.path, policy.forbid_commands)
        if seen.kind == "attempt" or forbidden:
            trace.append(f"guard.{seen.kind}", {**seen.payload(), "phase": "acceptance"})

    return GuardPlan(notify=notify)


def keep_baseline(home: Home, content_id: str, run: RunDirectory, contract: Contract) -> None:
    """Store the keys of all observations about policy in a finished run of the no-op or the reference."""
    found = keys_of(read_finished_events(run.events)[0], contract)
    directory = _directory(home, content_id)
    directory.mkdir(parents=True, exist_ok=True)
    value = {"schema": 1, "kind": "proctor.baseline", "run": run.path.name, "keys": [list(key) for key in found]}
    write_whole(directory / f"{run.path.name}.json", canonical(value))


def keys_of(events: Iterable[Event], contract: Contract) -> tuple[Key, ...]:
    """The keys of the observations in ``events``, each once, in order."""
    policy = contract.policy
    observed = (observe(event, policy.forbid_commands, policy.forbid_syscalls) for event in events)
    found = dict.fromkeys(item.key for item in observed if item is not None)
    return tuple(sorted(found)[:MOST_KEYS])


def known_baseline(home: Home, content_id: str) -> tuple[frozenset[Key], tuple[str, ...]]:
    """What is known of a contract's baseline, and the runs that it comes from."""
    directory, keys, runs = _directory(home, content_id), set[Key](), []
    for path in sorted(directory.glob("*.json")) if directory.is_dir() else ():
        try:
            record = parse(path.read_bytes())
            found = {(str(code), str(program), str(subject)) for code, program, subject in record["keys"]}
        except (OSError, ValueError, KeyError, TypeError):
            continue
        if found and len(keys | found) <= MOST_KEYS:
            keys |= found
            runs.append(str(record["run"]))
    return frozenset(keys), tuple(runs)


def _directory(home: Home, content_id: str) -> Path:
    if not _ID.fullmatch(content_id):
        raise ValueError(f"not a content id: {content_id!r}")
    return home.baselines / content_id.removeprefix("sha256:")


def check_watch(
    machine: Machine, contract: Contract, trace: TraceWriter
) -> Callable[[Sandbox, Workspace], AbstractContextManager[None]]:
    """What the judge puts around each check: samples go into ``trace``."""

    @contextmanager
    def over(sandbox: Sandbox, workspace: Workspace) -> Iterator[None]:
        sampler = Sampler(sandbox, workspace, machine.clock, ceilings_of(contract.budget))

        def sampled(sample: Sample, alerts: tuple[Alert, ...]) -> None:
            trace.append("monitor.sample", sample.payload("acceptance"))

        with SamplingThread(sampler, sampled):
            yield
        if sandbox.guard is not None:
            sandbox.guard.settle()

    return over
