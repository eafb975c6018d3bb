"""Compiled modules in one file, so that a command does not look for two hundred of them one by one.

Python finds a module by asking folder after folder, and reads its byte code from a file of its own. A short command
spends a quarter of its time so. Here the byte code of what earlier commands loaded lies in one file beside Python's
own, with the place, time and size of each source: a source that has changed since is imported in the usual way, and so
is everything that the file does not hold. Nothing is kept where Python itself may not write byte code.

Only modules of this program, of click and of the standard library are kept. The file belongs to one interpreter and
one search path; with any other it counts as absent.
"""

from __future__ import annotations

import marshal
import os
import sys
from importlib.machinery import ModuleSpec, SourceFileLoader

TYPE_CHECKING = False  # what is imported up to here is not found in one file, so it is little
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from types import CodeType, ModuleType

    Row = tuple[str, int, int, int, int]
    """Where a source lies, its time and size, and where in the file its code begins and how long it is."""

_FORM = 2
_WORD = 8
_INITIAL = "__init__.py"


class _Loader(SourceFileLoader):
    """Loads one module whose byte code is already here."""

    def __init__(self, fullname: str, path: str, code: bytes) -> None:
        super().__init__(fullname, path)
        self._code = code

    def get_code(self, fullname: str) -> CodeType:
        code: CodeType
        code, patterns = marshal.loads(self._code)
        if patterns:
            from proctor.base.kept_patterns import take_up

            take_up(patterns)
        return code


class KeptModules:
    """A finder of modules in the file at ``path``, which holds those of ``packages`` and of the standard library."""

    def __init__(self, path: str, packages: Sequence[str]) -> None:
        self._path = path
        self._packages = frozenset(packages)
        self._rows: dict[str, Row] = {}
        self._handle = -1
        self._start = 0
        self._open()

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The module ``name``, if its code is kept and its source is unchanged."""
        row = self._rows.get(name)
        if row is None or not _unchanged(row):
            return None
        code = os.pread(self._handle, row[4], self._start + row[3])
        if len(code) != row[4]:
            return None
        spec = ModuleSpec(name, _Loader(name, row[0], code), origin=row[0])
        spec.has_location = True
        spec.cached = self._path
        if row[0].endswith(_INITIAL):
            spec.submodule_search_locations = [os.path.dirname(row[0])]
        return spec

    def keep(self, modules: Iterable[ModuleType]) -> bool:
        """Write the file anew if ``modules`` holds any that it does not; whether that was so."""
        sources = {loader.name: (loader, module) for module in modules if (loader := self._source(module))}
        if sys.dont_write_bytecode or all(map(self._holds, sources)):
            return False
        from proctor.base.kept_patterns import patterns_of

        codes = {name: (row, self._code(row)) for name, row in self._rows.items() if _unchanged(row)}
        for name, (loader, module) in sources.items():
            if name not in codes and (found := _compiled(loader)):
                row, code = found
                codes[name] = row, marshal.dumps((code, patterns_of(module, code)))
        return self._write(codes)

    def _holds(self, name: str) -> bool:
        return name in self._rows and _unchanged(self._rows[name])

    def _open(self) -> None:
        try:
            self._handle = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
            length = int.from_bytes(os.pread(self._handle, _WORD, 0), "big")
            whose, rows = marshal.loads(os.pread(self._handle, length, _WORD))
        except (OSError, ValueError, EOFError, TypeError):
            return
        if whose == _whose():
            self._rows, self._start = rows, _WORD + length

    def _code(self, row: Row) -> bytes:
        return os.pread(self._handle, row[4], self._start + row[3])

    def _source(self, module: ModuleType) -> SourceFileLoader | None:
        """What loaded ``module``, if it is one whose code may be kept and did not come out of the file."""
        spec = getattr(module, "__spec__", None)
        loader = getattr(spec, "loader", None)
        if not isinstance(loader, SourceFileLoader) or spec is None or loader.name != spec.name:
            return None
        if isinstance(loader, _Loader):  # its source may be another by now
            return None
        if spec.name.partition(".")[0] in self._packages or _standard(loader.path):
            return loader
        return None

    def _write(self, codes: dict[str, tuple[Row, bytes]]) -> bool:
        rows: dict[str, Row] = {}
        start = 0
        for name, (row, code) in codes.items():
            rows[name] = (*row[:3], start, len(code))
            start += len(code)
        index = marshal.dumps((_whose(), rows))
        parts = (len(index).to_bytes(_WORD, "big"), index, *(code for _, code in codes.values()))
        scratch = f"{self._path}.{os.getpid()}"
        try:
            with open(scratch, "wb") as file:
                file.writelines(parts)
            os.replace(scratch, self._path)
        except OSError:
            _remove(scratch)
            return False
        return True


def kept_modules(package: str, *others: str) -> KeptModules:
    """What is kept for the program whose package lies in the folder ``package``, with the packages ``others``."""
    path = os.path.join(package, "__pycache__", f"modules.{sys.implementation.cache_tag}")
    return KeptModules(path, (os.path.basename(package), *others))


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        pass


def _compiled(loader: SourceFileLoader) -> tuple[Row, CodeType] | None:
    """The code of a module as its source is now; nothing where it cannot be had any more."""
    try:
        found = os.stat(loader.path)
        code = loader.get_code(loader.name)
    except (OSError, ImportError, SyntaxError, ValueError):
        return None
    return ((loader.path, found.st_mtime_ns, found.st_size, 0, 0), code) if code else None


def _standard(path: str) -> bool:
    return path.startswith(os.path.join(os.path.dirname(os.__file__), "")) and "-packages" not in path


def _whose() -> tuple[int, str, tuple[str, ...], int]:
    return _FORM, sys.version, tuple(sys.path), sys.flags.optimize


def _unchanged(row: Row) -> bool:
    try:
        found = os.stat(row[0])
    except OSError:
        return False
    return found.st_mtime_ns == row[1] and found.st_size == row[2]
