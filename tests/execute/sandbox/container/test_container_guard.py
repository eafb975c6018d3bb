"""The guard sees in a container what it sees in any sandbox, with Docker and with podman, and fails closed."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from proctor.base.errors import InfrastructureFault, MissingIsolation
from proctor.execute.sandbox.container.backend import ContainerBackend
from proctor.execute.sandbox.guard import GuardPlan
from proctor.execute.sandbox.interface import Finished, Limits, SandboxPlan, Tree
from proctor.execute.sandbox.sessions import start_time
from tests.execute.sandbox import test_guard as sights
from tests.execute.sandbox.conformance import wait_until
from tests.execute.sandbox.container.conftest import MakeBackend
from tests.execute.sandbox.guarded import Seen, guarded
from tests.execute.sandbox.test_guard_life import WAIT, beside, live
from tests.execute.sandbox.workplace import ORDINARY, as_ordinary_user, layer, open_directory, shell

pytestmark = pytest.mark.container

OWNED_BY_ROOT = {"attempt(lambda: open('/root/.ssh/keys', 'w'))", "attempt(lambda: os.truncate('/etc/passwd', 0))"}
"""What the kernel refuses for the owner's sake before it looks at the mount; the telling is the same."""

ALIKE: tuple[Callable[[Seen], None], ...] = (
    sights.test_a_name_in_a_batch_over_a_connected_socket_is_told,
    sights.test_programs_are_told_with_their_arguments_parents_and_ends,
    sights.test_a_program_that_is_not_there_has_not_started,
    sights.test_programs_by_descriptor_and_from_memory_are_told,
    sights.test_a_way_up_from_deep_below_is_told,
    sights.test_arguments_without_end_are_cut,
    sights.test_odd_names_stay_readable,
    sights.test_calls_of_another_architecture_are_told,
    sights.test_settling_tells_everything_that_has_happened,
    sights.test_what_honest_programs_do_is_no_attempt,
)


@pytest.fixture(scope="module")
def shared(engine: str, image: tuple[str, ...]) -> Iterator[Seen]:
    with open_directory() as top, guarded(top, backend=ContainerBackend(top / "sessions", engine, image)) as seen:
        yield seen


@pytest.fixture
def top() -> Iterator[Path]:
    with open_directory() as path:
        yield path


ATTEMPTS = sights.ATTEMPTS


@pytest.mark.parametrize(("program", "answer", "code", "wanted"), ATTEMPTS, ids=[one[0] for one in ATTEMPTS])
def test_an_attempt_is_told(shared: Seen, program: str, answer: str, code: str, wanted: dict[str, Any]) -> None:
    shared.clear()
    sights.check_attempt(shared, program, "EACCES" if program in OWNED_BY_ROOT else answer, code, wanted)


@pytest.mark.parametrize("sight", ALIKE, ids=lambda sight: sight.__name__.removeprefix("test_"))
def test_sight(shared: Seen, sight: Callable[[Seen], None]) -> None:
    sight(shared)


def test_a_held_write_can_be_frozen_thawed_released_and_ended(make_backend: MakeBackend, top: Path) -> None:
    with guarded(top, backend=make_backend(top), hold_writes=True) as seen:
        assert seen.box is not None
        results: list[Finished] = []
        worker = beside(seen, "echo x > /workspace/first", results)
        (held,) = seen.wait_for("held")
        assert held.path == "/workspace/first"
        seen.box.freeze()
        seen.box.thaw()
        assert not results and not (top / "box/upper/workspace/first").exists()
        live(seen).release_writes()
        worker.join(WAIT)
        assert results[0].exit_code == 0 and (top / "box/upper/workspace/first").exists()
        live(seen).hold_writes()
        worker = beside(seen, "echo x > /workspace/never", results)
        seen.wait_for("held", 2)
        seen.box.freeze()
        seen.box.end_all()
        seen.box.thaw()
        worker.join(WAIT)
        assert results[1].exit_code == -signal.SIGKILL
        assert not (top / "box/upper/workspace/never").exists()


def test_a_killed_guard_ends_the_container(make_backend: MakeBackend, top: Path) -> None:
    with guarded(top, backend=make_backend(top)) as seen:
        assert seen.box is not None
        box, init = seen.box, seen.box.init_pid
        faults: list[str] = []

        def run() -> None:
            try:
                shell(box, "touch /tmp/started; sleep 1000")
            except InfrastructureFault as fault:
                faults.append(fault.message)

        worker = threading.Thread(target=run)
        worker.start()
        seen.wait_for("exec", 3)
        os.kill(live(seen).pid, signal.SIGKILL)
        worker.join(WAIT)
        assert faults == ["the guard of the sandbox ended, and the sandbox with it"]
        wait_until(lambda: start_time(init) == "")
    assert os.listdir(top / "sessions") == []


def test_the_guard_has_one_privilege_and_no_other(shared: Seen) -> None:
    status = Path(f"/proc/{live(shared).pid}/status").read_text()
    fields = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    look = f"{1 << 19:016x}"
    assert (fields["CapEff"], fields["CapPrm"], fields["CapInh"], fields["CapAmb"]) == (look, look, "0" * 16, "0" * 16)
    assert (fields["NoNewPrivs"], fields["Seccomp"]) == ("1", "2") and set(fields["Uid"].split()) == {"64113"}


def test_an_ordinary_user_cannot_watch_a_container(make_backend: MakeBackend, top: Path) -> None:
    def work() -> None:
        plan = SandboxPlan(Tree(layer(top / "tree")), Limits(), guard=GuardPlan())
        with pytest.raises(MissingIsolation, match="only root can watch a container"):
            make_backend(top).open(plan)

    os.chown(top, ORDINARY, ORDINARY)
    as_ordinary_user(work)
