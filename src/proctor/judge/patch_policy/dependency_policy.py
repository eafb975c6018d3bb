"""Dependencies that files declare, and findings against the contract's ``policy.dependencies``. Pure.

    new-dependency          a file of the patch declares what no file of the base declares
    undeclared-dependency   something was installed that neither the base nor the patch declares
    foreign-registry        a file or an installation names a host that is not among the ``registries``
    unreadable-declarations a file of the patch is not what its name says, so nothing is known of what it declares

By ``new``: with ``allow`` all of it is a notice; with ``declare`` what was installed must be declared; with ``forbid``
neither may be, and the patch may make no file unreadable that was not. Another host is a violation where the contract
lists registries. An installation that is known to have failed brought nothing in, and is a notice. The contract's
``rules`` set other grades by code.

Read are ``requirements*.txt`` and ``.in``, ``pyproject.toml``, ``setup.cfg``, ``setup.py`` (lists of plain text only),
``Pipfile``, ``package.json``, ``Cargo.toml``, ``go.mod``, ``Gemfile`` and ``composer.json``. Lock files say nothing
that these do not. Text that cannot be read raises :class:`Unreadable`.
"""

from __future__ import annotations

import ast
import json
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from configparser import Error, RawConfigParser
from dataclasses import dataclass
from typing import Any

from proctor.contract.model import Policy
from proctor.execute.monitor.dependency_installs import (
    GO,
    JAVASCRIPT,
    PHP,
    PYTHON,
    RUBY,
    RUST,
    SYSTEM,
    Install,
    host_of,
    name_of,
)
from proctor.execute.monitor.severity_grades import grade_of
from proctor.judge.patch_policy.patch_findings import CHANGES, MOST_FINDINGS, NOTICE, VIOLATION, Finding

FILE_BYTES = 4 << 20
"""The largest file of declarations that is read."""

_REQUIREMENTS = re.compile(r"requirements[\w.-]*\.(?:txt|in)|[\w.-]+[-_.]requirements\.(?:txt|in)")


class Unreadable(ValueError):
    """A file of declarations that is not what its name says."""


@dataclass(frozen=True)
class Declared:
    """A dependency that a file declares, or only a ``host`` to fetch from; then the name is empty.

    ``written`` is its spelling in the ``text`` of the file.
    """

    ecosystem: str
    name: str
    host: str
    written: str
    text: str

    @property
    def line(self) -> int:
        """The first line that holds it as a whole word, from 1. Every look reads the text again."""
        pattern = rf"(?<![\w.-]){re.escape(self.written)}(?![\w-])"
        found = re.search(pattern, self.text) if self.written else None
        return self.text.count("\n", 0, found.start()) + 1 if found else 1


Raw = Iterator[tuple[str, str]]
"""Pairs of a name and a text that may hold a URL."""


def declares(path: str) -> bool:
    """Whether a file of this path declares dependencies."""
    return _reader(path) is not None


def read_declared(path: str, data: bytes) -> tuple[Declared, ...]:
    """What a file declares, in order; each name once."""
    found = _reader(path)
    if found is None:
        return ()
    ecosystem, read = found
    if len(data) > FILE_BYTES:
        raise Unreadable(f"larger than {FILE_BYTES} bytes")
    try:
        text = data.decode("utf-8-sig")
        raw = tuple(dict.fromkeys(read(text)))
    except (ValueError, TypeError, AttributeError, SyntaxError, RecursionError, MemoryError) as error:
        raise Unreadable(f"{type(error).__name__}: {error}"[:200]) from None
    found_in = ((name, host_of(source)) for name, source in raw)
    return tuple(Declared(ecosystem, name_of(ecosystem, name), host, name or host, text) for name, host in found_in)


def _reader(path: str) -> tuple[str, Callable[[str], Raw]] | None:
    name = path.rpartition("/")[2]
    if _REQUIREMENTS.fullmatch(name) or re.fullmatch(r"(?:.*/)?requirements/[\w.-]+\.(?:txt|in)", path):
        return PYTHON, _requirements
    return _BY_NAME.get(name)


def _requirements(text: str) -> Raw:
    for line in text.replace("\\\n", " ").splitlines():
        plain = re.sub(r"(?:^|\s)#.*", "", line).strip()
        if plain.startswith("-"):
            if re.match(r"(?:-i|-f|--index-url|--extra-index-url|--find-links)\b", plain):
                yield "", plain
            if not re.match(r"(?:-e|--editable)\b", plain):
                continue
            plain = re.sub(r"^\S+?[\s=]+", "", plain)
        if plain:
            yield _requirement(plain)


