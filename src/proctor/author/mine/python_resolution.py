"""Requirements to pinned wheels, as the index was on a day, with uv or else pip.

Only wheels are used, so nothing of a package runs. uv knows when each file was uploaded (``--exclude-newer``); pip as
found on most machines does not, and then the newest releases are used, which is noted. The resolver decides versions;
the files are chosen and fetched by the same client as every other input.
"""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
import threading
import time
import tomllib
import zipfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from proctor.base.canonical import digest, parse
from proctor.base.errors import InfrastructureFault, ProctorError
from proctor.contract.model import InputFile, Source
from proctor.execute.inputs.input_cache import InputCache
from proctor.execute.inputs.package_clients import last_words, run_client
from proctor.execute.inputs.pypi import SANDBOX_PYTHON, fetch_wheels, python_with_pip

DAY = 86_400
REQUIREMENT_CHARACTERS = 500
RUNNER_SINCE = "2022-05-01"
"""The test runner is at least as new as this, so that it works with the interpreters of today."""
RUNNER = ("pytest", "pluggy", "iniconfig", "packaging", "tomli", "exceptiongroup", "pytest-timeout")
_PIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_VERSION = re.compile(r"[0-9][0-9A-Za-z.!+]*")
_BOUND = r"(?:===?|~=|[<>!]=|[<>])[ \t]*[0-9A-Za-z.*+!_-]+"
_BOUNDS = rf"{_BOUND}[ \t]*(?:,[ \t]*{_BOUND}[ \t]*)*,?"
_REQUIREMENT = re.compile(
    r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?[ \t]*(?:\[[A-Za-z0-9._, \t-]*\][ \t]*)?"
    rf"(?:{_BOUNDS}|\([ \t]*{_BOUNDS}[ \t]*\))?[ \t]*(?:;(?![^;]*[ \t]-)[A-Za-z0-9_.,*+!<>=~'\"() \t-]*)?",
    re.ASCII,
)


def is_requirement(text: str) -> bool:
    """Whether a line names a release on the index and nothing else: no path, no address and no option of a client.

    Clients read lines from a file, where a path or ``-e`` would have them build what is there, outside every sandbox.
    """
    return len(text) <= REQUIREMENT_CHARACTERS and _REQUIREMENT.fullmatch(text) is not None


def is_pin(name: str, version: str) -> bool:
    """Whether a name and a version from a lock file can be a line of constraints."""
    return bool(_PIN.fullmatch(name) and _VERSION.fullmatch(version))


class Unresolvable(ProctorError):
    """No set of wheels satisfies the requirements."""

    exit_code = 2


@dataclass(frozen=True)
class Pin:
    """One release, and its wheel."""

    name: str
    version: str
    file: InputFile


@dataclass(frozen=True)
class Resolution:
    """The wheels of one environment; ``client`` resolved them, as of ``day`` (empty if as of today)."""

    pins: tuple[Pin, ...]
    client: str
    day: str


class Resolver:
    """Resolves each set of requirements once for as long as it lives, whatever the number of threads."""

    def __init__(self, cache: InputCache, scratch: Path) -> None:
        self._cache = cache
        self._scratch = scratch
        self._known: dict[str, Resolution | Unresolvable] = {}
        self._lock = threading.Lock()
        self.resolved = 0
        """How many environments were resolved and not found again."""

    def resolve(self, requirements: Sequence[str], constraints: Mapping[str, str], seconds: int) -> Resolution:
        """The wheels for ``requirements`` as of the end of the day of ``seconds``; 0 means today."""
        odd = [one for one in requirements if not is_requirement(one)]
        odd += [name for name, version in constraints.items() if not is_pin(name, version)]
        if odd:
            raise Unresolvable(f"not a requirement that an index can satisfy: {odd[0][:100]!r}")
        day = _day(seconds)
        key = digest({"requirements": sorted(set(requirements)), "constraints": dict(constraints), "day": day})
        with self._lock:
            if key not in self._known:
                try:
                    self._known[key] = self._resolve(requirements, constraints, day)
                except Unresolvable as error:
                    self._known[key] = error
                self.resolved += 1
            found = self._known[key]
        if isinstance(found, Unresolvable):
            raise found
        return found

    def contents(self, pin: Pin) -> frozenset[str]:
        """The names of the files in a wheel; none if it is not a whole archive."""
        path = self._cache.path(pin.file)
        if path is None:
            return frozenset()
        with suppress(zipfile.BadZipFile, NotImplementedError, ValueError, OSError), zipfile.ZipFile(path) as archive:
            return frozenset(archive.namelist())
        return frozenset()

    def _resolve(self, requirements: Sequence[str], constraints: Mapping[str, str], day: str) -> Resolution:
        with tempfile.TemporaryDirectory(prefix="proctor-resolve-", dir=self._scratch) as name:
            work = Path(name)
            (work / "requirements.in").write_text("".join(f"{one}\n" for one in sorted(set(requirements))))
            bounds = [f"{name}=={version}\n" for name, version in sorted(constraints.items())]
            (work / "constraints.txt").write_text("".join(bounds))
            uv = _uv()
            if uv:
                versions, client = _with_uv(uv, work, day), "uv"
            else:
                versions, client, day = _with_pip(work), "pip", ""
            return Resolution(self._fetched(versions), client, day)

    def _fetched(self, versions: Sequence[tuple[str, str]]) -> tuple[Pin, ...]:
        source = Source("pypi", " ".join(f"{name}=={version}" for name, version in versions))
        with self._cache.fetching(source) as directory:
            names = fetch_wheels(versions, directory)
            wrong = [name for name in names if not name.endswith(".whl")]
            if wrong:
                raise Unresolvable(f"{', '.join(wrong)} would have to be built: there is no wheel for this interpreter")
            files = [self._cache.keep(directory / name, name) for name in names]
        return tuple(Pin(*pair, file) for pair, file in zip(versions, files, strict=True))


