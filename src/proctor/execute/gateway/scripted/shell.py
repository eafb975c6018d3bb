"""One abstract shell step, as a call of whichever tool for commands an agent offers. Pure."""

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
    """As text, or as a list where the schema wants one: of commands, or of the words of one."""
    allowed = kinds(schema)
    if "array" not in allowed or "string" in allowed:
        return command
    return [command] if name == "commands" else ["bash", "-c", command]


def filler(schema: Any) -> Any:
    """Something that fits a parameter which nobody asked about."""
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
