"""The guard sees in a container what it sees in any sandbox, with Docker and with podman, and fails closed."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from proctor.base.errors import MissingIsolation
from proctor.execute.sandbox.container.backend import ContainerBackend
from proctor.execute.sandbox.guard_observations import GuardPlan
from proctor.execute.sandbox.interface import Limits, SandboxPlan, Tree
from tests.execute.sandbox import test_guard_observations as sights
from tests.execute.sandbox.container.conftest import MakeBackend
from tests.execute.sandbox.guarded import Seen, guarded
from tests.execute.sandbox.test_guard_life import check_held_writes, check_killed_guard, live
from tests.execute.sandbox.test_guard_unreadable import make_calls
from tests.execute.sandbox.workplace import ORDINARY, as_ordinary_user, layer, open_directory

pytestmark = pytest.mark.container

ALIKE: tuple[Callable[[Seen], None], ...] = (
    sights.test_programs_are_told_with_their_arguments_parents_and_ends,
    sights.test_a_program_that_is_not_there_has_not_started_and_is_told,
    sights.test_programs_by_descriptor_and_from_memory_are_told,
    sights.test_a_way_up_from_deep_below_is_told,
    sights.test_arguments_without_end_are_cut,
    sights.test_odd_names_stay_readable,
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


@pytest.mark.parametrize("sight", ALIKE, ids=lambda sight: sight.__name__.removeprefix("test_"))
def test_sight(shared: Seen, sight: Callable[[Seen], None]) -> None:
    sight(shared)


@pytest.mark.parametrize("seed", range(5))
def test_every_watched_call_with_hard_pointers_is_told(shared: Seen, seed: int) -> None:
    make_calls(shared, seed, count=1000)


@pytest.mark.parametrize("check", [check_held_writes, check_killed_guard], ids=lambda check: check.__name__)
def test_life(check: Callable[..., None], make_backend: MakeBackend, top: Path) -> None:
    check(top, make_backend(top))


def test_the_guard_has_one_privilege_and_no_other(shared: Seen) -> None:
    status = Path(f"/proc/{live(shared).pid}/status").read_text()
    fields = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    look = f"{1 << 19:016x}"
    assert (fields["CapEff"], fields["CapPrm"], fields["CapInh"], fields["CapAmb"]) == (look, look, "0" * 16, "0" * 16)
    assert (fields["NoNewPrivs"], fields["Seccomp"]) == ("1", "2") and set(fields["Uid"].split()) == {"64113"}


def test_an_ordinary_user_cannot_watch_a_container(make_backend: MakeBackend, top: Path) -> None:
    def work() -> None:
        plan = SandboxPlan(Tree(layer(top / "tree")), Limits(), guard=GuardPlan())
        with pytest.raises(MissingIsolation, match="only root can watch an agent in a container"):
            make_backend(top).open(plan)

    os.chown(top, ORDINARY, ORDINARY)
    as_ordinary_user(work)
