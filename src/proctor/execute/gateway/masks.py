"""What of a request may differ from one run to the next and still be the same request: ids, dates, paths,
process numbers. Pure.

A mask is versioned, and a cassette names the one that it was made with: a change of the rules is a new version. The
recorded request is kept as it was, so that a cassette of an earlier mask is played under the rules of this one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

VERSION = 3

_FIELDS = frozenset(
    (
        *("metadata", "user", "user_id", "prompt_cache_key", "safety_identifier", "client_metadata", "session_id"),
        *("encrypted_content", "signature", "thoughtSignature", "thought_signature", "service_tier"),
    )
)
"""Fields whose values are ids or sealed content."""

_MONTH = (
    r"(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?"
    r"|Aug(?:ust)?|Sep(?:tember)?|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?)"
)
_DAY = r"(?:Mon|Tue(?:s)?|Wed(?:nes)?|Thu(?:rs)?|Fri|Sat(?:ur)?|Sun)(?:day)?"
_RULES = (
    ("<uuid>", r"\b[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\b"),
    (
        "<id>",
        r"\b(?:call|toolu|msg|resp|fc|rs|chatcmpl|req|run|ses|prt|thread)[-_](?=[A-Za-z_-]{0,80}\d)[A-Za-z0-9_-]{6,80}\b",
    ),
    ("<id>", r"\bChunk ID: [0-9a-f]{4,16}\b"),
    ("<tmp>", r"/(?:var/)?tmp/[A-Za-z0-9._/+-]{1,200}"),
    ("<proc>", r"/proc/[0-9]{1,9}\b"),
    ("<pid>", r"(?i)\b(?:p?pids?|pgid|process group)\b\s?[:=]?\s{0,3}\d{1,9}(?:,\s?\d{1,9}){0,99}\b"),
    ("<time>", r"\b\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:[.,]\d{1,9})?)?(?:Z|[+-]\d{2}:?\d{2})?)?"),
    (
        "<time>",
        rf"\b(?:{_DAY},?\s{{1,3}})?{_MONTH}\.?\s{{1,3}}\d{{1,2}}"
        rf"(?:\s{{1,3}}\d{{2}}:\d{{2}}(?::\d{{2}})?(?:\s{{1,3}}[A-Z]{{2,5}})?)?(?:,?\s{{1,3}}\d{{4}})?\b",
    ),
    ("<time>", rf"\b(?:{_DAY},?\s{{1,3}})?\d{{1,2}}\s{{1,3}}{_MONTH}(?:\s{{1,3}}\d{{4}})?\b"),
    ("<time>", r"\b\d{1,2}/\d{1,2}/\d{2,4}\b"),
    ("<time>", r"\b\d{1,2}:\d{2}:\d{2}(?:[.,]\d{1,9})?(?:\s?[AP]M)?\b"),
    ("<time>", r"\b\d{1,2}:\d{2}\s?[AP]M\b"),
    ("<duration>", r"\b\d{1,9}(?:\.\d{1,9})?\s?(?:ms|s|secs?|seconds?|milliseconds?)\b"),
    ("<address>", r"\b0x[0-9a-fA-F]{6,16}\b"),
    ("<hex>", r"\b(?=[a-f]{0,40}\d)(?=\d{0,40}[a-f])[0-9a-f]{7,128}\b"),
)
_COMPILED = tuple((name, re.compile(pattern)) for name, pattern in _RULES)


def mask(value: Any) -> Any:
    """``value`` with everything replaced that may differ."""
    if isinstance(value, str):
        for name, pattern in _COMPILED:
            value = pattern.sub(name, value)
        return value
    if isinstance(value, Mapping):
        return {key: "<id>" if key in _FIELDS or _is_id(key, item) else mask(item) for key, item in value.items()}
    if isinstance(value, list):
        return [mask(item) for item in value]
    return value


def _is_id(key: str, item: Any) -> bool:
    return isinstance(item, str) and (key == "id" or key.endswith(("_id", "Id")))
