"""Reading JSON that others wrote, and the rules that all dialects share. Pure.

Values of the wrong type read as nothing where an answer is read, and are a :class:`Refused` where a request is.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import Any

import orjson

from proctor.execute.gateway.dialects.interface import Body, Refused, Rules

MOST_TOKENS = 2**40
MOST_DEPTH = 100

_SEARCHING = ("search-preview", "search-api", "deep-research", ":online")
"""Parts of model names that mean a model which searches the web by itself."""

_KEPT = ("file_id", "fileUri", "file_uri")
_LINKS = ("url", "uri", "urls", "uris")
"""How the names of fields end that hold addresses."""
_PLACES = frozenset(("image", "images", "video", "audio", "file", "document"))
"""Fields that hold content or its address, by the custom of some servers."""
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]{1,20}://", re.IGNORECASE)
_MEDIA_TYPES = frozenset(("media_type", "mimeType", "mime_type", "format"))
"""The fields that name the type of the content next to them."""
_FOREIGN = ("input", "args", "arguments", "response", "annotations", "citations")
"""The fields with text of models and tools, in which an address is only text."""


def parse_request(data: bytes) -> Body:
    """The JSON object in ``data``, or :class:`Refused`."""
    try:
        body = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise Refused("malformed", f"the request is not JSON: {error.msg}") from None
    if not isinstance(body, dict):
        raise Refused("malformed", "the request is not a JSON object")
    if not shallow(body):
        raise Refused("malformed", f"the request is nested more than {MOST_DEPTH} deep")
    return body


def shallow(value: Any) -> bool:
    """Whether ``value`` can be walked through by recursion."""
    level = [value]
    for _ in range(MOST_DEPTH):
        deeper: list[Any] = []
        for item in level:
            if isinstance(item, dict):
                deeper += item.values()
            elif isinstance(item, list):
                deeper += item
        if not deeper:
            return True
        level = deeper
    return False


def text(value: Any) -> str:
    """A text, or the empty one."""
    return value if isinstance(value, str) else ""


def objects(value: Any) -> list[Body]:
    """The objects of a list."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def listed(value: Any) -> Any:
    """A list for what may be one: Google's servers, whose messages have repeated fields, take a single object, too."""
    return [value] if isinstance(value, dict) else value


def inner(value: Any, key: str) -> Body:
    """A nested object, or an empty one."""
    found = value.get(key) if isinstance(value, dict) else None
    return found if isinstance(found, dict) else {}


def count(value: Any) -> int:
    """A count that a provider gave; nonsense counts as nothing."""
    return value if type(value) is int and 0 <= value <= MOST_TOKENS else 0


def both_counts(came: Any, went: Any) -> tuple[int, int] | None:
    """The counts of input and output that a provider gave; None if one is not a count, or both are nothing."""
    if any(type(value) is not int or not 0 <= value <= MOST_TOKENS for value in (came, went)) or not (came or went):
        return None
    return came, went


def money(value: Any) -> Decimal | None:
    """An amount that a provider gave, when it is one."""
    if type(value) in (int, float) and 0 <= value < 1e9:
        return Decimal(repr(value))
    return None


def maximum(body: Body, *names: str) -> int | None:
    """The largest of the maxima that a request states; :class:`Refused` if one is not a number."""
    return max(_maxima(body, names).values(), default=None)


def keep_one_limit(body: Body, *names: str) -> list[str]:
    """Leave the smallest of several limits, under the first of ``names``: which one holds is the provider's choice."""
    found = _maxima(body, names)
    if len(found) < 2:
        return []
    for name in names:
        body.pop(name, None)
    body[names[0]] = min(found.values())
    return [f"left one limit, {names[0]} {body[names[0]]}, of {', '.join(found)}"]


def budget(*values: Any) -> int:
    """The largest of the budgets of tokens that a request states; :class:`Refused` if one is not a whole number."""
    stated: list[int] = [value for value in values if value is not None]
    if any(type(value) is not int or value > MOST_TOKENS for value in stated):
        raise Refused("malformed", "a budget for reasoning must be a whole number of tokens")
    return max([0, *stated])


