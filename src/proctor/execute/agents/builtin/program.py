"""The reference agent itself: it reads a task, asks a model, and does what the model asks with five tools.

It runs inside the sandbox on a bare Python, so it uses the standard library alone and nothing of Proctor. The task is
on standard input, the model behind ``PROCTOR_MODEL_URL`` by OpenAI Chat Completions. The tools are the classic ones:
read, search, edit and run; and stage, for contracts in which one has to ask before writing and testing. The loop ends
when the model answers without a tool, or after so many turns. Everything that a tool returns is bounded.
"""

from __future__ import annotations

import fnmatch
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

TURNS = 100
TRIES = 4
RESULT_CHARACTERS = 16_000
READ_LINES = 400
MATCHES = 100
FILE_BYTES = 4 << 20
COMMAND_SECONDS = 300
ANSWER_SECONDS = 600
STAGE_CLIENT = "/proctor/stage"
SKIPPED = {".git", "node_modules", "__pycache__", ".venv"}

SYSTEM = """\
You are a careful software engineer. You work in a checked-out source tree, your current directory, without a human to
ask. Find out what is wrong before you change anything, make the smallest change that does what the task says, keep to
the style of the code, and run the tests that concern it. Use relative paths. When you are done, answer with a short
summary and call no tool."""


class Refusal(Exception):
    """A tool cannot do what it was asked; the model is told why."""


def read(path: str, first_line: int = 1) -> str:
    """Show a file with line numbers, or the names in a directory."""
    if os.path.isdir(path):
        names = sorted(os.listdir(path))
        return "\n".join(name + "/" * os.path.isdir(os.path.join(path, name)) for name in names)
    lines = _text(path).splitlines()
    shown = lines[first_line - 1 : first_line - 1 + READ_LINES]
    numbered = [f"{number:6} {line}" for number, line in enumerate(shown, first_line)]
    left = len(lines) - (first_line - 1) - len(shown)
    return "\n".join(numbered + ([f"... {left} more lines"] if left > 0 else []))


def search(pattern: str, files: str = "*") -> str:
    """Find lines by a regular expression in all files whose path or name matches a glob."""
    try:
        wanted = re.compile(pattern)
    except re.error as error:
        raise Refusal(f"not a regular expression: {error}") from None
    found: list[str] = []
    for path in _files():
        if not fnmatch.fnmatch(path, files) and not fnmatch.fnmatch(os.path.basename(path), files):
            continue
        try:
            text = _text(path)
        except Refusal:
            continue
        for number, line in enumerate(text.splitlines(), 1):
            if wanted.search(line):
                found.append(f"{path}:{number}: {line.strip()[:200]}")
                if len(found) == MATCHES:
                    return "\n".join([*found, "... and more; narrow the search"])
    return "\n".join(found) or "no matches"


def edit(path: str, old: str, new: str) -> str:
    """Replace the one place where a file holds the old text; an empty old text makes a new file."""
    if not old:
        if os.path.exists(path):
            raise Refusal(f"{path} exists; give the text to replace")
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        _write(path, new)
        return f"made {path}"
    text = _text(path)
    count = text.count(old)
    if count != 1:
        raise Refusal(f"the old text occurs {count} times in {path}; give a text that occurs once")
    _write(path, text.replace(old, new))
    return f"changed {path}"


