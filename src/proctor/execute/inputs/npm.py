"""Releases from an npm registry, through the machine's own npm and its settings.

``npm pack`` fetches a published tarball as it is; no script of a package runs. A closure is resolved by npm into a lock
file and fetched tarball by tarball. Tarballs of a closure are named after the package, with ``@scope+name`` for a
scoped one, so that the package follows from the name.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from proctor.base.canonical import canonical, parse
from proctor.base.files import read_bounded
from proctor.contract.model import InputFile, Source
from proctor.execute.inputs.interface import InputRequest, NoSuchInput, split_spec
from proctor.execute.inputs.package_clients import run_client, unreachable, with_retries

FLAGS = ("--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error")
LOCK_BYTES = 64 << 20
SPECS_PER_CALL = 40

_TARBALL = re.compile(r"(?P<name>.+?)-(?P<version>[0-9]+\.[0-9]+\.[0-9]+.*)\.tgz\Z")
_MISSING = (b"E404", b"ETARGET", b"ENOVERSIONS", b"code EINVALIDPACKAGENAME", b"code EINVALIDTAGNAME")


class NpmSupplier:
    """The supplier for ``npm`` sources."""

    def fetch(self, source: Source, files: tuple[InputFile, ...], contract_directory: Path, into: Path) -> None:
        name, version = split_spec(source, "@")
        own = {_packed_name(name, version), tarball_name(name, version)}
        single = len(source.files) == 1
        _pack(
            [((name, version) if single or file.name in own else package_of(file.name), file.name) for file in files],
            into,
        )

    def resolve(self, request: InputRequest, contract_directory: Path, into: Path) -> tuple[str, ...]:
        name, version = split_spec(request.source, "@")
        if request.with_dependencies:
            packages = [(package, tarball_name(*package)) for package in _closure(name, version, into)]
        else:
            packages = [((name, version), _packed_name(name, version))]
        _pack(packages, into)
        return tuple(as_name for _, as_name in packages)


def tarball_name(name: str, version: str) -> str:
    """The name under which the tarball of a package is kept in a closure."""
    return f"{name.replace('/', '+')}-{version}.tgz"


def package_of(file_name: str) -> tuple[str, str]:
    """Name and version of the package that a tarball of a closure holds."""
    match = _TARBALL.match(file_name)
    if match is None:
        raise NoSuchInput(f"{file_name} is not the name of an npm package's archive", hint="run proctor lock")
    return match["name"].replace("+", "/"), match["version"]


def _packed_name(name: str, version: str) -> str:
    """The name that ``npm pack`` gives."""
    return f"{name.removeprefix('@').replace('/', '-')}-{version}.tgz"


def _pack(packages: list[tuple[tuple[str, str], str]], into: Path) -> None:
    """Fetch the tarballs of ``packages``, given as ((name, version), name of the file)."""
    for start in range(0, len(packages), SPECS_PER_CALL):
        some = packages[start : start + SPECS_PER_CALL]
        specs = [f"{name}@{version}" for (name, version), _ in some]
        packed = _npm(["pack", *specs, "--json"], specs[0] if len(specs) == 1 else f"{specs[0]} and others", into)
        names = {
            (entry["name"], entry["version"]): _packed_name(entry["name"], entry["version"]) for entry in parse(packed)
        }
        for package, as_name in some:
            if package not in names:
                raise NoSuchInput(f"npm fetched a package other than {package[0]}@{package[1]}")
            (into / names[package]).rename(into / as_name)


def _npm(arguments: list[str], what: str, into: Path) -> bytes:
    """The output of npm; a release that does not exist has another error than a registry that cannot be reached."""

    def attempt() -> bytes:
        done = run_client(["npm", *arguments, *FLAGS], into)
        if done.exit_code == 0:
            return done.stdout
        said = done.stderr + done.stdout
        if any(word in said for word in _MISSING):
            raise NoSuchInput("the npm registry does not have this release", where=what)
        raise unreachable(what, "npm", said)

    return with_retries(attempt)


def _closure(name: str, version: str, into: Path) -> list[tuple[str, str]]:
    """All packages that ``name`` needs at run time, itself first, as npm resolves them today."""
    package = {"name": "closure", "version": "0.0.0", "private": True, "dependencies": {name: version}}
    (into / "package.json").write_bytes(canonical(package))
    _npm(["install", "--package-lock-only"], f"{name}@{version}", into)
    lock: dict[str, Any] = parse(read_bounded(into / "package-lock.json", LOCK_BYTES))
    found = {
        (place.rpartition("node_modules/")[2], str(entry["version"]))
        for place, entry in lock["packages"].items()
        if place and not entry.get("optional") and not entry.get("dev")
    }
    return sorted(found, key=lambda one: (one != (name, version), one))
