"""Which files steer runners, and how their tables are put back."""

from __future__ import annotations

import json
import tomllib

import pytest

from proctor.judge.patch_policy.paths_of_tests import TABLES, WHOLE, is_product, steers
from proctor.judge.patch_policy.restored_files import restored


@pytest.mark.parametrize(
    "path",
    [
        b"conftest.py",
        b"tests/deep/conftest.py",
        b"pytest.ini",
        b".pytest.ini",
        b"pytest.toml",
        b".coveragerc",
        b"sitecustomize.py",
        b"usercustomize.py",
        b"sitecustomize/__init__.py",
        b"sitecustomize.cpython-311-x86_64-linux-gnu.so",
        b"lib/evil.pth",
        b"src/evil.egg-link",
        b"evil.egg-info/entry_points.txt",
        b"evil-1.0.dist-info/entry_points.txt",
        b"tests/__pycache__/test_x.cpython-311-pytest-8.4.2.pyc",
        b"pkg/mod.pyc",
        b"pytest.py",
        b"_pytest/runner.py",
        b"src/pluggy/__init__.py",
        b"unittest/case.py",
        b"proctor_results.py",
        b"jest.config.js",
        b"packages/a/vitest.config.mts",
        b"vitest.workspace.ts",
        b".mocharc.json",
        b".mocharc",
        b".babelrc",
        b"babel.config.cjs",
        b"karma.conf.js",
        b".taprc",
        b"node_modules/tape/index.js",
        b".npmrc",
        b".rspec",
        b".proverc",
        b"phpunit.xml.dist",
        b".cargo/config.toml",
        b".mvn/jvm.config",
        b"build/CTestTestfile.cmake",
        b"src/test/resources/junit-platform.properties",
        b"evil-1.0.DIST-INFO/entry_points.txt",
        b"evil.Egg-Info/entry_points.txt",
        b"evil-1.0.dist-info",
        b"evil.egg-info",
        b"node_modules",
        b"packages/a/node_modules",
        b"__pycache__",
        b".cargo",
        b".mvn",
        b"sitecustomize",
    ],
)
def test_steering_files(path: bytes) -> None:
    assert steers(path) == WHOLE


@pytest.mark.parametrize("path", [b"pyproject.toml", b"setup.cfg", b"sub/tox.ini", b"package.json"])
def test_files_that_steer_in_part(path: bytes) -> None:
    assert steers(path) == TABLES


@pytest.mark.parametrize(
    "path",
    [
        b"src/app.py",
        b"tests/test_app.py",
        b"tests/__init__.py",
        b"pkg/pytest.py",
        b"docs/pytest.ini.md",
        b"Makefile",
        b"setup.py",
        b"my_conftest.py",
        b"conftest.py.bak",
        b"unittest_extra.py",
        b"pytest-notes.txt",
        b"pytest.md",
        b"index.js",
        b"pathological.py",
        b"tests/data/file.path",
        b"jest.js",
    ],
)
def test_files_that_do_not_steer(path: bytes) -> None:
    assert steers(path) == ""


def test_products_of_installing_are_known() -> None:
    assert is_product(b"node_modules/x/index.js")
    assert is_product(b"a.egg-info/PKG-INFO")
    assert is_product(b"pkg/__pycache__/m.pyc")
    assert is_product(b"node_modules")
    assert is_product(b"A-1.DIST-INFO/RECORD")
    assert not is_product(b"conftest.py")
    assert not is_product(b"lib/evil.pth")


BASE_TOML = b"""[project]
name = "x"

[tool.pytest.ini_options]
addopts = "-q"

[tool.ruff]
line-length = 100
"""


def test_toml_tables_are_the_bases_again_and_the_rest_stays() -> None:
    patched = BASE_TOML.replace(b'"-q"', b'"-p evil"').replace(b'name = "x"', b'name = "x"\nversion = "2"')
    made = restored(b"pyproject.toml", BASE_TOML, patched)
    assert made is not None
    data = tomllib.loads(made.decode())
    assert data["tool"]["pytest"]["ini_options"]["addopts"] == "-q"
    assert data["project"] == {"name": "x", "version": "2"}
    assert data["tool"]["ruff"] == {"line-length": 100}


def test_toml_tables_that_the_base_does_not_have_go() -> None:
    base = b'[project]\nname = "x"\n'
    made = restored(b"pyproject.toml", base, base + b'\n[tool.pytest.ini_options]\npython_files = "none"\n')
    assert made is not None
    assert tomllib.loads(made.decode()) == {"project": {"name": "x"}}


def test_toml_without_a_change_of_steering_keeps_its_bytes() -> None:
    patched = BASE_TOML.replace(b"100", b"120") + b"# a comment\n"
    assert restored(b"pyproject.toml", BASE_TOML, patched) == patched


