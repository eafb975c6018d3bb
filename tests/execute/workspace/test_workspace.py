"""Workspaces: made without walking the tree, changed before mounting, read without following links."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from proctor.base.errors import InfrastructureFault
from proctor.execute.sandbox.interface import Overlay, Tree, owner
from proctor.execute.workspace.layer_store import Layer, LayerStore
from proctor.execute.workspace.patch import Application
from proctor.execute.workspace.workspace import Workspace, base_stack

Files = dict[bytes, tuple[int, bytes]]
Write = Callable[[Path, Files], None]

FILES: Files = {
    b"a": (0o100644, b"a\n"),
    b"link": (0o120000, b"dir"),
    b"dir/one": (0o100644, b"1\n"),
    b"dir/deep/two": (0o100755, b"2\n"),
    b"only/file": (0o100644, b"x"),
}

SHOW = """
import json, os, sys
shown = {}
for directory, names, files in os.walk(sys.argv[1]):
    for name in names + files:
        place = os.path.join(directory, name)
        path = os.path.relpath(place, sys.argv[1])
        if os.path.islink(place):
            shown[path] = "-> " + os.readlink(place)
        else:
            shown[path] = "/" if os.path.isdir(place) else open(place).read()
print(json.dumps(shown))
"""


@pytest.fixture
def layer(tmp_path: Path, write_tree: Write) -> Layer:
    def build(content: Path) -> dict[str, str]:
        write_tree(content / "workspace", FILES)
        (content / "workspace" / "dir").chmod(0o750)
        (content / "setup" / "tool").write_text("t")
        os.mkfifo(content / "setup" / "pipe")
        return {}

    return LayerStore(tmp_path / "layers").make("base", build)


@pytest.fixture(params=["overlay", "copy"])
def workspace(request: pytest.FixtureRequest, layer: Layer, tmp_path: Path) -> Workspace:
    return Workspace.create((layer,), tmp_path / "scratch", overlays=request.param == "overlay")


@pytest.fixture
def shown(workspace: Workspace, tmp_path: Path, overlay: Callable[..., bytes]) -> Callable[[], dict[str, str]]:
    """What a sandbox would see in the workspace."""

    def show() -> dict[str, str]:
        view = workspace.view()
        if isinstance(view, Tree):
            output = subprocess.check_output([sys.executable, "-c", SHOW, view.path / "workspace"], timeout=60)
        else:
            output = overlay(view, tmp_path / "mount", SHOW)
        found: dict[str, str] = json.loads(output)
        return found

    return show


BASE = {
    "a": "a\n",
    "link": "-> dir",
    "dir": "/",
    "dir/one": "1\n",
    "dir/deep": "/",
    "dir/deep/two": "2\n",
    "only": "/",
    "only/file": "x",
}


def test_a_fresh_workspace_shows_the_layers(workspace: Workspace, shown: Callable[[], dict[str, str]]) -> None:
    assert shown() == BASE
    assert workspace.changes().changes == ()
    assert workspace.read(b"dir/one") == b"1\n"
    assert workspace.file(b"dir/deep/two") == (0o100755, b"2\n")
    assert workspace.file(b"link") == (0o120000, b"dir")
    assert workspace.read(b"link/one") is None
    assert workspace.read(b"dir") is None and workspace.read(b"absent/file") is None
    status = (workspace.upper / "workspace").stat()
    assert (status.st_uid, status.st_gid) == owner()
    workspace.discard()
    workspace.discard()
    assert not workspace.upper.parent.exists()


def test_what_is_put_wins_over_links_files_and_directories(
    workspace: Workspace, shown: Callable[[], dict[str, str]]
) -> None:
    workspace.put(b"link/inner", b"1")
    workspace.put(b"a/b/c", b"2")
    workspace.put(b"dir", b"3")
    workspace.put(b"only/file", b"a", 0o120000)
    expected = {"link": "/", "link/inner": "1", "a": "/", "a/b": "/", "a/b/c": "2", "dir": "3", "only": "/"}
    assert shown() == expected | {"only/file": "-> a"}
    workspace.put(b"dir/one", b"4")
    workspace.put(b"a", b"5")
    assert shown() == {
        "link": "/",
        "link/inner": "1",
        "a": "5",
        "dir": "/",
        "dir/one": "4",
        "only": "/",
        "only/file": "-> a",
    }
    assert workspace.read(b"dir/deep/two") is None


def test_what_is_removed_is_gone_with_the_directories_it_leaves_empty(
    workspace: Workspace, shown: Callable[[], dict[str, str]]
) -> None:
    workspace.remove(b"only/file")
    workspace.remove(b"dir/deep/two")
    workspace.remove(b"absent")
    workspace.remove(b"link/one")
    assert shown() == {"a": "a\n", "link": "-> dir", "dir": "/", "dir/one": "1\n"}
    workspace.put(b"only/new", b"n")
    workspace.remove(b"dir")
    workspace.put(b"dir/deep/x", b"x")
    assert shown() == {
        "a": "a\n",
        "link": "-> dir",
        "only": "/",
        "only/new": "n",
        "dir": "/",
        "dir/deep": "/",
        "dir/deep/x": "x",
    }
    assert {change.path: change.change for change in workspace.changes().changes} == {
        b"only/file": "deleted",
        b"only/new": "added",
        b"dir/one": "deleted",
        b"dir/deep/two": "deleted",
        b"dir/deep/x": "added",
    }


def test_paths_that_climb_are_refused(workspace: Workspace) -> None:
    for path in (b"../x", b"/etc/passwd", b"a/../../x", b"", b"a//b", b"./a", b"a\0b"):
        with pytest.raises(ValueError, match="plain relative path"):
            workspace.put(path, b"")
        with pytest.raises(ValueError, match="plain relative path"):
            workspace.remove(path)


def test_files_belong_to_the_sandbox_and_keep_permissions(workspace: Workspace) -> None:
    workspace.put(b"dir/new", b"x", 0o100755)
    status = (workspace.upper / "workspace" / "dir" / "new").stat()
    assert (status.st_uid, status.st_gid, status.st_mode & 0o777) == (*owner(), 0o755)
    assert (workspace.upper / "workspace" / "dir").stat().st_mode & 0o777 == 0o750


def test_an_application_is_brought_in(layer: Layer, tmp_path: Path) -> None:
    application = Application(writes=((b"a/x", 0o100644, b"x"),), removals=(b"a", b"only/file"))
    for overlays in (True, False):
        with Workspace.create((layer,), tmp_path / "s", overlays=overlays, application=application) as workspace:
            assert {change.path: change.change for change in workspace.changes().changes} == {
                b"a": "deleted",
                b"a/x": "added",
                b"only/file": "deleted",
            }
            assert workspace.base_file(b"a") == (0o100644, b"a\n") and workspace.read_base(b"a/x") is None
    assert base_stack((layer,)).file(b"a") == (0o100644, b"a\n")


def test_reading_is_bounded(workspace: Workspace) -> None:
    with pytest.raises(InfrastructureFault, match="larger than 1 bytes"):
        workspace.read(b"a", 1)


def test_a_copy_keeps_times_permissions_and_setup(layer: Layer, tmp_path: Path) -> None:
    with Workspace.create((layer,), tmp_path / "s", overlays=False) as workspace:
        assert isinstance(workspace.view(), Tree)
        for path in ("workspace/a", "workspace/dir", "workspace/dir/deep/two", "setup/tool"):
            mine, base = (workspace.upper / path).stat(), (layer.path / path).stat()
            assert (mine.st_mode, mine.st_mtime_ns, mine.st_uid) == (base.st_mode, base.st_mtime_ns, base.st_uid)
        assert not (workspace.upper / "setup" / "pipe").exists()


def test_making_an_overlay_walks_nothing(layer: Layer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The cost must not grow with the tree: no directory is listed and none of the layer's files is looked at."""

    def refuse(*_: object) -> None:
        raise AssertionError("a directory was listed")

    with monkeypatch.context() as patch:
        patch.setattr(os, "scandir", refuse)
        patch.setattr(os, "listdir", refuse)
        workspace = Workspace.create((layer,), tmp_path / "s", overlays=True)
        LayerStore(tmp_path / "layers").check(layer)
    assert isinstance(workspace.view(), Overlay)
    workspace.discard()


