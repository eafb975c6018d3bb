"""Compare two requests: what may differ and still be the same request, and where they differ. Pure.

A mask hides what changes from run to run: ids, dates, paths, process numbers. It is versioned, and a cassette names the
one that it was made with; the recorded request is kept as it was, so an earlier cassette is played under the present
rules. A difference is shown with a little of the text around it, and with what it is a part of: which message, the
result of which tool call, which tool.

Order does not count where nothing but order differs:

- in the texts of a prompt (system, developer and user messages, descriptions of tools): the lines of one text, and
  quoted names behind each other with commas
- in any other text (results of tools, the model's own words): lines that are entries of a list (a path, or a word or
  more behind a bullet or a number)
- the list of tools, and the values of ``enum`` and ``required`` in a schema

Each line and each tool must be there as often as before, so nothing new and nothing missing passes for order.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any

import orjson

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


AROUND = 40
"""How many characters are shown before and after a difference."""

SHOWN = 200
"""How many characters of each side are shown."""

TOOL_LIST = "list of tools"
_MOST_LINES = 2_000
_NOTHING = object()
_CONVERSATIONS = ("messages", "input", "contents")
_SYSTEM = ("system", "instructions", "systemInstruction", "system_instruction")
_RESULT_IDS = ("tool_call_id", "tool_use_id")
_TOOL_LISTS = ("tools", "functionDeclarations", "function_declarations")
_SCHEMA_SETS = ("enum", "required")
_PROMPT_ROLES = ("system", "developer", "user")
_ENTRY = re.compile(r"\s{0,40}(?:(?:[-*+•]|\d{1,4}[.)]) .{1,2000}|[\w@%+=.,~<>-]{0,200}/?[\w@%+=.,~/<>-]{1,2000}:?)?")
_ONE = r"""(?:'[^'\n]{1,200}'|"[^"\n]{1,200}"|`[^`\n]{1,200}`)"""
_NAME, _QUOTED = re.compile(_ONE), re.compile(rf"{_ONE}(?:, ?{_ONE}){{1,999}}")


@dataclass(frozen=True)
class Difference:
    """One place in which a request differs: ``part`` says what it belongs to, ``before`` and ``after`` are the text
    around it.

    ``places`` counts the places in this part, ``others`` the other parts of the request that differ.
    """

    pointer: str
    part: str
    before: str
    recorded: str
    now: str
    after: str
    places: int
    others: int


@dataclass(frozen=True)
class Reordered:
    """A part of a request that is equal except for the order of ``lines`` lines or tools."""

    pointer: str
    part: str
    lines: int


def difference(expected: Any, got: Any, raw: Any) -> Difference | None:
    """The first difference of two masked requests, or none; ``raw`` is ``got`` without the mask."""
    found = list(_differing(expected, got, ()))
    if not found:
        return None
    path, one, other = next((place for place in found if not _is_order(place)), found[0])
    both = isinstance(one, str) and isinstance(other, str)
    excerpt = _excerpt(one, other) if both else ("", _shown(one), _shown(other), "", 1)
    part = part_of(raw if other is not _NOTHING else expected, path)
    before, recorded, now, after, places = excerpt
    return Difference(pointer_of(path), part, before, recorded, now, after, places, len(found) - 1)


def reordered(expected: Any, got: Any) -> tuple[Reordered, ...] | None:
    """The parts that differ in order alone; nothing where anything else differs, too."""
    found: list[Reordered] = []
    return tuple(found) if _same_but_order(expected, got, (), True, got, found) else None


Path = tuple[str | int, ...]


def _differing(expected: Any, got: Any, path: Path) -> Iterator[tuple[Path, Any, Any]]:
    """Each place in which two values differ, as deep as they are of one form."""
    if isinstance(expected, dict) and isinstance(got, dict):
        for key in (*expected, *(key for key in got if key not in expected)):
            yield from _differing(expected.get(key, _NOTHING), got.get(key, _NOTHING), (*path, key))
    elif isinstance(expected, list) and isinstance(got, list):
        for index in range(max(len(expected), len(got))):
            one = expected[index] if index < len(expected) else _NOTHING
            other = got[index] if index < len(got) else _NOTHING
            yield from _differing(one, other, (*path, index))
    elif expected != got or type(expected) is not type(got):
        yield path, expected, got


def _same_but_order(expected: Any, got: Any, path: Path, prompt: bool, body: Any, found: list[Reordered]) -> bool:
    if isinstance(expected, dict) and isinstance(got, dict):
        prompt = prompt and _is_prompt(got)
        return expected.keys() == got.keys() and all(
            _same_but_order(item, got[key], (*path, key), prompt, body, found) for key, item in expected.items()
        )
    if isinstance(expected, list) and isinstance(got, list):
        if len(expected) != len(got):
            return False
        named = path[-1] if path else ""
        if expected != got and named in (*_TOOL_LISTS, *_SCHEMA_SETS) and _as_bag(expected) == _as_bag(got):
            part = TOOL_LIST if named in _TOOL_LISTS else part_of(body, path)
            found.append(Reordered(pointer_of(path), part, len(got)))
            return True
        pairs = enumerate(zip(expected, got, strict=True))
        return all(_same_but_order(one, other, (*path, at), prompt, body, found) for at, (one, other) in pairs)
    if expected == got and type(expected) is type(got):
        return True
    if not isinstance(expected, str) or not isinstance(got, str):
        return False
    lines = _moved(expected, got, prompt)
    if not lines or not (prompt or all(_ENTRY.fullmatch(line) for line in lines)):
        return False
    found.append(Reordered(pointer_of(path), part_of(body, path), len(lines)))
    return True


