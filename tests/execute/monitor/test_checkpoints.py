"""Checkpoints and the way back: the next command sees exactly the tree of the checkpoint."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable

import pytest

from proctor.base.errors import InfrastructureFault
from proctor.execute.monitor.checkpoint_copy import SnapshotLimits
from proctor.execute.monitor.checkpoints import drop, roll_back, stand_still, take
from proctor.execute.monitor.sensors.file_mutations import Mutation, Mutations, chain_gaps, side
from proctor.execute.sandbox.bubblewrap.live_sandbox import LiveSandbox
from proctor.execute.sandbox.cgroup import Place
from proctor.execute.sandbox.guard_observations import GuardPlan, Observation
from proctor.execute.sandbox.interface import CommandResult, Limits, SandboxPlan
from tests.execute.monitor.sensors.scene import both_users, scene, until
from tests.execute.sandbox.workplace import python, shell

SHOW = r"""
import hashlib, os, stat
lines = []
for top, names, files in os.walk("/workspace"):
    for name in [".", *names, *files]:
        place = os.path.join(top, name)
        status = os.lstat(place)
        line = [place, oct(status.st_mode), str(status.st_mtime_ns), str(status.st_uid)]
        if stat.S_ISLNK(status.st_mode):
            line.append(os.readlink(place))
        elif stat.S_ISREG(status.st_mode):
            mode = stat.S_IMODE(status.st_mode)
            if not mode & 0o400: os.chmod(place, 0o400)
            line.append(hashlib.sha256(open(place, "rb").read()).hexdigest())
            if not mode & 0o400: os.chmod(place, mode)
        lines.append(" ".join(line))
