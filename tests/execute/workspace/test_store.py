"""Layers are made once, found again, checked, and removed when nothing uses them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from proctor.base.errors import UsageFault
from proctor.execute.sandbox.interface import owner
from proctor.execute.workspace.layer_store import DamagedLayer, Inventory, Layer, LayerStore, take_inventory
from proctor.execute.workspace.workspace import Workspace

Files = dict[bytes, tuple[int, bytes]]
Write = Callable[[Path, Files], None]

FILES: Files = {b"%02d/%02d" % (number // 10, number): (0o100644, b"%d" % number) for number in range(100)}


@pytest.fixture
def store(tmp_path: Path) -> LayerStore:
    return LayerStore(tmp_path / "layers")


@pytest.fixture
def layer(store: LayerStore, write_tree: Write) -> Layer:
    def build(content: Path) -> dict[str, object]:
        write_tree(content / "workspace", FILES | {b".git/HEAD": (0o100644, b"ref: refs/heads/main\n")})
        (content / "setup" / "site").mkdir()
        return {"steps": [{"index": 0}]}

    return store.make("sha256:" + "0" * 64, build)


def test_made_once_and_found_again(store: LayerStore, layer: Layer) -> None:
    def never(content: Path) -> dict[str, object]:
        raise AssertionError

    assert store.make(layer.key, never) == layer
    assert store.get(layer.key) == layer
    assert store.get("another") is None
    assert layer.facts == {"steps": [{"index": 0}]}
    assert {path.name for path in layer.path.iterdir()} == {"workspace", "setup"}
    status = (layer.path / "workspace" / "00" / "00").stat()
    assert (status.st_uid, status.st_gid) == owner()
    assert store.keys() == (layer.key,)


def test_the_same_content_has_the_same_digest(store: LayerStore, layer: Layer, write_tree: Write) -> None:
    def build(content: Path) -> dict[str, object]:
        (content / "setup" / "site").mkdir()
        write_tree(content / "workspace", {b".git/HEAD": (0o100644, b"ref: refs/heads/main\n")} | FILES)
        return {}

    again = store.make("again", build)
    assert again.entries_digest == layer.entries_digest
    assert again.fingerprint != layer.fingerprint


def test_a_failed_build_leaves_nothing(store: LayerStore, tmp_path: Path) -> None:
    def fail(content: Path) -> dict[str, object]:
        (content / "workspace" / "half").write_text("x")
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        store.make("key", fail)
    assert store.get("key") is None
    assert [path.name for path in (tmp_path / "layers").iterdir()] == ["locks"]


CRASH = """
import os, signal, sys
from pathlib import Path
from proctor.execute.workspace.layer_store import LayerStore

def build(content):
    (content / "workspace" / "half").write_text("x")
    os.kill(os.getpid(), signal.SIGKILL)

LayerStore(Path(sys.argv[1])).make("key", build)
"""


def test_a_builder_that_is_killed_leaves_nothing_that_is_used(store: LayerStore, tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", CRASH, tmp_path / "layers"], timeout=60)
    assert done.returncode == -9
    assert store.get("key") is None and store.keys() == ()
    assert store.remove_unused([]) == ()
    assert [path.name for path in (tmp_path / "layers").iterdir()] == ["locks"]
    assert subprocess.run([sys.executable, "-c", CRASH, tmp_path / "layers"], timeout=60).returncode == -9
    made = store.make("key", lambda content: {})
    assert not list((made.path / "workspace").iterdir())
    assert {path.name for path in (tmp_path / "layers").iterdir()} == {"locks", "key"}


RACE = """
import os, sys, time
from pathlib import Path
from proctor.execute.workspace.layer_store import LayerStore

root = Path(sys.argv[1])

def build(content):
    with open(root.parent / "built", "a") as file:
        file.write("built\\n")
    for number in range(300):
        (content / "workspace" / str(number)).write_text("x")
    return {}