def _requirement(text: str) -> tuple[str, str]:
    """The name in a requirement of Python's, and the address that it may name."""
    if host_of(text) and not re.match(r"[\w.-]+\s*(?:\[[^]]*\]\s*)?@", text):
        return text, text
    found = re.match(r"\s*([A-Za-z0-9][\w.-]*)", text)
    return (found.group(1) if found else ""), text


def _python_toml(text: str) -> Raw:
    data = tomllib.loads(text)
    project, tool = data.get("project", {}), data.get("tool", {})
    lists = [project.get("dependencies", []), data.get("build-system", {}).get("requires", [])]
    lists += [*project.get("optional-dependencies", {}).values(), *data.get("dependency-groups", {}).values()]
    uv, pdm, poetry = (tool.get(name, {}) for name in ("uv", "pdm", "poetry"))
    lists += [uv.get("dev-dependencies", []), *pdm.get("dev-dependencies", {}).values()]
    yield from (_requirement(item) for group in lists for item in group if isinstance(item, str))
    tables = [poetry.get("dependencies", {}), poetry.get("dev-dependencies", {})]
    tables += [group.get("dependencies", {}) for group in poetry.get("group", {}).values()]
    yield from ((name, _text(value)) for table in tables for name, value in table.items() if name != "python")
    sources = [*uv.get("index", []), *poetry.get("source", []), *pdm.get("source", []), *uv.get("sources", {}).values()]
    yield from (("", _text(source)) for source in sources)


def _pipfile(text: str) -> Raw:
    data = tomllib.loads(text)
    for table in ("packages", "dev-packages"):
        yield from ((name, _text(value)) for name, value in data.get(table, {}).items())
    yield from (("", _text(source)) for source in data.get("source", []))


def _setup_cfg(text: str) -> Raw:
    parser = RawConfigParser(strict=False)
    try:
        parser.read_string(text)
    except Error as error:
        raise ValueError(str(error)) from None
    values = [
        value
        for section, key in (
            ("options", "install_requires"),
            ("options", "setup_requires"),
            ("options", "tests_require"),
        )
        if (value := parser.get(section, key, fallback=""))
    ]
    if parser.has_section("options.extras_require"):
        values += [value for _, value in parser.items("options.extras_require")]
    yield from (_requirement(line) for value in values for line in re.split(r"[\n;]", value) if line.strip())


def _setup_py(text: str) -> Raw:
    wanted = ("install_requires", "setup_requires", "tests_require", "extras_require")
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.keyword) and node.arg in wanted:
            values = node.value.values if isinstance(node.value, ast.Dict) else [node.value]
            for inner in (inner for value in values for inner in ast.walk(value)):
                if isinstance(inner, ast.Constant) and isinstance(inner.value, str):
                    yield _requirement(inner.value)


def _tables(*wanted: str) -> Callable[[str], Raw]:
    """Reads the named tables of a JSON file."""

    def read(text: str) -> Raw:
        data = json.loads(text)
        for table in wanted:
            for name, value in data.get(table, {}).items():
                if name != "php" and not name.startswith("ext-"):
                    yield name, _text(value)

    return read


