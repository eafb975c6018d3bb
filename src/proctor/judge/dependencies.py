"""New dependencies against the contract's ``policy.dependencies``: in the patch, and in what the agent installed. Pure.

    new-dependency          a file of the patch declares what no file of the base declares
    undeclared-dependency   something was installed that neither the base nor the patch declares
    foreign-registry        a file or an installation names a host that is not among the ``registries``

By ``new``: with ``allow`` all of it is a notice; with ``declare`` what was installed must be declared; with ``forbid``
neither may be. Another host is a violation where the contract lists registries. An installation that is known to have
failed brought nothing in, and is a notice. The contract's ``rules`` set other grades by code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from proctor.contract.model import Policy
from proctor.execute.watch.grades import grade_of
from proctor.execute.watch.installs import SYSTEM, Install
from proctor.judge.declared import Declared, Unreadable, read_declared
from proctor.judge.policy import CHANGES, MOST_FINDINGS, NOTICE, VIOLATION, Finding

Files = Mapping[str, bytes]
"""Files of declarations by path."""


def dependency_findings(
    policy: Policy, changed: Files, base: Callable[[], Files], installs: Iterable[Install]
) -> tuple[Finding, ...]:
    """Everything that the policy has to say about dependencies, violations first.

    ``changed`` are the files of declarations as the patch leaves them; ``base`` gives those of the base when needed.
    """
    found = list(_found(policy, changed, base, tuple(installs)))
    return tuple(sorted(found, key=lambda finding: finding.grade != VIOLATION)[:MOST_FINDINGS])


def _found(
    policy: Policy, changed: Files, base: Callable[[], Files], installs: tuple[Install, ...]
) -> Iterator[Finding]:
    if not changed and not installs:
        return
    before = base()
    known = {(item.ecosystem, item.name) for path in before for item in _read(path, before[path])}
    hosts = {item.host for path in before for item in _read(path, before[path])}
    declared = set(known)
    for path in sorted(changed):
        try:
            items = read_declared(path, changed[path])
        except Unreadable as error:
            yield Finding("unreadable-declarations", NOTICE, f"{path}: {error}", f"{CHANGES}#{path}")
            continue
        declared |= {(item.ecosystem, item.name) for item in items}
        yield from _of_file(policy, path, items, known, hosts)
    for install in installs:
        yield from _of_install(policy, install, declared)


def _of_file(
    policy: Policy, path: str, items: tuple[Declared, ...], known: set[tuple[str, str]], hosts: set[str]
) -> Iterator[Finding]:
    for item in items:
        where = f"{CHANGES}#{path}:{item.line}"
        if item.name and (item.ecosystem, item.name) not in known:
            usual = VIOLATION if policy.dependencies.new == "forbid" else NOTICE
            message = f"{path}:{item.line} declares {item.name}, a new dependency ({item.ecosystem})"
            yield Finding("new-dependency", _grade(policy, "new-dependency", usual), message, where)
        if item.host and item.host not in hosts and _foreign(policy, item.host):
            message = f"{path}:{item.line} names {item.host}, which is not among the registries"
            yield Finding("foreign-registry", _grade(policy, "foreign-registry", VIOLATION), message, where)


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


def _read(path: str, data: bytes) -> tuple[Declared, ...]:
    """What a file of the base declares; one that cannot be read declares nothing."""
    try:
        return read_declared(path, data)
    except Unreadable:
        return ()
