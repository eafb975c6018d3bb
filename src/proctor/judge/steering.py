"""Which files steer a test runner, by name, in the ecosystems that contracts use. Pure.

A patch that changes such a file could change what the tests mean instead of what the code does, so the judge puts the
base's version back, or takes the file away where the base has none. Some files steer with only a part of them (a table
of ``pyproject.toml``, a section of ``setup.cfg``, some keys of ``package.json``): ``judge.tables`` restores that part.
Files in which a project's own code and its steering cannot be told apart (``Makefile``, ``pom.xml``) are left alone: a
contract can protect them by name.
"""

from __future__ import annotations

import re

WHOLE, TABLES = "whole", "tables"

PARTLY = frozenset((b"pyproject.toml", b"setup.cfg", b"tox.ini", b"package.json"))
"""File names of which only some tables steer."""

NAMES = frozenset(
    # Python: pytest, coverage, nose, nox, and what every interpreter loads at its start
    (b"conftest.py", b"pytest.ini", b".pytest.ini", b"pytest.toml", b".pytest.toml", b".coveragerc", b"noxfile.py")
    + (b"nose.cfg", b"nose2.cfg", b"unittest.cfg", b".noserc", b"sitecustomize.py", b"usercustomize.py", b"pyvenv.cfg")
    # JavaScript: runners, and the transforms and settings that they load
    + (b".taprc", b".npmrc", b".yarnrc", b".yarnrc.yml", b".pnpmfile.cjs", b"jasmine.json", b"bunfig.toml")
    + (b"deno.json", b"deno.jsonc", b".swcrc", b".env.test")
    # Ruby, Perl, PHP, Elixir
    + (b".rspec", b".proverc", b"phpunit.xml", b"phpunit.xml.dist", b"phpunit.dist.xml", b"test_helper.exs")
    # Rust, Java, .NET, C and C++
    + (b"rust-toolchain", b"rust-toolchain.toml", b"nextest.toml", b"junit-platform.properties", b"testng.xml")
    + (b"xunit.runner.json", b"CTestTestfile.cmake", b"CTestConfig.cmake", b"CTestCustom.cmake")
    + (b"DartConfiguration.tcl",)
)

_PATTERNS = re.compile(
    rb"(?:^|/)(?:"
    rb"[^/]*\.(?:pth|_pth|egg-link|pyc|pyo|runsettings)"
    rb"|(?:jest|vitest|vite|ava|karma|playwright|cypress|wdio|babel|mocha|nightwatch|tap)\.(?:config|conf|workspace)"
    rb"\.[a-z.]+"
    rb"|\.(?:mocharc|nycrc|babelrc|c8rc|jasminerc|avarc)(?:\.[a-z]+)?"
    rb"|(?:sitecustomize|usercustomize)(?:\.[^/]*\.so|\.so|/.*)"
    rb"|(?:__pycache__|node_modules|\.cargo|\.mvn|[^/]*\.egg-info|[^/]*\.dist-info)/.*"
    rb")\Z",
    re.DOTALL,
)

RUNNER_MODULES = frozenset(
    (b"pytest", b"_pytest", b"pluggy", b"iniconfig", b"xdist", b"proctor_results", b"unittest", b"doctest", b"nose")
    + (b"nose2",)
)
"""Modules that run tests: a file of the same name where imports start would be run in their place."""

_PRODUCT = re.compile(rb"(?:^|/)(?:__pycache__|node_modules|[^/]*\.egg-info|[^/]*\.dist-info)/|\.(?:pyc|pyo)\Z")

_IMPORT_ROOTS = (b"", b"src/", b"lib/")


def steers(path: bytes) -> str:
    """``whole`` when the file at ``path`` steers a runner, ``tables`` when parts of it may, else nothing."""
    name = path.rpartition(b"/")[2]
    if name in NAMES or _PATTERNS.search(path) or _shadows_runner(path):
        return WHOLE
    return TABLES if name in PARTLY else ""


def is_product(path: bytes) -> bool:
    """Whether installing or running programs leaves such a file by nature."""
    return bool(_PRODUCT.search(path))


def _shadows_runner(path: bytes) -> bool:
    """Whether ``path`` would be imported in place of a runner's own module."""
    for root in _IMPORT_ROOTS:
        if path.startswith(root):
            first, _, rest = path[len(root) :].partition(b"/")
            if (first if rest else first.partition(b".")[0]) in RUNNER_MODULES and (rest or _is_module(first)):
                return True
    return False


def _is_module(name: bytes) -> bool:
    return name.endswith((b".py", b".so")) or b"." not in name
