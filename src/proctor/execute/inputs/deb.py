"""Debian source packages, and binary ones by file name, through the machine's own apt and its mirrors.

The machine's lists of packages and its configuration stay untouched: apt works in a directory of its own, with a list
of sources derived from the machine's, so that neither ``deb-src`` lines nor root are needed. Signatures are checked by
apt as ever. Nothing is unpacked or installed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from proctor.base.errors import InfrastructureFault
from proctor.contract.model import InputFile, Source
from proctor.execute.inputs.interface import InputRequest, NoSuchInput, split_spec
from proctor.execute.inputs.package_clients import last_words, run_client, unreachable, with_retries

ETC = Path("/etc")
LISTS_BYTES = 1 << 20
ORIGINAL = re.compile(r"\.orig(-[a-z0-9-]+)?\.tar\.[a-z0-9]+$")
"""The archives of a source package that come from the authors of the software."""

_MISSING = (b"Unable to find a source package", b"was not found", b"Can not find version", b"Unable to locate package")
_LINE = re.compile(r"deb(?:-src)?\s+(?P<rest>(?:\[[^\]]*\]\s+)?\S+\s+(?P<suite>\S+).*)\Z")


class DebSupplier:
    """The supplier for ``deb`` sources."""

    def fetch(self, source: Source, files: tuple[InputFile, ...], contract_directory: Path, into: Path) -> None:
        name, version = split_spec(source, "==")
        kind = "deb" if all(file.name.endswith(".deb") for file in files) else "deb-src"
        try:
            _download(name, version, into, kind)
        except NoSuchInput:
            # Mirrors keep the newest revision alone, and revisions share their authors' archive.
            if kind == "deb" or not all(ORIGINAL.search(file.name) for file in files):
                raise
            _download(name, "", into, kind)
        _plain_names(into)

    def resolve(self, request: InputRequest, contract_directory: Path, into: Path) -> tuple[str, ...]:
        name, version = split_spec(request.source, "==")
        _download(name, version, into, "deb-src")
        _plain_names(into)
        return tuple(sorted(path.name for path in into.iterdir() if path.is_file()))


def _download(name: str, version: str, into: Path, kind: str) -> None:
    """Fetch one package, source (``deb-src``) or binary (``deb``), into ``into``; without a version, the newest."""
    spec = f"{name}={version}" if version else name
    state = into / ".apt"
    options = _apt_options(state, kind)
    what = ["download", spec] if kind == "deb" else ["source", "--download-only", "--only-source", spec]

    def attempt() -> None:
        updated = run_client(["apt-get", "update", *options], into)
        done = run_client(["apt-get", *what, *options], into)
        if done.exit_code == 0:
            return
        if updated.exit_code == 0 and not _troubled(updated.stderr) and any(word in done.stderr for word in _MISSING):
            raise NoSuchInput(f"the Debian mirror has no such package: {last_words(done.stderr)}", where=spec)
        raise unreachable(spec, "apt", updated.stderr + done.stderr)

    with_retries(attempt)


def _troubled(stderr: bytes) -> bool:
    """Whether ``apt-get update`` skipped a list that it could not fetch, which it does not count as a failure."""
    return b"Failed to fetch" in stderr or b"Some index files failed" in stderr


def _apt_options(state: Path, kind: str) -> list[str]:
    """Options with which apt keeps everything below ``state`` and reads sources of one ``kind`` alone."""
    for directory in ("lists/partial", "cache/archives/partial", "parts"):
        (state / directory).mkdir(parents=True, exist_ok=True)
    lists = derived_sources(ETC, kind)
    if not lists:
        raise InfrastructureFault("apt has no sources on this machine", where=str(ETC / "apt"))
    for name, text in lists.items():
        (state / "parts" / name).write_text(text)
    settings = {
        "Dir::Etc::sourcelist": "/dev/null",
        "Dir::Etc::sourceparts": str(state / "parts"),
        "Dir::State::lists": str(state / "lists"),
        "Dir::State::extended_states": str(state / "extended_states"),
        "Dir::Cache": str(state / "cache"),
        "Acquire::Languages": "none",
        "Acquire::Retries": "2",
        "Acquire::http::Timeout": "60",
        "Acquire::https::Timeout": "60",
        "APT::Sandbox::User": "root",
        "APT::Update::Post-Invoke::": "/bin/true",
        "Debug::NoLocking": "true",
    }
    return ["-q", *(part for name, value in settings.items() for part in ("-o", f"{name}={value}"))]


def derived_sources(etc: Path, kind: str) -> dict[str, str]:
    """The machine's package sources turned into sources of ``kind``, of its own distribution if that is known."""
    codename = _codename(etc)
    whole: dict[str, list[str]] = {"machine.list": [], "machine.sources": []}
    own: dict[str, list[str]] = {"machine.list": [], "machine.sources": []}
    for name, entry, suites in _entries(etc, kind):
        whole[name].append(entry)
        if codename and any(suite == codename or suite.startswith(f"{codename}-") for suite in suites):
            own[name].append(entry)
    chosen = own if any(own.values()) else whole
    return {
        name: ("\n\n" if name.endswith(".sources") else "\n").join(dict.fromkeys(entries)) + "\n"
        for name, entries in chosen.items()
        if entries
    }


def _entries(etc: Path, kind: str) -> Iterator[tuple[str, str, list[str]]]:
    """Every source of the machine as (file kind, text turned into ``kind``, suites)."""
    parts = etc / "apt/sources.list.d"
    for path in (etc / "apt/sources.list", *sorted(parts.glob("*.list"))):
        for line in _text(path).splitlines():
            match = _LINE.match(line.partition("#")[0].strip())
            if match:
                yield "machine.list", f"{kind} {match['rest']}", [match["suite"]]
    for path in sorted(parts.glob("*.sources")):
        for stanza in re.split(r"\n[ \t]*\n", _text(path)):
            lines = [line for line in stanza.splitlines() if line.strip() and not line.startswith("#")]
            fields = {line.partition(":")[0].strip().lower(): line.partition(":")[2] for line in lines}
            if "uris" not in fields or fields.get("enabled", "yes").strip().lower() == "no":
                continue
            kept = [line for line in lines if not line.lower().startswith("types:")]
            yield "machine.sources", "\n".join([f"Types: {kind}", *kept]), fields.get("suites", "").split()


def _codename(etc: Path) -> str:
    match = re.search(r'^VERSION_CODENAME="?([a-z]+)"?$', _text(etc / "os-release"), re.MULTILINE)
    return match[1] if match else ""


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace")[:LISTS_BYTES]
    except OSError:
        return ""


def _plain_names(into: Path) -> None:
    """Undo the escapes that ``apt-get download`` puts into file names (``1%3a2.0`` for an epoch)."""
    for path in into.glob("*%3a*"):
        path.rename(into / path.name.replace("%3a", ":"))
