"""Takes secrets out of what a run records, before anything is hashed or written.

A secret becomes ``[secret:KIND:LENGTH:NAME]``. NAME is a keyed digest of its bytes: the same secret has the same
placeholder everywhere, so that paths still fit each other and hunks keep their lines, and nobody without the key can
guess a short one. Redacting twice changes nothing. Each original is handed to ``keep`` once.

A digest of something that held a secret could confirm a guess, too. So where a text was redacted, the ``sha256`` beside
it and every later mention of its own digest become keyed ones. Digests of whole files that an agent changed stay: the
events and lists that tell of a file must agree, whatever was printed in between.

A text that was cut off may end in the middle of a secret, and a token may be spread over two texts that follow each
other; the beginning is known by its form, and what follows belongs to it as far as the rule reaches.
"""

from __future__ import annotations

import hmac
import re
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from typing import Any

from proctor.base.names import name_bytes
from proctor.record.cut_off import begun, find_cut, rest_of
from proctor.record.secrets import Found, Rules, joined, usual_rules

Keep = Callable[[str, str, bytes], None]
"""Takes the name, the kind and the bytes of an original."""

MARK = b"[secret:"
SHORTEST = 8
NAME_DIGITS = 24
MOST_ORIGINALS = 10_000
"""So many different ones of a run are kept; what a run holds beyond that is hidden all the same."""

SPELLINGS = ("plain", "base64", "json")
"""In which spellings the rules look for secrets."""

CHUNKS = frozenset(("prefix", "text"))
"""Fields that hold what somebody printed or said: the next one may go on where the last one ended."""

_NAMED = re.compile(
    r"(?i)(?:.*[_-])?(?:password|passwd|passphrase|pwd|secret|api[_-]?key|access[_-]?token|client[_-]?secret"
    r"|private[_-]?key)\Z"
)
_PLACEHOLDER = re.compile(rb"\[secret:[a-z-]{1,40}:[0-9]{1,9}:([0-9a-f]{%d})\]" % NAME_DIGITS)
_DIGEST = re.compile(r"[0-9a-f]{64}\Z")


