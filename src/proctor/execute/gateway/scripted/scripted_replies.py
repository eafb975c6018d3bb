"""What a scripted model replies, and how each dialect spells it: in one piece, or as the events of a stream. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import orjson

from proctor.execute.gateway.dialects.interface import Call, ModelRequest
from proctor.execute.gateway.scripted.offered_tools import shell_call
from proctor.execute.gateway.scripted.script_file import Script
from proctor.execute.gateway.scripted.scripted_turns import Turn

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


def reply_to(script: Script, asked: ModelRequest, data: bytes) -> tuple[Turn, Reply]:
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


Body = dict[str, Any]


@dataclass(frozen=True)
class Voice:
    """The form of one dialect: a full answer, the events of a stream with their names, and its last bytes."""

    whole: Callable[[Reply], Body]
    events: Callable[[Reply], Iterator[Body]]
    named: bool = False
    last: bytes = b""

    def stream(self, reply: Reply) -> list[bytes]:
        """The chunks of a stream, one for each event."""
        chunks = []
        for event in self.events(reply):
            name = f"event: {event['type']}\n".encode() if self.named else b""
            chunks.append(name + b"data: " + orjson.dumps(event) + b"\n\n")
        return [*chunks, self.last] if self.last else chunks


def _chat_whole(reply: Reply) -> Body:
    message: Body = {"role": "assistant", "content": reply.text or None}
    if reply.reasoning:
        message["reasoning_content"] = reply.reasoning
    if reply.calls:
        message["tool_calls"] = [_chat_call(reply, place) for place in range(len(reply.calls))]
    choice = {"index": 0, "message": message, "finish_reason": _chat_finish(reply)}
    return {**_chat_head(reply, "chat.completion"), "choices": [choice], **_chat_usage(reply)}


def _chat_events(reply: Reply) -> Iterator[Body]:
    head = _chat_head(reply, "chat.completion.chunk")

    def chunk(delta: Body, finish: str | None = None) -> Body:
        return {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}

    yield chunk({"role": "assistant", "content": ""})
    if reply.reasoning:
        yield chunk({"reasoning_content": reply.reasoning})
    for part in reply.parts:
        yield chunk({"content": part})
    for place, call in enumerate(reply.calls):
        opened = {"index": place, **_chat_call(reply, place)}
        yield chunk({"tool_calls": [{**opened, "function": {"name": call.name, "arguments": ""}}]})
        for arguments in _halves(call.arguments):
            yield chunk({"tool_calls": [{"index": place, "function": {"arguments": arguments}}]})
    yield chunk({}, _chat_finish(reply))
    if reply.usage:
        yield {**head, "choices": [], **_chat_usage(reply)}


def _chat_finish(reply: Reply) -> str:
    return "length" if reply.is_cut else "tool_calls" if reply.calls else "stop"


def _chat_head(reply: Reply, kind: str) -> Body:
    return {"id": f"chatcmpl-{reply.id}", "object": kind, "created": 0, "model": reply.model}


def _chat_call(reply: Reply, place: int) -> Body:
    call = reply.calls[place]
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}


def _chat_usage(reply: Reply) -> Body:
    if reply.usage is None:
        return {}
    came, went = reply.usage
    return {"usage": {"prompt_tokens": came, "completion_tokens": went, "total_tokens": came + went}}


def _responses_whole(reply: Reply, *, is_begun: bool = False) -> Body:
    status = "in_progress" if is_begun else "incomplete" if reply.is_cut else "completed"
    body: Body = {"id": f"resp_{reply.id}", "object": "response", "created_at": 0, "status": status}
    body |= {"model": reply.model, "output": [] if is_begun else _items(reply), "error": None}
    cut = {"reason": "max_output_tokens"} if status == "incomplete" else None
    body |= {"incomplete_details": cut, "instructions": None, "metadata": {}, "parallel_tool_calls": True}
    body |= {"temperature": 1.0, "top_p": 1.0, "tool_choice": "auto", "tools": [], "usage": None}
    if reply.usage is not None and not is_begun:
        came, went = reply.usage
        details = {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
        body["usage"] = {"input_tokens": came, "output_tokens": went, "total_tokens": came + went, **details}
    return body


def _items(reply: Reply) -> list[Body]:
    items: list[Body] = []
    if reply.reasoning:
        summary = [{"type": "summary_text", "text": reply.reasoning}]
        items.append({"type": "reasoning", "id": f"rs_{reply.id}", "summary": summary})
    if reply.text or not reply.calls:
        content = [{"type": "output_text", "text": reply.text, "annotations": []}]
        said = {"type": "message", "id": f"msg_{reply.id}", "role": "assistant", "status": "completed"}
        items.append({**said, "content": content})
    for place, call in enumerate(reply.calls):
        names = {"type": "function_call", "id": f"fc_{reply.id}{place}", "call_id": call.id, "name": call.name}
        items.append({**names, "arguments": call.arguments, "status": "completed"})
    return items


def _responses_events(reply: Reply) -> Iterator[Body]:
    for number, event in enumerate(_numbered(reply)):
        yield {**event, "sequence_number": number}


def _numbered(reply: Reply) -> Iterator[Body]:
    yield {"type": "response.created", "response": _responses_whole(reply, is_begun=True)}
    for place, item in enumerate(_items(reply)):
        at = {"output_index": place, "item_id": item["id"]}
        opened = {**item, "status": "in_progress"}
        if item["type"] == "message":
            opened["content"] = []
        elif item["type"] == "function_call":
            opened["arguments"] = ""
        yield {"type": "response.output_item.added", "output_index": place, "item": opened}
        if item["type"] == "message":
            part = {"type": "output_text", "text": "", "annotations": []}
            yield {"type": "response.content_part.added", **at, "content_index": 0, "part": part}
            for delta in reply.parts:
                event = {"type": "response.output_text.delta", **at, "content_index": 0, "delta": delta}
                yield {**event, "logprobs": []}
            done = {"type": "response.output_text.done", **at, "content_index": 0, "text": reply.text}
            yield {**done, "logprobs": []}
            part = item["content"][0]
            yield {"type": "response.content_part.done", **at, "content_index": 0, "part": part}
        elif item["type"] == "function_call":
            for delta in _halves(item["arguments"]):
                yield {"type": "response.function_call_arguments.delta", **at, "delta": delta}
            named = {"arguments": item["arguments"], "name": item["name"]}
            yield {"type": "response.function_call_arguments.done", **at, **named}
        yield {"type": "response.output_item.done", "output_index": place, "item": item}
    kind = "response.incomplete" if reply.is_cut else "response.completed"
    yield {"type": kind, "response": _responses_whole(reply)}


def _anthropic_whole(reply: Reply) -> Body:
    came, went = reply.usage or (0, 0)
    stop = "max_tokens" if reply.is_cut else "tool_use" if reply.calls else "end_turn"
    head = {"id": f"msg_{reply.id}", "type": "message", "role": "assistant", "model": reply.model}
    body = {**head, "content": _blocks(reply), "stop_reason": stop, "stop_sequence": None}
    return {**body, "usage": {"input_tokens": came, "output_tokens": went}} if reply.usage else body


def _blocks(reply: Reply) -> list[Body]:
    blocks: list[Body] = []
    if reply.reasoning:
        blocks.append({"type": "thinking", "thinking": reply.reasoning, "signature": ""})
    if reply.text or not reply.calls:
        blocks.append({"type": "text", "text": reply.text})
    for call in reply.calls:
        blocks.append({"type": "tool_use", "id": call.id, "name": call.name, "input": orjson.loads(call.arguments)})
    return blocks


_EMPTY: dict[str, Body] = {"text": {"text": ""}, "thinking": {"thinking": ""}, "tool_use": {"input": {}}}


def _anthropic_events(reply: Reply) -> Iterator[Body]:
    whole = _anthropic_whole(reply)
    usage = {"usage": {"input_tokens": whole["usage"]["input_tokens"], "output_tokens": 1}} if reply.usage else {}
    started = {**whole, "content": [], "stop_reason": None, **usage}
    yield {"type": "message_start", "message": started}
    calls = iter(reply.calls)
    for place, block in enumerate(whole["content"]):
        at = {"index": place}
        yield {"type": "content_block_start", **at, "content_block": {**block, **_EMPTY[block["type"]]}}
        deltas: list[Body] = [{"type": "text_delta", "text": part} for part in reply.parts]
        if block["type"] == "tool_use":
            halves = _halves(next(calls).arguments)
            deltas = [{"type": "input_json_delta", "partial_json": part} for part in halves]
        elif block["type"] == "thinking":
            deltas = [{"type": "thinking_delta", "thinking": reply.reasoning}]
        for delta in deltas:
            yield {"type": "content_block_delta", **at, "delta": delta}
        yield {"type": "content_block_stop", **at}
    ending: Body = {"type": "message_delta", "delta": {"stop_reason": whole["stop_reason"], "stop_sequence": None}}
    yield {**ending, "usage": {"output_tokens": whole["usage"]["output_tokens"]}} if reply.usage else ending
    yield {"type": "message_stop"}


def _gemini_whole(reply: Reply) -> Body:
    parts: list[Body] = [{"text": reply.reasoning, "thought": True}] if reply.reasoning else []
    if reply.text or not reply.calls:
        parts.append({"text": reply.text})
    return _gemini_chunk(reply, parts + _gemini_calls(reply), last=True)


def _gemini_events(reply: Reply) -> Iterator[Body]:
    if reply.reasoning:
        yield _gemini_chunk(reply, [{"text": reply.reasoning, "thought": True}])
    for part in reply.parts:
        yield _gemini_chunk(reply, [{"text": part}])
    yield _gemini_chunk(reply, _gemini_calls(reply) or [{"text": ""}], last=True)


def _gemini_calls(reply: Reply) -> list[Body]:
    return [{"functionCall": {"name": call.name, "args": orjson.loads(call.arguments)}} for call in reply.calls]


def _gemini_chunk(reply: Reply, parts: list[Body], *, last: bool = False) -> Body:
    candidate: Body = {"content": {"role": "model", "parts": parts}, "index": 0}
    body: Body = {"candidates": [candidate], "modelVersion": reply.model, "responseId": reply.id}
    if last:
        candidate["finishReason"] = "MAX_TOKENS" if reply.is_cut else "STOP"
        if reply.usage:
            came, went = reply.usage
            counts = {"promptTokenCount": came, "candidatesTokenCount": went, "totalTokenCount": came + went}
            body["usageMetadata"] = counts
    return body


def _halves(text: str) -> tuple[str, str]:
    middle = len(text) // 2
    return text[:middle], text[middle:]


DIALECT_WRITERS = {
    "chat": Voice(_chat_whole, _chat_events, last=b"data: [DONE]\n\n"),
    "responses": Voice(_responses_whole, _responses_events, named=True),
    "anthropic": Voice(_anthropic_whole, _anthropic_events, named=True),
    "gemini": Voice(_gemini_whole, _gemini_events),
}
