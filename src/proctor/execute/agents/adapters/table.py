"""All adapters by name; the file of one is imported when it is asked for."""

from __future__ import annotations

from importlib import import_module

from proctor.base.errors import UsageFault
from proctor.execute.agents.adapters.interface import Adapter

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
    "claude-code",
)


def find_adapter(name: str) -> Adapter:
    """The adapter of agent ``name``."""
    if name not in NAMES:
        raise UsageFault(f"there is no agent {name!r} that can be installed", hint=f"there are {', '.join(NAMES)}")
    module = f"{__package__}.{name.replace('-', '_')}" if name != "continue" else f"{__package__}.continue_cli"
    adapter: Adapter = import_module(module).ADAPTER
    return adapter
