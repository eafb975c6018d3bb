"""Mutations of a live workspace: what is told, relative to what, and chains without gaps to the very end."""

from __future__ import annotations

import hashlib
import os
import threading
from pathlib import Path
from typing import Any

import pytest

from proctor.execute.monitor.sensors.file_mutations import Mutation, Mutations, TellLimits, chain_gaps, side
from proctor.execute.monitor.sensors.workspace_scan import ScanLimits
from proctor.execute.workspace.diff import Changes
from proctor.execute.workspace.workspace import Workspace
from tests.execute.monitor.sensors.scene import FILES, both_users, scene, small_layer, until
from tests.execute.sandbox.workplace import PYTHON, as_ordinary_user, shell


def brief(mutations: list[Mutation]) -> dict[str, str]:
    return {mutation.path.decode(): mutation.change for mutation in mutations}


def listed(changes: Changes) -> list[dict[str, Any]]:
    return [
        {"path": change.path.decode(), "before": side(change.before), "after": side(change.after)}
        for change in changes.changes
    ]


def check_chain(told: list[Mutation], workspace: Workspace) -> None:
    assert chain_gaps([mutation.payload() for mutation in told], listed(workspace.changes())) == []


@pytest.mark.parametrize("overlays", [True, False])
def test_every_kind_of_change_while_processes_live(overlays: bool) -> None:
    steps = {
        "echo new > new.txt": {"new.txt": "added"},
        "echo more >> new.txt; echo four >> a.txt": {"new.txt": "modified", "a.txt": "modified"},
        "chmod +x a.txt": {"a.txt": "modified"},
        "rm -r gone; rm dir/inner.txt": {"gone/x": "deleted", "gone/y": "deleted", "dir/inner.txt": "deleted"},
        "mkdir gone; echo z > gone/z; echo x > gone/x": {"gone/z": "added", "gone/x": "added"},
        "mv dir/deep moved": {"dir/deep/down.txt": "deleted", "moved/down.txt": "added"},
        "rm link; ln -s tool.sh link": {"link": "modified"},
        "rm -r moved; echo file > moved": {"moved/down.txt": "deleted", "moved": "added"},
        "rm tool.sh; mkdir tool.sh; echo t > tool.sh/t": {"tool.sh": "deleted", "tool.sh/t": "added"},
        "rm new.txt": {"new.txt": "deleted"},
        "printf 'one\\ntwo\\nthree\\n' > a.txt; chmod 644 a.txt": {"a.txt": "modified"},
        "touch dir; mkdir empty; mkfifo fifo; mkdir .git; echo c > .git/config": {},
    }

    def watch() -> None:
        with scene(overlays=overlays) as at:
            mutations = Mutations(at.workspace)
            told: list[Mutation] = []
            assert mutations.since_last() == []
            shell(at.box, "sleep 1000 > /dev/null 2>&1 &")
            for text, expected in steps.items():
                assert shell(at.box, text).exit_code == 0, text
                found = mutations.since_last()
                assert brief(found) == expected, text
                told += found
                assert mutations.since_last() == []
            at.box.close()
            assert mutations.final(at.workspace.changes()) == []
            check_chain(told, at.workspace)

    both_users(watch)


def test_each_one_starts_where_the_last_one_ended() -> None:
    with scene() as at:
        mutations = Mutations(at.workspace)
        shell(at.box, "echo four >> a.txt")
        (first,) = mutations.since_last()
        assert first.before is not None
        assert first.before.sha256 == hashlib.sha256(FILES["a.txt"]).hexdigest()
        shell(at.box, "sed -i s/four/FOUR/ a.txt")
        (second,) = mutations.since_last()
        assert second.before == first.after and second.after is not None
        assert second.after.sha256 == hashlib.sha256(FILES["a.txt"] + b"FOUR\n").hexdigest()
        assert second.diff["hunks"][0]["lines"] == [" one", " two", " three", "-four", "+FOUR"]
        shell(at.box, "printf 'one\\ntwo\\nthree\\n' > a.txt")
        (third,) = mutations.since_last()
        assert third.after == first.before and third.diff["removed"] == 1
        check_chain([first, second, third], at.workspace)


