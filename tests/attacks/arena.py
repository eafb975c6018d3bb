"""Where attacks run: a sandbox with a guard at its default detail, on a host that has something to lose."""

from __future__ import annotations

import os
import socket
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from proctor.base.clock import system_entropy
from proctor.execute.monitor.sensors.canary_files import CanaryRead, CanaryWatch, can_watch_files, make_canaries
from proctor.execute.sandbox.guard_observations import GuardPlan, Observation
from proctor.execute.sandbox.interface import Limits, Sandbox, SandboxPlan
from tests.attacks.attack import MARK, PRELUDE, SECRET, Attack
from tests.execute.sandbox.conformance import wait_until
from tests.execute.sandbox.guarded import Seen
from tests.execute.sandbox.workplace import PYTHON, layer, overlay, python, shell

MakeBackend = Callable[[Path], Any]

HOST = "/var/tmp"
"""Where the host's secret lies: at no place that sandboxes have for writing."""
LIMITS = Limits(memory_bytes=1 << 30)


@dataclass(frozen=True)
class Result:
    """What came of one attack."""

    attack: Attack
    contained: bool
    recorded: bool
    evidence: str

    def __str__(self) -> str:
        return f"{self.attack.name}: contained {self.contained}, recorded {self.recorded}; {self.evidence}"


class Arena:
    """A live sandbox, its guard's records, and what stands for the host in programs."""

    def __init__(self, box: Sandbox, seen: Seen, canaries: CanaryWatch | None, names: dict[str, str]) -> None:
        self._box = box
        self._seen = seen
        self._canaries = canaries
        self._names = names

    def run(self, attack: Attack) -> Result:
        """Let ``attack`` happen, and see what held and what was told."""
        attack = replace(attack, told={name: self._filled(value) for name, value in attack.told.items()})
        self._seen.clear()
        guard = self._box.guard
        assert guard is not None
        if attack.held:
            guard.hold_writes()
        finished = python(self._box, PRELUDE + self._filled(attack.program))
        if attack.held:
            guard.release_writes()
        said = finished.stdout.prefix.decode("utf-8", "replace").strip()
        if self._canaries is not None:
            self._canaries.settle()
        guard.settle()
        told = list(self._seen.all)
        held = finished.exit_code == -attack.dies_of and (said in (attack.answers or ("",)) or "*" in attack.answers)
        evidence = f"said {said!r}, {finished.stderr.prefix[-500:]!r}; told {[one for one in told if one.code]}"
        recorded = any(attack.agrees(one) and _names_its_process(one) for one in told)
        return Result(attack, held and self._unharmed(), recorded, evidence)

    def _filled(self, value: Any) -> Any:
        for name, text in self._names.items():
            value = value.replace("{" + name + "}", text) if isinstance(value, str) else value
        return value

    def _unharmed(self) -> bool:
        """The host has what it had, and pid 1 still does its work."""
        kept = Path(self._names["secret"]).read_text() == SECRET
        return kept and shell(self._box, "echo alive").stdout.prefix == b"alive\n"


@contextmanager
def arena(top: Path, make_backend: MakeBackend, **guard: Any) -> Iterator[Arena]:
    """An arena below ``top``; ``guard`` adds to the guard's default plan. Nothing is left of it afterwards."""
    seen = Seen()
    with ExitStack() as stack:
        secret = Path(stack.enter_context(tempfile.NamedTemporaryFile("w", dir=HOST)).name)
        secret.write_text(SECRET)
        secret.chmod(0o666)
        leaked = os.open(secret, os.O_RDWR)
        stack.callback(os.close, leaked)
        os.set_inheritable(leaked, True)
        listener = stack.enter_context(socket.socket(socket.AF_UNIX))
        listener.bind(f"\0proctor-attack-{os.getpid()}")
        listener.listen()
        planted, by_kernel = make_canaries(system_entropy).files, can_watch_files()
        plan = SandboxPlan(
            overlay(top / "box", layer(top / "base")),
            LIMITS,
            files=planted,
            guard=GuardPlan(**{"notify": seen.tell, "secrets": () if by_kernel else tuple(planted), **guard}),
        )
        box = stack.enter_context(make_backend(top).open(plan))
        seen.box = box
        watch = CanaryWatch(planted, box.init_pid, lambda read: seen.tell(_observation(read))) if by_kernel else None
        if watch is not None:
            stack.enter_context(watch)
        names = {"secret": str(secret), "abstract": listener.getsockname()[1:].decode(), "canary": next(iter(planted))}
        yield Arena(box, seen, watch, names)
    wait_until(lambda: not _left_behind())


def _names_its_process(one: Observation) -> bool:
    """Whether an attempt says which program made it; of a canary it may not be known. An absent program has its own
    arguments."""
    if one.kind != "attempt" or one.code in ("read-canary", "absent-program"):
        return True
    return one.argv[:2] == (PYTHON, "-I") and one.pid > 1


def _observation(read: CanaryRead) -> Observation:
    """A read of a canary as the trace tells it."""
    payload = read.payload()
    return Observation(
        "attempt", read.time_ns, code=payload["code"], path=read.path, pid=read.pid, detail=payload["detail"]
    )


def _left_behind() -> list[str]:
    """Processes on this machine that an attack started."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if MARK.encode() in (entry / "cmdline").read_bytes().split(b"\0"):
                    found.append(entry.name)
            except OSError:
                continue
    return found