sys.stdin.read()
layer = LayerStore(root).make("key", build)
assert len(os.listdir(layer.path / "workspace")) == 300
"""


def test_two_processes_build_once(tmp_path: Path) -> None:
    builders = [
        subprocess.Popen([sys.executable, "-c", RACE, tmp_path / "layers"], stdin=subprocess.PIPE) for _ in range(3)
    ]
    for builder in builders:
        assert builder.stdin
        builder.stdin.close()
    assert [builder.wait(timeout=120) for builder in builders] == [0, 0, 0]
    assert (tmp_path / "built").read_text() == "built\n"


def test_the_cheap_check_sees_a_rewritten_layer(store: LayerStore, layer: Layer) -> None:
    store.check(layer)
    sampled = layer.path / layer.sample[-1]
    status = sampled.stat()
    sampled.write_bytes(sampled.read_bytes()[::-1])
    os.utime(sampled, ns=(status.st_atime_ns, status.st_mtime_ns))
    with pytest.raises(DamagedLayer, match="changed") as raised:
        store.check(layer)
    assert raised.value.exit_code == 3 and str(layer.path) in str(raised.value)


def test_the_cheap_check_sees_a_missing_file(store: LayerStore, layer: Layer) -> None:
    (layer.path / layer.sample[-1]).unlink()
    with pytest.raises(DamagedLayer):
        store.check(layer)


@pytest.mark.parametrize("harm", ["bytes", "mode", "added", "removed", "git"])
def test_the_full_check_sees_every_change(harm: str, store: LayerStore, layer: Layer) -> None:
    store.check(layer, full=True)
    place = layer.path / "workspace"
    unsampled = next(os.fsdecode(path) for path in sorted(FILES) if f"workspace/{path.decode()}" not in layer.sample)
    if harm == "bytes":
        (place / unsampled).write_bytes(b"?")
    elif harm == "mode":
        (place / unsampled).chmod(0o755)
    elif harm == "added":
        (place / "00" / "new").touch()
    elif harm == "removed":
        (place / unsampled).unlink()
    else:
        (place / ".git" / "HEAD").write_bytes(b"ref: refs/heads/evil\n")
    with pytest.raises(DamagedLayer):
        store.check(layer, full=True)


@pytest.mark.parametrize("when", ["made", "verified"])
def test_a_file_that_is_swapped_after_it_was_digested_is_noticed(
    store: LayerStore, write_tree: Write, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    def build(content: Path) -> dict[str, object]:
        write_tree(content / "workspace", FILES)
        return {}

    def swap_after(root: Path) -> Inventory:
        found = take_inventory(root)
        (root / "other").write_bytes(b"x")
        os.rename(root / "other", root / "workspace/00/01")
        return found

    if when == "made":
        monkeypatch.setattr("proctor.execute.workspace.layer_store.take_inventory", swap_after)
        with pytest.raises(DamagedLayer, match="changed while"):
            store.make("key", build)
        assert store.get("key") is None
    else:
        layer = store.make("key", build)
        os.utime(layer.path / "workspace/00/02", (1, 1))
        monkeypatch.setattr("proctor.execute.workspace.layer_store.take_inventory", swap_after)
        with pytest.raises(DamagedLayer, match="changed while"):
            store.verify(layer)
        assert store.get("key") == layer


def test_a_damaged_record_is_named(store: LayerStore, layer: Layer) -> None:
    for junk in (b"", b"{", b"[]", b"{}", b'{"facts": 1}', b"\xff"):
        (layer.path.parent / "layer.json").write_bytes(junk)
        with pytest.raises(DamagedLayer, match="record"):
            store.get(layer.key)
    assert store.remove_unused([]) == (layer.path.parent.name,)
    assert store.get(layer.key) is None


def test_strange_keys_are_refused(store: LayerStore) -> None:
    for key in ("", "../x", "a/b", ".hidden", "x" * 300, "a\n"):
        with pytest.raises(UsageFault):
            store.get(key)


def test_a_layer_in_use_is_not_removed(store: LayerStore, layer: Layer, tmp_path: Path) -> None:
    other = store.make("other", lambda content: {})
    kept = store.make("kept", lambda content: {})
    with Workspace.create((layer,), tmp_path / "scratch", overlays=True):
        assert store.remove_unused([kept.key]) == ("other",)
        assert store.get(layer.key) == layer
    assert not other.path.exists()
    assert store.remove_unused([kept.key]) == (layer.key,)
    assert store.keys() == ("kept",)


def test_a_finished_setup_becomes_a_layer(
    store: LayerStore, layer: Layer, tmp_path: Path, overlay: Callable[..., bytes]
) -> None:
    script = """
