"""Which files hold tests, steer a test runner, or are imported in place of a library, by name. Pure.

Adding tests never counts against a patch: a file that a patch adds under such a name counts neither as a change
outside the writable paths nor towards the size of the patch.

A patch that changes a steering file could change what the tests mean instead of what the code does, so the judge
restores the base's version, or removes the file if the base has none. Some files steer with only a part of them (a
table of ``pyproject.toml``, a section of ``setup.cfg``, some keys of ``package.json``): ``restore`` restores that part.
A directory that steers does so as a link too, and in capitals, since some readers ignore case. Files that replace
modules of the standard library depend on the tree: see below. A module with the name of a test runner's module is the
project's own if the pristine tree has it: a patch for pytest may change ``src/_pytest``, but a patch for another
project may not add a ``pytest.py``. Files in which a project's own code and its steering cannot be separated
(``Makefile``, ``pom.xml``) are not changed: a contract can protect them by name.

Tests and their runner import by name, from the first directory that has the name. A file ``argparse.py`` where imports
start is run in place of the standard library's. The names are a table, so that every interpreter judges alike; modules
that the library merely tries to import (``msvcrt``, ``org``) are among them. If the base itself has a module of such
a name, the name is the project's own and no rule here applies.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise

from proctor.contract.model import Contract

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
"""File names that steer a runner in any directory."""

PATTERNS = re.compile(
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
"""The forms of paths that steer a runner."""

_MODULES = b"""
    pytest _pytest pluggy iniconfig xdist proctor_results proctor_fingerprints unittest doctest nose nose2
"""

RUNNER_MODULES = frozenset(_MODULES.split())
"""Modules that run tests: a file of the same name where imports start would be run in their place."""

_PRODUCT = re.compile(
    rb"(?:^|/)(?:__pycache__|node_modules|[^/]*\.egg-info|[^/]*\.dist-info)(?:/|\Z)|\.(?:pyc|pyo)\Z", re.IGNORECASE
)

IMPORT_ROOTS = (b"", b"src/", b"lib/")
"""Where imports of a project usually start."""

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
    if name in NAMES or PATTERNS.search(path) or shadows_runner(path, has):
        return WHOLE
    return TABLES if name in PARTLY else ""


def is_product(path: bytes) -> bool:
    """Whether installing or running programs leaves such a file by nature."""
    return bool(_PRODUCT.search(path))


def shadows_runner(path: bytes, has: Has = has_nothing) -> bool:
    """Whether ``path`` would be imported in place of a runner's own module, and is not the project's own."""
    module = _runner_module(path)
    return bool(module) and not has(path) and not has_module(module, IMPORT_ROOTS, has)


def has_module(module: bytes, roots: tuple[bytes, ...], has: Has) -> bool:
    """Whether a tree has a module of this name below one of ``roots``, each of which is empty or ends in a slash."""
    return any(has(root + module + form) for root in roots for form in (b".py", b"/__init__.py"))


def _runner_module(path: bytes) -> bytes:
    """The runner's module that ``path`` would be imported in place of, if any."""
    for root in IMPORT_ROOTS:
        if path.startswith(root):
            first, _, rest = path[len(root) :].partition(b"/")
            module = first if rest else first.partition(b".")[0]
            if module in RUNNER_MODULES and (rest or _is_module(first)):
                return module
    return b""


def _is_module(name: bytes) -> bool:
    return name.endswith((b".py", b".so")) or b"." not in name