def test_a_layer_that_is_gone(layer: Layer, tmp_path: Path) -> None:
    assert LayerStore(tmp_path / "layers").remove(layer.key)
    with pytest.raises(InfrastructureFault, match="removed"):
        Workspace.create((layer,), tmp_path / "s", overlays=True)
    assert not (tmp_path / "s").exists()


ORDINARY = """
import importlib.util, os, sys
from pathlib import Path
spec = importlib.util.spec_from_file_location("overlays", sys.argv[2] + "/conftest.py")
overlays = importlib.util.module_from_spec(spec)
spec.loader.exec_module(overlays)
from proctor.execute.workspace.patch import apply_patch, make_patch
from proctor.execute.workspace.layer_store import LayerStore
from proctor.execute.workspace.workspace import Workspace

os.setgroups([]); os.setgid(64200); os.setuid(64200)
os.umask(0o077)
top = Path(sys.argv[1])
plain, program = 0o100644, 0o100755
files = {b"a": (plain, b"1\\n"), b"dir/one": (plain, b"1\\n"), b"dir/two": (plain, b"2\\n"), b"gone": (plain, b"")}
after = {b"a": (program, b"1\\n"), b"dir/new": (plain, b"n"), b"closed/in": (plain, b"c"), b"secret": (plain, b"s")}

def build(content):
    overlays.write_files(content / "workspace", files)
    return {}

store = LayerStore(top / "layers")
layer = store.make("base", build)
script = '''
import os, shutil, sys
os.umask(0o022)
os.chdir(sys.argv[1])
os.chmod("a", 0o755)
shutil.rmtree("dir"); os.mkdir("dir"); open("dir/new", "w").write("n")
os.unlink("gone")
os.mkdir("closed"); open("closed/in", "w").write("c"); os.chmod("closed", 0)
open("secret", "w").write("s"); os.chmod("secret", 0)
try:
    os.setxattr("dir", "user.overlay.opaque", b"n")
except OSError:
    pass
'''
with Workspace.create((layer,), top / "agent", overlays=True) as agent:
    overlays.in_overlay(agent.view(), top / "mount", script)
    changes = agent.changes()
    patch = make_patch(changes, agent.read_base, agent.read)
assert not (top / "agent").exists()
application = apply_patch(patch, files.get)
show = "import os, sys; t = sys.argv[1]; print(sorted((os.path.relpath(d, t), *sorted(f)) for d, n, f in os.walk(t)))"
with Workspace.create((layer,), top / "judge", overlays=True, application=application) as judge:
    assert judge.changes() == changes, (judge.changes(), changes)
    assert {path: judge.file(path) for path in files | after} == {path: after.get(path) for path in files | after}
    seen = overlays.in_overlay(judge.view(), top / "mount", show)
    assert seen == b"[('.', 'a', 'secret'), ('closed', 'in'), ('dir', 'new')]\\n", seen
    made = store.adopt("setup", judge.upper, {})
with Workspace.create((made, layer), top / "again", overlays=True) as again:
    assert overlays.in_overlay(again.view(), top / "mount", show) == seen
    again.put(b"gone/x", b"1")
    again.remove(b"dir/new")
    seen = overlays.in_overlay(again.view(), top / "mount", show)
    assert seen == b"[('.', 'a', 'secret'), ('closed', 'in'), ('gone', 'x')]\\n", seen
with Workspace.create((made, layer), top / "copy", overlays=False, application=application) as copy:
    assert overlays.read_files(copy.upper / "workspace") == after
print("done")
"""


