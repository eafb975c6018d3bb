"""Calls of the tools that an agent offers: run a command, read a file, edit a file, end. Pure.

A tool is recognised by its name or by the names of its parameters, because agents agree on the latter more. Where there
is no such tool, the answer is None.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from proctor.execute.gateway.dialects.interface import Tool

_NAMES = (
    *("bash", "shell", "shell_command", "exec_command", "run_shell_command", "execute_bash", "run", "terminal"),
    *("execute_command", "run_terminal_command", "run_command", "run_commands", "Bash", "container.exec", "exec"),
)
_PARAMETERS = ("command", "cmd", "commands", "script", "input")


def shell_call(command: str, tools: Sequence[Tool]) -> tuple[str, str] | None:
    """The name and the arguments that run ``command``; None when no tool runs commands."""
    by_name = {tool.name: tool for tool in tools}
    candidates = [by_name[name] for name in _NAMES if name in by_name]
    candidates += [tool for tool in tools if tool not in candidates and {"command", "cmd"} & set(properties(tool))]
    for tool in candidates:
        known = properties(tool)
        parameter = next((name for name in _PARAMETERS if name in known), None)
        if parameter is None:
            continue
        arguments = {name: filler(known.get(name)) for name in required(tool) if name != parameter}
        arguments[parameter] = _spelled(command, known[parameter], parameter)
        return tool.name, orjson.dumps(arguments).decode()
    return None


def _spelled(command: str, schema: Any, name: str) -> Any:
    """As text, or as a list if the schema requires one: of commands, or of the arguments of one."""
    allowed = kinds(schema)
    if "array" not in allowed or "string" in allowed:
        return command
    return [command] if name == "commands" else ["bash", "-c", command]


def filler(schema: Any) -> Any:
    """A valid value for a parameter that the script does not set."""
    if isinstance(schema, Mapping):
        if isinstance(schema.get("enum"), list) and schema["enum"]:
            return schema["enum"][0]
        allowed = kinds(schema)
        for kind, value in (("string", "step"), ("boolean", False), ("integer", 60), ("number", 60), ("array", [])):
            if kind in allowed:
                return value
    return "step"


def kinds(schema: Any) -> set[str]:
    """The types that a schema allows, in small letters."""
    if not isinstance(schema, Mapping):
        return set()
    kind = schema.get("type")
    found = {kind.lower()} if isinstance(kind, str) else {str(one).lower() for one in kind or ()}
    for part in ("anyOf", "oneOf"):
        for inside in schema.get(part) or ():
            found |= kinds(inside)
    return found


def properties(tool: Tool) -> Mapping[str, Any]:
    """The parameters of a tool, by name."""
    found = tool.parameters.get("properties")
    return found if isinstance(found, Mapping) else {}


def required(tool: Tool) -> list[str]:
    """The parameters that every call must have."""
    found = tool.parameters.get("required")
    return [name for name in found if isinstance(name, str)] if isinstance(found, list) else []


_READERS = ("read", "read_file", "readFile", "Read", "view", "view_file", "read_files")
_ENDERS = ("finish", "task_done", "attempt_completion", "submit_and_exit", "submit", "complete_task", "complete")
_PATHS = ("file_path", "filePath", "filepath", "path", "absolute_path", "target_file")
_OLD = ("old_string", "oldString", "old_str", "oldText", "old_text", "old")
_NEW = ("new_string", "newString", "new_str", "newText", "new_text", "new")
_RANGES = (("offset", "limit"), ("start_line", "end_line"))

Named = tuple[str, str]
"""The name of a tool and its arguments as JSON."""


def read_call(path: str, first: int, last: int, tools: Sequence[Tool]) -> Named | None:
    """The call that reads the lines ``first`` to ``last`` of a file, or more of it."""
    for tool in _by_name(_READERS, tools):
        parameters = properties(tool)
        name = _first(_PATHS, parameters)
        if name is None or "string" not in kinds(parameters[name]):
            continue
        wanted: dict[str, Any] = {name: path}
        for begin, end in _RANGES:
            if begin in parameters and end in parameters:
                wanted |= {begin: first, end: last - first + 1 if end == "limit" else last}
                break
        return _complete(tool, wanted)
    return None


def edit_call(path: str, old: str, new: str, tools: Sequence[Tool]) -> Named | None:
    """The call that replaces ``old``, which is in the file once, by ``new``."""
    for tool in tools:
        parameters = properties(tool)
        name = _first(_PATHS, parameters)
        if name is None:
            continue
        change = _change(parameters, old, new)
        if change is not None:
            command = {"command": "str_replace"} if "str_replace" in _choices(parameters.get("command")) else {}
            return _complete(tool, {**command, name: path, **change})
        for many in ("edits", "changes"):
            items = parameters[many].get("items") if isinstance(parameters.get(many), Mapping) else None
            inside = items.get("properties") if isinstance(items, Mapping) else None
            change = _change(inside, old, new) if isinstance(inside, Mapping) else None
            if change is not None:
                return _complete(tool, {name: path, many: [change]})
    return None


def end_call(text: str, tools: Sequence[Tool]) -> Named | None:
    """The call with which an agent's model says that it is done, where there is one."""
    for tool in _by_name(_ENDERS, tools):
        wanted = {name: text for name in required(tool) if kinds(properties(tool).get(name)) == {"string"}}
        return _complete(tool, {name: text for name in wanted if not _choices(properties(tool).get(name))})
    return None


def _change(parameters: Mapping[str, Any], old: str, new: str) -> dict[str, Any] | None:
    before, after = _first(_OLD, parameters), _first(_NEW, parameters)
    return None if before is None or after is None else {before: old, after: new}


def _complete(tool: Tool, wanted: dict[str, Any]) -> Named:
    """With something for every other parameter that has to be there."""
    others = {name: filler(properties(tool).get(name)) for name in required(tool) if name not in wanted}
    return tool.name, orjson.dumps({**others, **wanted}).decode()


def _by_name(names: Sequence[str], tools: Sequence[Tool]) -> list[Tool]:
    by_name = {tool.name: tool for tool in tools}
    return [by_name[name] for name in names if name in by_name]


def _first(names: Sequence[str], parameters: Mapping[str, Any]) -> str | None:
    return next((name for name in names if name in parameters), None)


def _choices(schema: Any) -> list[Any]:
    found = schema.get("enum") if isinstance(schema, Mapping) else None
    return found if isinstance(found, list) else []
