"""A scripted model: its file, read strictly, and which of its turns answers a request. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import orjson

from proctor.contract.strict_yaml import Node, Report, load_yaml
from proctor.execute.gateway.dialects.interface import ModelRequest
from proctor.execute.gateway.scripted.scripted_turns import Find, Trouble, Turn, Wanted, find_turn

SCHEMA = 1
FAULTS = ("cut", "hang", "garbage", "long-line", "html")
MOST_PAUSE_SECONDS = 60

_TURN = {
    "when": "map",
    "say": "text",
    "think": "text",
    "shell": "text",
    "call": "map",
    "calls": "list",
    "usage": "map",
    "error": "map",
    "pause_seconds": "number",
    "fault": "text",
    "limited": "flag",
}
_WHEN = {"step": "number", "last": "text", "result": "text", "text": "text", "tools": "flag", "model": "text"}
_FIND = {"search": "text", "files": "text", "edit": "text", "replacement": "text"}
_CALL = {"tool": "text", "arguments": "map"}
_USAGE = {"input": "number", "output": "number"}
_ERROR = {"status": "number", "message": "text", "retry_after": "number"}
_WORDS = {"map": "an object", "text": "text", "list": "a list", "number": "a number", "flag": "true or false"}


@dataclass(frozen=True)
class Script:
    """All turns: those with conditions, and the steps, or what to find instead of steps."""

    chosen: tuple[Turn, ...]
    steps: tuple[Turn, ...]
    find: Find | None = None

    def turn(self, asked: ModelRequest) -> Turn:
        """The turn that answers ``asked``."""
        for turn in self.chosen:
            if all(_holds(name, value, asked) for name, value in turn.conditions):
                return turn
        if self.find is not None:
            return find_turn(self.find, asked)
        step = step_of(asked)
        return self.steps[step] if step < len(self.steps) else Turn(say="Done.")


def step_of(asked: ModelRequest) -> int:
    """How many steps a conversation has had."""
    answers = [message for message in asked.messages if message.role == "assistant"]
    return sum(1 for message in answers if message.calls or not asked.tools)


def load_script(data: bytes, file: str = "model.yaml") -> Script:
    """The script in ``data``; ``ContractError`` names every mistake with its line."""
    root = load_yaml(data, file)
    report = Report(file)
    fields = _fields(report, root, {"schema": "number", "turns": "list", "find": "map"}, ("schema",))
    if "schema" in fields and fields["schema"].value != str(SCHEMA):
        report.add(fields["schema"], f"schema must be {SCHEMA}")
    turns = [_turn(report, node) for node in (fields["turns"].value if "turns" in fields else ())]
    find = _find(report, fields["find"]) if "find" in fields else None
    steps = tuple(turn for turn in turns if not turn.conditions)
    if root.kind == "map" and not {"turns", "find"} & set(root.value):
        report.add(root, "turns is missing", "or find, for a model that looks for the place itself")
    if "find" in fields and steps:
        report.add(fields["turns"], "together with find, every turn needs conditions", "give each turn a when")
    report.raise_any()
    return Script(tuple(turn for turn in turns if turn.conditions), steps, find)


def _find(report: Report, node: Node) -> Find | None:
    fields = _fields(report, node, _FIND, ("search", "edit", "replacement"))
    patterns = {}
    for name in ("search", "edit"):
        if name in fields:
            patterns[name] = _pattern(report, fields[name], re.MULTILINE if name == "edit" else 0)
    search, edit, replacement = patterns.get("search"), patterns.get("edit"), _text(fields, "replacement")
    if search is None or edit is None or "replacement" not in fields:
        return None
    try:
        re.compile(f"(?:{edit.pattern})|", edit.flags).sub(replacement, "")
    except (re.error, IndexError) as error:
        report.add(fields["replacement"], f"not a replacement for edit: {error}")
    return Find(search, edit, replacement, _text(fields, "files"))


def _pattern(report: Report, node: Node, flags: int = 0) -> re.Pattern[str] | None:
    try:
        return re.compile(node.value, flags)
    except re.error as error:
        report.add(node, f"not a regular expression: {error}")
        return None


def _turn(report: Report, node: Node) -> Turn:
    fields = _fields(report, node, _TURN)
    calls = [fields["call"]] if "call" in fields else list(fields["calls"].value if "calls" in fields else ())
    usage: tuple[int, ...] | None = None
    if node.kind == "map" and "usage" in node.value and node.value["usage"].kind == "null":
        usage = ()
    elif "usage" in fields:
        counts = _fields(report, fields["usage"], _USAGE, tuple(_USAGE))
        usage = tuple(_whole(report, counts[name]) for name in _USAGE if name in counts)
    fault = _text(fields, "fault")
    if fault and fault not in FAULTS:
        report.add(fields["fault"], f"there is no fault {fault!r}", f"one of {', '.join(FAULTS)}")
    pause = float(fields["pause_seconds"].value) if "pause_seconds" in fields else 0.0
    if not 0 <= pause <= MOST_PAUSE_SECONDS:
        report.add(fields["pause_seconds"], f"a pause is 0 to {MOST_PAUSE_SECONDS} seconds")
    return Turn(
        conditions=_conditions(report, fields["when"]) if "when" in fields else (),
        say=_text(fields, "say"),
        think=_text(fields, "think"),
        shell=_text(fields, "shell"),
        calls=tuple(_wanted(report, call) for call in calls),
        usage=usage,
        error=_trouble(report, fields["error"]) if "error" in fields else None,
        pause_seconds=pause,
        fault=fault,
        is_cut="limited" in fields and bool(fields["limited"].value),
    )


def _conditions(report: Report, node: Node) -> tuple[tuple[str, Any], ...]:
    found: list[tuple[str, Any]] = []
    for name, value in _fields(report, node, _WHEN).items():
        if name == "step":
            found.append((name, _whole(report, value)))
        elif name == "tools":
            found.append((name, value.value))
        else:
            expression = _pattern(report, value)
            if expression is not None:
                found.append((name, expression))
    return tuple(found)


def _wanted(report: Report, node: Node) -> Wanted:
    fields = _fields(report, node, _CALL, ("tool",))
    arguments = fields["arguments"].plain() if "arguments" in fields else {}
    return Wanted(_text(fields, "tool"), orjson.dumps(arguments).decode())


def _trouble(report: Report, node: Node) -> Trouble:
    fields = _fields(report, node, _ERROR, ("status",))
    status = _whole(report, fields["status"]) if "status" in fields else 500
    if not 400 <= status <= 599:
        report.add(node, "the status of an error is 400 to 599")
    retry = _whole(report, fields["retry_after"]) if "retry_after" in fields else None
    return Trouble(status, _text(fields, "message") or "scripted error", retry)


def _fields(report: Report, node: Node, known: dict[str, str], needed: tuple[str, ...] = ()) -> dict[str, Node]:
    """The fields of a map that are as they must be; everything else is reported."""
    if node.kind != "map":
        if node.kind != "bad":
            report.add(node, "must be an object")
        return {}
    for name in needed:
        if name not in node.value:
            report.add(node, f"{name} is missing")
    found = {}
    for name, value in node.value.items():
        if name not in known:
            report.add((node.keys or {}).get(name, (node.line, node.column)), f"unknown field {name!r}")
        elif value.kind == known[name]:
            found[name] = value
        elif value.kind != "bad" and not (name == "usage" and value.kind == "null"):
            report.add(value, f"{name} must be {_WORDS[known[name]]}")
    return found


def _whole(report: Report, node: Node) -> int:
    if not node.value.isdigit() or len(node.value) > 9:
        report.add(node, "must be a whole number, 0 or more")
        return 0
    return int(node.value)


def _text(fields: dict[str, Node], name: str) -> str:
    return str(fields[name].value) if name in fields else ""


def _holds(name: str, value: Any, asked: ModelRequest) -> bool:
    if name == "step":
        return bool(step_of(asked) == value)
    if name == "tools":
        return bool(bool(asked.tools) == value)
    if name == "model":
        return bool(value.search(asked.model))
    texts = [part for message in asked.messages for part in (message.text, *(one.text for one in message.results))]
    if name == "last":
        texts = [part for part in texts if part][-1:]
    elif name == "result":
        texts = [one.text for message in asked.messages for one in message.results][-1:]
    return any(value.search(text) for text in texts)
