"""Takes secrets out of what a run records, before anything is hashed or written.

A secret becomes ``[secret:KIND:LENGTH:NAME]``. NAME is a keyed digest of its bytes: the same secret has the same
placeholder everywhere, so that paths still match and hunks keep their lines, and a short secret cannot be guessed
without the key. Redacting twice changes nothing. Each original is handed to ``keep`` once.

A digest of something that held a secret could confirm a guess, too. So where a text was redacted, the ``sha256`` beside
it and every later mention of its own digest become keyed ones. Digests of files that an agent changed stay: the events
and lists about a file must agree, whatever was printed in between. Only text in the form of a digest is treated as one,
whatever its field is called, unless it was found as a secret.

In structured data a secret is also known by the name of its field, by the name beside a ``value``, and by the option
before an argument.

A text that was cut off may end in the middle of a secret, and a token may be spread over two texts that follow each
other; the beginning is known by its form, and what follows belongs to it as far as the rule reaches.
"""

from __future__ import annotations

import hmac
import re
import threading
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from typing import Any

from proctor.base.reversible_escapes import name_bytes
from proctor.record.secrets import Rules, SecretSpan, joined, usual_rules
from proctor.record.secrets_in_arguments import KIND, find_arguments, find_cut, rest_of, unfinished_token

Keep = Callable[[str, str, bytes], None]
"""Takes the name, the kind and the bytes of an original."""

MARK = b"[secret:"
SHORTEST = 8
SHORTEST_NAMED = 4
NAME_DIGITS = 24
MOST_ORIGINALS = 10_000
"""The most different secrets of a run that are stored; further ones are hidden too."""

SPELLINGS = ("plain", "base64", "json")
"""In which spellings the rules look for secrets."""

CHUNKS = frozenset(("prefix", "text"))
"""Fields with output or messages: the next one may continue where the last one ended."""

DIGESTS = frozenset(("sha256", "digest"))
"""Fields that hold the digest of the text next to them."""

LINES = "lines"
"""The field of the lines of a hunk, which are no arguments."""

_NAMES = ("name", "key", "Name", "Key", "variable")
_VALUES = ("value", "Value")
"""What the two fields of a name and its value are called."""

_NAMED = re.compile(
    r"(?:.*[^A-Za-z]|.*[a-z0-9](?=[A-Z])|)(?i:pwd|secrets?|credentials?|api[_-]?keys?|client[_-]?secrets?"
    r"|(?:access|auth|bearer|private|refresh|session)[_-]?tokens?"
    r"|(?:private|secret|signing|encryption|master|account)[_-]?(?:access[_-]?)?keys?)\Z"
    r"|.*(?i:password|passwd|passphrase)s?\Z"
)
_PLAIN_NAMES = frozenset(("PWD", "OLDPWD"))
_VARIABLE = re.compile(r"[A-Z][A-Z0-9_]*")
"""The name of a variable."""
_SECRET_FIELD = re.compile(r"(?i)key|token|secret|credential|auth|cookie|pass|pwd")
"""Names of fields that can make their value a secret for the rules."""

_PLACEHOLDER = re.compile(rb"\[secret:[a-z-]{1,40}:[0-9]{1,9}:([0-9a-f]{%d})\]" % NAME_DIGITS)
_OPAQUE = b"~"
"""The byte that the rules see for each byte of a placeholder: part of a value, and not of a word."""

_DIGEST = re.compile(r"(?:sha256:)?([0-9a-f]{64})\Z")