_LIBRARY = b"""
    abc aifc annotationlib argparse array ast asynchat asyncio asyncore atexit audioop base64 bdb binascii bisect
    builtins bz2 cProfile calendar cgi cgitb chunk cmath cmd code codecs codeop collections colorsys compileall
    compression concurrent configparser contextlib contextvars copy copyreg crypt csv ctypes curses dataclasses
    datetime dbm decimal difflib dis distutils doctest email encodings ensurepip enum errno faulthandler fcntl
    filecmp fileinput fnmatch fractions ftplib functools gc genericpath getopt getpass gettext glob graphlib grp
    gzip hashlib heapq hmac html http imaplib imghdr imp importlib inspect io ipaddress itertools json keyword
    linecache locale logging lzma mailbox mailcap marshal math mimetypes mmap modulefinder msilib msvcrt
    multiprocessing netrc nis nntplib nt ntpath nturl2path numbers opcode operator optparse os ossaudiodev pathlib
    pdb pickle pickletools pipes pkgutil platform plistlib poplib posix posixpath pprint profile pstats pty pwd
    py_compile pyclbr pydoc pydoc_data pyexpat queue quopri random re readline reprlib resource rlcompleter runpy
    sched secrets select selectors shelve shlex shutil signal site smtpd smtplib sndhdr socket socketserver spwd
    sqlite3 sre_compile sre_constants sre_parse ssl stat statistics string stringprep struct subprocess sunau
    symtable sys sysconfig syslog tabnanny tarfile telnetlib tempfile termios textwrap threading time timeit tkinter
    token tokenize tomllib trace traceback tracemalloc tty turtle types typing unicodedata unittest urllib uu uuid
    venv warnings wave weakref webbrowser winreg winsound wsgiref xdrlib xml xmlrpc zipapp zipfile zipimport zlib
    zoneinfo
"""

_INNER = b"""
    __future__ _abc _aix_support _android_support _apple_support _ast _ast_unparse _asyncio _bisect _blake2
    _bootsubprocess _bz2 _codecs _codecs_cn _codecs_hk _codecs_iso2022 _codecs_jp _codecs_kr _codecs_tw _collections
    _collections_abc _colorize _compat_pickle _compression _contextvars _crypt _csv _ctypes _curses _curses_panel
    _datetime _dbm _decimal _elementtree _frozen_importlib _frozen_importlib_external _functools _gdbm _hashlib
    _heapq _hmac _imp _interpchannels _interpqueues _interpreters _io _ios_support _json _locale _lsprof _lzma
    _markupbase _md5 _missing_stdlib_info _msi _multibytecodec _multiprocessing _opcode _opcode_metadata _operator
    _osx_support _overlapped _pickle _posixshmem _posixsubprocess _py_abc _py_warnings _pydecimal _pyio _pyrepl
    _queue _random _remote_debugging _scproxy _sha1 _sha256 _sha3 _sha512 _signal _sitebuiltins _socket _sqlite3
    _sre _ssl _stat _statistics _string _strptime _struct _suggestions _symtable _sysconfig _testcapi _thread
    _threading_local _tkinter _tokenize _tracemalloc _types _typing _uuid _warnings _weakref _weakrefset _winapi
    _zoneinfo _zstd
"""

_NEEDED = b"""
    argcomplete atomicwrites attr attrs colorama exceptiongroup execnet importlib_metadata java more_itertools org
    packaging py pygments setuptools pkg_resources toml tomli typing_extensions wcwidth zipp
"""

SHADOWED = frozenset((_LIBRARY + _INNER + _NEEDED).split())
"""Names of modules of the standard library, and of those that runners import if they are there."""

_WORKSPACE = "/workspace"
_WORD = re.compile(r"[^\s'\";|&<>()$`=:,]+")
_FORM = re.compile(
    rb"([A-Za-z_][A-Za-z0-9_]*)(?:(?:\.[A-Za-z0-9_-]+)?\.(?:py|so)|/__init__(?:\.[A-Za-z0-9_-]+)?\.(?:py|so)|)\Z"
)

Exists = Callable[[bytes], bool]


@dataclass(frozen=True)
class Places:
    """Directories of the tree from which tests import: ``start`` by the command, ``tests`` because they contain tests.

    A directory of ``tests`` that is a package does not count: imports start above the outermost package.
    """

    start: frozenset[bytes] = frozenset((b"",))
    tests: frozenset[bytes] = frozenset((b"src", b"lib", b"test", b"tests"))

    def roots(self, exists: Exists) -> frozenset[bytes]:
        """Where imports start in a tree whose files ``exists`` knows."""
        return self.start | {_above_packages(directory, exists) for directory in self.tests}


