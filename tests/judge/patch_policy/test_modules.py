"""Files that would be imported in place of modules of the standard library."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from proctor.contract.model import Policy
from proctor.judge.patch_policy.paths_of_tests import SHADOWED, Places, loaded_as, places_of, shadowing
from proctor.judge.patch_policy.restored_files import restore
from proctor.judge.patch_policy.tree_overlay import TreeOverlay

FILE, LINK = 0o100644, 0o120000
ROOTS = (b"", b"src", b"tests")
BASE = {
    b"types.py": b"own",
    b"pkg/__init__.py": b"",
    b"pkg/tests/__init__.py": b"",
    b"pkg/tests/test_a.py": b"",
    b"packaging/__init__.py": b"own",
}


def read_base(path: bytes) -> tuple[int, bytes] | None:
    return (FILE, BASE[path]) if path in BASE else None


def test_the_table_holds_what_interpreters_have() -> None:
    toys = {"this", "antigravity", "idlelib", "turtledemo", "lib2to3"}
    public = {name for name in sys.stdlib_module_names if not name.startswith("_")}
    assert public - toys <= {name.decode() for name in SHADOWED}
    assert b"test" not in SHADOWED


@pytest.mark.parametrize(
    "path",
    [
        b"argparse.py",
        b"tests/pathlib.py",
        b"tests/unittest.py",
        b"packaging/__init__.py",
        b"pygments/__init__.py",
        b"py.py",
        b"src/hmac.py",
        b"hmac.so",
        b"hmac.cpython-311-x86_64-linux-gnu.so",
        b"json/__init__.abi3.so",
        b"json",
        b"msvcrt.py",
    ],
)
def test_modules_of_others(path: bytes) -> None:
    assert shadowing(path, ROOTS)


@pytest.mark.parametrize(
    "path",
    [
        b"pkg/json.py",
        b"src/pkg/types.py",
        b"json/data.txt",
        b"types/index.ts",
        b"src/types/index.js",
        b"json.txt",
        b"token.md",
        b"packaging/debian/rules",
        b"jsonx.py",
        b"deep/tests/hmac.py",
        b"srcjson.py",
    ],
)
def test_modules_of_the_project(path: bytes) -> None:
    assert not shadowing(path, ROOTS)


def left(*writes: tuple[bytes, int, bytes], policy: Policy | None = None, places: Places | None = None) -> set[bytes]:
    placement = TreeOverlay(writes)
    restore(placement, policy or Policy(), read_base, places)
    return {path for path, _, _ in placement.writes()}


def test_added_modules_of_others_are_taken_away_unless_freed() -> None:
    assert left((b"argparse.py", FILE, b"x"), (b"app.py", FILE, b"x")) == {b"app.py"}
    freed = Policy(free_steering=("argparse.py",))
    assert left((b"argparse.py", FILE, b"x"), policy=freed) == {b"argparse.py"}


def test_names_that_the_base_itself_uses_are_the_projects() -> None:
    assert left((b"types.py", FILE, b"new")) == {b"types.py"}
    assert left((b"types/__init__.py", FILE, b"new")) == {b"types/__init__.py"}
    assert left((b"packaging/tags.py", FILE, b"new")) == {b"packaging/tags.py"}


def test_links_to_packages_and_in_place_of_import_directories() -> None:
    evil = (b"evil/hmac.py", FILE, b"x")
    assert left(evil, (b"json", LINK, b"evil")) == {b"evil/hmac.py"}
    assert left(evil, (b"tests", LINK, b"evil")) == {b"evil/hmac.py"}
    assert left(evil, (b"other", LINK, b"evil")) == {b"evil/hmac.py", b"other"}
    assert left((b"json", FILE, b"a plain file")) == {b"json"}


def test_a_package_of_tests_is_no_place_where_imports_start() -> None:
    places = Places(tests=frozenset((b"pkg/tests", b"checks")))
    inside = (b"pkg/json.py", FILE, b"x"), (b"pkg/tests/hmac.py", FILE, b"x")
    assert left(*inside, places=places) == {b"pkg/json.py", b"pkg/tests/hmac.py"}
    assert left((b"checks/hmac.py", FILE, b"x"), places=places) == set()
    assert left((b"json.py", FILE, b"x"), places=places) == set()


def test_places_come_from_commands_variables_and_listed_tests(bench: Any) -> None:
    checks = (
        bench.check(
            id="a", run=("/usr/bin/python3", "-B", "tools/run.py", "spec/unit"), must_pass=("deep/t/test_a.py::b",)
        ),
        bench.check(
            id="b", run=("/bin/sh", "-eu", "-c", "cd x && python3 scripts/go.py >out"), directory="/workspace/sub"
        ),
        bench.check(
            id="c", run=("/usr/bin/python3", "-m", "py_compile", "pkg/inner/a.py"), variables={"PYTHONPATH": "py:/opt"}
        ),
    )
    places = places_of(bench.contract(*checks))
    assert {b"", b"tools", b"sub", b"sub/scripts", b"py"} == places.start
    assert {b"spec/unit", b"deep/t", b"tests", b"pkg/inner"} <= places.tests


def test_files_that_compete_for_one_name() -> None:
    for path in (b"t/test_x.so", b"t/test_x.cpython-311-x86_64-linux-gnu.so", b"t/test_x/__init__.py", b"t/test_x"):
        assert loaded_as(path) == loaded_as(b"t/test_x.py")
    assert loaded_as(b"t/x.test.js") == loaded_as(b"t/x.test.ts") != loaded_as(b"t/x.js")
    for path in (b"t/test_x.txt", b"t/test_x.json", b"test_x.py", b"t/test_x/data.py"):
        assert loaded_as(path) != loaded_as(b"t/test_x.py")
