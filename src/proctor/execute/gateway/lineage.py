"""Which messages of a request are new. Pure.

Every request holds the whole conversation, so each message is named by a digest over it and all before it: what has
been told under that name is not told again, and what an agent has changed in its past is. Ids of calls and thoughts
are left out, because clients rewrite or drop them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import orjson

from proctor.execute.gateway.dialects.interface import Message

START = "0" * 64


@dataclass(frozen=True)
class Told:
    """A message at its place; ``lineage`` names it with everything before it."""

    index: int
    message: Message
    lineage: str
    parent: str


class Lineages:
    """All conversations of one gateway."""

    def __init__(self) -> None:
        self._known: set[bytes] = set()

    def fresh(self, messages: Sequence[Message]) -> tuple[list[Told], str]:
        """The messages that were not told before, and the name of the whole conversation."""
        found = []
        parent = START
        for index, message in enumerate(messages):
            name = _name(parent, message)
            if self._add(name):
                found.append(Told(index, message, name, parent))
            parent = name
        return found, parent

    def answer(self, parent: str, index: int, message: Message) -> Told:
        """The place of an answer to the conversation ``parent``."""
        name = _name(parent, message)
        self._add(name)
        return Told(index, message, name, parent)

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
    """Arguments in one spelling, because clients write them anew; what is no JSON, or nested too deep, as it is."""
    try:
        return orjson.dumps(orjson.loads(arguments), option=orjson.OPT_SORT_KEYS).decode()
    except (orjson.JSONDecodeError, orjson.JSONEncodeError):
        return arguments
