"""What the guard tells when it is asked about every open: other processes and files of the workspace."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.execute.sandbox.guarded import Seen, guarded
from tests.execute.sandbox.workplace import ORDINARY, as_ordinary_user, open_directory, python, shell


@pytest.fixture(scope="module")
def curious() -> Iterator[Seen]:
    with open_directory() as top, guarded(top, reads=True) as seen:
        assert seen.box is not None
        shell(seen.box, "echo text > /workspace/file")
        yield seen


@pytest.mark.parametrize("name", ["mem", "environ", "maps", "root/etc/passwd", "cwd/x", "fd/3"])
def test_a_look_into_pid_1_is_told(curious: Seen, name: str) -> None:
    curious.clear()
    assert curious.box is not None
    assert shell(curious.box, f"cat /proc/1/{name}").exit_code != 0
    (told,) = curious.attempts("proc-access")
    assert (told.path, told.allowed, told.argv) == (f"/proc/1/{name}", False, ("cat", f"/proc/1/{name}"))


def test_a_look_into_another_process_is_told_and_one_at_oneself_is_not(curious: Seen) -> None:
    curious.clear()
    assert curious.box is not None
    text = "sleep 100 & cat /proc/$!/environ >/dev/null; kill $!; cat /proc/self/environ /proc/self/maps >/dev/null"
    assert shell(curious.box, text).exit_code == 0
    (told,) = curious.attempts("proc-access")
    assert told.path.endswith("/environ") and told.allowed


def test_looking_at_the_list_of_processes_is_no_attempt(curious: Seen) -> None:
    curious.clear()
    assert curious.box is not None
    assert (
        shell(
            curious.box, "pgrep -c . >/dev/null; cat /proc/1/cmdline /proc/1/stat /proc/1/status >/dev/null"
        ).exit_code
        == 0
    )
    assert curious.kind("attempt") == []


def test_files_of_the_workspace_that_are_read_are_told_once_with_a_count(curious: Seen) -> None:
    curious.clear()
    assert curious.box is not None
    python(curious.box, "import os\nfor _ in range(50): os.close(os.open('/workspace/file', os.O_RDONLY))")
    told = curious.kind("read")
    assert {one.path for one in told} == {"/workspace/file"} and sum(one.count for one in told) == 50
    assert len(told) < 10 and {one.pid for one in told} == {curious.kind("exec")[0].pid}


def test_without_being_asked_no_read_is_told() -> None:
    with open_directory() as top, guarded(top) as seen:
        assert seen.box is not None
        shell(seen.box, "echo x > /workspace/f; cat /workspace/f; cat /proc/1/environ")
        assert seen.kind("read") == [] and seen.kind("attempt") == []


def test_an_ordinary_user_sees_reads_as_well() -> None:
    with open_directory() as top:
        os.chown(top, ORDINARY, ORDINARY)

        def inside() -> None:
            with guarded(top, reads=True) as seen:
                assert seen.box is not None
                shell(seen.box, "echo s > /tmp/f; echo t > /workspace/f; cat /tmp/f f /proc/1/environ")
                assert [one.path for one in seen.kind("read")] == ["/workspace/f"]
                assert [one.path for one in seen.attempts("proc-access")] == ["/proc/1/environ"]

        as_ordinary_user(inside)
