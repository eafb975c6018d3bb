"""Any tree becomes any other tree through a patch, byte for byte, in an overlay and in a plain copy."""

from __future__ import annotations

import itertools
import pickle
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from proctor.base.untrusted_directories import erase
from proctor.execute.workspace.layer_store import LayerStore
from proctor.execute.workspace.patch import apply_patch, make_patch, parse_stat
from proctor.execute.workspace.workspace import Workspace

Files = dict[bytes, tuple[int, bytes]]

ODD_NAMES = [
    *(
        b"a",
        b"b",
        b"a b",
        b'quo"te',
        b"new\nline",
        b"back\\slash",
        b"caf\xe9",
        b"\xff\xfe",
        b"-dash",
        b" lead",
        b"trail ",
    ),
    *(b"tab\there", b"x b", b"'", b"*", b"dev", b"\xc3\xa9", b"\x01\x7f", b"...", b".gitignore", b".gitattributes"),
    *(b"a\r", b"=======", b"@@ -1 +1 @@", b"--- a", b"diff --git a b"),
]
NAMES = st.one_of(
    st.sampled_from(ODD_NAMES),
    st.binary(min_size=1, max_size=8)
    .map(lambda name: name.replace(b"/", b"_").replace(b"\0", b"0"))
    .filter(lambda name: name not in (b".", b"..") and name.lower() != b".git"),
)
PATHS = st.lists(NAMES, min_size=1, max_size=3).map(b"/".join)
LINES = st.sampled_from(
    [b"one", b"two", b"three", b"", b"four\r", b"+plus", b"-minus", b"@@ -1 +1 @@", b"\\ No newline"]
)
TEXTS = st.tuples(st.lists(LINES, max_size=12), st.booleans()).map(lambda pair: b"\n".join(pair[0]) + b"\n" * pair[1])
DATA = st.one_of(TEXTS, st.binary(max_size=200), st.sampled_from([b"", b"\0" * 50, b"* text=auto eol=crlf\n"]))
TARGETS = st.binary(min_size=1, max_size=20).filter(lambda target: b"\0" not in target)
FILES = st.one_of(
    st.tuples(st.sampled_from([0o100644, 0o100755]), DATA),
    st.tuples(st.just(0o120000), TARGETS),
)


def consistent(files: Files) -> Files:
    """The files whose directories are not files themselves."""
    return {
        path: file
        for path, file in files.items()
        if not any(b"/".join(path.split(b"/")[:depth]) in files for depth in range(1, path.count(b"/") + 1))
        and not (path.endswith(b".gitmodules") and file[0] == 0o120000)
    }


TREES = st.dictionaries(PATHS, FILES, max_size=8).map(consistent)


@st.composite
def pairs(draw: st.DrawFn) -> tuple[Files, Files]:
    """A tree and what became of it: kept, changed, moved, deleted and new files."""
    before = draw(TREES)
    after: Files = dict(draw(TREES))
    for path, (mode, data) in before.items():
        fate = draw(st.sampled_from(["keep", "keep", "edit", "mode", "type", "move", "delete", "below"]))
        if fate == "keep":
            after[path] = (mode, data)
        elif fate == "edit" and mode != 0o120000:
            after[path] = (mode, data + draw(DATA))
        elif fate == "mode" and mode != 0o120000:
            after[path] = (mode ^ 0o111, data)
        elif fate == "type":
            after[path] = draw(FILES)
        elif fate == "move":
            after[draw(PATHS)] = (mode, data)
        elif fate == "below":
            after[path + b"/" + draw(NAMES)] = (mode, data)
    return before, consistent(after)


@pytest.fixture
def place(tmp_path: Path) -> Callable[[], Path]:
    numbers = itertools.count()

    def fresh() -> Path:
        path = tmp_path / str(next(numbers))
        path.mkdir()
        return path

    return fresh


Write = Callable[[Path, Files], None]
Read = Callable[[Path], Files]


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(trees=pairs())
@example(trees=({b"a": (0o100644, b"x\n")}, {b"a/b": (0o100644, b"x\n")}))
@example(trees=({b"a/b": (0o100644, b"x\n" * 9)}, {b"a": (0o100644, b"x\n" * 9)}))
@example(trees=({b"a/b/c": (0o100644, b"x\n"), b"a/d": (0o100644, b"y\n")}, {b"a": (0o120000, b"a/b")}))
@example(trees=({b"a": (0o120000, b"b")}, {b"a": (0o100755, b"b")}))
@example(
    trees=({b"a": (0o100644, b"1\n"), b"b": (0o100644, b"2\n")}, {b"a": (0o100644, b"2\n"), b"b": (0o100644, b"1\n")})
)
@example(trees=({b"x b/x": (0o100644, b"")}, {b"x b/x": (0o100755, b"")}))
@example(trees=({b"old": (0o100644, b"line\n" * 20)}, {b"new\n": (0o100755, b"line\n" * 19)}))
@example(trees=({b"a": (0o120000, b"x")}, {b"a/a": (0o120000, b"x")}))
@example(trees=({}, {b"trail /a": (0o100644, b"")}))
@example(trees=({b"x": (0o100644, b"1\n")}, {b"x b/x b/x": (0o100644, b"1\n")}))
@example(trees=({b"e": (0o100644, b"")}, {b"f": (0o100644, b"")}))
def test_round_trip(trees: tuple[Files, Files], place: Callable[[], Path], write_tree: Write, read_tree: Read) -> None:
    round_trip(trees, place(), write_tree, read_tree)