def places_of(contract: Contract) -> Places:
    """The directories that the checks of ``contract`` import from, by their commands, variables and listed tests."""
    start, tests = set(Places().start), set(Places().tests)
    for check in contract.checks:
        base = posixpath.relpath(check.directory, _WORKSPACE)
        variables = (contract.environment.variables.get("PYTHONPATH", ""), check.variables.get("PYTHONPATH", ""))
        start.update(_inside(base, ("", *(part for text in variables for part in text.split(":") if part))))
        arguments = [word for argument in check.run for word in _WORD.findall(argument) if _is_plain(word)]
        scripts = (word for before, word in pairwise(arguments) if posixpath.basename(before).startswith("python"))
        start.update(_inside(base, (posixpath.dirname(word) for word in scripts if word.endswith(".py"))))
        tests.update(_inside(base, (posixpath.dirname(word) if "." in word else word for word in arguments)))
        listed = (test.partition("::")[0] for test in (*check.must_pass, *check.keep_passing) if "::" in test)
        tests.update(_inside(base, {posixpath.dirname(path) for path in listed}))
    return Places(frozenset(start), frozenset(tests))


def shadowing(path: bytes, roots: Iterable[bytes]) -> str:
    """The module of others that a file at ``path`` would be imported in place of, if any."""
    for root in roots:
        inner = path[len(root) + 1 :] if root and path.startswith(root + b"/") else path if not root else b""
        form = _FORM.match(inner)
        if form and form[1] in SHADOWED:
            return form[1].decode()
    return ""


def other_forms(path: bytes) -> tuple[bytes, bytes]:
    """The plain file and the package by which a tree can have the module that ``path`` is a form of."""
    head, _, name = path.rpartition(b"/")
    module = head if name.startswith(b"__init__.") else path[: len(path) - len(name)] + name.partition(b".")[0]
    return module + b".py", module + b"/__init__.py"


def loaded_as(path: bytes) -> tuple[bytes, bytes]:
    """The name under which a loader without file suffixes finds ``path``, and its language; else the path itself.

    Several files of one such name compete: a compiled module or a package next to ``test_x.py`` is loaded in its place.
    """
    head, slash, name = path.rpartition(b"/")
    stem, _, ending = name.rpartition(b".")
    if ending in (b"js", b"cjs", b"mjs", b"jsx", b"ts", b"tsx", b"node"):
        return head + slash + stem, b"javascript"
    first = name.partition(b".")[0]
    if first == b"__init__" and ending in (b"py", b"so"):
        return head, b"python"
    if ending in (b"so", b"pyc", b"pyd"):
        return head + slash + first, b"python"
    if b"." not in name:
        return path, b"python"
    return (head + slash + stem, b"python") if ending == b"py" else (path, b"")


def _above_packages(directory: bytes, exists: Exists) -> bytes:
    """The first directory, from ``directory`` on upwards, that is not a package."""
    while directory and exists(directory + b"/__init__.py"):
        directory = directory.rpartition(b"/")[0]
    return directory


def _is_plain(word: str) -> bool:
    """Whether an argument is not an option; options after which no script follows count as arguments."""
    return word in ("-m", "-c") or not word.startswith("-")


def _inside(base: str, paths: Iterable[str]) -> Iterator[bytes]:
    """``paths``, seen from directory ``base`` of the tree, as directories of the tree; others are left out."""
    for path in paths:
        place = posixpath.normpath(posixpath.join(_WORKSPACE, base, path))
        if place == _WORKSPACE:
            yield b""
        elif place.startswith(_WORKSPACE + "/"):
            yield place[len(_WORKSPACE) + 1 :].encode()


_DIRECTORIES = frozenset(["test", "tests", "spec", "specs", "testing", "t", "__tests__", "testdata", "test-data"])
_FILE = re.compile(
    r"(?:test_.*|.*_test|.*_spec|.*\.test|.*\.spec|test|tests)\.[a-z0-9]+\Z"
    r"|.*(?:Test|Tests|IT|Spec)\.(?:java|kt|scala|cs|swift|php|groovy)\Z"
)


def is_test(path: str) -> bool:
    """Whether ``path`` is a test or is among the tests."""
    *directories, name = path.split("/")
    return any(part.lower() in _DIRECTORIES for part in directories) or bool(_FILE.match(name))
