"""Staged mounts, checkpoints and the way back work in a container as in any sandbox."""

from __future__ import annotations

import pytest

from proctor.execute.monitor.checkpoints import roll_back, take
from proctor.execute.sandbox.guard_observations import GuardPlan
from proctor.execute.sandbox.interface import Limits, SandboxPlan
from tests.execute.monitor.sensors.scene import scene
from tests.execute.monitor.test_checkpoints import FIRST, SECOND, show
from tests.execute.sandbox.bubblewrap.test_remount import check_held_descriptor
from tests.execute.sandbox.container.conftest import MakeBackend
from tests.execute.sandbox.workplace import layer, open_directory, overlay, shell

pytestmark = pytest.mark.container


@pytest.mark.parametrize("overlays", [True, False])
def test_the_mount_decides_who_may_write(make_backend: MakeBackend, overlays: bool) -> None:
    with scene(contained=make_backend, overlays=overlays, guard=GuardPlan()) as at:
        assert at.box.set_workspace_writable(False)
        refused = shell(at.box, "echo no > f; mkdir d; rm a.txt; cat a.txt")
        assert refused.stderr.prefix.count(b"Read-only file system") == 3
        assert refused.stdout.prefix == b"one\ntwo\nthree\n"
        assert at.box.set_workspace_writable(True)
        assert shell(at.box, "echo yes > f; cat f").stdout.prefix == b"yes\n"


def test_a_workspace_that_began_read_only_becomes_writable(make_backend: MakeBackend) -> None:
    with open_directory() as top:
        plan = SandboxPlan(overlay(top / "box", layer(top / "base")), Limits(), workspace_writable=False)
        with make_backend(top).open(plan) as box:
            assert shell(box, "echo no > f").exit_code != 0
            assert box.set_workspace_writable(True)
            assert shell(box, "echo yes > f; cat f").stdout.prefix == b"yes\n"


def test_a_descriptor_held_across_a_downgrade_keeps_it_from_happening(make_backend: MakeBackend) -> None:
    check_held_descriptor(make_backend)


def test_a_rollback_brings_every_tree_back(make_backend: MakeBackend) -> None:
    with scene(contained=make_backend, guard=GuardPlan()) as at:
        assert shell(at.box, FIRST).exit_code == 0
        before = show(at.box)
        kept = take(at.workspace, at.box)
        for name, change in SECOND.items():
            shell(at.box, f"{change}; sleep 1000 & true")
            roll_back(at.workspace, kept, at.box)
            assert show(at.box) == before, name
            assert shell(at.box, "ls -d /proc/[0-9]* | wc -l").stdout.prefix in (b"3\n", b"4\n", b"5\n")