def _is_prompt(value: Mapping[str, Any]) -> bool:
    """Whether the texts of an object are from the agent, not from a tool or a model."""
    said_by_others = value.get("role", "user") not in _PROMPT_ROLES
    is_result = any(name in value for name in (*_RESULT_IDS, "call_id", "functionResponse", "function_response"))
    return not said_by_others and not is_result


def _is_order(place: tuple[Path, Any, Any]) -> bool:
    """Whether two texts differ in order alone."""
    _, one, other = place
    return isinstance(one, str) and isinstance(other, str) and bool(_moved(one, other, prompt=True))


def _moved(one: str, other: str, prompt: bool) -> list[str]:
    """The lines between the first and the last that differ; none if a line is new, missing or more than reordered."""
    lines, others = one.split("\n"), other.split("\n")
    known, found = (Counter(map(_sorted_names, text) if prompt else text) for text in (lines, others))
    if known != found:
        return []
    apart = [at for at, (here, there) in enumerate(zip(lines, others, strict=True)) if here != there]
    return others[apart[0] : apart[-1] + 1]


def _sorted_names(line: str) -> str:
    """A line whose lists of quoted names are sorted."""
    return _QUOTED.sub(lambda names: ", ".join(sorted(_NAME.findall(names[0]))), line)


def _as_bag(items: list[Any]) -> Counter[bytes]:
    return Counter(orjson.dumps(item, option=orjson.OPT_SORT_KEYS) for item in items)


def _excerpt(one: str, other: str) -> tuple[str, str, str, str, int]:
    """The first place in which two texts differ, the text around it, and how many such places there are."""
    here, there = one.splitlines(keepends=True), other.splitlines(keepends=True)
    begin, ends, places = 0, (len(one), len(other)), 1
    if len(here) + len(there) <= _MOST_LINES:
        codes = [
            code for code in SequenceMatcher(None, here, there, autojunk=False).get_opcodes() if code[0] != "equal"
        ]
        _, low, high, other_low, other_high = codes[0]
        begin, places = sum(map(len, here[:low])), len(codes)
        ends = begin + sum(map(len, here[low:high])), begin + sum(map(len, there[other_low:other_high]))
    while begin < min(ends) and one[begin] == other[begin]:
        begin += 1
    tail = 0
    while begin + tail < min(ends) and one[ends[0] - tail - 1] == other[ends[1] - tail - 1]:
        tail += 1
    end, other_end = ends[0] - tail, ends[1] - tail
    before, after = one[max(0, begin - AROUND) : begin], one[end : end + AROUND]
    return before, _cut(one[begin:end]), _cut(other[begin:other_end]), after, places


def _shown(value: Any) -> str:
    return "nothing" if value is _NOTHING else _cut(orjson.dumps(value).decode())


def _cut(text: str) -> str:
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}... and {len(text) - SHOWN} more characters"


def pointer_of(path: Path) -> str:
    """A path as a JSON pointer."""
    return "".join("/" + str(key).replace("~", "~0").replace("/", "~1") for key in path)


def part_of(body: Any, path: Path) -> str:
    """A description of the part at a path."""
    if not path:
        return "the whole request"
    if path[0] in _SYSTEM:
        return "system prompt"
    if len(path) > 1 and isinstance(path[1], int) and path[0] in ("tools", *_CONVERSATIONS):
        item = _at(body, path[:2])
        if path[0] == "tools":
            name = _tool_name(item)
            return f"tool {path[1] + 1}" + (f" ({name})" if name else "")
        return f"message {path[1] + 1}{_kind(body, path)}"
    return f"field {path[0]}"


def _kind(body: Any, path: Path) -> str:
    """Whose message it is, or which call's result."""
    for end in range(len(path), 1, -1):
        value = _at(body, path[:end])
        if not isinstance(value, dict):
            continue
        own = [value[key] for key in _RESULT_IDS if key in value]
        if str(value.get("type", "")).endswith("call_output") and "call_id" in value:
            own = [value["call_id"]]
        answer = value.get("functionResponse", value.get("function_response"))
        if isinstance(answer, dict):
            return f", result of tool call {answer.get('id') or answer.get('name', '')}"
        if own:
            name = _called(body, own[0])
            return f", result of tool call {own[0]}" + (f" ({name})" if name else "")
    item = _at(body, path[:2])
    role = item.get("role", item.get("type", "")) if isinstance(item, dict) else ""
    return f" ({role})" if role else ""


def _called(body: Any, name: Any) -> str:
    """The tool that a call with an id was made of."""
    if isinstance(body, dict):
        if name in (body.get("id"), body.get("call_id")) and _tool_name(body):
            return _tool_name(body)
        return next((found for item in body.values() if (found := _called(item, name))), "")
    if isinstance(body, list):
        return next((found for item in body if (found := _called(item, name))), "")
    return ""


def _tool_name(item: Any) -> str:
    if not isinstance(item, dict):
        return ""
    inner = item.get("function")
    return str(item.get("name") or (inner.get("name", "") if isinstance(inner, dict) else ""))


def _at(body: Any, path: Path) -> Any:
    for key in path:
        try:
            body = body[key]
        except (KeyError, IndexError, TypeError):
            return None
    return body
