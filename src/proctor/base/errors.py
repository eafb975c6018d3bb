"""The one hierarchy of errors, and the error for an optional dependency (an extra) that is not installed.

A message says what is wrong; ``where`` names the place (a file and line, a field, a path); ``hint`` says what to do
next. The exit code belongs to the kind of error: 2 usage or a bad contract, 3 infrastructure, 4 integrity. A negative
verdict (1) is a result, not an error.

Modules import the packages of an extra where they need them, and do not catch a failure. ``missing_extra`` turns the
error of such an import into the message; ``require_extra`` checks before a command starts.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.util import find_spec


class ProctorError(Exception):
    """The base class of Proctor's errors; only its subclasses are raised."""

    exit_code = 3

    def __init__(self, message: str, *, where: str = "", hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.where = where
        self.hint = hint

    def __str__(self) -> str:
        text = f"{self.where}: {self.message}" if self.where else self.message
        return f"{text}\n  {self.hint}" if self.hint else text


class UsageFault(ProctorError):
    """The command was called in a way that cannot work."""

    exit_code = 2


@dataclass(frozen=True)
class Mistake:
    """One mistake in a file that a person wrote."""

    file: str
    line: int
    column: int
    message: str
    hint: str = ""

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}:{self.column}" if self.line else self.file
        text = f"{place}: {self.message}"
        return f"{text} ({self.hint})" if self.hint else text


class ContractError(ProctorError):
    """A contract that cannot be used, with every mistake that was found."""

    exit_code = 2

    def __init__(self, mistakes: Iterable[Mistake]) -> None:
        self.mistakes = tuple(mistakes)
        super().__init__("\n".join(str(mistake) for mistake in self.mistakes))


class InfrastructureFault(ProctorError):
    """The machine, a registry or the harness failed; never an agent's failure."""

    exit_code = 3


class MissingIsolation(InfrastructureFault):
    """This machine cannot isolate as strictly as was asked for."""


class BudgetExceeded(ProctorError):
    """A declared limit was reached."""

    exit_code = 3


class NewerSchema(ProctorError):
    """A newer Proctor wrote the record. This version cannot read it, and the record is not known to be broken."""

    exit_code = 2

    def __init__(self, schema: int, newest: int, *, where: str) -> None:
        message = f"written by a newer Proctor (schema {schema}; this one reads up to {newest})"
        super().__init__(message, where=where, hint="read it with the version that wrote it, or a later one")


class BrokenSeal(ProctorError):
    """Evidence is missing, changed or out of order."""

    exit_code = 4


EXTRAS = {
    "gateway": {"aiohttp": "aiohttp", "yarl": "aiohttp"},
    "prices": {"genai_prices": "genai-prices"},
    "study": {"duckdb": "duckdb", "numpy": "numpy", "scipy": "scipy", "zstandard": "zstandard"},
}
"""Of each extra, the modules that are imported, with the package that brings each."""


def missing_extra(error: ModuleNotFoundError) -> UsageFault | None:
    """The message for an import that failed because an extra is not installed; nothing for any other import."""
    module = (error.name or "").partition(".")[0]
    extra = next((extra for extra, modules in EXTRAS.items() if module in modules), None)
    return _missing(extra, module) if extra else None


def require_extra(extra: str) -> None:
    """Raise the error of :func:`missing_extra` if a package of ``extra`` is not installed."""
    for module in EXTRAS[extra]:
        if find_spec(module) is None:
            raise _missing(extra, module)


def _missing(extra: str, module: str) -> UsageFault:
    packages = " ".join(dict.fromkeys(EXTRAS[extra].values()))
    python = sys.executable
    installer = f"{python} -m pip install" if find_spec("pip") else f"uv pip install --python {python}"
    return UsageFault(
        f"this needs the extra '{extra}' of Proctor: the package {EXTRAS[extra][module]} is not installed",
        hint=f"install Proctor with [{extra}], or add to this environment: {installer} {packages}",
    )