def _day(seconds: int) -> str:
    """The day after the one of ``seconds``, which is the first moment that is too late; empty for no bound."""
    return time.strftime("%Y-%m-%d", time.gmtime(seconds + DAY)) if seconds else ""


def _uv() -> str:
    """The program uv: on the path, beside this interpreter, or where a checkout of Proctor keeps it."""
    places = (Path(sys.executable).with_name("uv"), Path(sys.prefix).parent / ".tools" / "bin" / "uv")
    return shutil.which("uv") or next((str(place) for place in places if place.is_file()), "")


def _with_uv(uv: str, work: Path, day: str) -> list[tuple[str, str]]:
    options = [
        "--no-config",
        "--quiet",
        "--no-header",
        "--no-annotate",
        "--only-binary",
        ":all:",
        "--python",
        _python(),
    ]
    if day:
        options += ["--exclude-newer", day]
        if day < RUNNER_SINCE:
            options += [word for name in RUNNER for word in ("--exclude-newer-package", f"{name}={RUNNER_SINCE}")]
    files = ["--constraint", "constraints.txt", "--format", "pylock.toml", "requirements.in"]
    done = run_client([uv, "pip", "compile", *options, *files], work)
    if done.exit_code:
        said = done.stderr.decode("utf-8", "replace")
        if re.search(
            r"No solution found|not found in the package registry|Couldn't parse|doesn't match|no wheels", said
        ):
            raise Unresolvable(f"no wheels satisfy the requirements: {' '.join(said.split())[:300]}")
        raise InfrastructureFault(f"uv cannot resolve the environment: {' '.join(said.split())[:300]}")
    packages = tomllib.loads(done.stdout.decode("utf-8", "replace")).get("packages", [])
    return [_checked(one.get("name"), one.get("version")) for one in packages]


def _with_pip(work: Path) -> list[tuple[str, str]]:
    python = python_with_pip(work)
    other = [] if python == [SANDBOX_PYTHON] else ["--python", SANDBOX_PYTHON]
    flags = ["--dry-run", "--ignore-installed", "--quiet", "--only-binary=:all:", "--report", "report.json"]
    files = ["-r", "requirements.in", "-c", "constraints.txt"]
    done = run_client([*python, "-m", "pip", *other, "install", *flags, *files], work)
    if done.exit_code:
        if re.search(rb"ResolutionImpossible|No matching distribution|conflicting dep", done.stderr):
            raise Unresolvable(f"no wheels satisfy the requirements: {last_words(done.stderr)}")
        raise InfrastructureFault(f"pip cannot resolve the environment: {last_words(done.stderr)}")
    report = parse((work / "report.json").read_bytes())
    found = [one["metadata"] for one in report["install"]]
    return sorted(_checked(one.get("name"), one.get("version")) for one in found)


def _checked(name: object, version: object) -> tuple[str, str]:
    if not (
        isinstance(name, str) and isinstance(version, str) and _PIN.fullmatch(name) and _VERSION.fullmatch(version)
    ):
        raise Unresolvable(f"the resolver names no release: {str(name)[:80]} {str(version)[:80]}")
    return name, version


def _python() -> str:
    return SANDBOX_PYTHON if Path(SANDBOX_PYTHON).exists() else sys.executable