def test_everything_holds_for_an_ordinary_user(anyones: Path) -> None:
    here = Path(__file__).parent
    done = subprocess.run(
        [sys.executable, "-c", ORDINARY, anyones, here],
        capture_output=True,
        text=True,
        timeout=120,
        stdin=subprocess.DEVNULL,
        env={"PATH": os.environ["PATH"], "HOME": str(anyones), "PYTHONDONTWRITEBYTECODE": "1"},
    )
    assert done.stdout == "done\n", done.stderr


CLOSED_TOP = (
    ORDINARY[: ORDINARY.index("script = ")]
    + """
for mode in (0o000, 0o400, 0o100, 0o200):
    script = "import os, sys; os.chdir(sys.argv[1]); open('new', 'w').write('n'); os.unlink('gone')"
    script += f"; os.chmod('.', {mode})"
    with Workspace.create((layer,), top / "agent", overlays=True) as agent:
        overlays.in_overlay(agent.view(), top / "mount", script)
        changes = agent.changes()
        patch = make_patch(changes, agent.read_base, agent.read)
        assert [(item.path, item.change) for item in changes.changes] == [(b"gone", "deleted"), (b"new", "added")]
        assert agent.read(b"new") == b"n" and b"+n" in patch
    assert not (top / "agent").exists()
    with Workspace.create((layer,), top / "copy", overlays=False) as copy:
        tree = copy.upper / "workspace"
        (tree / "new").write_text("n")
        tree.chmod(mode)
        assert [item.path for item in copy.changes().changes] == [b"new"]
print("done")
"""
)


def test_attack_an_ordinary_user_closes_the_top_of_the_workspace(anyones: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", CLOSED_TOP, anyones, Path(__file__).parent],
        capture_output=True,
        text=True,
        timeout=120,
        stdin=subprocess.DEVNULL,
        env={"PATH": os.environ["PATH"], "HOME": str(anyones), "PYTHONDONTWRITEBYTECODE": "1"},
    )
    assert done.stdout == "done\n", done.stderr
