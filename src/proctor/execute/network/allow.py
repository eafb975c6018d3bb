"""Which addresses a sandbox may reach: rules on host, port, and where wanted on path and method. Pure.

A rule without path and methods opens an address whole, so that a tunnel to it can stay closed to us. A rule with
either can only be held by whoever reads the requests: ``restricted`` says that, and the proxy then looks inside.
Hosts are compared in lower case and without a final dot; ``*.example.org`` stands for every name below it, not for
``example.org``. A path with dot segments or encoded separators in it never fits a rule with a path, because servers
differ on what it means.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from proctor.base.errors import UsageFault

_HOST = re.compile(r"(?:\*\.)?[a-z0-9_](?:[a-z0-9_.-]*[a-z0-9_])?\Z|\[[0-9a-f:.]+\]\Z|[0-9a-f:.]+\Z")
_UNCLEAR = re.compile(r"/\.{1,2}(?:/|\Z)|%2e|%2f|%5c|\\|//|;", re.IGNORECASE)


@dataclass(frozen=True)
class Rule:
    """One thing that is open. ``path`` is a prefix; no ``methods`` means all of them."""

    host: str
    port: int
    path: str = ""
    methods: tuple[str, ...] = ()

    @property
    def restricted(self) -> bool:
        return bool(self.path or self.methods)

    def reaches(self, host: str) -> bool:
        """Whether ``host``, in plain form, is one that this rule speaks about."""
        if self.host.startswith("*."):
            return host.endswith(self.host[1:]) and len(host) > len(self.host) - 1
        return host == self.host

    def fits(self, method: str, target: str) -> bool:
        """Whether a request for ``target`` (a path, perhaps with a query) is one that this rule lets through."""
        if self.methods and method not in self.methods:
            return False
        return not self.path or _below(target.partition("?")[0], self.path)

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{' '.join((*self.methods, ''))}{host}:{self.port}{self.path}"


@dataclass(frozen=True)
class AllowList:
    """Everything that is open."""

    rules: tuple[Rule, ...] = ()

    @property
    def restricted(self) -> bool:
        """Whether any rule speaks about more than an address."""
        return any(rule.restricted for rule in self.rules)

    def knows(self, host: str) -> bool:
        """Whether ``host`` can be reached at any port."""
        return any(rule.reaches(host) for rule in self.rules)

    def opens(self, host: str, port: int) -> bool:
        """Whether there is anything to reach at an address."""
        return any(rule.port == port and rule.reaches(host) for rule in self.rules)

    def permits(self, method: str, host: str, port: int, target: str) -> bool:
        """Whether a request may pass."""
        return any(rule.port == port and rule.reaches(host) and rule.fits(method, target) for rule in self.rules)

    def ports(self) -> tuple[int, ...]:
        """Every port that a rule names, once, in order."""
        return tuple(sorted({rule.port for rule in self.rules}))


def plain_host(host: str) -> str:
    """``host`` as rules know it: lower case, no final dot, no brackets; empty when it is no host at all."""
    plain = host.lower().removesuffix(".")
    if not _HOST.match(plain) or plain.startswith("*") or len(plain) > 253 or ".." in plain:
        return ""
    return plain.strip("[]")


def parse_rule(address: str, path: str = "", methods: Iterable[str] = ()) -> Rule:
    """The rule for ``host:port`` or ``*.host:port``."""
    host, colon, port = address.lower().rpartition(":")
    if not colon or not _HOST.match(host) or not port.isdecimal() or not 0 < int(port) < 65536:
        raise UsageFault(f"not an address: {address!r}", hint="write host:port or *.host:port")
    if path and (not path.startswith("/") or _UNCLEAR.search(path)):
        raise UsageFault(f"not a path to allow: {path!r}", hint="write a plain path that starts with /")
    return Rule(host.removesuffix(".").strip("[]"), int(port), path, tuple(method.upper() for method in methods))


def _below(path: str, prefix: str) -> bool:
    if _UNCLEAR.search(path):
        return False
    return path == prefix or path.startswith(prefix if prefix.endswith("/") else prefix + "/")