def run(command: str) -> str:
    """Run a shell command and show its output and exit code."""
    try:
        done = subprocess.run(
            ["/bin/sh", "-c", command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=COMMAND_SECONDS,
        )
    except subprocess.TimeoutExpired as error:
        return f"{(error.output or b'').decode(errors='replace')}\nended after {COMMAND_SECONDS} s"
    return f"{done.stdout.decode(errors='replace')}\nexit code {done.returncode}"


def stage(name: str) -> str:
    """Ask for the next stage of the work, write or test, where the task says that one has to ask."""
    if not os.path.exists(STAGE_CLIENT):
        return "there is no need to ask: everything is open"
    done = subprocess.run([STAGE_CLIENT, name], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    return (done.stdout + done.stderr).strip() or f"exit code {done.returncode}"


TOOLS: dict[str, tuple[Callable[..., str], dict[str, dict[str, Any]], list[str]]] = {
    "read": (read, {"path": {"type": "string"}, "first_line": {"type": "integer", "minimum": 1}}, ["path"]),
    "search": (search, {"pattern": {"type": "string"}, "files": {"type": "string"}}, ["pattern"]),
    "edit": (edit, {name: {"type": "string"} for name in ("path", "old", "new")}, ["path", "old", "new"]),
    "run": (run, {"command": {"type": "string"}}, ["command"]),
    "stage": (stage, {"name": {"type": "string", "enum": ["inspect", "write", "test"]}}, ["name"]),
}
TYPES = {"string": str, "integer": int}


def declared() -> list[dict[str, Any]]:
    """The tools as the model is told of them."""
    return [
        {
            "type": "function",
            "function": {
                "name": name,
                "description": tool.__doc__,
                "parameters": {"type": "object", "properties": fields, "required": required},
            },
        }
        for name, (tool, fields, required) in TOOLS.items()
    ]


def use(name: str, arguments: str) -> str:
    """The result of one call of a tool; what is wrong with the call is a result too."""
    try:
        if name not in TOOLS:
            raise Refusal(f"there is no tool {name!r}; there are {', '.join(TOOLS)}")
        tool, fields, required = TOOLS[name]
        given = json.loads(arguments or "{}")
        if not isinstance(given, dict) or not set(required) <= set(given) <= set(fields):
            raise Refusal(f"{name} needs {', '.join(required)} and knows {', '.join(fields)}")
        for field, value in given.items():
            if not isinstance(value, TYPES[fields[field]["type"]]) or isinstance(value, bool):
                raise Refusal(f"{field} must be of type {fields[field]['type']}")
        result = tool(**given)
    except (Refusal, OSError, ValueError) as error:
        result = f"error: {error}"
    result = result.encode("utf-8", "replace").decode()
    if len(result) > RESULT_CHARACTERS:
        half = RESULT_CHARACTERS // 2
        result = f"{result[:half]}\n... {len(result) - 2 * half} characters left out ...\n{result[-half:]}"
    return result


def ask(messages: list[dict[str, Any]]) -> dict[str, Any]:
    """The model's next message. What may pass by itself is tried again; anything else ends the program."""
    import urllib.error
    import urllib.request

    body = {"model": os.environ["PROCTOR_MODEL"], "messages": messages, "tools": declared()}
    request = urllib.request.Request(
        os.environ["PROCTOR_MODEL_URL"] + "/v1/chat/completions",
        json.dumps(body).encode(),
        {"Content-Type": "application/json", "Authorization": "Bearer " + os.environ["PROCTOR_MODEL_KEY"]},
    )
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    for tried in range(1, TRIES + 1):
        try:
            with opener.open(request, timeout=ANSWER_SECONDS) as answer:
                message: dict[str, Any] = json.loads(answer.read())["choices"][0]["message"]
                return message
        except urllib.error.HTTPError as error:
            said = error.read(2000).decode(errors="replace")
            if tried == TRIES or (error.code != 429 and error.code < 500):
                sys.exit(f"the model refused: {error.code} {said}")
        except (OSError, ValueError, LookupError) as error:
            if tried == TRIES:
                sys.exit(f"the model does not answer: {error}")
        time.sleep(2**tried)
    raise AssertionError


def main() -> None:
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": SYSTEM},
        {"role": "user", "content": sys.stdin.read()},
    ]
    for _ in range(TURNS):
        message = ask(messages)
        calls = message.get("tool_calls") or []
        kept = {"role": "assistant", "content": message.get("content") or ""}
        messages.append({**kept, "tool_calls": calls} if calls else kept)
        print(message.get("content") or "", flush=True)
        if not calls:
            return
        for call in calls:
            name, arguments = call["function"]["name"], call["function"]["arguments"]
            print(f"> {name} {arguments[:300]}", flush=True)
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": use(name, arguments)})
    sys.exit(f"gave up after {TURNS} turns")


def _files() -> Iterator[str]:
    for directory, inner, names in os.walk("."):
        inner[:] = sorted(name for name in inner if name not in SKIPPED)
        for name in sorted(names):
            yield os.path.relpath(os.path.join(directory, name))


def _text(path: str) -> str:
    if not os.path.isfile(path):
        raise Refusal(f"{path} is not a file")
    with open(path, "rb") as file:
        data = file.read(FILE_BYTES + 1)
    if len(data) > FILE_BYTES or b"\0" in data:
        raise Refusal(f"{path} is not a text of less than {FILE_BYTES} bytes")
    return data.decode("utf-8", "surrogateescape")


def _write(path: str, text: str) -> None:
    with open(path, "wb") as file:
        file.write(text.encode("utf-8", "surrogateescape"))


if __name__ == "__main__":
    main()
