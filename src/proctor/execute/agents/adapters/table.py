"""All adapters by name: the built-in ones, and those of installed packages. One is imported when it is asked for."""

from __future__ import annotations

from importlib import import_module

from proctor.base.errors import UsageFault
from proctor.execute.agents.adapters.interface import Adapter
from proctor.execute.agents.adapters.plugins import find_plug_in, plug_in_names

NAMES = (
    "mini-swe-agent",
    "codex",
    "opencode",
    "gemini-cli",
    "qwen-code",
    "pi",
    "aider",
    "cline",
    "continue",
    "openhands",
    "goose",
    "kilocode",
    "copilot",
    "kimi",
    "vibe",
    "gptme",
    "letta",
    "claude-code",
)


OTHER_KINDS = ("noop", "reference", "patch", "command", "builtin", "endpoint", "acp")
"""The names of agents that no package can take either."""


def adapter_names() -> tuple[str, ...]:
    """The names of all adapters."""
    return (*NAMES, *plug_in_names((*NAMES, *OTHER_KINDS)))


def is_adapted(name: str) -> bool:
    """Whether agent ``name`` has an adapter."""
    return name in NAMES or name in adapter_names()


def find_adapter(name: str) -> Adapter:
    """The adapter of agent ``name``."""
    if name not in NAMES:
        found = find_plug_in(name) if name not in OTHER_KINDS else None
        if found is None:
            known = ", ".join(adapter_names())
            raise UsageFault(f"there is no agent {name!r} that can be installed", hint=f"there are {known}")
        return found
    module = f"{__package__}.{name.replace('-', '_')}" if name != "continue" else f"{__package__}.continue_cli"
    adapter: Adapter = import_module(module).ADAPTER
    return adapter
