"""Installations from an npm registry, through the machine's own npm.

npm resolves into its lock file and then installs from that, checking every digest; what it installed is compared with
the lock afterwards. (``npm ci`` would do, were it not that it refuses a lock without the packages of other platforms,
which a mirror need not have.) No script of a package runs, so an agent has to work without them; those that ship
programs as packages for each platform do.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from proctor.base.canonical import parse
from proctor.base.files import read_bounded, write_whole
from proctor.base.untrusted_directories import erase
from proctor.execute.agents.install.agent_lock import LOCK_BYTES, Release
from proctor.execute.inputs.interface import DigestMismatch, NoSuchInput
from proctor.execute.inputs.package_clients import run_client, unreachable, with_retries

FLAGS = ("--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error")
MISSING = (b"E404", b"ETARGET", b"ENOVERSIONS")
_RELEASE = re.compile(rb"(?:No matching version found for |The requested resource ')([^\s']{1,200})")
"""The package that npm does not find: the agent, or something that it depends on."""
LOCK_FILE = "package-lock.json"
_HINT = "remove the agent's record and install again"


def resolve(packages: tuple[str, ...], directory: Path) -> tuple[tuple[Release, ...], dict[str, Any]]:
    """What ``packages`` need today: the releases, and npm's lock file without addresses."""
    _write(directory / "package.json", _package(packages))
    _npm(["install", "--package-lock-only"], packages[0], directory)
    document: dict[str, Any] = parse(read_bounded(directory / LOCK_FILE, LOCK_BYTES))
    for entry in document["packages"].values():
        entry.pop("resolved", None)
    return releases(document), document


def releases(document: Mapping[str, Any]) -> tuple[Release, ...]:
    """The releases that npm's lock file names, those of other platforms too."""
    found = {
        Release(str(entry.get("name") or place.rpartition("node_modules/")[2]), entry["version"], entry["integrity"])
        for place, entry in document["packages"].items()
        if place and "integrity" in entry
    }
    return tuple(sorted(found, key=lambda one: (one.name, one.version)))


def install(packages: tuple[str, ...], document: Mapping[str, Any], into: Path) -> None:
    """Fill ``into`` with the ``node_modules`` that npm's lock file describes."""
    _write(into / "package.json", _package(packages))
    _write(into / LOCK_FILE, dict(document))
    _npm(["install"], packages[0], into)
    if releases(parse(read_bounded(into / LOCK_FILE, LOCK_BYTES))) != releases(document):
        raise DigestMismatch(f"npm installed packages that are not in the lock of {packages[0]}", hint=_HINT)
    _write(into / LOCK_FILE, dict(document))
    erase(into / "node_modules" / ".bin")


def _package(packages: tuple[str, ...]) -> dict[str, Any]:
    named = dict(package.rpartition("@")[::2] for package in packages)
    return {"name": "agent", "version": "0.0.0", "private": True, "dependencies": named}


def _write(path: Path, value: dict[str, Any]) -> None:
    """npm's files hold numbers and texts that Proctor's canonical form has no room for."""
    write_whole(path, json.dumps(value, sort_keys=True).encode(), sync=False)


def _npm(arguments: list[str], what: str, directory: Path) -> None:
    def attempt() -> None:
        done = run_client(["npm", *arguments, *FLAGS], directory)
        if done.exit_code == 0:
            return
        said = done.stderr + done.stdout
        if b"EINTEGRITY" in said:
            raise DigestMismatch("the npm registry offers a file whose digest differs from the lock", where=what)
        if any(word in said for word in MISSING):
            found = _RELEASE.search(said)
            release = found[1].decode(errors="replace").rstrip(".") if found else what
            raise NoSuchInput(f"the npm registry has no release {release}", where=what)
        raise unreachable(what, "npm", said)

    with_retries(attempt)
