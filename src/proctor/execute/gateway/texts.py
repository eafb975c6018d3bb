"""Texts and bodies as records hold them: whole where they are short, by digest in the blob store where they are long.

    {sha256, bytes, text}               a short one
    {sha256, bytes, prefix, blob}       a long one; ``blob`` names it in the store
    {hmac, bytes, characters, ...}      a hidden one: ``text`` with the spans taken out, or nothing of it

A hidden text is named by an HMAC, because a bare digest of a short secret can be guessed. Keys of providers are taken
out of everything first.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Callable
from typing import Any

from proctor.execute.gateway.settings import Settings
from proctor.record.secrets import spans_in_text

Keep = Callable[[bytes], str]

KEY_MARK = b"[key]"
_PREFIX = 300
_SHORTEST_KEY = 8


class Texts:
    """Turns texts into what stands in an event."""

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
        """Words for a record: without keys, and bounded."""
        return self.clean(text.encode("utf-8", "replace")).decode("utf-8", "replace")[:2000]

    def quoted(self, text: str) -> str:
        """Words that may quote a conversation, as far as they may be shown."""
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
        """Where secrets stand, in order and without overlaps."""
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
