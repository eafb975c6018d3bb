"""Placing files over what a patch did, and putting back what it may not decide."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.contract.model import Policy
from proctor.judge.patch_policy.restored_files import Restored, restore
from proctor.judge.patch_policy.tree_overlay import TreeOverlay, ancestors

FILE, LINK = 0o100644, 0o120000
BASE = {
    b"app.py": (FILE, b"app"),
    b"tests/test_app.py": (FILE, b"tests"),
    b"tests/conftest.py": (FILE, b"conftest"),
    b"setup.cfg": (FILE, b"[metadata]\nname = x\n"),
}


def read_base(path: bytes) -> tuple[int, bytes] | None:
    return BASE.get(path)


def seen(placement: TreeOverlay) -> dict[bytes, tuple[int, bytes]]:
    """The tree that the placement gives above the base, the way a workspace applies it."""
    tree = {path: found for path, found in BASE.items() if path not in placement.removals()}
    for path, mode, data in placement.writes():
        for above in ancestors(path):
            tree.pop(above, None)
        tree = {name: found for name, found in tree.items() if not name.startswith(path + b"/")}
        tree[path] = (mode, data)
    return tree


def test_a_link_on_the_way_gives_way() -> None:
    placement = TreeOverlay(((b"tests", LINK, b"/tmp"),), (b"tests/test_app.py", b"tests/conftest.py"))
    placement.put(b"tests/test_app.py", FILE, b"hidden")
    assert seen(placement)[b"tests/test_app.py"] == (FILE, b"hidden")
    assert b"tests" not in seen(placement)


def test_a_directory_in_the_place_gives_way() -> None:
    placement = TreeOverlay(((b"tests/test_new.py/inner.py", FILE, b"x"), (b"tests/test_new.py2", FILE, b"y")))
    placement.put(b"tests/test_new.py", FILE, b"hidden")
    assert seen(placement)[b"tests/test_new.py"] == (FILE, b"hidden")
    assert b"tests/test_new.py/inner.py" not in seen(placement)
    assert seen(placement)[b"tests/test_new.py2"] == (FILE, b"y")


def test_a_removal_is_undone_by_placing() -> None:
    placement = TreeOverlay((), (b"tests/test_app.py",))
    placement.put(b"tests/test_app.py", FILE, b"hidden")
    assert placement.removals() == ()


def test_a_file_that_became_a_directory_is_not_removed_after_writing() -> None:
    placement = TreeOverlay(((b"app.py/inner.py", FILE, b"x"),), (b"app.py",))
    assert placement.removals() == ()


def test_restoring_takes_away_what_the_base_does_not_have() -> None:
    placement = TreeOverlay(((b"conftest.py", FILE, b"evil"),))
    assert placement.restore(b"conftest.py", read_base)
    assert b"conftest.py" not in seen(placement)
    assert not placement.restore(b"conftest.py", read_base)


def test_a_copy_goes_its_own_way() -> None:
    first = TreeOverlay(((b"a", FILE, b"1"),))
    second = first.copy()
    second.put(b"a", FILE, b"2")
    assert first.writes() == ((b"a", FILE, b"1"),)


def test_reading_sees_writes_removals_and_the_base() -> None:
    placement = TreeOverlay(((b"tests", LINK, b"x"), (b"new", FILE, b"n")), (b"app.py",))
    assert placement.read(b"new", read_base) == (FILE, b"n")
    assert placement.read(b"app.py", read_base) is None
    assert placement.read(b"tests/test_app.py", read_base) is None
    assert placement.read(b"setup.cfg", read_base) == BASE[b"setup.cfg"]


def restoring(policy: Policy, *writes: tuple[bytes, int, bytes], removals: tuple[bytes, ...] = ()) -> TreeOverlay:
    placement = TreeOverlay(writes, removals)
    restore(placement, policy, read_base)
    return placement


@pytest.mark.parametrize(
    "path", [b"conftest.py", b"new/conftest.py", b"pytest.ini", b"lib/x.pth", b"tests/__pycache__/test_app.pyc"]
)
def test_an_added_steering_file_is_taken_away(path: bytes) -> None:
    assert path not in seen(restoring(Policy(), (path, FILE, b"evil")))


def test_a_changed_a_removed_and_a_replaced_steering_file_come_back() -> None:
    for placement in (
        restoring(Policy(), (b"tests/conftest.py", FILE, b"evil")),
        restoring(Policy(), (b"tests/conftest.py", LINK, b"../app.py")),
        restoring(Policy(), removals=(b"tests/conftest.py",)),
        restoring(Policy(), (b"tests/conftest.py/x", FILE, b"evil"), removals=(b"tests/conftest.py",)),
        restoring(Policy(), (b"tests", LINK, b"evil"), removals=(b"tests/conftest.py", b"tests/test_app.py")),
    ):
        assert seen(placement)[b"tests/conftest.py"] == (FILE, b"conftest")


def test_freed_steering_stays() -> None:
    policy = Policy(free_steering=("tests/conftest.py",))
    assert seen(restoring(policy, (b"tests/conftest.py", FILE, b"new")))[b"tests/conftest.py"] == (FILE, b"new")


def test_protection_outweighs_freed_steering() -> None:
    policy = Policy(free_steering=("**",), protected=("tests/**",))
    placement = restoring(policy, (b"tests/conftest.py", FILE, b"new"), (b"tests/extra.py", FILE, b"x"))
    assert seen(placement)[b"tests/conftest.py"] == (FILE, b"conftest")
    assert b"tests/extra.py" not in seen(placement)


def test_ordinary_files_and_added_tests_stay() -> None:
    placement = restoring(Policy(), (b"app.py", FILE, b"fixed"), (b"tests/test_more.py", FILE, b"more"))
    assert seen(placement)[b"app.py"] == (FILE, b"fixed")
    assert seen(placement)[b"tests/test_more.py"] == (FILE, b"more")


def test_only_the_tables_of_a_shared_file_come_back() -> None:
    patched = b"[metadata]\nname = y\n[tool:pytest]\naddopts = -p evil\n"
    placement = TreeOverlay(((b"setup.cfg", FILE, patched),))
    assert restore(placement, Policy(), read_base) == (Restored(b"setup.cfg", "steering-tables"),)
    assert seen(placement)[b"setup.cfg"] == (FILE, b"[metadata]\nname = y\n")


def test_a_shared_file_that_became_a_link_comes_back_whole() -> None:
    placement = TreeOverlay(((b"setup.cfg", LINK, b"evil.cfg"),))
    assert restore(placement, Policy(), read_base) == (Restored(b"setup.cfg", "steering"),)
    assert seen(placement)[b"setup.cfg"] == BASE[b"setup.cfg"]


PATHS = st.lists(st.sampled_from([b"tests", b"conftest.py", b"app.py", b"a", b"test_app.py"]), min_size=1, max_size=3)


@given(
    st.lists(st.tuples(PATHS.map(b"/".join), st.sampled_from([FILE, LINK]), st.binary(max_size=3)), max_size=6),
    st.lists(st.sampled_from(sorted(BASE)), max_size=4),
)
def test_whatever_a_patch_does_steering_is_the_bases_and_hidden_files_stand(
    writes: list[tuple[bytes, int, bytes]], removals: list[bytes]
) -> None:
    placement = TreeOverlay(tuple(writes), tuple(removals))
    restore(placement, Policy(), read_base)
    touched = {path for path, _, _ in writes} | set(removals)
    tree = seen(placement)
    for path, found in tree.items():
        if path.endswith(b"conftest.py") and path in touched:
            assert found == BASE.get(path)
    placement.put(b"tests/deep/test_hidden.py", FILE, b"hidden")
    tree = seen(placement)
    assert tree[b"tests/deep/test_hidden.py"] == (FILE, b"hidden")
    assert not any(above in tree for above in ancestors(b"tests/deep/test_hidden.py"))
