"""claude-code: speaks Anthropic Messages. Its questions are switched off, because it runs in a sandbox."""

from __future__ import annotations

import json

from proctor.execute.agents.adapters.interface import (
    EFFORTS,
    MODULES,
    Adapter,
    Launch,
    Order,
    Recipe,
    checked_effort,
    mcp_servers,
    processor,
    rules_file,
    skill_links,
)

SETTINGS = ".claude/settings.json"
SERVERS = ".claude/proctor-mcp.json"
RULES = ".claude/CLAUDE.md"
SKILLS = ".claude/skills"


def _launch(order: Order) -> Launch:
    options = order.options
    settings = {"permissions": {"defaultMode": "bypassPermissions", "deny": ["WebFetch", "WebSearch"]}}
    program = f"{MODULES}/@anthropic-ai/claude-code-linux-{processor()}/claude"
    flags = ["--output-format", "stream-json", "--verbose", "--dangerously-skip-permissions"]
    effort = checked_effort("claude-code", options, EFFORTS)
    if effort:
        flags += ["--effort", effort]
    files = {SETTINGS: json.dumps(settings), **rules_file(options, RULES)}
    if options.mcp:
        files[SERVERS] = json.dumps({"mcpServers": mcp_servers(options)})
        flags += ["--mcp-config", f"{order.home}/{SERVERS}"]
    small = options.small_model or order.model.name
    # --mcp-config takes every argument up to the next flag, so flags and not the task come after it.
    return Launch(
        (program, *flags, "--model", order.model.name, "-p", order.task),
        {
            "ANTHROPIC_BASE_URL": order.model.address,
            "ANTHROPIC_API_KEY": order.model.key,
            "ANTHROPIC_SMALL_FAST_MODEL": small,
            "ANTHROPIC_DEFAULT_HAIKU_MODEL": small,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            "DISABLE_TELEMETRY": "1",
            "IS_SANDBOX": "1",
        },
        files,
        links=skill_links(options, SKILLS),
        extra=2,
    )


ADAPTER = Adapter(
    name="claude-code",
    description="the command line of Anthropic's coding agent",
    recipe=Recipe("npm", ("@anthropic-ai/claude-code@2.1.325",)),
    dialects=("anthropic",),
    trajectory=(".claude/projects/*/*.jsonl",),
    launch=_launch,
    options=frozenset({"effort", "small_model", "rules", "skills", "mcp"}),
)