def _maxima(body: Body, names: Iterable[str]) -> dict[str, int]:
    found = {}
    for name in names:
        value = body.get(name)
        if value is None:
            continue
        if type(value) is not int or not 1 <= value <= MOST_TOKENS:
            raise Refused("malformed", f"{name} must be a whole number of tokens, 1 or more")
        found[name] = value
    return found


def json_text(value: Any) -> str:
    """Arguments as text: texts as they are, other values as compact JSON."""
    return value if isinstance(value, str) else orjson.dumps(value).decode()


def opaque(part: Any) -> str:
    """The text for a part that is not text, such as an image: its type and the digest of its content."""
    data = orjson.dumps(part, option=orjson.OPT_SORT_KEYS)
    kind = text(part.get("type")) if isinstance(part, dict) else ""
    return f"[{kind[:40] or 'part'} sha256:{hashlib.sha256(data).hexdigest()} {len(data)} bytes]"


def count_media(value: Any) -> int:
    """How many images, documents and recordings are in a request, at any depth."""
    if isinstance(value, list):
        return sum(map(count_media, value))
    if not isinstance(value, dict):
        return 0
    typed = "data" in value and not _MEDIA_TYPES.isdisjoint(value)
    held = [name for name, item in value.items() if name == "file_data" or text(item).startswith("data:")]
    return typed + len(held) + sum(map(count_media, value.values()))


def map_model(name: str, rules: Rules) -> str:
    """The model's name at the provider; :class:`Refused` when it may not be asked."""
    if not name:
        raise Refused("malformed", "the request names no model")
    if rules.provider_tools != "allow" and any(part in name for part in _SEARCHING):
        raise Refused("provider-tool", f"the model {name[:100]!r} searches the web by itself", 403)
    if not rules.models:
        return name
    if name in rules.models:
        return rules.models[name]
    if "*" in rules.models:
        return rules.models["*"] or name
    known = ", ".join(sorted(rules.models))
    raise Refused("model", f"the model {name[:100]!r} is not offered here; there are: {known[:500]}", 404)


def filter_tools(body: Body, rules: Rules, is_own: Callable[[Body], bool], name_of: Callable[[Body], str]) -> list[str]:
    """Take tools out that the provider would run, or refuse them, as the rules say; what was done."""
    tools = listed(body.get("tools"))
    if rules.provider_tools == "allow" or not isinstance(tools, list):
        return []
    kept = [tool for tool in tools if isinstance(tool, dict) and is_own(tool)]
    gone = [name_of(tool)[:60] if isinstance(tool, dict) else "?" for tool in tools if tool not in kept]
    if not gone:
        return []
    if rules.provider_tools == "refuse":
        raise Refused("provider-tool", f"tools that leave the sandbox are not allowed here: {', '.join(gone)}", 403)
    body["tools"] = kept
    if not kept:
        for field in ("tools", "tool_choice", "toolConfig", "tool_config", "parallel_tool_calls"):
            body.pop(field, None)
    return [f"stripped the tool {name}" for name in gone]


def refuse_store(body: Body) -> None:
    """Refuse a request that the provider is to keep."""
    if body.get("store"):
        raise Refused("server-state", "store lets the provider keep the request; send the whole conversation")


def refuse_remote(value: Any, rules: Rules) -> None:
    """Refuse content that the provider would fetch from elsewhere, or has kept from before, at any depth."""
    if isinstance(value, list):
        for item in value:
            refuse_remote(item, rules)
    elif isinstance(value, dict):
        for name, item in value.items():
            if name in _FOREIGN:
                continue
            if (name in _KEPT and item) or (name == "audio" and inner(value, name).get("id")):
                raise Refused("server-state", f"{name} names content that is not in the request")
            if rules.provider_tools != "allow" and _names_address(name, item):
                raise Refused("remote-content", f"{name} names content elsewhere; put it into the request", 403)
            refuse_remote(item, rules)


def _names_address(name: str, item: Any) -> bool:
    """Whether a field holds the address of some content, or a list with one, instead of the content."""
    texts = [one for one in (item if isinstance(item, list) else [item]) if isinstance(one, str)]
    if name.lower().endswith(_LINKS):
        return not all(one.startswith("data:") for one in texts)
    return name.lower() in _PLACES and any(_ADDRESS.match(one) for one in texts)
