"""What changed, read from trees that an agent left behind in any state."""

from __future__ import annotations

import os
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from proctor.execute.workspace.diff import Changes, DiffLimits, everything
from proctor.execute.workspace.layer_store import Layer, LayerStore
from proctor.execute.workspace.patch import make_patch
from proctor.execute.workspace.workspace import Workspace

Files = dict[bytes, tuple[int, bytes]]
Write = Callable[[Path, Files], None]
Run = Callable[..., bytes]

FILES: Files = {
    b"a.py": (0o100644, b"a\n"),
    b"run": (0o100755, b"#!/bin/sh\n"),
    b"link": (0o120000, b"a.py"),
    b"dir/one": (0o100644, b"1\n"),
    b"dir/two": (0o100644, b"2\n"),
    b"dir/deep/three": (0o100644, b"3\n"),
    b".git/config": (0o100644, b"[core]\n"),
    b"sub/.git/HEAD": (0o100644, b"x"),
    b".gitmodules": (0o100644, b"x"),
}


@pytest.fixture
def layer(tmp_path: Path, write_tree: Write) -> Layer:
    def build(content: Path) -> dict[str, str]:
        write_tree(content / "workspace", FILES)
        return {}

    return LayerStore(tmp_path / "layers").make("base", build)


@pytest.fixture(params=["overlay", "copy"])
def agent(request: pytest.FixtureRequest, layer: Layer, tmp_path: Path, overlay: Run) -> Callable[[str], Changes]:
    """Runs a script as an agent would, in a real overlay or in a plain copy, and gives what it changed."""

    def act(script: str, limits: DiffLimits | None = None, counts: Callable[[bytes], bool] = everything) -> Changes:
        whole = "import os, shutil, socket, sys\nos.chdir(sys.argv[1])\n" + script
        with Workspace.create((layer,), tmp_path / "scratch", overlays=request.param == "overlay") as workspace:
            if request.param == "overlay":
                overlay(workspace.view(), tmp_path / "mount", whole)
            else:
                command = ["/usr/bin/python3", "-S", "-c", whole, str(workspace.upper / "workspace")]
                subprocess.run(command, check=True, stdin=subprocess.DEVNULL, timeout=120)
            changes = workspace.changes(limits, counts=counts)
            make_patch(changes, workspace.read_base, workspace.read)
            return changes

    return act


def kinds(changes: Changes) -> dict[bytes, str]:
    return {change.path: change.change for change in changes.changes}


def test_nothing_touched(agent: Callable[[str], Changes]) -> None:
    assert agent("") == Changes()


def test_touched_but_the_same(agent: Callable[[str], Changes]) -> None:
    script = """
open("a.py", "ab").close()
os.utime("a.py", (1, 1))
os.chmod("a.py", 0o600)
os.chmod("dir", 0o700)
os.rename("dir/one", "dir/x"); os.rename("dir/x", "dir/one")
shutil.rmtree("dir/deep"); os.mkdir("dir/deep"); open("dir/deep/three", "w").write("3\\n")
os.unlink("link"); os.symlink("a.py", "link")
os.mkdir("empty")
"""
    assert agent(script) == Changes()


def test_forged_times_hide_nothing(agent: Callable[[str], Changes]) -> None:
    script = """
status = os.stat("a.py")
open("a.py", "w").write("b\\n")
os.utime("a.py", ns=(status.st_atime_ns, status.st_mtime_ns))
"""
    assert kinds(agent(script)) == {b"a.py": "modified"}


def test_every_kind_of_change(agent: Callable[[str], Changes]) -> None:
    script = """
os.chmod("a.py", 0o755)
os.unlink("link"); open("link", "w").write("now a file")
os.unlink("run"); os.mkdir("run"); open("run/inner", "w").close()
shutil.rmtree("dir"); os.symlink("/etc", "dir")
open("new", "w").close()
"""
    changes = agent(script)
    assert kinds(changes) == {
        b"a.py": "modified",
        b"link": "modified",
        b"run": "deleted",
        b"run/inner": "added",
        b"dir": "added",
        b"dir/one": "deleted",
        b"dir/two": "deleted",
        b"dir/deep/three": "deleted",
        b"new": "added",
    }
    first = next(change for change in changes.changes if change.path == b"a.py")
    assert first.before and first.after
    assert (first.before.mode, first.after.mode, first.before.sha256) == (0o100644, 0o100755, first.after.sha256)


def test_a_directory_that_is_replaced_by_one_of_the_same_name(agent: Callable[[str], Changes]) -> None:
    script = """
shutil.rmtree("dir"); os.mkdir("dir"); open("dir/two", "w").write("2\\n"); os.mkdir("dir/deep")
open("dir/deep/new", "w").close()
"""
    assert kinds(agent(script)) == {b"dir/one": "deleted", b"dir/deep/three": "deleted", b"dir/deep/new": "added"}


def test_git_is_no_part_of_it(agent: Callable[[str], Changes]) -> None:
    script = """
open(".git/config", "a").write("[core]\\n fsmonitor = touch /tmp/owned\\n")
os.unlink("sub/.git/HEAD"); os.rmdir("sub/.git"); open("sub/.git", "w").write("gitdir: /evil")
os.mkdir("dir/.git"); open("dir/.git/x", "w").close()
"""
    assert agent(script) == Changes()


def test_git_as_a_link(agent: Callable[[str], Changes]) -> None:
    assert agent("shutil.rmtree('.git'); os.symlink('/etc', '.git')") == Changes()


