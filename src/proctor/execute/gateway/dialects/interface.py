"""What every dialect turns its traffic into, and what it must be able to do. Pure.

A dialect reads a request that an agent sent (:class:`Asked`), changes it into the one that is forwarded, reads what
came back, whole or as a stream (:class:`Answered`), and spells errors as its own clients expect them. Requests are
untrusted: whatever is not as it must be is a :class:`Refused`. Answers are read as far as they can be.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Protocol

from proctor.execute.monitor.price_table import TokenCounts

Body = dict[str, Any]

GENERATE, COUNT, MODELS = "generate", "count", "models"


class Refused(Exception):
    """A request that is not forwarded: ``code`` names the reason, ``status`` is the agent's HTTP status."""

    def __init__(self, code: str, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.status = status


@dataclass(frozen=True)
class Route:
    """Where a request goes: ``kind`` is generate, count or models; ``stream`` is None if the body decides it."""

    dialect: str
    kind: str
    path: str
    model: str = ""
    stream: bool | None = None


@dataclass(frozen=True)
class Call:
    """A tool call that a model asked for; ``arguments`` is text, JSON for most tools."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True)
class Result:
    """What an agent gave back for a call."""

    id: str
    text: str
    failed: bool = False


@dataclass(frozen=True)
class Message:
    """One message in a form that all dialects share."""

    role: str
    text: str = ""
    reasoning: str = ""
    calls: tuple[Call, ...] = ()
    results: tuple[Result, ...] = ()


@dataclass(frozen=True)
class Tool:
    """A tool that the agent offers; ``parameters`` is its JSON Schema, empty where it has none."""

    name: str
    parameters: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class ModelRequest:
    """A parsed request.

    ``max_output`` is the most tokens of one answer that it asks for, ``more_output`` those that a provider may bill
    in addition, such as a budget for reasoning. ``media`` counts the images and documents in it.
    """

    model: str
    messages: tuple[Message, ...]
    tools: tuple[Tool, ...] = ()
    max_output: int | None = None
    more_output: int = 0
    stream: bool = False
    choices: int = 1
    media: int = 0


@dataclass(frozen=True)
class Usage(TokenCounts):
    """What a provider counted; ``usd`` is only what it says it billed."""

    usd: Decimal | None = None


@dataclass(frozen=True)
class ModelAnswer:
    """An answer, read. ``refusal`` is how the provider marked a refusal; ``whole`` says that nothing is missing.

    ``error`` is the JSON of an error inside the answer. ``model`` is the model that answered, as the provider names it,
    and ``tier`` the service tier; empty for the ordinary one. ``is_filtered`` says that a filter of the provider ended
    the answer or kept it back.
    """

    message: Message
    finish: str = ""
    usage: Usage | None = None
    refusal: str = ""
    error: str = ""
    whole: bool = True
    model: str = ""
    tier: str = ""
    is_filtered: bool = False


@dataclass(frozen=True)
class Rules:
    """The limits of requests."""

    models: Mapping[str, str] = field(default_factory=dict)
    provider_tools: str = "strip"
    unknown_fields: str = "strip"
    output_tokens: int | None = None


class Collector(Protocol):
    """Puts the events of one stream together; ``ended`` once nothing more can come."""

    ended: bool

    def feed(self, event: Body) -> bool:
        """Take one event in; whether the agent is to see it."""
        ...

    def answered(self) -> ModelAnswer:
        """What has come up to now."""
        ...


class Dialect(Protocol):
    """One way of speaking to a provider."""

    name: str

    def route(self, method: str, path: str) -> Route | None:
        """Where a request for ``path`` goes, if this dialect knows it."""
        ...

    def asked(self, body: Body, route: Route) -> ModelRequest:
        """What a request says."""
        ...

    def prepare(self, body: Body, route: Route, rules: Rules) -> list[str]:
        """Set and remove fields of ``body`` for the request that is forwarded, but change nothing inside of them.

        At most one limit on the output is left.

        Returns a description of the changes.
        """
        ...

    def limit(self, body: Body, tokens: int) -> str:
        """Let an answer have ``tokens`` at most, and nothing else; the name of the field that was set."""
        ...

    def forwarded_path(self, route: Route, rules: Rules) -> str:
        """The path at the provider."""
        ...

    def answered(self, body: Any) -> ModelAnswer:
        """What an answer says that came in one piece."""
        ...

    def collector(self, changes: list[str]) -> Collector:
        """For the stream that answers a request to which ``changes`` were made."""
        ...

    def error(self, status: int, code: str, message: str) -> Body:
        """An error as clients of this dialect expect it."""
        ...

    def headers(self, key: str) -> dict[str, str]:
        """What authenticates a request at the provider."""
        ...
