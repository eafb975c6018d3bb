"""What a call is charged with: what its provider counted if that can be true, else an estimate. Pure.

A count can be true if it lies between what was seen and what was set aside. The bounds are wide, because tokens differ:
they are there for counts of nothing, and for counts that no answer could have.

An answer that did not come to its end is charged all the output that was set aside for it. What a model has thought, or
generates after its client has gone, is billed and not seen.
"""

from __future__ import annotations

from dataclasses import replace

from proctor.execute.gateway.dialects.interface import Asked, Message, Usage
from proctor.execute.gateway.meter import Reservation

BYTES_PER_TOKEN = 3
"""For estimates, on the high side for prose and code."""
MOST_MEDIA_TOKENS = 1_000_000
"""What a small document of many pages can be counted as."""
MOST_BYTES_PER_TOKEN = 32
"""Of a text as a whole; a single token may be longer."""


def charge(
    said: Usage | None,
    reserved: Reservation,
    asked: Asked,
    sent_bytes: int,
    message: Message,
    *,
    came_bytes: int,
    whole: bool,
) -> tuple[Usage, bool]:
    """What a call used, and whether that is an estimate; ``said`` is what the provider counted."""
    seen = _bytes_of(message)
    estimate = Usage(-(-sent_bytes // BYTES_PER_TOKEN), -(-seen // BYTES_PER_TOKEN))
    if said is None:
        found = estimate
    else:
        most = max(reserved.output_tokens, came_bytes)
        most_input = reserved.input_tokens + MOST_MEDIA_TOKENS * bool(asked.media)
        given = sum(_bytes_of(one) for one in asked.messages)
        found = replace(
            said,
            input_tokens=_plausible(said.input_tokens, given, most_input, estimate.input_tokens),
            output_tokens=_plausible(said.output_tokens, seen, most, estimate.output_tokens),
        )
    if not whole:
        found = replace(found, output_tokens=max(found.output_tokens, reserved.output_tokens))
    return found, found != said


def _plausible(count: int, seen_bytes: int, most: int, estimate: int) -> int:
    """``count`` if it can be true, else the estimate, or the most that it can be."""
    if count * MOST_BYTES_PER_TOKEN < seen_bytes:
        return estimate
    return min(count, most)


def _bytes_of(message: Message) -> int:
    """How many bytes of text a message has."""
    said = len(message.text.encode()) + len(message.reasoning.encode())
    said += sum(len(call.name) + len(call.arguments.encode()) for call in message.calls)
    return said + sum(len(result.text.encode()) for result in message.results)
