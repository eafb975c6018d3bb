"""New dependencies against the contract's ``policy.dependencies``: in the patch, and in what the agent installed. Pure.

    new-dependency          a file of the patch declares what no file of the base declares
    undeclared-dependency   something was installed that neither the base nor the patch declares
    foreign-registry        a file or an installation names a host that is not among the ``registries``
    unreadable-declarations a file of the patch is not what its name says, so nothing is known of what it declares

By ``new``: with ``allow`` all of it is a notice; with ``declare`` what was installed must be declared; with ``forbid``
neither may be, and the patch may make no file unreadable that was not. Another host is a violation where the contract
lists registries. An installation that is known to have failed brought nothing in, and is a notice. The contract's
``rules`` set other grades by code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from proctor.contract.model import Policy
from proctor.execute.watch.grades import grade_of
from proctor.execute.watch.installs import SYSTEM, Install
from proctor.judge.declared import Declared, Unreadable, read_declared
from proctor.judge.policy import CHANGES, MOST_FINDINGS, NOTICE, VIOLATION, Finding

Files = Mapping[str, bytes]
"""Files of declarations by path."""


@dataclass(frozen=True)
class _Found:
    """A finding about a file, whose line is looked up when it is told: a file may declare a great many things."""

    code: str
    grade: str
    message: str
    path: str
    item: Declared

    def told(self) -> Finding:
        at = f"{self.path}:{self.item.line}"
        return Finding(self.code, self.grade, f"{at} {self.message}", f"{CHANGES}#{at}")


def dependency_findings(
    policy: Policy, changed: Files, base: Callable[[], Files], installs: Iterable[Install]
) -> tuple[Finding, ...]:
    """Everything that the policy has to say about dependencies, violations first.

    ``changed`` are the files of declarations as the patch leaves them; ``base`` gives those of the base when needed.
    """
    found = sorted(_found(policy, changed, base, tuple(installs)), key=lambda one: one.grade != VIOLATION)
    return tuple(one.told() if isinstance(one, _Found) else one for one in found[:MOST_FINDINGS])


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
