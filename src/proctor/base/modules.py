"""Compiled modules in one file, so that a command does not look for two hundred of them one by one.

Python finds a module by asking folder after folder, and reads its byte code from a file of its own. A short command
spends a quarter of its time so. Here the byte code of what earlier commands loaded lies in one file beside Python's
own, with the place, time and size of each source: a source that has changed since is imported in the usual way, and so
is everything that the file does not hold. Nothing is kept where Python itself may not write byte code.

The file holds trains as well: what a command loaded when it imported one module, in the order in which it was done.
When that module is asked for again the others are loaded before it, one by one: what they import is there already, and
Python's import system, which takes longer over a module than most modules take to run, is asked once.

Only modules of this program, of click and of the standard library are kept. The file belongs to one interpreter and
one search path; with any other it counts as absent.
"""

from __future__ import annotations

import _thread
import marshal
import os
import sys
from importlib.machinery import ModuleSpec, SourceFileLoader

TYPE_CHECKING = False  # what is imported up to here is not found in one file, so it is little
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from types import CodeType, ModuleType
    from typing import Any

    Row = tuple[str, int, int, int, int]
    """Where a source lies, its time and size, and where in the file its code begins and how long it is."""

_FORM = 3
_WORD = 8
_INDEX_BYTES = 1 << 24
_INITIAL = "__init__.py"


class _Trains:
    """What is loaded together, each train under the name of its last member, which is what was asked for.

    Only Python's own imports keep threads out of each other's way: while there are several, nothing is loaded ahead
    and nothing is learnt.
    """

    def __init__(self, alone: Callable[[], bool]) -> None:
        self._alone = alone
        self.known: dict[str, tuple[str, ...]] = {}
        self.changed = False
        self._depth = 0
        self._members: list[str] = []

    def before(self, name: str) -> tuple[str, ...]:
        """What is loaded before the module ``name``; nothing, when it is itself part of an import that goes on."""
        if self._depth or not self._alone():
            return ()
        self._members.clear()
        return self.known.get(name, ())[:-1]

    def begin(self) -> bool:
        """A module begins to load; whether its end is of interest."""
        alone = self._alone()
        self._depth += alone
        return alone

    def end(self, name: str, *, loaded: bool) -> None:
        """The module ``name`` is loaded, or it cannot be."""
        self._depth -= 1
        if self._depth:
            self._members += [name] if loaded else []
        else:
            known = self.known.get(name, ())
            added = [member for member in self._members if member not in known]
            if added and loaded:
                self.known[name] = (*added, *known[:-1], name)
                self.changed = True

    def arrive(self) -> None:
        """Everything is loaded that comes before the module that was asked for."""
        self._depth -= 1

    def forget(self, name: str) -> None:
        """The train of ``name`` is no longer what it was."""
        self.known.pop(name, None)


class _Loader(SourceFileLoader):
    """Loads one module whose byte code is already here, with the patterns that it compiles."""

    def __init__(self, fullname: str, path: str, code: CodeType, patterns: list[Any], trains: _Trains) -> None:
        super().__init__(fullname, path)
        self._code = code
        self._patterns = patterns
        self._trains = trains

    def exec_module(self, module: ModuleType) -> None:
        learning, loaded = self._trains.begin(), False
        try:
            exec(self.get_code(self.name), vars(module))
            loaded = True
        finally:
            if learning:
                self._trains.end(self.name, loaded=loaded)

    def get_code(self, fullname: str) -> CodeType:
        if self._patterns:
            from proctor.base.kept_patterns import take_up

            take_up(self._patterns)
        return self._code


