"""A dialect of an installed package, whose every answer is checked.

The gateway reads requests of the agent and answers of the provider through it. An error in the code of the package must
not look like a provider that fails or an agent that never called its model: it is a fault that names the package and
makes the run invalid. :class:`Refused` is not an error but the answer to a request.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from proctor.base.entry_points import PlugIns, SlowCalls
from proctor.execute.gateway.dialects.interface import (
    Collector,
    Dialect,
    ModelAnswer,
    ModelRequest,
    Refused,
    Route,
    Rules,
)

Value = TypeVar("Value")


class CheckedDialect:
    """Implements ``Dialect``."""

    def __init__(self, dialect: Dialect, table: PlugIns[Dialect]) -> None:
        self.name = dialect.name
        self._dialect = dialect
        self._table = table

    def route(self, method: str, path: str) -> Route | None:
        return self._checked("route", Route | None, self._dialect.route, method, path)

    def asked(self, body: dict[str, Any], route: Route) -> ModelRequest:
        return self._checked("asked", ModelRequest, self._dialect.asked, body, route)

    def prepare(self, body: dict[str, Any], route: Route, rules: Rules) -> list[str]:
        changes = self._checked("prepare", list, self._dialect.prepare, body, route, rules)
        if not all(isinstance(change, str) for change in changes):
            raise self._table.failed(self.name, "prepare() does not return a list of texts")
        return changes

    def limit(self, body: dict[str, Any], tokens: int) -> str:
        return self._checked("limit", str, self._dialect.limit, body, tokens)

    def forwarded_path(self, route: Route, rules: Rules) -> str:
        path = self._checked("forwarded_path", str, self._dialect.forwarded_path, route, rules)
        if not path.startswith("/") or not path.isprintable():
            raise self._table.failed(self.name, "forwarded_path() does not return a path that begins with /")
        return path

    def answered(self, body: Any) -> ModelAnswer:
        return self._checked("answered", ModelAnswer, self._dialect.answered, body)

    def collector(self, changes: list[str]) -> Collector:
        with self._table.at_work(self.name):
            collector = self._dialect.collector(changes)
        for method in ("feed", "answered"):
            if not callable(getattr(collector, method, None)):
                raise self._table.failed(self.name, f"collector() returns an object without {method}()")
        return _CheckedCollector(collector, self)

    def error(self, status: int, code: str, message: str) -> dict[str, Any]:
        return self._checked("error", dict, self._dialect.error, status, code, message)

    def headers(self, key: str) -> dict[str, str]:
        headers = self._checked("headers", dict, self._dialect.headers, key)
        for name, value in headers.items():
            if not isinstance(name, str) or not isinstance(value, str) or not f"{name}{value}".isprintable():
                raise self._table.failed(self.name, "headers() does not return texts without control characters")
        return headers

    def _checked(self, method: str, kind: Any, call: Callable[..., Value], *arguments: Any) -> Value:
        """What ``call`` returns, which is of the type ``kind``."""
        with self._table.at_work(self.name, Refused, slow=SlowCalls()):
            value = call(*arguments)
        if not isinstance(value, kind):
            wanted = getattr(kind, "__name__", str(kind).replace(f"{Route.__module__}.", ""))
            problem = f"{method}() returns a {type(value).__name__}, not {wanted}"
            raise self._table.failed(self.name, problem)
        return value


class _CheckedCollector:
    """Implements ``Collector``."""

    def __init__(self, collector: Collector, dialect: CheckedDialect) -> None:
        self._collector = collector
        self._checked = dialect._checked

    @property
    def ended(self) -> bool:
        return self._checked("ended of a collector: it", bool, lambda: self._collector.ended)

    @ended.setter
    def ended(self, value: bool) -> None:
        self._collector.ended = value

    def feed(self, event: dict[str, Any]) -> bool:
        return self._checked("feed", bool, self._collector.feed, event)

    def answered(self) -> ModelAnswer:
        return self._checked("answered", ModelAnswer, self._collector.answered)
