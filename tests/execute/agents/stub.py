"""A provider that gives prepared answers one after the other, in any dialect, and keeps the requests."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

Body = dict[str, Any]


class Said(NamedTuple):
    """One answer of the provider."""

    body: Body
    status: int = 200
    headers: Mapping[str, str] = {}


@contextmanager
def stub_provider(answers: Sequence[Said]) -> Iterator[tuple[str, list[Body]]]:
    """The address of the provider and the bodies of its requests; the last of the answers is given again and again."""
    seen: list[Body] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            seen.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            said = answers[min(len(seen), len(answers)) - 1]
            data = json.dumps(said.body).encode()
            self.send_response(said.status)
            headers = {"Content-Type": "application/json", "Content-Length": str(len(data)), **said.headers}
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *values: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", seen
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def calling(dialect: str, tool: str, arguments: Body, number: int = 0) -> tuple[Said, list[Body]]:
    """An answer that reasons and then calls a tool, and the items of it that a later request must hold unchanged."""
    id_ = f"call_{number}"
    if dialect == "chat":
        function = {"name": tool, "arguments": json.dumps(arguments)}
        message = {
            "role": "assistant",
            "content": None,
            "reasoning_content": "I think.",
            "reasoning_details": [{"type": "reasoning.encrypted", "data": f"sealed-{number}"}],
            "tool_calls": [{"id": id_, "type": "function", "function": function, "extra_content": {"sign": "s"}}],
        }
        usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
        body: Body = {"choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}], "usage": usage}
        return Said(body), [{**message, "content": ""}]
    if dialect == "responses":
        called = {"type": "function_call", "id": f"fc_{number}", "call_id": id_, "name": tool}
        items: list[Body] = [
            {"type": "reasoning", "id": f"rs_{number}", "summary": [], "encrypted_content": f"sealed-{number}"},
            {**called, "arguments": json.dumps(arguments), "status": "completed"},
        ]
        usage = {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15}
        return Said({"status": "completed", "output": items, "usage": usage}), items
    if dialect == "anthropic":
        blocks: list[Body] = [
            {"type": "thinking", "thinking": "I think.", "signature": f"sealed-{number}"},
            {"type": "redacted_thinking", "data": f"hidden-{number}"},
            {"type": "tool_use", "id": id_, "name": tool, "input": arguments},
        ]
        usage = {"input_tokens": 1, "cache_read_input_tokens": 7, "cache_creation_input_tokens": 2, "output_tokens": 5}
        head = {"type": "message", "role": "assistant", "model": "m"}
        body = {**head, "content": blocks, "stop_reason": "tool_use", "usage": usage}
        return Said(body), [{"role": "assistant", "content": blocks}]
    parts: list[Body] = [
        {"text": "I think.", "thought": True},
        {"functionCall": {"id": id_, "name": tool, "args": arguments}, "thoughtSignature": f"sealed-{number}"},
    ]
    counts = {"promptTokenCount": 10, "candidatesTokenCount": 3, "thoughtsTokenCount": 2, "totalTokenCount": 15}
    content = {"role": "model", "parts": parts}
    body = {"candidates": [{"content": content, "finishReason": "STOP"}], "usageMetadata": counts}
    return Said(body), [content]


def saying(dialect: str, text: str, *, is_cut: bool = False) -> Said:
    """An answer that calls no tool."""
    if dialect == "chat":
        message = {"role": "assistant", "content": text}
        return Said({"choices": [{"index": 0, "message": message, "finish_reason": "length" if is_cut else "stop"}]})
    if dialect == "responses":
        content = [{"type": "output_text", "text": text, "annotations": []}]
        item = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": content}
        return Said({"status": "incomplete" if is_cut else "completed", "output": [item]})
    if dialect == "anthropic":
        content = [{"type": "text", "text": text}]
        return Said({"content": content, "stop_reason": "max_tokens" if is_cut else "end_turn"})
    candidate = {
        "content": {"role": "model", "parts": [{"text": text}]},
        "finishReason": "MAX_TOKENS" if is_cut else "STOP",
    }
    return Said({"candidates": [candidate]})


OVERFLOWS = {
    "chat": Said(
        {
            "error": {
                "message": "This model's maximum context length is 8192 tokens. Yours resulted in 9001.",
                "type": "invalid_request_error",
                "code": "context_length_exceeded",
            }
        },
        400,
    ),
    "responses": Said(
        {
            "error": {
                "message": "Your input exceeds the context window of this model.",
                "type": "invalid_request_error",
                "code": "context_length_exceeded",
            }
        },
        400,
    ),
    "anthropic": Said(
        {
            "type": "error",
            "error": {"type": "invalid_request_error", "message": "prompt is too long: 213042 tokens > 200000 maximum"},
        },
        400,
    ),
    "gemini": Said(
        {
            "error": {
                "code": 400,
                "message": "The input token count (1200000) exceeds the maximum number of tokens allowed (1048575).",
                "status": "INVALID_ARGUMENT",
            }
        },
        400,
    ),
}
"""How providers say that a conversation is too long."""