class Redactor:
    """The redaction of one run. All methods are thread-safe."""

    def __init__(self, key: bytes, keep: Keep, rules: Rules | None = None) -> None:
        self._key = key
        self._keep = keep
        self._rules = rules or usual_rules()
        self._lock = threading.Lock()
        self._known: dict[str, str] = {}
        self._taken: set[str] = set()
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

    def _find(self, data: bytes, cut: bool) -> list[SecretSpan]:
        """The secrets in ``data``. Placeholders of this run stay, and the text next to them is searched separately."""
        own = self._own_placeholders(data) if MARK in data else []
        if own:
            masked = bytearray(data)
            for start, end in own:
                masked[start:end] = _OPAQUE * (end - start)
            data = bytes(masked)
        found = find_cut(self._rules, data) if cut else self._rules.find(data)
        return _apart(found, own) if own else found

    def _own_placeholders(self, data: bytes) -> list[tuple[int, int]]:
        """The positions of placeholders of this run; a placeholder from elsewhere is ordinary text."""
        return [mark.span() for mark in _PLACEHOLDER.finditer(data) if self._is_own(mark[1])]

    def _is_own(self, name: bytes) -> bool:
        text = name.decode()
        return text in self._known or text in self._taken

    def _replaced(self, data: bytes, found: list[SecretSpan]) -> bytes:
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
        last = unfinished_token(self._rules, data, found)
        if last is not None:
            found = joined([*found, last])
            with self._lock:
                self._ends[name] = data[last.start :]
        clean = self._replaced(data, found)
        return text if clean is data else clean.decode("utf-8", "surrogatepass")

    def value(self, value: Any) -> Any:
        """A JSON value in which no text and no name of a field holds a secret."""
        if isinstance(value, str):
            return self._shown(value) if _DIGEST.match(value) else self.text(value)
        if isinstance(value, list | tuple):
            if value and all(type(item) is str for item in value):
                return self._arguments(value)
            return [self.value(item) for item in value]
        if isinstance(value, Mapping):
            return self._fields(value)
        return value

    def take_over(self, text: str) -> bool:
        """Accept placeholders in ``text``, a record of this home, as those of this run; whether there are any."""
        found = [mark[1].decode() for mark in _PLACEHOLDER.finditer(text.encode("utf-8", "surrogatepass"))]
        with self._lock:
            self._taken.update(found)
        return bool(found)

    def keyed(self, digest: str) -> str:
        """The replacement for the digest of something that contained a secret."""
        return f"{digest[:-64]}{self._hide(digest[-64:])}"

    def summary(self) -> dict[str, Any]:
        """How many different secrets of each kind were hidden, and by which rules."""
        with self._lock:
            kinds = dict(sorted(self._counts.items()))
            counts = {"kinds": kinds, "secrets": len(self._known), "unkept": self._unkept}
            return {"rules": self._rules.id, "spellings": list(SPELLINGS), **counts}

    def _fields(self, value: Mapping[str, Any]) -> dict[str, Any]:
        plain = {key: inner for key, inner in value.items() if not _is_digest(key, inner)}
        cut = _is_cut(value)
        called = next((value[name] for name in _NAMES if isinstance(value.get(name), str)), "")
        fields = {
            self.text(key): self._field(called if called and key in _VALUES else key, inner, cut)
            for key, inner in plain.items()
        }
        changed = any(_is_text(inner) and _listed(inner) != fields.get(key) for key, inner in plain.items())
        for key in value.keys() - plain.keys():
            fields[key] = value[key] if "mode" in value else self._shown_digest(value[key], changed)
        return fields

    def _shown_digest(self, digest: str, changed: bool) -> str:
        """A digest of no file: a keyed one where what it is of was ``changed``, or where it was seen as a secret."""
        if changed or self._digest(digest.encode())[:NAME_DIGITS] in self._known:
            return self.keyed(digest)
        return self._shown(digest)

    def _shown(self, digest: str) -> str:
        """The current replacement for a digest; any other text is unchanged."""
        prefix, plain = digest[:-64], digest[-64:]
        return f"{prefix}{self._hidden[plain]}" if plain in self._hidden and _DIGEST.match(digest) else digest

    def _lines(self, lines: Sequence[str]) -> list[str]:
        """Texts that follow each other, such as the lines of a hunk: a secret may be spread over several.

        No secret contains a newline, so the lines can be separated afterwards.
        """
        whole = "\n".join(lines)
        rest = iter(self.text(whole).split("\n"))
        clean = ["\n".join(next(rest) for _ in range(line.count("\n") + 1)) for line in lines]
        return [self._shown(line) for line in clean]

    def _arguments(self, arguments: Sequence[str]) -> list[str]:
        """The same of texts that may be the arguments of a program, or a name and its value."""
        if len(arguments) == 2 and not arguments[0].startswith("-") and _SECRET_FIELD.search(arguments[0]):
            is_variable = _VARIABLE.fullmatch(arguments[0]) is not None
            value = (
                self._field(arguments[0], arguments[1], False)
                if is_variable
                else self._named_value(arguments[0], arguments[1])
            )
            return [self.text(arguments[0]), value]
        clean = self._lines(arguments)
        for found in find_arguments(arguments):
            word, before = arguments[found.number], self.text(arguments[found.number][: found.start])
            if not self._is_hidden(clean[found.number].removeprefix(before)):
                clean[found.number] = before + self._whole(KIND, word[found.start : found.end])
        return clean

    def _field(self, key: str, inner: Any, cut: bool) -> Any:
        """A value under the name ``key``, which may say that it is a secret; of a ``cut`` text it is the beginning."""
        if _NAMED.match(key) and key not in _PLAIN_NAMES:
            return self._named(inner)
        if isinstance(inner, str) and not _DIGEST.match(inner):
            if key in CHUNKS:
                return self.chunk(key, inner, cut=cut and key == "prefix")
            if _SECRET_FIELD.search(key):
                return self._named_value(key, inner)
        if key == LINES and isinstance(inner, list | tuple) and all(type(item) is str for item in inner):
            return self._lines(inner)
        return self.value(inner)

    def _named(self, value: Any) -> Any:
        """The value under the name of a secret: every text in it is one."""
        if isinstance(value, str) and len(value) >= SHORTEST_NAMED:
            return self._whole("named", value)
        if isinstance(value, list | tuple):
            return [self._named(item) for item in value]
        if isinstance(value, Mapping):
            return {self.text(key): self._named(inner) for key, inner in value.items()}
        return value

    def _whole(self, kind: str, text: str) -> str:
        """The placeholder of all of ``text``; one of this run stays."""
        if self._is_hidden(text):
            return text
        return self._placeholder(kind, text.encode("utf-8", "surrogatepass")).decode()

    def _is_hidden(self, text: str) -> bool:
        """Whether ``text`` is a placeholder of this run and nothing else."""
        hidden = _PLACEHOLDER.fullmatch(text.encode("utf-8", "surrogatepass"))
        return hidden is not None and self._is_own(hidden[1])

    def _named_value(self, key: str, text: str) -> str:
        """Redact ``text`` with its name before it, by which a rule may recognise it."""
        before = f"{key}: ".encode("utf-8", "surrogatepass")
        data = text.encode("utf-8", "surrogatepass")
        found = [
            SecretSpan(max(0, one.start - len(before)), one.end - len(before), one.kind)
            for one in self._find(before + data, False)
            if one.end > len(before)
        ]
        return self._replaced(data, found).decode("utf-8", "surrogatepass")

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
        """The keyed digest that replaces ``digest`` from now on."""
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
    return key in DIGESTS and isinstance(value, str) and _DIGEST.match(value) is not None


def _is_text(value: Any) -> bool:
    """Whether ``value`` is a text or a list, whose digest may be next to it."""
    return isinstance(value, str | list | tuple)


def _listed(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _apart(found: list[SecretSpan], own: list[tuple[int, int]]) -> list[SecretSpan]:
    """The parts of ``found`` outside of the placeholders ``own``; a few bytes next to one are not a secret."""
    ends = [end for _, end in own]
    rest: list[SecretSpan] = []
    for one in found:
        touched = own[bisect_right(ends, one.start) : bisect_left(own, (one.end,))]
        if not touched:
            rest.append(one)
            continue
        edges = [one.start, *(edge for span in touched for edge in span), one.end]
        pieces = zip(edges[::2], edges[1::2], strict=True)
        rest += [SecretSpan(start, end, one.kind) for start, end in pieces if end - start >= SHORTEST_NAMED]
    return rest


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


def _whole_characters(data: bytes, found: SecretSpan) -> SecretSpan:
    """The same, not ending in the middle of a character of UTF-8."""
    end = found.end
    while end < len(data) and data[end] & 0xC0 == 0x80:
        end += 1
    return SecretSpan(found.start, end, found.kind)
