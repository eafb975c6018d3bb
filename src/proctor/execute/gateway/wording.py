"""Policy on the words of a conversation: every message and every argument is read in the format that it has. Pure.

What a model says is read with the grades of the rules; what it is told (instructions, files, output of tools) is not
its own words, and no more than a notice.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson

from proctor.execute.gateway.dialects.interface import Call, Message
from proctor.execute.gateway.dialects.reading import shallow
from proctor.execute.watch.words import CODE, CONFIG, SHELL, Reading, format_of, hit_payload, read_document, read_words

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
    readings = [read_document(message.text, off=off, where=where)] if message.text else []
    for call in message.calls if own else ():
        readings += _arguments(call, f"{where}/{call.name}"[:200], off)
    readings += [read_document(result.text, off=off, where=f"{where}/result") for result in message.results]
    for reading in readings:
        for hit in reading.hits:
            payload = {**hit_payload(hit), "role": message.role}
            yield payload if own else {**payload, "grade": "notice"}


def _arguments(call: Call, where: str, off: tuple[str, ...]) -> list[Reading]:
    try:
        values = orjson.loads(call.arguments)
    except orjson.JSONDecodeError:
        return [read_words(call.arguments, CODE, off=off, where=where)]
    if not isinstance(values, dict) or not shallow(values):
        return [read_words(call.arguments, CODE, off=off, where=where)]
    path = next((values[name] for name in _PATHS if isinstance(values.get(name), str)), "")
    readings = []
    for name, value in values.items():
        text = " ".join(map(str, value)) if isinstance(value, list) else value
        if not isinstance(text, str):
            text = orjson.dumps(value).decode()
        kind = format_of(path, text[:200]) if name in _CONTENTS else SHELL if name in _COMMANDS else CONFIG
        readings.append(read_words(text, kind, off=off, where=where))
    return readings
