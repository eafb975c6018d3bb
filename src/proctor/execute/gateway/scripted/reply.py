"""What a scripted model answers, before it is spelled in a dialect. Pure: the same request has the same reply."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from proctor.execute.gateway.dialects.interface import Asked, Call
from proctor.execute.gateway.scripted.script import Script
from proctor.execute.gateway.scripted.shell import shell_call
from proctor.execute.gateway.scripted.turn import Turn

_BYTES_PER_TOKEN = 4
_PART = 24


@dataclass(frozen=True)
class Reply:
    """An answer: its id, its text, its calls, its counts of tokens if it has any, and whether it reached its limit."""

    id: str
    model: str
    text: str
    reasoning: str
    calls: tuple[Call, ...]
    usage: tuple[int, int] | None
    is_cut: bool = False

    @property
    def parts(self) -> list[str]:
        """The text as a stream brings it."""
        return [self.text[start : start + _PART] for start in range(0, len(self.text), _PART)]


def reply_to(script: Script, asked: Asked, data: bytes) -> tuple[Turn, Reply]:
    """The turn that answers a request, and the reply that it makes; ``data`` is the request's bytes."""
    turn = script.turn(asked)
    name = hashlib.sha256(data).hexdigest()[:24]
    text = turn.say
    wanted = [(call.tool, call.arguments) for call in turn.calls]
    if turn.shell:
        call = shell_call(turn.shell, asked.tools)
        if call is not None:
            wanted.append(call)
        else:
            text += f"\n```bash\n{turn.shell}\n```\n"
    calls = tuple(Call(f"call_{name}{place}", tool, arguments) for place, (tool, arguments) in enumerate(wanted))
    said = len(text.encode()) + len(turn.think.encode()) + sum(len(call.arguments) + 8 for call in calls)
    usage: tuple[int, int] | None = tokens(len(data)), tokens(said)
    if turn.usage is not None:
        usage = (turn.usage[0], turn.usage[1]) if turn.usage else None
    return turn, Reply(name, asked.model, text, turn.think, calls, usage, turn.is_cut)


def tokens(size: int) -> int:
    """How many tokens bytes count for here."""
    return max(1, -(-size // _BYTES_PER_TOKEN))