@pytest.mark.soak
@settings(max_examples=800, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(trees=pairs())
def test_round_trip_many_times(
    trees: tuple[Files, Files], place: Callable[[], Path], write_tree: Write, read_tree: Read
) -> None:
    round_trip(trees, place(), write_tree, read_tree)


def round_trip(trees: tuple[Files, Files], here: Path, write_tree: Write, read_tree: Read) -> None:
    """From one tree to its changes, to a patch, and to the other tree again."""
    before, after = trees
    (here / "after").mkdir()
    write_tree(here / "after", after)

    def build(content: Path) -> dict[str, str]:
        write_tree(content / "workspace", before)
        return {}

    layer = LayerStore(here / "layers").make("base", build)
    with Workspace.create((layer,), here / "agent", overlays=False) as agent:
        top = agent.upper / "workspace"
        top.rename(here / "original")
        (here / "after").rename(top)
        changes = agent.changes()
        patch = make_patch(changes, agent.read_base, agent.read)
    assert not changes.special and not changes.too_large and not changes.truncated
    assert {change.path for change in changes.changes} == {
        path for path in before.keys() | after.keys() if before.get(path) != after.get(path)
    }
    assert (patch == b"") == (before == after)
    assert {stat.path for stat in parse_stat(patch)} <= {change.path for change in changes.changes}

    application = apply_patch(patch, before.get)
    with Workspace.create((layer,), here / "copy", overlays=False, application=application) as judge:
        assert read_tree(judge.upper / "workspace") == after
    with Workspace.create((layer,), here / "judge", overlays=True, application=application) as judge:
        assert judge.changes() == changes
        assert {path: judge.file(path) for path in before.keys() | after.keys()} == {
            path: after.get(path) for path in before.keys() | after.keys()
        }
    erase(here)


MOVE = """
import os, pickle, shutil, sys
os.umask(0o022)
top = os.fsencode(sys.argv[1])
with open(sys.argv[2], "rb") as file:
    before, after = pickle.load(file)
for path in before:
    if before[path] != after.get(path):
        os.unlink(os.path.join(top, path))
for directory, _, _ in os.walk(top, topdown=False):
    if directory != top and not os.listdir(directory):
        os.rmdir(directory)
for path, (mode, data) in after.items():
    place = os.path.join(top, path)
    if before.get(path) == (mode, data):
        continue
    os.makedirs(os.path.dirname(place), exist_ok=True)
    if mode == 0o120000:
        os.symlink(data, place)
    else:
        with open(place, "wb") as file:
            file.write(data)
        os.chmod(place, mode & 0o777)
"""

SHOW = """
import os, pickle, sys
top = os.fsencode(sys.argv[1])
shown = {}
for directory, names, others in os.walk(top):
    for name in [*others, *names]:
        place = os.path.join(directory, name)
        path = os.path.relpath(place, top)
        if os.path.islink(place):
            shown[path] = (0o120000, os.readlink(place))
        elif os.path.isfile(place):
            with open(place, "rb") as file:
                shown[path] = (0o100755 if os.stat(place).st_mode & 0o100 else 0o100644, file.read())
        else:
            shown[path] = (0, b"")
sys.stdout.buffer.write(pickle.dumps(shown))
"""


def with_directories(files: Files) -> Files:
    """``files`` and the directories they lie in."""
    parents = {b"/".join(path.split(b"/")[:depth]) for path in files for depth in range(1, path.count(b"/") + 1)}
    return files | dict.fromkeys(parents, (0, b""))


@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(trees=pairs())
@example(trees=({b"a/b": (0o100644, b"x\n"), b"a/c/d": (0o100644, b"")}, {b"a/c": (0o100644, b"x\n" * 9)}))
def test_round_trip_through_real_overlays(
    trees: tuple[Files, Files], place: Callable[[], Path], write_tree: Write, overlay: Callable[..., bytes]
) -> None:
    overlay_round_trip(trees, place(), write_tree, overlay)


@pytest.mark.soak
@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(trees=pairs())
def test_round_trip_through_real_overlays_many_times(
    trees: tuple[Files, Files], place: Callable[[], Path], write_tree: Write, overlay: Callable[..., bytes]
) -> None:
    overlay_round_trip(trees, place(), write_tree, overlay)


def overlay_round_trip(
    trees: tuple[Files, Files], here: Path, write_tree: Write, overlay: Callable[..., bytes]
) -> None:
    """The same round trip where the kernel makes and shows the changes."""
    before, after = trees
    (here / "trees").write_bytes(pickle.dumps(trees))

    def build(content: Path) -> dict[str, str]:
        write_tree(content / "workspace", before)
        return {}

    layer = LayerStore(here / "layers").make("base", build)
    with Workspace.create((layer,), here / "agent", overlays=True) as agent:
        overlay(agent.view(), here / "mount", MOVE, str(here / "trees"))
        changes = agent.changes()
        patch = make_patch(changes, agent.read_base, agent.read)
    assert {change.path for change in changes.changes} == {
        path for path in before.keys() | after.keys() if before.get(path) != after.get(path)
    }
    application = apply_patch(patch, before.get)
    with Workspace.create((layer,), here / "judge", overlays=True, application=application) as judge:
        assert pickle.loads(overlay(judge.view(), here / "mount", SHOW)) == with_directories(after)
        assert judge.changes() == changes
