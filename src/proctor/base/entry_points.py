"""Parts of Proctor that other packages provide: found by entry points, loaded and checked when they are used.

One :class:`PlugIns` is the table of one kind of part. The names in it can be listed without importing any package.
A part is checked each time it is loaded, and whatever its code raises is reported as an error of its package. Names
of built-in parts cannot be taken.
"""

from __future__ import annotations

import re
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Generic, TypeVar, cast

from proctor.base.errors import InfrastructureFault, ProctorError, UsageFault

AGENTS = "proctor.agents"
ADAPTERS = "proctor.adapters"
SANDBOXES = "proctor.sandboxes"
RESULTS_READERS = "proctor.results_readers"
INPUT_SOURCES = "proctor.input_sources"
DIALECTS = "proctor.dialects"
BREAKERS = "proctor.breakers"
REPORT_SECTIONS = "proctor.report_sections"

HINT = "docs/extending.md describes the interfaces; fix or update the package"
NAME = re.compile(r"[a-z][a-z0-9]*(?:[-._][a-z0-9]+){0,8}")
NAME_CHARACTERS = 60
PROCTOR = __name__.partition(".")[0]

Part = TypeVar("Part")


SLOW_SECONDS = 0.5
MOST_SLOW_SECONDS = 5.0


@dataclass
class SlowCalls:
    """The calls of a part that an agent had to wait for, as far as they were slow.

    Their time is the agent's. A part that takes too much of it fails before the agent does.
    """

    seconds: float = 0.0

    def add(self, seconds: float) -> bool:
        """Count a call; whether the slow calls have taken too much."""
        self.seconds += seconds if seconds > SLOW_SECONDS else 0.0
        return self.seconds > MOST_SLOW_SECONDS


@dataclass(frozen=True, order=True)
class Package:
    """An installed package."""

    name: str
    version: str

    def __str__(self) -> str:
        return f"{self.name} {self.version}".strip()


def registered_names(group: str) -> tuple[str, ...]:
    """The names of the entry points of ``group``, each once; nothing is imported. A group without a name has none."""
    return tuple(sorted({point.name for point in entry_points(group=group)})) if group else ()


