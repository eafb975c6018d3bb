"""A workspace becomes writable and read-only under live processes, whatever they hold."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from proctor.base.errors import InfrastructureFault
from proctor.execute.sandbox.container.backend import ContainerBackend
from proctor.execute.sandbox.interface import CommandResult
from tests.execute.monitor.sensors.scene import both_users, scene, until
from tests.execute.sandbox.workplace import python, shell


@pytest.mark.parametrize("overlays", [True, False])
def test_the_mount_decides_who_may_write(overlays: bool) -> None:
    def go() -> None:
        with scene(overlays=overlays) as at:
            assert at.box.set_workspace_writable(False)
            refused = shell(at.box, "echo no > f; mkdir d; rm a.txt; mv a.txt b.txt; chmod 700 a.txt; ls; cat a.txt")
            assert refused.stdout.prefix == b"a.txt\ndir\ngone\nlink\ntool.sh\none\ntwo\nthree\n"
            assert refused.stderr.prefix.count(b"Read-only file system") == 5
            assert shell(at.box, "echo yes > /tmp/f && cat /tmp/f").stdout.prefix == b"yes\n"
            assert at.box.set_workspace_writable(True)
            assert shell(at.box, "echo yes > f; cat f").stdout.prefix == b"yes\n"
            assert at.box.set_workspace_writable(True), "a second time changes nothing"

    both_users(go)


def check_held_descriptor(contained: Callable[[Path], ContainerBackend] | None = None) -> None:
    """The workspace stays writable while a file of it is open for writing."""
    with scene(contained=contained) as at:
        ended: list[CommandResult] = []
        text = "import time\nf = open('held', 'w')\nwhile open('go').read() != 'on': time.sleep(0.02)"
        shell(at.box, "echo wait > go")
        writer = threading.Thread(target=lambda: ended.append(python(at.box, text, 60)))
        writer.start()
        until(lambda: (at.workspace.upper / "workspace" / "held").exists())
        assert not at.box.set_workspace_writable(False)
        assert shell(at.box, "printf on > go && echo written").stdout.prefix == b"written\n", "nothing changed"
        writer.join()
        assert ended[0].exit_code == 0
        assert at.box.set_workspace_writable(False)
        assert shell(at.box, "echo x >> held").exit_code != 0


def test_a_descriptor_held_across_a_downgrade_keeps_it_from_happening() -> None:
    both_users(check_held_descriptor)


def test_a_sandbox_that_is_gone_is_a_fault() -> None:
    with scene() as at:
        at.box.close()
        with pytest.raises(InfrastructureFault, match="closed"):
            at.box.set_workspace_writable(True)
