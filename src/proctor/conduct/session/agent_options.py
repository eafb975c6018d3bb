"""The options that a command gives to its agents: how a batch stores them, and how they join those of an agent file.

An option of the command replaces the value in the agent file. A batch stores the options of its command as one JSON
text, with full paths, and names agent files by their full paths.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from proctor.base.errors import UsageFault
from proctor.base.fields import EMPTY
from proctor.contract.kinds import DECIMAL_TEXT
from proctor.contract.texts import NAME, VARIABLE
from proctor.execute.agents.agent_file import AgentFile, parse_agent, read_agent

SETTING = "agent_options"
"""What the options are called among the settings of a batch."""

_FREE_TEXTS = {"small_model": "--small-model", "arguments": "--agent-arg", "environment": "--agent-env"}


def kept_agent_options(options: dict[str, Any], agents: Sequence[str]) -> dict[str, str]:
    """The options as a batch keeps them; nothing if none was given. They are taken out of ``options``."""
    name = options.pop("agent_name")
    if name is not None and not NAME.matches(name):
        raise UsageFault(f"expected {NAME.words}", where=f"--name {name[:100] or repr(name)}")
    if name and len(agents) > 1:
        raise UsageFault("--name is the name of one agent", hint="an agent file for each agent can have a name")
    temperature = options.pop("temperature")
    if temperature and not re.fullmatch(DECIMAL_TEXT, temperature):
        raise UsageFault("not a decimal number", where=f"--temperature {temperature[:100]}", hint="such as 0.2")
    skills, rules = options.pop("skills"), options.pop("rules")
    if "" in rules:
        raise UsageFault("the path is empty", where="--rules ''", hint="--rules FILE, such as AGENTS.md")
    given = {
        "name": name or "",
        "effort": options.pop("effort") or "",
        "temperature": temperature,
        "small_model": options.pop("small_model"),
        "rules": [str(Path(path).absolute()) for path in rules],
        "skills": str(Path(skills).absolute()) if skills else "",
        "arguments": list(options.pop("agent_arg")),
        "environment": _variables(options.pop("agent_env")),
    }
    for field, option in _FREE_TEXTS.items():
        _require_unicode(option, given[field])
    kept = {name: value for name, value in given.items() if value}
    return {SETTING: json.dumps(kept, sort_keys=True)} if kept else {}


def _require_unicode(option: str, value: Any) -> None:
    """Refuse text that no manifest can hold. It may be a secret, so it is not repeated."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise UsageFault("not text in UTF-8", where=option) from None


def _variables(given: Sequence[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for text in given:
        name, equals, value = text.partition("=")
        # The value may be a secret, so it is not repeated.
        if not equals or not VARIABLE.matches(name):
            raise UsageFault(f"--agent-env takes NAME=VALUE, and NAME is {VARIABLE.words}")
        if name in found:
            raise UsageFault("given twice", where=f"--agent-env {name}")
        if "\0" in value:
            raise UsageFault("the value of a variable cannot hold a NUL character", where=f"--agent-env {name}")
        found[name] = value
    return found


def asked_agent(words: str, settings: Mapping[str, str] = EMPTY) -> AgentFile:
    """What ``words``, the value of ``--agent``, ask for, with the options that a batch keeps."""
    asked = read_agent(words)
    own = json.loads(settings.get(SETTING, "{}"))
    if not own:
        return asked
    name = own.pop("name", "") or asked.name
    lists: dict[str, Any] = {key: tuple(own.pop(key)) for key in ("rules", "arguments") if key in own}
    return replace(asked, name=name, wanted=replace(asked.wanted, **own, **lists))


def typed_options(settings: Mapping[str, str]) -> tuple[str, ...]:
    """The fields that were given on the command line, by the settings of a batch."""
    return tuple(json.loads(settings.get(SETTING, "{}")))


def kind_of(words: str) -> str:
    """The kind of the agent that ``words`` ask for."""
    return parse_agent(read_agent(words).agent)[0]
