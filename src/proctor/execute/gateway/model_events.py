"""The events that a gateway records: each request, message, answer, error and tool call, each once.

Texts and bodies in an event are whole where they are short, and in the blob store by digest where they are long:

    {sha256, bytes, text}               a short one
    {sha256, bytes, prefix, blob}       a long one; ``blob`` names it in the store
    {hmac, bytes, characters, ...}      a hidden one: ``text`` with the spans taken out, or nothing of it

A hidden text is named by an HMAC, because a bare digest of a short secret can be guessed. Keys of providers are taken
out of everything first. When recording fails, the gateway passes nothing more. Called from the gateway's thread only.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from proctor.base.clock import seconds_text
from proctor.base.dataclass_fields import field_names
from proctor.execute.gateway.dialects.interface import Message, ModelAnswer, Usage
from proctor.execute.gateway.forwarded_request import Prepared
from proctor.execute.gateway.gateway_settings import Settings
from proctor.execute.gateway.message_analysis import Lineages, PlacedMessage, read_message, refusal_of
from proctor.execute.gateway.request_comparison import Reordered
from proctor.execute.gateway.sources.interface import Diverged
from proctor.execute.gateway.spend_reservation import Reservation
from proctor.execute.monitor.price_table import TokenCounts, plain
from proctor.record.secrets import spans_in_text

Keep = Callable[[bytes], str]

KEY_MARK = b"[key]"
_PREFIX = 300
_SHORTEST_KEY = 8


class Texts:
    """Converts texts for events."""

    def __init__(self, settings: Settings, keep: Keep) -> None:
        self._keep = keep
        self.kept_bytes = 0
        self._inline = settings.limits.inline_bytes
        self._redact = settings.redact
        self._key = settings.redaction_key
        self._secrets = [re.compile(pattern) for pattern in settings.secrets]
        self._keys = [key for key in settings.keys if len(key) >= _SHORTEST_KEY]

    def clean(self, data: bytes) -> bytes:
        """``data`` without the key of any provider."""
        for key in self._keys:
            data = data.replace(key, KEY_MARK)
        return data

    def short(self, text: str) -> str:
        """Text for a record: without keys, and bounded."""
        return self.clean(text.encode("utf-8", "replace")).decode("utf-8", "replace")[:2000]

    def quoted(self, text: str) -> str:
        """Text that may quote a conversation, without what must not be shown."""
        if self._redact == "none":
            return self.short(text)
        return self.short(self._cut(text, self._spans(text))) if self._redact == "spans" else "[hidden]"

    def text(self, text: str) -> dict[str, Any]:
        """A text of a conversation."""
        data = self.clean(text.encode())
        if self._redact == "none":
            return self._kept(data)
        hidden: dict[str, Any] = {"hmac": self._hmac(data), "bytes": len(data), "characters": len(text)}
        if self._redact == "spans":
            hidden |= self._without_secrets(data.decode())
        return hidden

    def body(self, data: bytes) -> dict[str, Any]:
        """The bytes of a request or an answer."""
        return self._kept(self.clean(data)) if self._redact == "none" else self.name(data)

    def name(self, data: bytes) -> dict[str, Any]:
        """What names the bytes of a body that can be had otherwise."""
        data = self.clean(data)
        if self._redact != "none":
            return {"hmac": self._hmac(data), "bytes": len(data)}
        return {"sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)}

    def _kept(self, data: bytes) -> dict[str, Any]:
        self.kept_bytes += len(data)
        content: dict[str, Any] = {"sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)}
        if len(data) <= self._inline:
            try:
                return {**content, "text": data.decode()}
            except UnicodeDecodeError:
                pass
        prefix = data[: 4 * _PREFIX].decode("utf-8", "replace")[:_PREFIX]
        return {**content, "prefix": prefix, "blob": self._keep(data)}

    def _without_secrets(self, text: str) -> dict[str, Any]:
        spans = self._spans(text)
        return {"spans": spans, "shown": self._kept(self._cut(text, spans).encode())}

    def _spans(self, text: str) -> list[list[int]]:
        """The positions of secrets, in order and without overlaps."""
        spans: list[list[int]] = []
        own = [found.span() for pattern in self._secrets for found in pattern.finditer(text)]
        for start, end in sorted([*own, *spans_in_text(text)]):
            if spans and start <= spans[-1][1]:
                spans[-1][1] = max(end, spans[-1][1])
            elif end > start:
                spans.append([start, end])
        return spans

    def _cut(self, text: str, spans: list[list[int]]) -> str:
        shown, place = [], 0
        for start, end in spans:
            shown.append(f"{text[place:start]}[redacted {end - start}]")
            place = end
        return "".join(shown) + text[place:]

    def _hmac(self, data: bytes) -> str:
        return hmac.new(self._key, data, hashlib.sha256).hexdigest()


class Scrubber:
    """Takes keys out of a stream of bytes, also where one is spread over two chunks."""

    def __init__(self, keys: tuple[bytes, ...]) -> None:
        self._keys = tuple(key for key in keys if len(key) >= _SHORTEST_KEY)
        self._held = b""

    def feed(self, chunk: bytes) -> bytes:
        """What can be passed on now; the beginning of a key waits for what follows it."""
        if not self._keys:
            return chunk
        data = self._held + chunk
        for key in self._keys:
            data = data.replace(key, KEY_MARK)
        held = max(_overlap(data, key) for key in self._keys)
        self._held = data[len(data) - held :]
        return data[: len(data) - held]

    def rest(self) -> bytes:
        """What was held back at the end of the stream."""
        held, self._held = self._held, b""
        return held


def _overlap(data: bytes, key: bytes) -> int:
    """How many of the last bytes of ``data`` may be the beginning of ``key``."""
    most = min(len(key) - 1, len(data))
    return next((size for size in range(most, 0, -1) if data.endswith(key[:size])), 0)


Record = Callable[[str, Mapping[str, Any]], object]
"""Takes the type of an event and its payload."""

OVERFLOW, REJECTED = "context-overflow", "rejected"
NOT_THE_PROVIDERS = frozenset((REJECTED, OVERFLOW, "client-abort", "stopped"))
"""Classes of errors for which neither a provider nor a machine is to blame, unless the set-up is."""

_MOST_IDS = 100_000
_MOST_CALLS = 1000
"""How many calls of one answer are recorded one by one; the answer has their total number."""


@dataclass(frozen=True)
class Failure:
    """Why a call failed; ``kind`` is its class. ``is_setup`` says that agent and model do not fit each other."""

    kind: str
    message: str
    status: int = 0
    is_setup: bool = False

    @property
    def infrastructure(self) -> bool:
        return self.is_setup or self.kind not in NOT_THE_PROVIDERS


@dataclass(frozen=True)
class Timing:
    """Nanoseconds from the request to the first byte of the answer, if one came, and to its end."""

    first_ns: int | None
    whole_ns: int


class ModelEventRecorder:
    """One gateway's voice."""

    def __init__(self, settings: Settings, record: Record, keep: Keep) -> None:
        self._settings = settings
        self._record = record
        self.texts = Texts(settings, self._guarded(keep))
        self._lineages = Lineages()
        self._names: dict[str, str] = {}
        self.messages_recorded = 0
        self.problem: BaseException | None = None

    def event(self, kind: str, payload: Mapping[str, Any]) -> None:
        """Record one event."""
        try:
            self._record(kind, payload)
        except BaseException as error:
            self.problem = error
            raise

    def request(
        self,
        call: int,
        prepared: Prepared,
        original: bytes,
        reserved: Reservation | None,
        retry_of: int | None,
    ) -> None:
        """A request, as it came and as it goes."""
        forward = prepared.forward
        self.event(
            "model.request",
            {
                "call": call,
                "dialect": forward.dialect,
                "kind": forward.kind,
                "model": forward.asked.model[:200],
                "path": forward.path[:300],
                "stream": forward.asked.stream,
                "original": self.texts.body(original),
                "forwarded": {**self.texts.name(forward.data), "difference": self.texts.text(prepared.difference)},
                "changes": prepared.changes,
                "budget_limit": prepared.limit,
                "tools": [tool.name[:100] for tool in forward.asked.tools[:500]],
                "reserved": _reserved(reserved),
                "retry_of": retry_of,
                "canaries": [name for name, token in self._settings.canaries.items() if token in original],
            },
        )

    def messages(self, call: int, messages: tuple[Message, ...]) -> tuple[list[PlacedMessage], str]:
        """The messages of a request that are new; those, and the name of the conversation."""
        fresh, parent = self._lineages.fresh(messages)
        for placed in fresh:
            self._message(call, placed)
        return fresh, parent

    def answer(
        self,
        call: int,
        answered: ModelAnswer,
        body: bytes,
        parent: str,
        index: int,
        timing: Timing,
        *,
        is_cut_by_budget: bool = False,
    ) -> None:
        """An answer, whole or not, with its message and its tool calls."""
        message = answered.message
        self.event(
            "model.response",
            {
                "call": call,
                "status": 200,
                "model": answered.model[:200],
                "finish": answered.finish[:100],
                "cut_by_budget": is_cut_by_budget,
                "body": self.texts.body(body),
                "tool_calls": len(message.calls),
                "whole": answered.whole,
                "refusal": self._refusal(answered),
                "first_byte_seconds": None if timing.first_ns is None else seconds_text(timing.first_ns),
                "wall_seconds": seconds_text(timing.whole_ns),
            },
        )
        if message == Message("assistant"):
            return
        self._message(call, self._lineages.answer(parent, index, message))
        for wanted in message.calls[:_MOST_CALLS]:
            if len(self._names) < _MOST_IDS:
                self._names[wanted.id] = wanted.name
            arguments = self.texts.text(wanted.arguments)
            names = {"id": wanted.id[:200], "name": wanted.name[:200]}
            self.event("tool.call", {"call": call, "index": index, **names, "arguments": arguments})

    def usage(self, call: int, model: str, usage: Usage, *, estimated: bool, tier: str = "") -> None:
        """What a call used, as its provider counted it or as it had to be estimated."""
        self.event(
            "model.usage",
            {
                "call": call,
                "model": model[:200],
                **({"tier": tier} if tier else {}),
                **{name: getattr(usage, name) for name in field_names(TokenCounts)},
                "usd": None if usage.usd is None else plain(usage.usd),
                "estimated": estimated,
            },
        )

    def error(self, call: int, failure: Failure, body: bytes = b"", retry_after: str = "") -> None:
        """A call that failed."""
        payload: dict[str, Any] = {
            "call": call,
            "class": failure.kind,
            "status": failure.status,
            "detail": self.texts.quoted(failure.message),
            "infrastructure": failure.infrastructure,
            "retry_after": self.texts.short(retry_after)[:100],
        }
        self.event("model.error", {**payload, "body": self.texts.body(body) if body else None})

    def refused(self, call: int, dialect: str, path: str, code: str, detail: str, status: int, body: bytes) -> None:
        """A request that was not forwarded."""
        placed: dict[str, Any] = {"call": call, "dialect": dialect, "path": self.texts.short(path)[:300], "code": code}
        placed |= {"detail": self.texts.short(detail), "status": status}
        self.event("model.refused", {**placed, "original": self.texts.body(body) if body else None})

    def diverged(self, call: int, diverged: Diverged) -> None:
        """A request that is not on the cassette."""
        found = diverged.difference
        counts = {"places": found.places, "others": found.others, "nearest": diverged.nearest}
        placed = {"before": found.before, "expected": found.recorded, "got": found.now, "after": found.after}
        quoted = {name: self.texts.quoted(text) for name, text in placed.items()}
        place = {"pointer": found.pointer[:500], "part": self.texts.quoted(found.part)}
        self.event("model.diverged", {"call": call, **place, **quoted, **counts})

    def reordered(self, call: int, order: tuple[Reordered, ...]) -> None:
        """A request that is on the cassette except for the order of lists."""
        parts = [
            {"pointer": one.pointer[:500], "part": self.texts.quoted(one.part), "lines": one.lines} for one in order
        ]
        self.event("model.reordered", {"call": call, "parts": parts[:100]})

    def text_hits(self, call: int, index: int, message: Message) -> None:
        """The hits of the text rules in one message."""
        if not self._settings.words:
            return
        where = f"model:{call}/{index}/{message.role}"
        for hit in read_message(message, where, self._settings.words_off):
            if self._settings.redact != "none":
                hit["text"] = ""
            self.event("words.hit", {**hit, "call": call, "index": index})

    def _message(self, call: int, placed: PlacedMessage) -> None:
        message = placed.message
        self.messages_recorded += 1 + len(message.results)
        self.event(
            "model.message",
            {
                "call": call,
                "index": placed.index,
                "role": message.role[:40],
                "content": self.texts.text(message.text),
                "reasoning": self.texts.text(message.reasoning) if message.reasoning else None,
                "tool_calls": len(message.calls),
                "tool_results": len(message.results),
                "lineage": placed.lineage,
                "parent": placed.parent,
            },
        )
        for result in message.results:
            name = self._names.get(result.id, "")
            content = self.texts.text(result.text)
            names = {"id": result.id[:200], "name": name[:200], "failed": result.failed}
            self.event("tool.result", {"call": call, "index": placed.index, **names, "content": content})

    def _refusal(self, answered: ModelAnswer) -> dict[str, Any] | None:
        refusal = refusal_of(answered)
        return refusal and {**refusal, "words": self.texts.quoted(refusal["words"])}

    def _guarded(self, keep: Keep) -> Keep:
        def kept(data: bytes) -> str:
            try:
                return keep(data)
            except BaseException as error:
                self.problem = error
                raise

        return kept


def _reserved(reserved: Reservation | None) -> dict[str, Any] | None:
    if reserved is None:
        return None
    tokens = {"input_tokens": reserved.input_tokens, "output_tokens": reserved.output_tokens}
    return {**tokens, "amount": plain(reserved.amount)}