def test_names_that_git_refuses_are_named_apart(agent: Callable[[str], Changes]) -> None:
    changes = agent(
        "os.mkdir('.GIT'); open('.GIT/x', 'w').close(); os.unlink('.gitmodules'); os.symlink('x', '.gitmodules')"
    )
    assert changes.special == (b".GIT", b".gitmodules")
    assert kinds(changes) == {b".gitmodules": "deleted"}


def test_fifos_and_sockets_are_never_opened(agent: Callable[[str], Changes]) -> None:
    script = """
os.mkfifo("pipe")
os.unlink("a.py"); os.mkfifo("a.py")
listener = socket.socket(socket.AF_UNIX); listener.bind("socket"); listener.close()
"""
    changes = agent(script)
    assert changes.special == (b"a.py", b"pipe", b"socket")
    assert kinds(changes) == {b"a.py": "deleted"}


def test_links_lead_nowhere_on_the_host(agent: Callable[[str], Changes]) -> None:
    changes = agent("shutil.rmtree('dir/deep'); os.symlink('/etc', 'dir/deep'); os.symlink('/proc/self/fd/0', 'x')")
    assert kinds(changes) == {b"dir/deep": "added", b"dir/deep/three": "deleted", b"x": "added"}
    added = {change.path: change.after for change in changes.changes if change.after}
    assert added[b"dir/deep"].mode == 0o120000 and added[b"dir/deep"].size == 4


def test_large_files_are_named_and_not_read(agent: Callable[..., Changes]) -> None:
    script = """
for name, size in (("sparse", 1 << 40), ("large", 2000), ("a.py", 2000), ("small", 10)):
    with open(name, "wb") as file:
        file.truncate(size)
"""
    limits = DiffLimits(file_bytes=1000)
    changes = agent(script, limits)
    assert changes.too_large == (b"a.py", b"large", b"sparse")
    assert kinds(changes) == {b"small": "added"}
    changes = agent("for name in 'xyz': open(name, 'wb').write(b'x' * 40)", DiffLimits(total_bytes=100))
    assert changes.too_large == (b"z",)


def test_a_large_file_that_is_the_same_is_no_change(agent: Callable[..., Changes]) -> None:
    changes = agent("os.chmod('dir/one', 0o600); os.unlink('dir/two')", DiffLimits(file_bytes=1, new_names=3))
    assert changes == Changes(too_large=(b"dir/two",))


def test_too_many_files_are_cut_off(agent: Callable[..., Changes]) -> None:
    changes = agent("os.mkdir('many')\nfor n in range(200): open(f'many/{n}', 'w').close()", DiffLimits(new_names=50))
    assert changes.truncated
    assert len(changes.changes) <= 51


def test_attack_more_changed_files_than_a_patch_may_have(agent: Callable[..., Changes]) -> None:
    script = "os.mkdir('many')\nfor n in range(200): open(f'many/{n}', 'w').close()"
    changes = agent(script, DiffLimits(changed_files=50))
    assert changes.truncated and len(changes.changes) == 50
    changes = agent(script, DiffLimits(changed_files=200))
    assert not changes.truncated and len(changes.changes) == 200


def test_what_does_not_count_takes_no_place_of_others(agent: Callable[..., Changes]) -> None:
    script = "shutil.rmtree('dir')\nos.mkdir('built')\nfor n in range(60): open(f'built/{n}', 'w').write('x' * 10)"
    for limits in (DiffLimits(changed_files=3), DiffLimits(total_bytes=90)):
        changes = agent(script, limits, lambda path: not path.startswith(b"built/"))
        assert not changes.truncated and changes.omitted and changes.too_large == ()
        assert {path: kind for path, kind in kinds(changes).items() if kind == "deleted"} == {
            b"dir/one": "deleted",
            b"dir/two": "deleted",
            b"dir/deep/three": "deleted",
        }
    changes = agent(script, DiffLimits(changed_files=2), lambda path: not path.startswith(b"built/"))
    assert changes.truncated


def test_deep_nesting_is_cut_off(agent: Callable[[str], Changes]) -> None:
    script = """
here = os.getcwd()
for number in range(1000):
    os.mkdir("d")
    os.chdir("d")
open("bottom", "w").close()
os.chdir(here)
"""
    changes = agent(script)
    assert [path.count(b"/") for path in changes.special] == [256]
    assert changes.changes == ()


def test_hard_links_and_set_user_bits_are_plain_files(agent: Callable[[str], Changes]) -> None:
    changes = agent("os.link('a.py', 'hard'); os.chmod('run', 0o4755); os.chmod('a.py', 0o6644)")
    assert kinds(changes) == {b"hard": "added"}
    assert changes.changes[0].after and changes.changes[0].after.mode == 0o100644


def test_a_forged_mark_hides_nothing(layer: Layer, tmp_path: Path, overlay: Run) -> None:
    script = """
import os, sys
os.chdir(sys.argv[1])
open("dir/new", "w").close()
os.setxattr("dir", "user.overlay.opaque", b"y")
os.setxattr("dir/new", "user.overlay.whiteout", b"y")
"""
    with Workspace.create((layer,), tmp_path / "scratch", overlays=True) as workspace:
        overlay(workspace.view(), tmp_path / "mount", script)
        assert kinds(workspace.changes()) == {b"dir/new": "added"}


def test_a_whiteout_made_by_hand_in_a_copy_is_a_device(layer: Layer, tmp_path: Path) -> None:
    with Workspace.create((layer,), tmp_path / "scratch", overlays=False) as workspace:
        top = workspace.upper / "workspace"
        (top / "a.py").unlink()
        os.mknod(top / "a.py", stat.S_IFCHR, 0)
        changes = workspace.changes()
        assert (kinds(changes), changes.special) == ({b"a.py": "deleted"}, (b"a.py",))