def test_the_payload_names_contents_and_hunks() -> None:
    with scene() as at:
        shell(at.box, "printf 'x\\n' > 'odd\\name'")
        (mutation,) = Mutations(at.workspace).since_last()
        assert mutation.payload() == {
            "path": "odd\\\\name",
            "change": "added",
            "before": None,
            "after": {"sha256": hashlib.sha256(b"x\n").hexdigest(), "bytes": 2, "mode": "100644"},
            "diff": {
                "kind": "text",
                "added": 1,
                "removed": 0,
                "hunks": [{"old_start": 1, "old_lines": 0, "new_start": 1, "new_lines": 1, "lines": ["+x"]}],
                "truncated": False,
            },
        }


def test_other_files_have_digests_and_a_pointer() -> None:
    kept: list[bytes] = []

    def keep(data: bytes) -> str:
        kept.append(data)
        return f"blob {len(kept)}"

    with scene() as at:
        shell(at.box, "printf 'a\\0b' > binary; head -c 3000000 /dev/zero > large; head -c 100000 /dev/zero > middle")
        found = {mutation.path: mutation for mutation in Mutations(at.workspace, keep=keep).since_last()}
        assert found[b"binary"].diff == {"kind": "binary", "pointer": "blob 1"}
        assert found[b"large"].diff == {"kind": "large", "pointer": ""}
        assert found[b"middle"].diff == {"kind": "large", "pointer": "blob 2"}
        assert kept == [b"a\0b", bytes(100000)]
        large = found[b"large"].after
        assert large is not None and large.sha256 == hashlib.sha256(bytes(3_000_000)).hexdigest()


def test_a_look_is_bounded_and_the_next_one_goes_on() -> None:
    with scene() as at:
        mutations = Mutations(at.workspace, limits=ScanLimits(files=4))
        shell(at.box, "for i in 1 2 3 4 5 6 7 8 9 10; do echo $i > n$i; done; rm gone/x")
        assert len([found for found in mutations.since_last() if found.change == "added"]) == 4
        told: list[Mutation] = []
        until(lambda: told.extend(mutations.since_last()) or len(told) >= 6)  # type: ignore[func-returns-value]
        at.box.close()
        assert mutations.final(at.workspace.changes()) == []


def test_what_a_look_leaves_out_is_told_at_the_end() -> None:
    with scene() as at:
        mutations = Mutations(at.workspace, limits=ScanLimits(names=3))
        shell(at.box, "for i in 1 2 3 4 5 6 7 8 9 10; do echo $i > n$i; done")
        told = mutations.since_last()
        assert len(told) <= 3
        shell(at.box, "rm n*; echo last > last")
        told += mutations.since_last()
        at.box.close()
        told += mutations.final(at.workspace.changes())
        check_chain(told, at.workspace)
        assert brief(told)["last"] == "added"


def test_files_over_the_limit_are_told_by_their_size() -> None:
    with scene() as at:
        mutations = Mutations(at.workspace, limits=ScanLimits(digest_bytes=10))
        shell(at.box, "echo 12345678901234567890 > big")
        (found,) = mutations.since_last()
        assert found.after is not None and (found.after.size, found.after.sha256) == (21, "")


def test_a_file_that_never_holds_still_is_told_in_the_end() -> None:
    with scene() as at:
        mutations = Mutations(at.workspace)
        shell(at.box, "(while :; do echo x >> busy; done) > /dev/null 2>&1 &")
        told: list[Mutation] = []
        until(lambda: (at.workspace.upper / "workspace" / "busy").exists())
        for _ in range(20):
            told += mutations.since_last()
        at.box.close()
        told += mutations.final(at.workspace.changes())
        check_chain(told, at.workspace)
        assert b"busy" in {mutation.path for mutation in told}


