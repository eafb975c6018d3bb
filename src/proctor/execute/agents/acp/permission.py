"""The answer of a contract's policy to an agent that asks for permission. Pure.

The answer is only for the agent's own use: the sandbox, the guard and the judge apply in any case. What the policy
forbids is rejected, and so is what the sandbox makes impossible; everything else is allowed once.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from proctor.contract.policy import Policy, matches_command
from proctor.execute.sandbox.interface import WORKSPACE
from proctor.execute.workspace.path_patterns import matches

ALLOW = ("allow_once", "allow_always")
REJECT = ("reject_once", "reject_always")
CHANGES = ("edit", "delete", "move")
TEXT_CHARACTERS = 4000


@dataclass(frozen=True)
class Asked:
    """What an agent asks leave for, as far as it says."""

    title: str
    kind: str
    command: str
    paths: tuple[str, ...]


@dataclass(frozen=True)
class Answer:
    """Whether it may, and why."""

    allowed: bool
    reason: str


def read_question(call: Mapping[str, Any]) -> Asked:
    """What the ``toolCall`` of a permission request says; anything odd in it is taken as not said."""
    raw = call.get("rawInput")
    given = raw if isinstance(raw, dict) else {}
    command = given.get("command") or given.get("cmd") or ""
    if isinstance(command, list):
        command = shlex.join(str(word) for word in command[:1000])
    if not command and call.get("kind") == "execute":
        command = call.get("title") or ""  # gemini-cli says it there alone
    locations = call.get("locations")
    found = [one.get("path") for one in locations if isinstance(one, dict)] if isinstance(locations, list) else []
    named = [given.get(name) for name in ("filepath", "file_path", "path", "filePath")]
    paths = dict.fromkeys(path for path in [*found, *named] if isinstance(path, str) and path)
    return Asked(
        title=str(call.get("title") or "")[:TEXT_CHARACTERS],
        kind=str(call.get("kind") or "other")[:40],
        command=str(command)[:TEXT_CHARACTERS],
        paths=tuple(path[:TEXT_CHARACTERS] for path in list(paths)[:100]),
    )


def decide(policy: Policy, asked: Asked) -> Answer:
    """What ``policy`` says."""
    if asked.kind == "fetch" and policy.network.mode == "none":
        return Answer(False, "the network is closed")
    for arguments in _commands(asked.command):
        for pattern in policy.forbid_commands:
            if matches_command(pattern, arguments):
                return Answer(False, f"the policy forbids the command {pattern!r}")
    if asked.kind in CHANGES:
        for path in asked.paths:
            reason = _objection(policy, path)
            if reason:
                return Answer(False, f"{path}: {reason}")
    return Answer(True, "the policy does not forbid it")


def choose(answer: Answer, options: Any) -> dict[str, Any]:
    """The outcome that says ``answer`` with one of the agent's own ``options``."""
    offered = [one for one in options if isinstance(one, dict)] if isinstance(options, list) else []
    for kind in ALLOW if answer.allowed else REJECT:
        for option in offered:
            if option.get("kind") == kind:
                return {"outcome": {"outcome": "selected", "optionId": option.get("optionId")}}
    return {"outcome": {"outcome": "cancelled"}}


def _commands(line: str) -> list[list[str]]:
    """The arguments of each simple command of a shell line, as far as they can be parsed."""
    try:
        lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
        lexer.whitespace_split = True
        arguments = list(lexer)
    except ValueError:
        return [line.split()]
    commands: list[list[str]] = [[]]
    for word in arguments:
        if word and set(word) <= set(";|&()"):
            commands.append([])
        else:
            commands[-1].append(word)
    return [command for command in commands if command]


def _objection(policy: Policy, path: str) -> str:
    """Why ``path`` may not be changed; empty when it may."""
    if path.startswith("/"):
        if not path.startswith(f"{WORKSPACE}/"):
            return "outside the workspace"
        path = path.removeprefix(f"{WORKSPACE}/")
    if ".." in path.split("/"):
        return "a path with .."
    if any(matches(path, pattern) for pattern in policy.forbidden):
        return "the policy forbids a change"
    if not any(matches(path, pattern) for pattern in policy.writable):
        return "the policy does not open it for writing"
    return ""
