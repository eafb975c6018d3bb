"""Which files steer a test runner, by name, in the ecosystems that contracts use. Pure.

A patch that changes such a file could change what the tests mean instead of what the code does, so the judge puts the
base's version back, or takes the file away where the base has none. Some files steer with only a part of them (a table
of ``pyproject.toml``, a section of ``setup.cfg``, some keys of ``package.json``): ``judge.tables`` restores that part.
A directory that steers does so as a link too, and in capitals, since some readers do not mind case.
Files that stand in for modules of the standard library depend on the tree: ``judge.modules`` knows them.
A module with the name of a test runner's module is the project's own if the pristine tree has it: a patch for pytest
may change ``src/_pytest``, but a patch for another project may not add a ``pytest.py``.
Files in which a project's own code and its steering cannot be told apart (``Makefile``, ``pom.xml``) are left alone: a
contract can protect them by name.
"""

from __future__ import annotations

import re
from collections.abc import Callable

WHOLE, TABLES = "whole", "tables"

PARTLY = frozenset((b"pyproject.toml", b"setup.cfg", b"tox.ini", b"package.json"))
"""File names of which only some tables steer."""

_PYTHON = b"""
    conftest.py pytest.ini .pytest.ini pytest.toml .pytest.toml .coveragerc noxfile.py nose.cfg nose2.cfg unittest.cfg
    .noserc sitecustomize.py usercustomize.py pyvenv.cfg
"""
_JAVASCRIPT = b"""
    .taprc .npmrc .yarnrc .yarnrc.yml .pnpmfile.cjs jasmine.json bunfig.toml deno.json deno.jsonc .swcrc .env.test
"""
_OTHERS = b"""
    .rspec .proverc phpunit.xml phpunit.xml.dist phpunit.dist.xml test_helper.exs
    rust-toolchain rust-toolchain.toml nextest.toml junit-platform.properties testng.xml xunit.runner.json
    CTestTestfile.cmake CTestConfig.cmake CTestCustom.cmake DartConfiguration.tcl
"""

NAMES = frozenset((_PYTHON + _JAVASCRIPT + _OTHERS).split())
"""File names that steer a runner wherever they lie."""

_PATTERNS = re.compile(
    rb"(?:^|/)(?:"
    rb"[^/]*\.(?:pth|_pth|egg-link|pyc|pyo|runsettings)"
    rb"|(?:jest|vitest|vite|ava|karma|playwright|cypress|wdio|babel|mocha|nightwatch|tap)\.(?:config|conf|workspace)"
    rb"\.[a-z.]+"
    rb"|\.(?:mocharc|nycrc|babelrc|c8rc|jasminerc|avarc)(?:\.[a-z]+)?"
    rb"|(?:sitecustomize|usercustomize)(?:\.[^/]*\.so|\.so|(?:/.*)?)"
    rb"|(?:__pycache__|node_modules|\.cargo|\.mvn|[^/]*\.egg-info|[^/]*\.dist-info)(?:/.*)?"
    rb")\Z",
    re.DOTALL | re.IGNORECASE,
)

_MODULES = b"""
    pytest _pytest pluggy iniconfig xdist proctor_results proctor_fingerprints unittest doctest nose nose2
"""

RUNNER_MODULES = frozenset(_MODULES.split())
"""Modules that run tests: a file of the same name where imports start would be run in their place."""

_PRODUCT = re.compile(
    rb"(?:^|/)(?:__pycache__|node_modules|[^/]*\.egg-info|[^/]*\.dist-info)(?:/|\Z)|\.(?:pyc|pyo)\Z", re.IGNORECASE
)

_IMPORT_ROOTS = (b"", b"src/", b"lib/")

Has = Callable[[bytes], bool]
"""Whether the pristine tree has a file at a path."""


def has_nothing(_: bytes) -> bool:
    """An empty tree."""
    return False


def steers(path: bytes, has: Has = has_nothing) -> str:
    """``whole`` when the file at ``path`` steers a runner, ``tables`` when parts of it may, else nothing.

    ``has`` says which files the pristine tree has: its own modules do not shadow those of a runner.
    """
    name = path.rpartition(b"/")[2]
    if name in NAMES or _PATTERNS.search(path) or shadows_runner(path, has):
        return WHOLE
    return TABLES if name in PARTLY else ""


def is_product(path: bytes) -> bool:
    """Whether installing or running programs leaves such a file by nature."""
    return bool(_PRODUCT.search(path))


def shadows_runner(path: bytes, has: Has = has_nothing) -> bool:
    """Whether ``path`` would be imported in place of a runner's own module, and is not the project's own."""
    module = _runner_module(path)
    return bool(module) and not has(path) and not has_module(module, _IMPORT_ROOTS, has)


def has_module(module: bytes, roots: tuple[bytes, ...], has: Has) -> bool:
    """Whether a tree has a module of this name below one of ``roots``, each of which is empty or ends in a slash."""
    return any(has(root + module + form) for root in roots for form in (b".py", b"/__init__.py"))


def _runner_module(path: bytes) -> bytes:
    """The runner's module that ``path`` would be imported in place of, if any."""
    for root in _IMPORT_ROOTS:
        if path.startswith(root):
            first, _, rest = path[len(root) :].partition(b"/")
            module = first if rest else first.partition(b".")[0]
            if module in RUNNER_MODULES and (rest or _is_module(first)):
                return module
    return b""


def _is_module(name: bytes) -> bool:
    return name.endswith((b".py", b".so")) or b"." not in name