def test_a_tree_in_turmoil_keeps_its_chains() -> None:
    churn = """
    while :; do
        mkdir -p t/a t/b; echo $i > t/a/f; mv t/a/f t/b/g; ln -sf nowhere t/l; rm -rf t/b gone dir
        mkdir -p dir gone; echo $i > dir/inner.txt; echo $i > a.txt; i=$((i+1)); rm -rf t a.txt; echo $i > a.txt
    done > /dev/null 2>&1 &
    """

    seen = {"a.txt", "dir/inner.txt"}

    def watch() -> None:
        with scene() as at:
            mutations = Mutations(at.workspace)
            shell(at.box, churn)
            told: list[Mutation] = []
            for _ in range(60):
                told += mutations.since_last()
            until(lambda: told.extend(mutations.since_last()) or seen <= set(brief(told)))  # type: ignore[func-returns-value]
            at.box.close()
            told += mutations.final(at.workspace.changes())
            check_chain(told, at.workspace)

    both_users(watch)


def test_two_writes_within_one_tick_of_the_clock(tmp_path: Path) -> None:
    """The same size, times set back: only the change time of the inode could tell, and it may not have moved."""
    with Workspace.create((small_layer(tmp_path),), tmp_path / "scratch", overlays=True) as workspace:
        mutations = Mutations(workspace)
        place = workspace.upper / "workspace" / "f"
        for number in range(50):
            place.write_bytes(b"%04d" % number)
            os.utime(place, ns=(0, 0))
            (found,) = mutations.since_last()
            assert found.after is not None
            assert found.after.sha256 == hashlib.sha256(b"%04d" % number).hexdigest()


def test_writes_through_a_mapping_are_told_at_the_latest_at_the_end() -> None:
    program = """
import mmap, os, time
handle = os.open("m", os.O_CREAT | os.O_RDWR)
os.write(handle, b"a" * 4096)
mapping = mmap.mmap(handle, 4096)
mapping[0:3] = b"new"
open("ready", "w").close()
while True:
    mapping[0:8] = b"%08d" % (time.monotonic_ns() % 10**8)
"""
    with scene() as at:
        mutations = Mutations(at.workspace)
        shell(at.box, f"{PYTHON} -c '{program}' >/dev/null 2>&1 &")
        told: list[Mutation] = []
        until(lambda: (at.workspace.upper / "workspace" / "ready").exists())
        told += mutations.since_last()
        at.box.close()
        told += mutations.final(at.workspace.changes())
        check_chain(told, at.workspace)


def test_an_unreadable_directory_is_left_alone_until_the_end() -> None:
    def watch() -> None:
        with scene() as at:
            mutations = Mutations(at.workspace)
            shell(at.box, "mkdir closed; echo 1 > closed/f; rm dir/inner.txt")
            told = mutations.since_last()
            assert brief(told) == {"closed/f": "added", "dir/inner.txt": "deleted"}
            shell(at.box, "echo 2 > closed/f; chmod 0 closed dir")
            assert mutations.since_last() == []
            assert (at.workspace.upper / "workspace" / "closed").stat().st_mode & 0o777 == 0
            at.box.close()
            told += mutations.final(at.workspace.changes())
            assert told[-1].path == b"closed/f" and told[-1].change == "modified"
            check_chain(told, at.workspace)

    as_ordinary_user(watch)


def test_links_lead_nowhere() -> None:
    with scene() as at:
        (at.top / "secret").write_bytes(b"outside")
        shell(at.box, f"ln -s {at.top}/secret leak; ln -s {at.top} way-out; ln -s / root")
        found = {mutation.path: mutation.after for mutation in Mutations(at.workspace).since_last()}
        assert set(found) == {b"leak", b"way-out", b"root"}
        assert all(entry is not None and entry.mode == 0o120000 for entry in found.values())


