"""The settings of a gateway. Frozen; the only place that holds keys."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from urllib.parse import parse_qsl, urlsplit

from proctor.base.entry_points import DIALECTS, registered_names
from proctor.base.errors import UsageFault

DIALECT_NAMES = ("chat", "responses", "anthropic", "gemini")
UNVERSIONED = ("chat", "responses")
"""Dialects whose version is a part of the endpoint, by the custom of their clients."""

_ENDPOINT = re.compile(r"https?://(?![/?])[!-~]+")
_VERSION = re.compile(r"v[0-9][a-z0-9]*")
_KEYS = frozenset(("key", "api_key", "api-key", "apikey", "access_token", "token", "subscription-key", "sig"))
"""Names of parameters that hold keys."""


@dataclass(frozen=True)
class Upstream:
    """A provider: its endpoint, and the value of its key.

    A bare host gets the paths of a dialect, such as ``/v1/messages``; so does an endpoint that ends in ``/v1`` or
    ``/v1beta``, without that end. Any other path of an endpoint is used as it is. Its query goes with every request.
    """

    url: str
    key: str = ""

    def __post_init__(self) -> None:
        where = self.url.partition("?")[0].rpartition("@")[2][:200]
        names = {name.lower() for name, _ in parse_qsl(self._query, keep_blank_values=True)}
        if names & _KEYS or "@" in self.url.partition("?")[0]:
            hint = "use --key-env or --key-file: the endpoint is recorded, the key is not"
            raise UsageFault("an endpoint must not contain a key", where=where, hint=hint)
        if not _ENDPOINT.fullmatch(self.url) or "#" in self.url or not _has_host_and_port(self.url):
            raise UsageFault("an endpoint is http:// or https:// with a host and a valid port", where=where)

    def __repr__(self) -> str:
        return f"Upstream({self.url!r})"

    @property
    def _query(self) -> str:
        return self.url.partition("?")[2]

    def address(self, dialect: str, path: str, query: str) -> str:
        """The URL for a request with the path and the query of ``dialect``."""
        base = self.url.partition("?")[0].rstrip("/")
        scheme, _, place = base.partition("://")
        host, slash, end = place.rpartition("/")
        if slash and end in ("v1", "v1beta"):
            base = f"{scheme}://{host}".rstrip("/")
        elif slash and (dialect in UNVERSIONED or (dialect == "gemini" and _VERSION.fullmatch(end))):
            path = path[path.index("/", 1) :]
        both = "&".join(filter(None, (self._query, query)))
        return f"{base}{path}?{both}" if both else f"{base}{path}"


def _has_host_and_port(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


@dataclass(frozen=True)
class Caps:
    """What may be spent: ``amount`` in the currency of the price table; None means without end."""

    amount: Decimal | None = None
    tokens: int | None = None
    requests: int | None = None


@dataclass(frozen=True)
class Limits:
    """How much and how long; every one is a policy choice.

    An answer that its agent does not wait for is read for ``abandoned_seconds``. A request without a maximum is taken
    to generate ``assumed_output_tokens``; where the budget does not allow that, it gets what is left as its maximum,
    but not less than ``least_output_tokens``. A provider that sends nothing for ``silence_seconds`` is silent, which is
    not the agent's time; after ``most_silence_seconds`` of that in all the gateway gives up.
    """

    request_bytes: int = 32 << 20
    answer_bytes: int = 64 << 20
    event_bytes: int = 4 << 20
    inline_bytes: int = 4096
    tape_bytes: int = 256 << 20
    kept_bytes: int = 2 << 30
    open_bytes: int = 64 << 20
    connections: int = 256
    requests: int = 100_000
    messages: int = 10_000
    recorded_messages: int = 500_000
    head_seconds: float = 30
    body_seconds: float = 60
    connect_seconds: float = 30
    idle_seconds: float = 300
    call_seconds: float = 1800
    silence_seconds: float = 30
    most_silence_seconds: float = 1800
    affordable_seconds: float = 600
    abandoned_seconds: float = 10
    close_seconds: float = 10
    assumed_output_tokens: int = 128_000
    least_output_tokens: int = 1024


@dataclass(frozen=True)
class Settings:
    """One gateway.

    ``models`` gives the provider's name for each name that may be asked for, ``"*"`` for all others; empty passes
    every name on. ``provider_tools`` (strip, refuse, allow) is about tools that the provider would run outside the
    sandbox. ``unknown_fields`` (strip, refuse, pass) is about fields of requests that a dialect does not list.
    ``output_tokens`` is the maximum for requests that state none; without it they have none, unless the budget needs
    one. ``cassette`` is off, record or replay, ``tape`` the cassette to replay. ``script`` is the YAML of a scripted
    model, which then answers everything. ``canaries`` are planted tokens by name. ``redact`` hides texts: ``spans``
    what the usual rules for secrets find or ``secrets`` (regular expressions) match, ``all`` everything; digests under
    ``redaction_key`` and lengths stay.
    """

    upstreams: Mapping[str, Upstream] = field(default_factory=dict)
    models: Mapping[str, str] = field(default_factory=dict)
    provider_tools: str = "strip"
    unknown_fields: str = "strip"
    output_tokens: int | None = None
    words: bool = True
    words_off: tuple[str, ...] = ()
    cassette: str = "off"
    tape: bytes | None = None
    paced: bool = False
    script: bytes | None = None
    canaries: Mapping[str, bytes] = field(default_factory=dict)
    redact: str = "none"
    secrets: tuple[str, ...] = ()
    redaction_key: bytes = b""
    limits: Limits = Limits()
    dialects: tuple[str, ...] = ()
    """Dialects of packages in which recorded calls are replayed: a cassette has no upstreams."""

    def __post_init__(self) -> None:
        unknown = sorted({*self.upstreams, *self.dialects} - set(DIALECT_NAMES))
        unknown = [name for name in unknown if name not in registered_names(DIALECTS)]
        if unknown:
            raise UsageFault(f"there is no dialect {unknown[0]!r}", hint=f"one of {', '.join(DIALECT_NAMES)}")
        self._one_of("provider_tools", ("strip", "refuse", "allow"))
        self._one_of("unknown_fields", ("strip", "refuse", "pass"))
        self._one_of("cassette", ("off", "record", "replay"))
        self._one_of("redact", ("none", "spans", "all"))
        if (self.cassette == "replay") != (self.tape is not None):
            raise UsageFault("a cassette is given exactly when one is replayed")
        if self.redact != "none" and self.cassette == "record":
            raise UsageFault("a cassette holds every word, so none is recorded where texts are hidden")
        if self.redact != "none" and len(self.redaction_key) < 16:
            raise UsageFault(
                "redaction needs a key of 16 bytes or more", hint="a bare digest of a short text can be guessed"
            )

    def __repr__(self) -> str:
        return f"Settings(upstreams={dict(self.upstreams)!r}, cassette={self.cassette!r})"

    def _one_of(self, name: str, allowed: tuple[str, ...]) -> None:
        if getattr(self, name) not in allowed:
            raise UsageFault(f"{name} must be one of {', '.join(allowed)}")

    @property
    def of_packages(self) -> tuple[str, ...]:
        """The dialects of installed packages that requests may be made in."""
        return tuple(name for name in (*self.upstreams, *self.dialects) if name not in DIALECT_NAMES)

    @property
    def keys(self) -> tuple[bytes, ...]:
        """The values that must not appear in a record or an answer, the longest first."""
        return tuple(sorted({one.key.encode() for one in self.upstreams.values() if one.key}, key=len, reverse=True))