import os, shutil, sys
os.chdir(sys.argv[1])
os.unlink("00/00")
shutil.rmtree("01")
os.mkdir("01")
open("01/made", "w").close()
open("../setup/tool", "w").close()
"""
    with Workspace.create((layer,), tmp_path / "scratch", overlays=True) as setup:
        overlay(setup.view(), tmp_path / "mount", script)
        made = store.adopt("setup", setup.upper, {"steps": []})
        assert not setup.upper.exists()
    store.check(made, full=True)
    assert store.adopt("setup", tmp_path / "absent", {}) == made
    with Workspace.create((made, layer), tmp_path / "agent", overlays=True) as agent:
        assert agent.read(b"00/00") is None and agent.read(b"01/10") is None
        assert agent.read(b"01/made") == b"" and agent.read(b"02/20") == b"20"
        assert agent.changes().changes == ()
        shown = overlay(
            agent.view(), tmp_path / "mount", "import os, sys; print(sorted(os.listdir(sys.argv[1] + '/01')))"
        )
        assert shown == b"['made']\n"
        overlay(agent.view(), tmp_path / "mount", "import os, sys; os.unlink(sys.argv[1] + '/01/made')")
        assert [(change.path, change.change) for change in agent.changes().changes] == [(b"01/made", "deleted")]
    with Workspace.create((made, layer), tmp_path / "copy", overlays=False) as copy:
        top = copy.upper / "workspace"
        assert os.listdir(top / "01") == ["made"] and not (top / "00" / "00").exists()
        assert (top / ".git" / "HEAD").exists() and (copy.upper / "setup" / "tool").exists()
        assert copy.changes().changes == ()


def copied(layer: Layer, store: LayerStore, root: Path) -> tuple[LayerStore, Layer]:
    """The store as ``cp -r`` carries it to another place: the same content with other inodes, owners and times."""
    subprocess.run(["cp", "-r", layer.path.parent.parent, root], check=True)
    other = LayerStore(root)
    found = other.get(layer.key)
    assert found is not None
    return other, found


def test_a_layer_that_was_copied_is_noted_anew(store: LayerStore, layer: Layer, tmp_path: Path) -> None:
    other, found = copied(layer, store, tmp_path / "copy")
    with pytest.raises(DamagedLayer):
        other.check(found)
    sound = other.sound(layer.key)
    assert sound is not None and sound == other.get(layer.key)
    other.check(sound, full=True)
    assert (sound.entries_digest, sound.facts) == (layer.entries_digest, layer.facts)
    status = (sound.path / "workspace" / "00" / "00").stat()
    assert (status.st_uid, status.st_gid) == owner()
    assert other.sound(layer.key) == sound and other.keys() == (layer.key,)


@pytest.mark.parametrize("harm", ["bytes", "mode", "added", "removed"])
def test_a_copied_layer_with_other_content_is_damaged(
    harm: str, store: LayerStore, layer: Layer, tmp_path: Path
) -> None:
    other, found = copied(layer, store, tmp_path / "copy")
    victim = found.path / "workspace" / "00" / "01"
    if harm == "bytes":
        victim.write_bytes(b"?")
    elif harm == "mode":
        victim.chmod(0o755)
    elif harm == "added":
        victim.with_name("new").touch()
    else:
        victim.unlink()
    with pytest.raises(DamagedLayer, match="have been changed"):
        other.sound(layer.key)
    assert other.get(layer.key) == found, "what differs is not noted as right"


def test_a_layer_that_is_not_there_is_not_sound(store: LayerStore) -> None:
    assert store.sound("another") is None