def test_what_is_not_wanted_is_told_at_the_end_only() -> None:
    with scene() as at:
        mutations = Mutations(at.workspace, wanted=lambda path: not path.endswith(b".pyc"))
        shell(at.box, "echo 1 > a.pyc; echo 2 > b.py")
        told = mutations.since_last()
        assert brief(told) == {"b.py": "added"}
        at.box.close()
        told += mutations.final(at.workspace.changes())
        check_chain(told, at.workspace)


def test_looking_does_not_disturb_the_sandbox() -> None:
    """Writers and readers inside see nothing but their own work while looks go on."""
    with scene() as at:
        mutations = Mutations(at.workspace)
        stop = threading.Event()

        def look() -> None:
            while not stop.is_set():
                mutations.since_last()

        thread = threading.Thread(target=look)
        thread.start()
        try:
            text = "i=0; while [ $i -lt 300 ]; do echo $i > f; [ $(cat f) = $i ] || exit 1; rm f; i=$((i+1)); done"
            assert shell(at.box, text).exit_code == 0
        finally:
            stop.set()
            thread.join()


def entry(digest: str, mode: str = "100644") -> dict[str, Any]:
    return {"sha256": digest, "bytes": 1, "mode": mode}


def step(path: str, before: str | None, after: str | None) -> dict[str, Any]:
    return {"path": path, "before": before and entry(before), "after": after and entry(after)}


@pytest.mark.parametrize(
    ("mutations", "changes", "gap"),
    [
        ([], [step("f", None, "1")], "f: changed without a mutation"),
        (
            [step("f", None, "1"), step("f", "2", "3")],
            [step("f", None, "3")],
            "f: a mutation starts from other content than the event before it ended with",
        ),
        ([step("f", "0", "1")], [step("f", None, "1")], "f: the first mutation does not start at the base"),
        ([step("f", None, "1")], [step("f", None, "2")], "f: the last mutation does not end in the patch"),
        ([step("f", None, "1")], [], "f: the mutations end in a change that the patch does not have"),
    ],
)
def test_gaps_in_a_chain_are_found(mutations: list[Any], changes: list[Any], gap: str) -> None:
    assert chain_gaps(mutations, changes) == [gap]


def test_whole_chains_have_no_gap() -> None:
    there_and_back = [step("f", "0", "1"), step("f", "1", None), step("f", None, "0")]
    assert chain_gaps(there_and_back, []) == []
    assert chain_gaps([step("g", None, "1")], [], left_out=["g"]) == []
    assert chain_gaps([step("f", None, "1"), step("f", "1", "2")], [step("f", None, "2")]) == []


def test_a_change_of_mode_is_a_link_of_the_chain() -> None:
    mutation = {"path": "f", "before": entry("1"), "after": entry("1", "100755")}
    assert chain_gaps([mutation], [mutation]) == []
    assert chain_gaps([], [mutation]) != []


def test_what_is_told_is_bounded_and_the_chains_still_end_in_the_patch() -> None:
    with scene() as at:
        mutations = Mutations(at.workspace, telling=TellLimits(mutations=2, difference=30))
        shell(at.box, "echo one > new.txt; echo four >> a.txt")
        told = mutations.since_last()
        assert brief(told) == {"new.txt": "added", "a.txt": "modified"}
        shell(at.box, "echo two > new.txt; seq 1000 > long.txt; echo more > more.txt")
        assert mutations.since_last() == []
        at.box.close()
        last = mutations.final(at.workspace.changes())
        assert brief(last) == {"new.txt": "modified", "long.txt": "added", "more.txt": "added"}
        kinds = {mutation.path: mutation.diff["kind"] for mutation in last}
        assert kinds == {b"long.txt": "text", b"more.txt": "large", b"new.txt": "large"}
        check_chain([*told, *last], at.workspace)
