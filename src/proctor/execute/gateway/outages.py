"""Whether a fault of the provider or of the set-up kept an agent from its work, judged by conversation. Pure.

A conversation is known by its beginning, up to the first message of the user. If the agent offers tools, only the
conversations that offer tools count: a successful call for a title neither ends an outage nor causes one. If it never
does, the conversation with the most calls counts.

The outage of a conversation ends when a later call of it is answered. It ends as well when another conversation is
answered that began before it (an agent goes on without its sub-agent) or after the failure (an agent starts again with
a shorter history). A conversation that merely runs beside it does not end it.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import orjson

from proctor.execute.gateway.sources.interface import Forward
from proctor.execute.gateway.telling import OVERFLOW, REJECTED, Failure

MOST_CONVERSATIONS = 10_000
SMALL_REQUEST_BYTES = 128 << 10
"""About 32,000 tokens: a model that cannot take a request of this size is too small for the work of an agent."""

_GROWTH = 2
_WORK = 3
"""So many calls of one conversation are more than a title or a summary: an agent may work without tools."""


@dataclass(frozen=True)
class Outage:
    """A fault that was not recovered from: its class, and a sentence."""

    kind: str
    words: str


class _Conversation:
    """One conversation; times are numbers of calls that ended."""

    def __init__(self, began: int, first_bytes: int, *, has_tools: bool) -> None:
        self.began = began
        self.first_bytes = first_bytes
        self.has_tools = has_tools
        self.calls = 0
        self.answered = 0
        self.failed = 0
        self.outage: Outage | None = None


class Conversations:
    """All conversations of one run."""

    def __init__(self) -> None:
        self._by_name: dict[str, _Conversation] = {}
        self._now = 0
        self._most_output = 0

    def answered(self, forward: Forward) -> None:
        """A call was answered."""
        found = self._of(forward)
        self._most_output = max(self._most_output, forward.asked.max_output or 0)
        if found is not None:
            found.answered = self._now
            found.outage = None

    def failed(self, forward: Forward, outage: Outage) -> None:
        """A call failed, and the agent is not to blame."""
        found = self._of(forward)
        if found is not None:
            found.failed = self._now
            found.outage = outage

    def is_setup(self, forward: Forward, failure: Failure) -> bool:
        """Whether a request that the provider does not take shows that agent and model do not fit each other.

        It does when no such request was ever answered: none with tools if it has tools, but for an agent that has
        worked without them. An overflow does as well when the request is small, or has not grown much since the
        conversation began, unless it is a larger answer that the agent asks for.
        """
        if failure.kind not in (OVERFLOW, REJECTED):
            return False
        tools = forward.asked.tools
        alike = [one for one in self._by_name.values() if one.has_tools or not tools or one.calls >= _WORK]
        if not any(one.answered for one in alike):
            return True
        if failure.kind == REJECTED or (forward.asked.max_output or 0) > self._most_output:
            return False
        size, begun = len(forward.data), self._by_name.get(_name(forward))
        return size < SMALL_REQUEST_BYTES or (begun is not None and size < _GROWTH * begun.first_bytes)

    @property
    def outage(self) -> Outage | None:
        """The last fault from which the agent did not recover."""
        everyone = list(self._by_name.values())
        main = [one for one in everyone if one.has_tools]
        if not main:
            longest = max(reversed(everyone), key=lambda one: one.calls, default=None)
            return longest.outage if longest is not None else None
        lasting = [one for one in main if one.outage is not None and not any(_ends(other, one) for other in main)]
        return max(lasting, key=lambda one: one.failed).outage if lasting else None

    def _of(self, forward: Forward) -> _Conversation | None:
        """The conversation of a call that has ended."""
        self._now += 1
        name = _name(forward)
        if name not in self._by_name:
            if len(self._by_name) >= MOST_CONVERSATIONS:
                return None
            made = _Conversation(self._now, len(forward.data), has_tools=bool(forward.asked.tools))
            self._by_name[name] = made
        found = self._by_name[name]
        found.calls += 1
        return found


def _ends(other: _Conversation, failed: _Conversation) -> bool:
    """Whether ``other`` shows that the agent went on after ``failed``."""
    went_on = other.answered > failed.failed
    return went_on and (other.began < failed.began or other.began > failed.failed)


def _name(forward: Forward) -> str:
    """What begins a conversation: whether it offers tools, and its messages up to the first one of the user."""
    asked = forward.asked
    start = next((place for place, one in enumerate(asked.messages) if one.role == "user"), 0)
    first = [[one.role, one.text] for one in asked.messages[: start + 1]]
    return hashlib.sha256(orjson.dumps([bool(asked.tools), first])).hexdigest()