class PlugIns(Generic[Part]):
    """The parts of one kind that installed packages provide.

    ``what`` is the kind in words, ``built_in`` are names that no package can take, and ``problems`` says what keeps an
    object from being such a part.
    """

    def __init__(
        self, group: str, what: str, built_in: Iterable[str], problems: Callable[[Any, str], Iterator[str]]
    ) -> None:
        self.group = group
        self.what = what
        self.built_in = frozenset(built_in)
        self._problems = problems

    def names(self) -> tuple[str, ...]:
        """The names that packages provide, without those of built-in parts."""
        return tuple(name for name in registered_names(self.group) if name not in self.built_in)

    def taken(self) -> Iterator[tuple[str, Package]]:
        """The names of built-in parts that a package provides as well; the built-in part is used."""
        for point in entry_points(group=self.group):
            if point.name in self.built_in:
                yield point.name, _package(point)

    def package(self, name: str) -> Package | None:
        """The package that provides ``name``; :class:`UsageFault` if two packages do."""
        point = self._point(name)
        return _package(point) if point is not None else None

    def packages(self, name: str) -> tuple[Package, ...]:
        """Every package that provides ``name``."""
        return tuple(_package(point) for point in self._points(name))

    def load(self, name: str) -> Part | None:
        """The checked part ``name``; nothing if no package provides it."""
        point = self._point(name)
        if point is None:
            return None
        with self.blamed(name):
            if not NAME.fullmatch(name) or len(name) > NAME_CHARACTERS:
                raise self.at_fault(name, "its name is not made of small letters, digits, points and hyphens")
            part = point.load()
            problem = next(self._problems(part, name), "")
        if problem:
            raise self.at_fault(name, problem)
        return cast(Part, part)

    def require(self, name: str) -> Part:
        """The checked part ``name``; :class:`UsageFault` if no package provides it."""
        part = self.load(name)
        if part is None:
            known = ", ".join(self.names()) or "none"
            raise UsageFault(
                f"no installed package provides the {self.what} {name!r}",
                hint=f"install the package that does; those of installed packages: {known}",
            )
        return part

    def at_fault(self, name: str, problem: str) -> UsageFault:
        """The error for the part ``name``, which cannot be used."""
        return UsageFault(f"{self._of_package(name)} cannot be used: {problem}", hint=HINT)

    @contextmanager
    def blamed(self, name: str, before: str = "") -> Iterator[None]:
        """Report what code of the part ``name`` raises while it is set up as an error of its package."""
        try:
            yield
        except KeyboardInterrupt:
            raise
        except ProctorError as error:
            if not self._raised(name, error):
                raise
            kind = UsageFault if error.exit_code == UsageFault.exit_code else InfrastructureFault
            raise kind(f"{self._of_package(name)}: {_said(error)}", hint=error.hint) from None
        except BaseException as error:
            raise self.at_fault(name, f"{before}{one_line(error)}") from None

    @contextmanager
    def at_work(self, name: str, *passed: type[BaseException], slow: SlowCalls | None = None) -> Iterator[None]:
        """Report what code of the part ``name`` raises during a run as a fault that makes the run invalid.

        Errors of the types in ``passed`` are raised as they are, and so is what Proctor itself raises below that code:
        a full disk is not a mistake of the package that wrote to it through Proctor. With ``slow``, calls that take too
        long are reported as well, once they return: code of a package cannot be interrupted.
        """
        through: tuple[type[BaseException], ...] = (KeyboardInterrupt, *passed)
        begin = time.monotonic()
        try:
            yield
        except through:
            raise
        except BaseException as error:
            named = self.fault_of(name, error)
            if named is error:
                raise
            raise named from error
        if slow is not None and slow.add(time.monotonic() - begin):
            waited = f"the agent had to wait {slow.seconds:.1f} seconds for it"
            raise self.failed(name, f"{waited}, and at most {MOST_SLOW_SECONDS:g} are allowed")

    def fault_of(self, name: str, error: BaseException) -> BaseException:
        """``error`` of code of the part ``name`` as a fault of its package; what Proctor itself has raised stays."""
        if name in self.built_in or (isinstance(error, ProctorError | OSError) and not self._raised(name, error)):
            return error
        return self.failed(name, _said(error) if isinstance(error, ProctorError) else one_line(error))

    def _raised(self, name: str, error: BaseException) -> bool:
        """Whether ``error`` comes from code of the part ``name``, and not from code of Proctor that it called."""
        own = {point.module.partition(".")[0] for point in self._points(name)}
        for frame, _ in reversed(list(traceback.walk_tb(error.__traceback__))):
            top = str(frame.f_globals.get("__name__", "")).partition(".")[0]
            if top in own or top == PROCTOR:
                return top in own
        return False

    def failed(self, name: str, problem: str) -> InfrastructureFault:
        """The fault of the part ``name`` that failed during a run."""
        return InfrastructureFault(f"{self._of_package(name)} failed: {problem}", hint=HINT)

    def _of_package(self, name: str) -> str:
        points = self._points(name)
        return f"the {self.what} {name!r} of the package {_package(points[0]).name if points else 'unknown'}"

    def _points(self, name: str) -> list[EntryPoint]:
        if name in self.built_in:
            return []
        return list(entry_points(group=self.group, name=name))

    def _point(self, name: str) -> EntryPoint | None:
        points = self._points(name)
        packages = sorted({_package(point).name for point in points})
        if len(packages) > 1:
            both = " and ".join(packages)
            raise UsageFault(f"the packages {both} both have the {self.what} {name!r}", hint="uninstall one of them")
        return points[0] if points else None


def lacks_methods(part: Any, *names: str) -> Iterator[str]:
    """A problem for each method that ``part`` does not have."""
    for name in names:
        if not callable(getattr(part, name, None)):
            yield f"{name}() is missing"


def not_callable(part: Any, name: str) -> Iterator[str]:
    """A problem if ``part`` is not a function or a class."""
    if not callable(part):
        yield f"it is a {type(part).__name__}, not a function or a class"


def one_line(error: BaseException) -> str:
    """The type and the first line of an error."""
    text = f"{type(error).__name__}: {error}".splitlines() or [type(error).__name__]
    return text[0].removesuffix(": ")


def _said(error: ProctorError) -> str:
    """The message of an error with its place, without the hint."""
    return f"{error.where}: {error.message}" if error.where else error.message


def _package(point: EntryPoint) -> Package:
    return Package(point.dist.name, point.dist.version) if point.dist is not None else Package(point.value, "")
