"""claude-code: speaks Anthropic Messages. Its questions are switched off; it is in a sandbox already."""

from __future__ import annotations

import json

from proctor.execute.agents.adapters.interface import MODULES, Adapter, Launch, Order, Recipe, processor

SETTINGS = ".claude/settings.json"


def _launch(order: Order) -> Launch:
    settings = {"permissions": {"defaultMode": "bypassPermissions", "deny": ["WebFetch", "WebSearch"]}}
    program = f"{MODULES}/@anthropic-ai/claude-code-linux-{processor()}/claude"
    flags = ("--output-format", "stream-json", "--verbose", "--dangerously-skip-permissions")
    return Launch(
        (program, "-p", *flags, "--model", order.model.name, order.task),
        {
            "ANTHROPIC_BASE_URL": order.model.address,
            "ANTHROPIC_API_KEY": order.model.key,
            "ANTHROPIC_SMALL_FAST_MODEL": order.model.name,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            "DISABLE_TELEMETRY": "1",
            "IS_SANDBOX": "1",
        },
        {SETTINGS: json.dumps(settings)},
    )


ADAPTER = Adapter(
    name="claude-code",
    words="the command line of Anthropic's coding agent",
    recipe=Recipe("npm", ("@anthropic-ai/claude-code@2.1.325",)),
    dialects=("anthropic",),
    trajectory=(".claude/projects/*/*.jsonl",),
    launch=_launch,
)