print("\n".join(sorted(lines)))
"""

FIRST = """
echo kept > kept.txt; echo four >> a.txt; chmod 755 a.txt; rm gone/x; mkdir new; echo n > new/n; chmod 700 new
rm link; ln -s nowhere link; mkfifo pipe; mkdir -p .git/objects; echo o > .git/objects/o; mkdir empty
rm -r dir; mkdir dir; echo fresh > dir/fresh; touch -d '2001-02-03' kept.txt new
"""
SECOND = {
    "nothing": "true",
    "files": "echo changed > kept.txt; rm a.txt; echo extra > extra; chmod 600 new/n",
    "the same bytes at another time": "touch kept.txt a.txt new/n",
    "directories": "rm -r new; mkdir -p more/and/more; echo m > more/and/more/m; rmdir empty; mkdir -p gone/sub",
    "kinds": "rm kept.txt; mkdir kept.txt; rm -r new; echo f > new; rm link; mkdir link; rm pipe; echo p > pipe",
    "everything": "rm -rf ./* .git",
    "layers that show again": "rm -r dir; mkdir dir; echo other > dir/inner.txt; echo x > gone/x",
    "renames": "mv new newer; mv gone/y gone/z; mv .git g; mv tool.sh new.sh",
    "permissions": "chmod 0 new; chmod 0 kept.txt; chmod 500 gone; chmod 0700 .",
    "hard links": "ln kept.txt second; ln a.txt gone/third; echo more >> second",
}


def show(box: LiveSandbox) -> list[bytes]:
    finished = python(box, SHOW)
    assert finished.exit_code == 0, finished.stderr.prefix
    return finished.stdout.prefix.splitlines()


@pytest.mark.parametrize("overlays", [True, False])
@pytest.mark.parametrize("changes", sorted(SECOND))
def test_the_next_command_sees_the_tree_of_the_checkpoint(changes: str, overlays: bool) -> None:
    def go() -> None:
        with scene(overlays=overlays) as at:
            assert shell(at.box, FIRST).exit_code == 0
            before = show(at.box)
            checkpoint = take(at.workspace, at.box)
            assert show(at.box) == before
            shell(at.box, "cat kept.txt a.txt; ls -R; stat new gone dir kept.txt; cat dir/*")
            for _ in range(2):
                shell(at.box, SECOND[changes])
                shell(at.box, "cat kept.txt a.txt; ls -R; stat new gone dir kept.txt; cat dir/* > /dev/null 2>&1")
                changed = roll_back(at.workspace, checkpoint, at.box)
                assert show(at.box) == before
                assert changed > 0 or changes == "nothing"
            expected = at.workspace.changes()
            at.box.close()
            with at.backend.open(SandboxPlan(at.workspace.view(), Limits())) as again:
                assert show(again) == before
            assert at.workspace.changes() == expected

    both_users(go)


def test_closed_directories_come_back_closed() -> None:
    def go() -> None:
        with scene() as at:
            shell(at.box, "mkdir -p c/d; echo 1 > c/d/f; chmod 0 c/d; chmod 300 c; chmod 0 a.txt")
            checkpoint = take(at.workspace, at.box)
            text = "stat -c '%a' c c/d a.txt; chmod 700 c/d; cat c/d/f; chmod 0 c/d"
            before = shell(at.box, text).stdout.prefix
            assert before == b"300\n0\n0\n1\n"
            for _ in range(2):
                shell(at.box, "chmod 700 c c/d; rm -r c; echo 2 > a.txt; mkdir -p c/d; chmod 0 c/d c")
                roll_back(at.workspace, checkpoint, at.box)
                assert shell(at.box, text).stdout.prefix == before

    both_users(go)


def test_several_checkpoints_in_any_order() -> None:
    with scene() as at:
        states, checkpoints = [], []
        for number in range(4):
            shell(at.box, f"echo {number} > f; echo {number} > only{number}; rm -f only{number - 2}")
            states.append(show(at.box))
            checkpoints.append(take(at.workspace, at.box))
        assert [checkpoint.id for checkpoint in checkpoints] == ["1", "2", "3", "4"]
        assert len({checkpoint.entries_digest for checkpoint in checkpoints}) == 4
        for number in (0, 3, 1, 2, 0):
            roll_back(at.workspace, checkpoints[number], at.box)
            assert show(at.box) == states[number]
        drop(checkpoints[0])
        assert not checkpoints[0].path.exists()


def test_the_same_state_has_the_same_digest() -> None:
    with scene() as at:
        shell(at.box, "echo 1 > f")
        one, two = take(at.workspace, at.box), take(at.workspace, at.box)
        assert one.entries_digest == two.entries_digest and one.files == 1
        assert one.payload() == {"id": "1", "entries_digest": one.entries_digest, "files": 1, "bytes": 2}


@pytest.mark.parametrize("groups", [True, False])
def test_a_rollback_ends_every_process(groups: bool) -> None:
    def go() -> None:
        with scene(place=None if groups else Place()) as at:
            checkpoint = take(at.workspace, at.box)
            shell(at.box, "(while :; do echo x >> a.txt; echo y > y$RANDOM; done) > /dev/null 2>&1 &")
            shell(at.box, "exec 3>> kept; sleep 1000 > /dev/null 2>&1 &")
            roll_back(at.workspace, checkpoint, at.box)
            assert shell(at.box, "ls; cat a.txt").stdout.prefix == (
                b"a.txt\ndir\ngone\nlink\ntool.sh\none\ntwo\nthree\n"
            )
            assert shell(at.box, "ls -d /proc/[0-9]* | wc -l").stdout.prefix in (b"3\n", b"4\n")
            assert at.workspace.changes().changes == ()

    both_users(go)


@pytest.mark.parametrize("groups", [True, False])
def test_a_rollback_may_leave_processes_alive(groups: bool) -> None:
    """Writers in many threads stand still meanwhile, and what they hold open does not come back by it."""

    def go() -> None:
        with scene(place=None if groups else Place()) as at:
            checkpoint = take(at.workspace, at.box)
            ended: list[CommandResult] = []
            text = (
                "import os, threading, time\nheld = open('held', 'w')\nstop = []\n"
                "def write(n):\n"
                "    while not stop:\n"
                "        open(f'w{n}', 'a').write('x')\n"
                "        time.sleep(0.001)\n"
                "many = [threading.Thread(target=write, args=(n,)) for n in range(4)]\n"
                "[one.start() for one in many]\n"
                "while os.path.exists('held'): time.sleep(0.01)\n"
                "stop.append(1); [one.join() for one in many]\n"
                "held.write('late'); held.close(); print('alive')"
            )
            writer = threading.Thread(target=lambda: ended.append(python(at.box, text, 100)))
            writer.start()
            until(lambda: (at.workspace.upper / "workspace" / "w3").exists())
            assert stand_still(at.box)
            changed = roll_back(at.workspace, checkpoint, at.box, thaw=False, end=False)
            assert changed >= 5 and at.workspace.changes().changes == ()
            at.box.thaw()
            writer.join()
            assert ended[0].stdout.prefix == b"alive\n"
            assert shell(at.box, "ls held").exit_code != 0

    both_users(go)


def test_programs_that_start_one_after_the_other_stop() -> None:
    """Without a freezer: a shell in ``vfork`` cannot be stopped while its child is stopped before its ``exec``."""
    with scene(place=Place()) as at:
        many = "for n in 1 2 3 4; do (while [ ! -e stop ]; do /bin/true; done) & done; wait"
        running = threading.Thread(target=lambda: shell(at.box, many))
        running.start()
        for _ in range(40):
            assert stand_still(at.box, seconds=60)  # whatever else the machine does
            at.box.thaw()
        shell(at.box, "touch stop")
        running.join()


def test_what_does_not_stop_is_told() -> None:
    """A write that the guard holds cannot be stopped by a signal, which is all there is without a freezer."""
    seen: list[Observation] = []
    with scene(place=Place(), guard=GuardPlan(reads=True, hold_writes=True, notify=seen.append)) as at:
        writer = threading.Thread(target=lambda: shell(at.box, "echo 1 > f"))
        writer.start()
        until(lambda: any(found.kind == "held" for found in seen))
        assert not stand_still(at.box, seconds=0.1)
        at.box.thaw()
        assert at.box.guard is not None
        at.box.guard.release_writes()
        writer.join()
        assert stand_still(at.box)
        at.box.thaw()


def test_a_rollback_ends_a_write_that_the_guard_holds() -> None:
    def go() -> None:
        seen: list[Observation] = []
        with scene(guard=GuardPlan(reads=True, hold_writes=True, notify=seen.append)) as at:
            checkpoint = take(at.workspace, at.box)
            ended: list[CommandResult] = []
            writer = threading.Thread(target=lambda: ended.append(shell(at.box, "echo 1 > f")))
            writer.start()
            until(lambda: any(found.kind == "held" for found in seen))
            assert roll_back(at.workspace, checkpoint, at.box) == 0
            writer.join()
            assert ended[0].exit_code == -9 and at.box.guard is not None and at.box.guard.alive
            at.box.guard.release_writes()
            assert shell(at.box, "ls f; echo 2 > f; cat f").stdout.prefix == b"2\n"
            assert roll_back(at.workspace, checkpoint, at.box) == 1
            assert shell(at.box, "ls f").exit_code != 0

    both_users(go)


def test_a_checkpoint_is_a_state_that_really_was() -> None:
    """A writer keeps two files equal; with the writer frozen in between they are at most one write apart."""
    with scene() as at:
        shell(at.box, "(i=0; while :; do echo $i > one; echo $i > two; i=$((i+1)); done) > /dev/null 2>&1 &")
        until(lambda: (at.workspace.upper / "workspace" / "two").exists())
        for _ in range(5):
            checkpoint = take(at.workspace, at.box)
            one, two = ((checkpoint.path / "workspace" / name).read_bytes() for name in ("one", "two"))
            assert not one or not two or int(one) - int(two) in (0, 1)


def test_commands_that_come_in_meanwhile_see_one_tree_or_the_other() -> None:
    with scene() as at:
        for name in "abcdefgh":
            shell(at.box, f"echo old > state-{name}")
        checkpoint = take(at.workspace, at.box)
        stop = threading.Event()
        seen: list[CommandResult] = []

        def ask() -> None:
            while not stop.is_set():
                seen.append(shell(at.box, "cat state-*"))

        thread = threading.Thread(target=ask)
        thread.start()
        try:
            for _ in range(5):
                while (done := shell(at.box, "for f in state-*; do echo new > $f; done")).exit_code != 0:
                    assert done.exit_code == -9
                roll_back(at.workspace, checkpoint, at.box)
        finally:
            stop.set()
            thread.join()
        assert shell(at.box, "cat state-*").stdout.prefix == b"old\n" * 8
        assert all(found.exit_code in (0, 1, -9) for found in seen)


def test_mutations_go_on_over_a_rollback() -> None:
    with scene() as at:
        mutations = Mutations(at.workspace)
        told: list[Mutation] = []
        shell(at.box, "echo 1 > f")
        checkpoint = take(at.workspace, at.box)
        told += mutations.since_last()
        shell(at.box, "echo 2 > f; rm a.txt; echo g > g")
        told += mutations.since_last()
        roll_back(at.workspace, checkpoint, at.box)
        back = mutations.since_last()
        assert {found.path: found.change for found in back} == {b"f": "modified", b"a.txt": "added", b"g": "deleted"}
        at.box.close()
        changes = at.workspace.changes()
        told += back + mutations.final(changes)
        listed = [
            {"path": change.path.decode(), "before": side(change.before), "after": side(change.after)}
            for change in changes.changes
        ]
        assert chain_gaps([found.payload() for found in told], listed) == []


def test_a_sandbox_that_was_frozen_stays_so() -> None:
    with scene() as at:
        checkpoint = take(at.workspace)
        shell(at.box, "echo 1 > f")
        at.box.freeze()
        roll_back(at.workspace, checkpoint, at.box, thaw=False)
        assert not (at.workspace.upper / "workspace" / "f").is_file()
        at.box.thaw()
        assert shell(at.box, "ls f").exit_code != 0


def test_what_is_too_large_is_refused_and_nothing_is_left() -> None:
    refusals: list[tuple[str, SnapshotLimits]] = [
        ("for i in 1 2 3 4 5 6; do echo > n$i; done", SnapshotLimits(names=5)),
        ("truncate -s 1000000 sparse", SnapshotLimits(total_bytes=1000)),
    ]
    for text, limits in refusals:
        with scene() as at:
            shell(at.box, text)
            with pytest.raises(InfrastructureFault, match="too large"):
                take(at.workspace, at.box, limits)
            assert list((at.workspace.upper.parent / "checkpoints").iterdir()) == []
            assert shell(at.box, "echo alive").stdout.prefix == b"alive\n"


def test_holes_stay_holes() -> None:
    with scene() as at:
        shell(at.box, "truncate -s 50000000 s; printf x | dd of=s bs=1 seek=20000000 conv=notrunc")
        checkpoint = take(at.workspace, at.box)
        assert (checkpoint.path / "workspace" / "s").stat().st_blocks * 512 < 1_000_000
        shell(at.box, "cp s t; rm s")
        roll_back(at.workspace, checkpoint, at.box)
        assert shell(at.box, "stat -c %s s; tail -c +20000001 s | head -c 1").stdout.prefix == b"50000000\nx"


def test_links_lead_no_copy_astray() -> None:
    with scene() as at:
        (at.top / "outside").mkdir()
        (at.top / "outside" / "file").write_bytes(b"theirs")
        os.chmod(at.top / "outside", 0o777)
        checkpoint = take(at.workspace, at.box)
        shell(at.box, f"rm -r dir; ln -s {at.top}/outside dir; ln -s {at.top}/outside out")
        roll_back(at.workspace, checkpoint, at.box)
        assert shell(at.box, "cat dir/inner.txt").stdout.prefix == b"inner\n"
        assert (at.top / "outside" / "file").read_bytes() == b"theirs"
        assert sorted(os.listdir(at.top / "outside")) == ["file"]


def test_a_read_only_workspace_is_refused_when_it_would_change() -> None:
    with scene() as at:
        checkpoint = take(at.workspace, at.box)
        shell(at.box, "echo 1 > f")
        at.box.close()
        with (
            at.backend.open(SandboxPlan(at.workspace.view(), Limits(), workspace_writable=False)) as box,
            pytest.raises(InfrastructureFault, match="read-only"),
        ):
            roll_back(at.workspace, checkpoint, box)


def test_a_closed_sandbox_is_a_fault() -> None:
    with scene() as at:
        checkpoint = take(at.workspace, at.box)
        at.box.close()
        actions: list[Callable[[], object]] = [
            lambda: take(at.workspace, at.box),
            lambda: roll_back(at.workspace, checkpoint, at.box),
        ]
        for action in actions:
            with pytest.raises(InfrastructureFault, match="closed"):
                action()
