"""Files that Python would import in place of its own library or of what its test runners need. Pure.

Tests and their runner import by name, from the first directory that has the name. A file ``argparse.py`` where imports
start is run in place of the standard library's. The names are a table, so that every interpreter judges alike; modules
that the library merely tries to import (``msvcrt``, ``org``) are among them. Where the base itself has a module of such
a name, the name is the project's own and nothing here speaks about it.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise

from proctor.contract.model import Contract

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
    """Directories of the tree from which tests import: ``start`` by the command, ``tests`` because tests lie there.

    A directory of ``tests`` that is a package is none: imports start above the outermost package.
    """

    start: frozenset[bytes] = frozenset((b"",))
    tests: frozenset[bytes] = frozenset((b"src", b"lib", b"test", b"tests"))

    def roots(self, exists: Exists) -> frozenset[bytes]:
        """Where imports start in a tree whose files ``exists`` knows."""
        return self.start | {_above_packages(directory, exists) for directory in self.tests}


def places_of(contract: Contract) -> Places:
    """Where the checks of ``contract`` import from, as far as their commands, variables and listed tests tell."""
    start, tests = set(Places().start), set(Places().tests)
    for check in contract.checks:
        base = posixpath.relpath(check.directory, _WORKSPACE)
        variables = (contract.environment.variables.get("PYTHONPATH", ""), check.variables.get("PYTHONPATH", ""))
        start.update(_inside(base, ("", *(part for text in variables for part in text.split(":") if part))))
        words = [word for argument in check.run for word in _WORD.findall(argument) if _is_plain(word)]
        scripts = (word for before, word in pairwise(words) if posixpath.basename(before).startswith("python"))
        start.update(_inside(base, (posixpath.dirname(word) for word in scripts if word.endswith(".py"))))
        tests.update(_inside(base, (posixpath.dirname(word) if "." in word else word for word in words)))
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
    """What a loader that leaves endings out calls the file at ``path``, and for which language; else the path itself.

    Several files of one such name compete: a compiled module or a package beside ``test_x.py`` is loaded in its place.
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
    """The first directory, from ``directory`` on upwards, that is no package."""
    while directory and exists(directory + b"/__init__.py"):
        directory = directory.rpartition(b"/")[0]
    return directory


def _is_plain(word: str) -> bool:
    """Whether a word of a command is no option, but for those that say that no script follows."""
    return word in ("-m", "-c") or not word.startswith("-")


def _inside(base: str, paths: Iterable[str]) -> Iterator[bytes]:
    """``paths``, seen from directory ``base`` of the tree, as directories of the tree; others are left out."""
    for path in paths:
        place = posixpath.normpath(posixpath.join(_WORKSPACE, base, path))
        if place == _WORKSPACE:
            yield b""
        elif place.startswith(_WORKSPACE + "/"):
            yield place[len(_WORKSPACE) + 1 :].encode()