def _cargo(text: str) -> Raw:
    def tables(data: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
        for name in ("dependencies", "dev-dependencies", "build-dependencies"):
            yield data.get(name, {})

    data = tomllib.loads(text)
    roots: Iterable[Mapping[str, Any]] = (data, data.get("workspace", {}), *data.get("target", {}).values())
    for root in roots:
        for table in tables(root):
            for name, value in table.items():
                yield (value.get("package", name) if isinstance(value, dict) else name), _text(value)


def _go(text: str) -> Raw:
    inside = False
    for line in text.splitlines():
        parts = line.partition("//")[0].split()
        if parts[:2] == ["require", "("]:
            inside = True
        elif parts == [")"]:
            inside = False
        elif inside and parts:
            yield parts[0], ""
        elif parts[:1] == ["require"] and len(parts) > 1:
            yield parts[1], ""


def _gemfile(text: str) -> Raw:
    for line in text.splitlines():
        found = re.match(r"""\s*(?:gem|source)\s*\(?\s*["']([^"']+)["']""", line)
        if found:
            yield ("" if line.lstrip().startswith("source") else found.group(1)), line


def _text(value: object) -> str:
    """A value with every text in it, for a search of URLs."""
    return value if isinstance(value, str) else json.dumps(value, default=str)


_BY_NAME: dict[str, tuple[str, Callable[[str], Raw]]] = {
    "pyproject.toml": (PYTHON, _python_toml),
    "Pipfile": (PYTHON, _pipfile),
    "setup.cfg": (PYTHON, _setup_cfg),
    "setup.py": (PYTHON, _setup_py),
    "package.json": (
        JAVASCRIPT,
        _tables("dependencies", "devDependencies", "peerDependencies", "optionalDependencies"),
    ),
    "Cargo.toml": (RUST, _cargo),
    "go.mod": (GO, _go),
    "Gemfile": (RUBY, _gemfile),
    "composer.json": (PHP, _tables("require", "require-dev")),
}


Files = Mapping[str, bytes]
"""Files of declarations by path."""


@dataclass(frozen=True)
class _Found:
    """A finding about a file. Its line is looked up only when it is reported, since a file may declare a lot."""

    code: str
    grade: str
    message: str
    path: str
    item: Declared

    def finding(self) -> Finding:
        at = f"{self.path}:{self.item.line}"
        return Finding(self.code, self.grade, f"{at} {self.message}", f"{CHANGES}#{at}")


def dependency_findings(
    policy: Policy, changed: Files, base: Callable[[], Files], installs: Iterable[Install]
) -> tuple[Finding, ...]:
    """Everything that the policy has to say about dependencies, violations first.

    ``changed`` are the files of declarations as the patch leaves them; ``base`` gives those of the base when needed.
    """
    found = sorted(_found(policy, changed, base, tuple(installs)), key=lambda one: one.grade != VIOLATION)
    return tuple(one.finding() if isinstance(one, _Found) else one for one in found[:MOST_FINDINGS])


def _found(
    policy: Policy, changed: Files, base: Callable[[], Files], installs: tuple[Install, ...]
) -> Iterator[Finding | _Found]:
    if not changed and not installs:
        return
    files = base()
    before = [item for path, data in files.items() for item in _read(path, data) or ()]
    known = {(item.ecosystem, item.name) for item in before}
    hosts = {item.host for item in before}
    declared = set(known)
    for path in sorted(changed):
        try:
            items = read_declared(path, changed[path])
        except Unreadable as error:
            was_so = path in files and _read(path, files[path]) is None
            usual = VIOLATION if policy.dependencies.new == "forbid" and not was_so else NOTICE
            grade = _grade(policy, "unreadable-declarations", usual)
            yield Finding("unreadable-declarations", grade, f"{path}: {error}", f"{CHANGES}#{path}")
            continue
        declared |= {(item.ecosystem, item.name) for item in items}
        yield from _of_file(policy, path, items, known, hosts)
    for install in installs:
        yield from _of_install(policy, install, declared)


def _of_file(
    policy: Policy, path: str, items: tuple[Declared, ...], known: set[tuple[str, str]], hosts: set[str]
) -> Iterator[_Found]:
    for item in items:
        if item.name and (item.ecosystem, item.name) not in known:
            usual = VIOLATION if policy.dependencies.new == "forbid" else NOTICE
            message = f"declares {item.name}, a new dependency ({item.ecosystem})"
            yield _Found("new-dependency", _grade(policy, "new-dependency", usual), message, path, item)
        if item.host and item.host not in hosts and _foreign(policy, item.host):
            message = f"names {item.host}, which is not among the registries"
            yield _Found("foreign-registry", _grade(policy, "foreign-registry", VIOLATION), message, path, item)


def _of_install(policy: Policy, install: Install, declared: set[tuple[str, str]]) -> Iterator[Finding]:
    where = f"events.jsonl#{install.seq}"
    ending = ", and failed" if install.failed else ""
    for name in install.names:
        if (install.ecosystem, name) not in declared and install.ecosystem != SYSTEM:
            usual = NOTICE if policy.dependencies.new == "allow" or install.failed else VIOLATION
            message = f"{install.line!r} installs {name}, which nothing declares{ending}"
            yield Finding("undeclared-dependency", _grade(policy, "undeclared-dependency", usual), message, where)
    for host in install.hosts:
        if _foreign(policy, host):
            usual = NOTICE if install.failed else VIOLATION
            message = f"{install.line!r} names {host}, which is not among the registries{ending}"
            yield Finding("foreign-registry", _grade(policy, "foreign-registry", usual), message, where)


def _foreign(policy: Policy, host: str) -> bool:
    registries = policy.dependencies.registries
    return bool(registries) and host not in registries and host.partition(":")[0] not in registries


def _grade(policy: Policy, code: str, usual: str) -> str:
    """The grade that the contract's rules give, else the usual one."""
    named = any(code == rule or (rule.endswith("*") and code.startswith(rule[:-1])) for rule in policy.rules)
    return grade_of(code, policy.rules) if named else usual


def _read(path: str, data: bytes) -> tuple[Declared, ...] | None:
    """What a file of the base declares; ``None`` for one that cannot be read."""
    try:
        return read_declared(path, data)
    except Unreadable:
        return None
