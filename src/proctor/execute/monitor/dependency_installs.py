"""Which dependencies an agent installed: read from the command lines of the installations that were seen. Pure.

Names are in the normalized form of their ecosystem. Files of requirements, local paths and the project itself name
nothing new here: their dependencies are read where they are declared. Only command lines are read, as everywhere in
``program_kinds``; a script that installs by itself is not analysed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from proctor.execute.monitor.program_kinds import INSTALL, program_name, unwrapped
from proctor.execute.monitor.tool_calls_from_processes import Calls, Work
from proctor.record.trace.event import Event

PYTHON, JAVASCRIPT, RUST, GO, RUBY, PHP, SYSTEM = "python", "javascript", "rust", "go", "ruby", "php", "system"

_MANAGERS = {
    PYTHON: "pip pipx uv poetry pdm pipenv hatch easy_install conda mamba micromamba",
    JAVASCRIPT: "npm pnpm yarn bun",
    RUST: "cargo",
    GO: "go",
    RUBY: "gem bundle bundler",
    PHP: "composer",
    SYSTEM: "apt apt-get aptitude dnf yum microdnf zypper apk pacman brew",
}


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_ECOSYSTEMS = {name: ecosystem for ecosystem, names in _MANAGERS.items() for name in names.split()}
_ADDS = _words("install i add get require inject download upgrade")
_GROUPS = _words("pip tool global package")
_SOURCES = _words("-i --index-url --extra-index-url -f --find-links --index --default-index --registry --git --source")
_VALUED = _words(
    """--index-url --extra-index-url --find-links --index --default-index --registry --git --source
    --requirement --constraint --editable --target --prefix --root --python --platform --proxy --cert --trusted-host
    --no-binary --only-binary --cache-dir --src --group --extra --tag --workspace --cwd --dir --name --vers --version
    --branch --rev --path --features --manifest-path --channel --project -C -w"""
)
_SHORT = {PYTHON: _words("-r -c -e -t -i -f -n -G"), RUST: _words("-F")}
"""Short options with a value; in other ecosystems the same letters have no value."""
_HOST = re.compile(r"(?:[a-z+]{1,20}://|git@)(?:[^/@\s]{1,200}@)?([A-Za-z0-9.-]{1,253}(?::[0-9]{1,5})?)")
_PYTHON_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}")


@dataclass(frozen=True)
class Install:
    """One installation: the dependencies and hosts in its arguments, its event, and whether it failed for certain."""

    ecosystem: str
    names: tuple[str, ...]
    hosts: tuple[str, ...]
    seq: int
    line: str
    failed: bool


def installs_in(events: Iterable[Event]) -> Iterator[Install]:
    """Every installation that the agent's programs were seen to make, each at its end."""
    calls, acting, began = Calls(call_depth=0), False, dict[int, Work]()
    for event in events:
        if event.type == "agent.started":
            acting = True
        if not acting:
            continue
        calls.see(event, 0)
        began |= {work.started: work for work in calls.began if INSTALL in work.kinds}
        for work in calls.finished:
            if began.pop(work.started, None):
                yield from _install(work)
        if event.type == "agent.finished":
            break
    for work in began.values():
        yield from _install(work)


def _install(work: Work) -> Iterator[Install]:
    ecosystem, names, hosts = read_install(work.argv)
    if names or hosts:
        yield Install(ecosystem, names, hosts, work.started, " ".join(work.argv)[:200], work.outcome == "failed")


def read_install(argv: Iterable[str]) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    """The ecosystem of an installation, and the dependencies and hosts in its arguments."""
    arguments = list(unwrapped(tuple(argv)))
    if arguments and re.fullmatch(r"(?:python|pypy)[0-9.]*", program_name(arguments)) and "-m" in arguments:
        arguments = arguments[arguments.index("-m") + 1 :]
    ecosystem = _ECOSYSTEMS.get(re.sub(r"(?<=[a-z])[0-9.]+$", "", program_name(arguments)), "")
    plain, hosts = _parted(arguments[1:], _SHORT.get(ecosystem, frozenset()))
    while plain and plain[0] in _GROUPS:
        plain.pop(0)
    adds = bool(plain) and (plain[0] in _ADDS or program_name(arguments) == "easy_install")
    named = [name for word in plain[1:] if (name := name_of(ecosystem, word))] if adds and ecosystem else []
    hosts += [host for word in plain if (host := host_of(word))]
    return ecosystem, tuple(dict.fromkeys(named)), tuple(dict.fromkeys(hosts))


def _parted(arguments: Iterable[str], short: frozenset[str]) -> tuple[list[str], list[str]]:
    """The arguments that are not options or their values, and the hosts among those values."""
    plain: list[str] = []
    hosts: list[str] = []
    option = ""
    for word in arguments:
        if option:
            value, source = word, option in _SOURCES
            option = ""
        elif word.startswith("-") and "=" in word:
            name, _, value = word.partition("=")
            source = name in _SOURCES
        elif word.startswith("-"):
            option = word if word in _VALUED or word in short else ""
            continue
        else:
            plain.append(word)
            continue
        if source and (host := host_of(value)):
            hosts.append(host)
    return plain, hosts


def host_of(text: str) -> str:
    """The host that a URL in ``text`` names, in lower case; empty without one."""
    found = _HOST.search(text)
    return found.group(1).lower() if found else ""


def name_of(ecosystem: str, word: str) -> str:
    """The dependency that a word names, as its ecosystem compares names; empty for paths and files."""
    address = host_of(word)
    if ecosystem == PYTHON and "@" in word and not word.startswith(("git+", "http")):
        word = word.partition("@")[0].strip()
    elif address:
        last = word.partition("#egg=")[2] or word.partition("?")[0].partition("#")[0].rstrip("/").rpartition("/")[2]
        word = re.sub(r"\.git(?:@.*)?$|@.*$", "", last)
    if not word or word.startswith((".", "/", "~")) or word.endswith((".whl", ".gz", ".zip", ".tgz", ".txt", ".deb")):
        return ""
    if ecosystem == PYTHON:
        found = _PYTHON_NAME.match(word)
        return re.sub(r"[-_.]+", "-", found.group().rstrip("._-").lower()) if found else ""
    if ecosystem == JAVASCRIPT:
        return word[0] + word[1:].partition("@")[0]
    if ecosystem == PHP:
        return re.split(r"[:=]", word)[0].lower()
    return re.split(r"[@=<>]", word)[0]