class KeptModules:
    """A finder of modules in the file at ``path``, which holds those of ``packages`` and of the standard library.

    ``alone`` says whether there is no other thread.
    """

    def __init__(self, path: str, packages: Sequence[str], alone: Callable[[], bool] | None = None) -> None:
        self._path = path
        self._packages = frozenset(packages)
        self._rows: dict[str, Row] = {}
        self._trains = _Trains(alone or _alone)
        self._asked = ""
        self._handle = -1
        self._start = 0
        self._open()

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The module ``name``, if its code is kept and its source is unchanged."""
        row = self._rows.get(name)
        if row is None:
            return None
        if not _unchanged(row):
            self._trains.forget(name)
            return None
        if name == self._asked:
            raise ImportError(f"{name} is imported by what it imports itself, and comes first", name=name)
        train = self._trains.before(name)
        if train:
            self._bring(name, train)
        return self._spec(name, row)

    def _bring(self, asked: str, train: Sequence[str]) -> None:
        """Load what comes before the module ``asked``, as far as nothing has changed since."""
        rows = {name: self._rows.get(name) for name in train if name not in sys.modules}
        if not all(row and _unchanged(row) for row in rows.values()):
            self._trains.forget(asked)
            return
        self._trains.begin()
        self._asked = asked
        try:
            for name, row in rows.items():
                package, _, last = name.rpartition(".")
                # A package that loads its own parts is done after them; they wait for it.
                if not row or name in sys.modules or (package and package not in sys.modules):
                    continue
                spec = self._spec(name, row)
                if spec is None or not _load(spec):
                    break
                if package:
                    setattr(sys.modules[package], last, sys.modules[name])
        finally:
            self._asked = ""
            self._trains.arrive()

    def _spec(self, name: str, row: Row) -> ModuleSpec | None:
        try:
            code, patterns = marshal.loads(self._code(row))
        except (OSError, ValueError, EOFError, TypeError):
            self._rows.pop(name, None)  # it is imported in the usual way, and kept anew
            return None
        spec = ModuleSpec(name, _Loader(name, row[0], code, patterns, self._trains), origin=row[0])
        spec.has_location = True
        spec.cached = self._path
        if row[0].endswith(_INITIAL):
            spec.submodule_search_locations = [os.path.dirname(row[0])]
        return spec

    def keep(self, modules: Iterable[ModuleType]) -> bool:
        """Write the file anew if ``modules`` holds any that it does not; whether that was so."""
        sources = {loader.name: (loader, module) for module in modules if (loader := self._source(module))}
        if sys.dont_write_bytecode or (all(map(self._holds, sources)) and not self._trains.changed):
            return False
        from proctor.base.kept_patterns import patterns_of

        codes = {
            name: (row, kept)
            for name, row in self._rows.items()
            if _unchanged(row) and len(kept := self._code(row)) == row[4]
        }
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
            whose, *tables = marshal.loads(os.pread(self._handle, min(length, _INDEX_BYTES), _WORD))
            if whose == _whose() and length <= _INDEX_BYTES:
                self._rows, self._trains.known = tables
                self._start = _WORD + length
        except (OSError, ValueError, EOFError, TypeError):
            return

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
        index = marshal.dumps((_whose(), rows, self._trains.known))
        parts = (len(index).to_bytes(_WORD, "big"), index, *(code for _, code in codes.values()))
        scratch = f"{self._path}.{os.getpid()}"
        try:
            with open(scratch, "wb") as file:
                file.writelines(parts)
            os.replace(scratch, self._path)
        except OSError:
            return False
        finally:
            _remove(scratch)
        return True


def kept_modules(package: str, *others: str) -> KeptModules:
    """What is kept for the program whose package lies in the folder ``package``, with the packages ``others``."""
    path = os.path.join(package, "__pycache__", f"modules.{sys.implementation.cache_tag}")
    return KeptModules(path, (os.path.basename(package), *others))


def _alone() -> bool:
    return not _thread._count()


def _load(spec: ModuleSpec) -> bool:
    """Load a module without Python's import system; whether that can be done."""
    module = type(sys)(spec.name)
    vars(module).update(
        __spec__=spec, __loader__=spec.loader, __package__=spec.parent, __file__=spec.origin, __cached__=spec.cached
    )
    if spec.submodule_search_locations is not None:
        module.__path__ = spec.submodule_search_locations
    sys.modules[spec.name] = module
    assert spec.loader is not None
    loaded = False
    try:
        spec.loader.exec_module(module)
        loaded = True
    except (ImportError, AttributeError):
        pass  # whoever needs the module imports it once more, in an order in which nothing is missing, or is told
    finally:
        if not loaded:
            sys.modules.pop(spec.name, None)
    return loaded


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