@pytest.mark.parametrize(
    "patched",
    [
        b'tool.pytest.ini_options.addopts = "-p evil"\n[project]\nname = "x"\n',
        b'[tool]\npytest = {ini_options = {addopts = "-p evil"}}\n[project]\nname = "x"\n',
        b'[tool."pytest".ini_options]\naddopts = "-p evil"\n',
        b"[tool.'pytest'.'ini_options']\naddopts = '-p evil'\n",
        b'[ tool . pytest . ini_options ]\naddopts = "-p evil"\n',
        b'[project]\ntext = """\n[tool.pytest.ini_options]\n"""\n[tool.pytest.ini_options]\naddopts = "-p evil"\n',
    ],
)
def test_toml_tables_in_any_spelling_never_survive(patched: bytes) -> None:
    made = restored(b"pyproject.toml", BASE_TOML, patched)
    if made is not None:
        assert tomllib.loads(made.decode())["tool"]["pytest"] == {"ini_options": {"addopts": "-q"}}


@pytest.mark.parametrize("patched", [b"not toml [", b"\xff\xfe", b"[tool.pytest]\n[tool.pytest]\n"])
def test_toml_that_cannot_be_read_is_restored_whole(patched: bytes) -> None:
    assert restored(b"pyproject.toml", BASE_TOML, patched) is None


@pytest.mark.parametrize("header", [b"[tool:pytest]", b"[pytest]", b"[pytest]#]", b"[coverage:run]", b" [tox]"])
def test_ini_sections_never_survive(header: bytes) -> None:
    base = b"[metadata]\nname = x\n"
    made = restored(b"setup.cfg", base, base + header + b"\naddopts = -p evil\n[flake8]\nmax = 1\n")
    assert made == base + b"[flake8]\nmax = 1\n"


def test_ini_sections_of_the_base_come_back() -> None:
    base = b"[metadata]\nname = x\n[tool:pytest]\naddopts = -q\n"
    patched = b"[metadata]\nname = x\nversion = 2\n[tool:pytest]\naddopts = -p evil\n"
    assert restored(b"setup.cfg", base, patched) == b"[metadata]\nname = x\nversion = 2\n[tool:pytest]\naddopts = -q\n"
    assert (
        restored(b"setup.cfg", base, b"[metadata]\nname = y") == b"[metadata]\nname = y\n[tool:pytest]\naddopts = -q\n"
    )


def test_package_json_keeps_dependencies_and_loses_scripts() -> None:
    base = json.dumps({"name": "x", "scripts": {"test": "tape test"}, "dependencies": {"a": "1"}}).encode()
    patched = json.dumps(
        {"name": "x", "scripts": {"test": "true"}, "jest": {"bail": 1}, "dependencies": {"a": "2"}}
    ).encode()
    made = restored(b"package.json", base, patched)
    assert made is not None
    assert json.loads(made) == {"name": "x", "scripts": {"test": "tape test"}, "dependencies": {"a": "2"}}


def test_package_json_without_a_change_of_steering_keeps_its_bytes() -> None:
    base = b'{"name": "x", "scripts": {"test": "t"}}'
    patched = b'{"name":   "y", "scripts": {"test": "t"}}'
    assert restored(b"package.json", base, patched) == patched


@pytest.mark.parametrize("patched", [b"[]", b"{", b"\xff", b"[" * 100_000])
def test_package_json_that_cannot_be_read_is_restored_whole(patched: bytes) -> None:
    assert restored(b"package.json", b"{}", patched) is None


def test_files_beyond_the_bound_are_restored_whole() -> None:
    assert restored(b"setup.cfg", b"", b"#" * (5 << 20)) is None


@pytest.mark.parametrize(
    ("path", "tree", "expected"),
    [
        (b"src/_pytest/runner.py", {b"src/_pytest/runner.py"}, ""),
        (b"src/_pytest/added.py", {b"src/_pytest/__init__.py"}, ""),
        (b"src/pytest/__init__.py", {b"pytest.py"}, ""),
        (b"unittest/case.py", {b"lib/unittest/__init__.py"}, ""),
        (b"pytest.py", {b"calc.py", b"tests/pytest_data.py"}, WHOLE),
        (b"unittest/__init__.py", {b"unittest/notes.txt"}, WHOLE),
        (b"pluggy/__init__.py", {b"src/_pytest/__init__.py"}, WHOLE),
        (b"src/_pytest/conftest.py", {b"src/_pytest/__init__.py", b"src/_pytest/conftest.py"}, WHOLE),
        (b"sitecustomize.py", {b"sitecustomize.py"}, WHOLE),
    ],
)
def test_j2_a_module_that_the_tree_has_is_the_projects_own(path: bytes, tree: set[bytes], expected: str) -> None:
    assert steers(path, tree.__contains__) == expected