class Redactor:
    """The redaction of one run. Any thread may call anything."""

    def __init__(self, key: bytes, keep: Keep, rules: Rules | None = None) -> None:
        self._key = key
        self._keep = keep
        self._rules = rules or usual_rules()
        self._lock = threading.Lock()
        self._known: dict[str, str] = {}
        self._hidden: dict[str, str] = {}
        self._counts: Counter[str] = Counter()
        self._unkept = 0
        self._ends: dict[str, bytes] = {}
        """The beginnings of tokens that the last text of each name ended with."""

    def data(self, data: bytes, *, cut: bool = False) -> bytes:
        """``data`` with placeholders for its secrets; one that is ``cut`` may end in the middle of one."""
        if len(data) < SHORTEST:
            return data
        return self._replaced(data, self._find(data, cut))

    def _find(self, data: bytes, cut: bool) -> list[Found]:
        return find_cut(self._rules, data) if cut else self._rules.find(data)

    def _replaced(self, data: bytes, found: list[Found]) -> bytes:
        if found and MARK in data:
            found = self._without_placeholders(data, found)
        if not found:
            return data
        parts, place = [], 0
        for one in found:
            one = _whole_characters(data, one)
            parts += [data[place : one.start], self._placeholder(one.kind, data[one.start : one.end])]
            place = max(place, one.end)
        self._hide(sha256(data).hexdigest())
        return b"".join(parts) + data[place:]

    def text(self, text: str, *, cut: bool = False) -> str:
        """``text`` with placeholders for its secrets."""
        if len(text) < SHORTEST:
            return text
        data = text.encode("utf-8", "surrogatepass")
        clean = self.data(data, cut=cut)
        return text if clean is data else clean.decode("utf-8", "surrogatepass")

    def chunk(self, name: str, text: str, *, cut: bool = False) -> str:
        """``text`` as what follows the last text of that name: a token may be spread over the two."""
        data = text.encode("utf-8", "surrogatepass")
        with self._lock:
            before = self._ends.pop(name, b"")
        found = self._find(data, cut) if len(data) >= SHORTEST else []
        if before:
            found = joined([*rest_of(self._rules, before, data), *found])
        last = begun(self._rules, data, found)
        if last is not None:
            found = joined([*found, last])
            with self._lock:
                self._ends[name] = data[last.start :]
        clean = self._replaced(data, found)
        return text if clean is data else clean.decode("utf-8", "surrogatepass")

    def value(self, value: Any) -> Any:
        """A JSON value in which no text and no name of a field holds a secret."""
        if isinstance(value, str):
            return self._hidden.get(value, value) if _DIGEST.match(value) else self.text(value)
        if isinstance(value, list | tuple):
            if value and all(type(item) is str for item in value):
                return self._lines(value)
            return [self.value(item) for item in value]
        if isinstance(value, Mapping):
            return self._fields(value)
        return value

    def summary(self) -> dict[str, Any]:
        """How many different secrets of each kind were hidden, and by which rules."""
        with self._lock:
            kinds = dict(sorted(self._counts.items()))
            counts = {"kinds": kinds, "secrets": len(self._known), "unkept": self._unkept}
            return {"rules": self._rules.id, "spellings": list(SPELLINGS), **counts}

    def _fields(self, value: Mapping[str, Any]) -> dict[str, Any]:
        plain = {key: inner for key, inner in value.items() if not _is_digest(key, inner)}
        cut = _is_cut(value)
        fields = {self.text(key): self._field(key, inner, cut) for key, inner in plain.items()}
        changed = any(isinstance(inner, str) and inner != fields.get(key) for key, inner in plain.items())
        for key in value.keys() - plain.keys():
            of_a_file = "mode" in value
            fields[key] = value[key] if of_a_file else self._hide(value[key]) if changed else self.value(value[key])
        return fields

    def _lines(self, lines: Sequence[str]) -> list[str]:
        """Texts that follow each other, such as the lines of a hunk: a secret may be spread over several.

        No secret holds a newline, so that the lines can be told apart afterwards.
        """
        whole = "\n".join(lines)
        rest = iter(self.text(whole).split("\n"))
        clean = ["\n".join(next(rest) for _ in range(line.count("\n") + 1)) for line in lines]
        return [self._hidden.get(line, line) for line in clean]

    def _field(self, key: str, inner: Any, cut: bool) -> Any:
        """A value under the name ``key``, which may say that it is a secret; of a ``cut`` text it is the beginning."""
        if not isinstance(inner, str) or len(inner) < 4 or not _NAMED.match(key):
            if isinstance(inner, str) and key in CHUNKS and not _DIGEST.match(inner):
                return self.chunk(key, inner, cut=cut and key == "prefix")
            return self.value(inner)
        data = inner.encode("utf-8", "surrogatepass")
        hidden = _PLACEHOLDER.fullmatch(data)
        return inner if hidden and hidden[1].decode() in self._known else self._placeholder("named", data).decode()

    def _without_placeholders(self, data: bytes, found: list[Found]) -> list[Found]:
        """``found`` without what touches placeholders of this run; one that anybody else wrote is a text like any."""
        own = [mark.span() for mark in _PLACEHOLDER.finditer(data) if mark[1].decode() in self._known]
        return [one for one in found if not any(one.start < end and start < one.end for start, end in own)]

    def _placeholder(self, kind: str, secret: bytes) -> bytes:
        name = self._digest(secret)[:NAME_DIGITS]
        with self._lock:
            new = name not in self._known
            kept = new and len(self._known) < MOST_ORIGINALS
            if new:
                self._known[name] = kind
                self._counts[kind] += 1
                self._unkept += not kept
        if kept:
            self._keep(name, kind, secret)
        return f"[secret:{kind}:{len(secret)}:{name}]".encode()

    def _hide(self, digest: str) -> str:
        """The keyed digest that stands for ``digest`` from now on."""
        keyed = self._hidden.get(digest)
        if keyed is None:
            keyed = self._hidden[digest] = self._digest(digest.encode())
        return keyed

    def _digest(self, data: bytes) -> str:
        return name_of(self._key, data)


def name_of(key: bytes, secret: bytes) -> str:
    """The keyed digest that names ``secret``."""
    return hmac.digest(key, secret, "sha256").hex()


def _is_digest(key: str, value: Any) -> bool:
    return key == "sha256" and isinstance(value, str)


def _is_cut(value: Mapping[str, Any]) -> bool:
    """Whether a record of a text holds only its beginning."""
    prefix, total = value.get("prefix"), value.get("bytes")
    if not isinstance(prefix, str) or not isinstance(total, int):
        return False
    try:
        size = len(name_bytes(prefix))
    except ValueError:
        size = len(prefix.encode("utf-8", "surrogatepass"))
    return total > size


def _whole_characters(data: bytes, found: Found) -> Found:
    """The same, not ending in the middle of a character of UTF-8."""
    end = found.end
    while end < len(data) and data[end] & 0xC0 == 0x80:
        end += 1
    return Found(found.start, end, found.kind)
