"""The agent and the options that a command names: checked, stored with a batch, and joined with an agent file.

The name of an unknown agent is refused, with the known names that may have been meant. An option of the command
replaces the value in the agent file. A batch stores the options of its command as one JSON text, with full paths, and
names agent files by their full paths.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from proctor.base.dataclass_fields import EMPTY
from proctor.base.errors import UsageFault
from proctor.contract.scalar_types import DECIMAL_TEXT
from proctor.contract.text_types import NAME, VARIABLE
from proctor.execute.agents.adapters.adapter_registry import adapter_names, is_adapted
from proctor.execute.agents.agent_file import AgentFile, parse_agent, read_agent
from proctor.execute.agents.registry import BUILT_IN, plug_in_names

MOST_NEAR = 3
LONGEST = 60
LEAST_PART = 3
"""How long a word is at least that counts as a part of a name."""


def require_agent(name: str) -> None:
    """Refuse the name of an agent that is neither built in, nor in a registry, nor a plug-in's."""
    if name not in BUILT_IN and not is_adapted(name):
        _require(name, (*BUILT_IN, *adapter_names(), *plug_in_names()), f"there is no agent {name!r}", "known agents: ")


def require_installable(name: str) -> None:
    """Refuse the name of an agent that no registry has."""
    _require(name, adapter_names(), f"there is no agent {name!r} that can be installed", "there are ")


def near(word: str, known: Iterable[str]) -> list[str]:
    """The names with a part that begins with ``word``; if there are none, those with a similar spelling."""
    if len(word) > LONGEST:
        return []
    names, word = list(known), word.lower()
    begun = [name for name in names if len(word) >= LEAST_PART and f"-{word}" in f"-{name}"]
    return begun[:MOST_NEAR] or get_close_matches(word, names, MOST_NEAR)


def _require(name: str, known: tuple[str, ...], problem: str, listing: str) -> None:
    if name in known:
        return
    meant = near(name, known) or near(name.partition(" ")[0], known)
    question = f"; did you mean {' or '.join(meant)}?" if meant else ""
    raise UsageFault(f"{problem}{question}", hint=f"{listing}{', '.join(known)}")


SETTING = "agent_options"
"""What the options are called among the settings of a batch."""

_FREE_TEXTS = {"small_model": "--small-model", "arguments": "--agent-arg", "environment": "--agent-env"}


def kept_agent_options(options: dict[str, Any], agents: Sequence[str]) -> dict[str, str]:
    """The options as a batch keeps them; nothing if none was given. They are taken out of ``options``."""
    name = options.pop("agent_name")
    if name is not None and not NAME.matches(name):
        raise UsageFault(f"expected {NAME.expected}", where=f"--name {name[:100] or repr(name)}")
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
            raise UsageFault(f"--agent-env takes NAME=VALUE, and NAME is {VARIABLE.expected}")
        if name in found:
            raise UsageFault("given twice", where=f"--agent-env {name}")
        if "\0" in value:
            raise UsageFault("the value of a variable cannot hold a NUL character", where=f"--agent-env {name}")
        found[name] = value
    return found


def asked_agent(agent: str, settings: Mapping[str, str] = EMPTY) -> AgentFile:
    """The agent in ``agent``, the value of ``--agent``, with the options that a batch stores."""
    asked = read_agent(agent)
    own = json.loads(settings.get(SETTING, "{}"))
    if not own:
        return asked
    name = own.pop("name", "") or asked.name
    lists: dict[str, Any] = {key: tuple(own.pop(key)) for key in ("rules", "arguments") if key in own}
    return replace(asked, name=name, wanted=replace(asked.wanted, **own, **lists))


def typed_options(settings: Mapping[str, str]) -> tuple[str, ...]:
    """The fields that were given on the command line, by the settings of a batch."""
    return tuple(json.loads(settings.get(SETTING, "{}")))


def kind_of(agent: str) -> str:
    """The kind of the agent in ``agent``, the value of ``--agent``."""
    return parse_agent(read_agent(agent).agent)[0]
