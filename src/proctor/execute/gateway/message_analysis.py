"""Analyse the messages of a conversation: which are new, refusals of the model, hits of the text rules. Pure.

Every request holds the whole conversation, so each message is named by a digest over it and all before it. Ids of calls
and thoughts are left out, because clients rewrite or drop them. A refusal is found by the provider's mark or by phrases
at the beginning of an answer without tool calls; the phrases are a heuristic and judge nothing. Text of the model
gets the grades of the rules; its input (instructions, files, output of tools) gives at most a notice.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from proctor.execute.gateway.dialects.interface import Call, Message, ModelAnswer
from proctor.execute.gateway.dialects.provider_json import shallow
from proctor.execute.monitor.text_rules.text_scan import (
    CODE,
    CONFIG,
    SHELL,
    Reading,
    format_of,
    hit_payload,
    scan_document,
    scan_text,
)

START = "0" * 64


@dataclass(frozen=True)
class PlacedMessage:
    """A message at its place; ``lineage`` names it with everything before it."""

    index: int
    message: Message
    lineage: str
    parent: str


class Lineages:
    """All conversations of one gateway."""

    def __init__(self) -> None:
        self._known: set[bytes] = set()

    def fresh(self, messages: Sequence[Message]) -> tuple[list[PlacedMessage], str]:
        """The messages that were not recorded before, and the name of the conversation."""
        found = []
        parent = START
        for index, message in enumerate(messages):
            name = _name(parent, message)
            if self._add(name):
                found.append(PlacedMessage(index, message, name, parent))
            parent = name
        return found, parent

    def answer(self, parent: str, index: int, message: Message) -> PlacedMessage:
        """The place of an answer to the conversation ``parent``."""
        name = _name(parent, message)
        self._add(name)
        return PlacedMessage(index, message, name, parent)

    def _add(self, name: str) -> bool:
        raw = bytes.fromhex(name)
        if raw in self._known:
            return False
        self._known.add(raw)
        return True


def _name(parent: str, message: Message) -> str:
    said = [
        parent,
        message.role,
        message.text.strip(),
        [[call.name, _plain(call.arguments)] for call in message.calls],
        [result.text for result in message.results],
    ]
    return hashlib.sha256(orjson.dumps(said)).hexdigest()


def _plain(arguments: str) -> str:
    """Arguments in one spelling, because clients rewrite them; text that is not JSON or is too deep is unchanged."""
    try:
        return orjson.dumps(orjson.loads(arguments), option=orjson.OPT_SORT_KEYS).decode()
    except (orjson.JSONDecodeError, orjson.JSONEncodeError):
        return arguments


VERSION = "refusals-1"
_READ = 400
_PHRASES = re.compile(
    r"\b(?:I(?:'m| am) (?:sorry|afraid)[^.\n]{0,80}\b(?:can(?:no|')t|unable|won't)"
    r"|I (?:can(?:no|')t|won't|will not|must decline to|am unable to|am not able to)"
    r" (?:help|assist|do (?:that|this)|comply|continue|provide|create|write|fulfil|support|engage|participate)"
    r"|I(?:'m| am) (?:unable|not able) to (?:help|assist|comply|do (?:that|this)|provide|fulfil)"
    r"|I (?:must|have to|need to) (?:decline|refuse)"
    r"|(?:this|that|your) request (?:violates|is against|goes against))\b",
    re.IGNORECASE,
)


def refusal_of(answered: ModelAnswer) -> dict[str, Any] | None:
    """How the answer refuses, or None."""
    if answered.refusal:
        return {"by": "provider", "words": answered.refusal[:_READ], "rules": VERSION}
    start = answered.message.text[:_READ].replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")
    found = None if answered.message.calls else _PHRASES.search(start)
    return {"by": "phrase", "words": found[0], "rules": VERSION} if found else None


_COMMANDS = ("command", "cmd", "commands", "script", "cmdline", "keystrokes")
_PATHS = ("path", "file_path", "filePath", "filename", "file", "absolute_path", "target_file")
_CONTENTS = (
    "content",
    "new_string",
    "newString",
    "new_str",
    "file_text",
    "code",
    "patch",
    "diff",
    "replacement",
    "text",
)


def read_message(message: Message, where: str, off: tuple[str, ...] = ()) -> Iterator[dict[str, Any]]:
    """The payloads of ``words.hit`` for one message."""
    own = message.role == "assistant"
    readings = [scan_document(message.text, off=off, where=where)] if message.text else []
    for call in message.calls if own else ():
        readings += _arguments(call, f"{where}/{call.name}"[:200], off)
    readings += [scan_document(result.text, off=off, where=f"{where}/result") for result in message.results]
    for reading in readings:
        for hit in reading.hits:
            payload = {**hit_payload(hit), "role": message.role}
            yield payload if own else {**payload, "grade": "notice"}


def _arguments(call: Call, where: str, off: tuple[str, ...]) -> list[Reading]:
    try:
        values = orjson.loads(call.arguments)
    except orjson.JSONDecodeError:
        return [scan_text(call.arguments, CODE, off=off, where=where)]
    if not isinstance(values, dict) or not shallow(values):
        return [scan_text(call.arguments, CODE, off=off, where=where)]
    path = next((values[name] for name in _PATHS if isinstance(values.get(name), str)), "")
    readings = []
    for name, value in values.items():
        text = " ".join(map(str, value)) if isinstance(value, list) else value
        if not isinstance(text, str):
            text = orjson.dumps(value).decode()
        kind = format_of(path, text[:200]) if name in _CONTENTS else SHELL if name in _COMMANDS else CONFIG
        readings.append(scan_text(text, kind, off=off, where=where))
    return readings
