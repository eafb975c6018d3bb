"""kilocode: the command line ``kilo``, built on opencode. Its program comes as a package for each platform."""

from __future__ import annotations

import json

from proctor.execute.agents.adapters.interface import (
    ALL,
    MODULES,
    Adapter,
    Launch,
    Order,
    Recipe,
    processor,
    rules_file,
    skill_links,
)
from proctor.execute.agents.adapters.opencode import settings

SETTINGS = ".config/kilo/kilo.json"
RULES = ".config/kilo/AGENTS.md"
SKILLS = ".config/kilo/skills"
OFF = ("AUTOUPDATE", "MODELS_FETCH", "LSP_DOWNLOAD", "DEFAULT_PLUGINS", "SHARE", "SESSION_INGEST")


def _started(order: Order, permission: dict[str, str], *arguments: str, extra: int = 0) -> Launch:
    return Launch(
        (f"{MODULES}/@kilocode/cli-linux-{processor()}/bin/kilo", *arguments),
        {
            "KILO_CONFIG": f"{order.home}/{SETTINGS}",
            "KILO_TELEMETRY_LEVEL": "off",
            **{f"KILO_DISABLE_{name}": "1" for name in OFF},
        },
        {SETTINGS: json.dumps(settings(order, permission, "code")), **rules_file(order.options, RULES)},
        links=skill_links(order.options, SKILLS),
        extra=extra,
    )


def _launch(order: Order) -> Launch:
    permission = {"edit": "allow", "bash": "allow", "webfetch": "deny"}
    model = f"proctor/{order.model.name}"
    return _started(order, permission, "run", "--auto", "--format", "json", "-m", model, order.task, extra=1)


def _acp(order: Order) -> Launch:
    return _started(order, {"edit": "ask", "bash": "ask", "webfetch": "deny"}, "acp")


ADAPTER = Adapter(
    name="kilocode",
    description="the command line of an agent for code editors",
    recipe=Recipe("npm", ("@kilocode/cli@7.7.7",)),
    dialects=("chat", "anthropic", "responses"),
    trajectory=(".local/share/kilo/*.db*", ".local/share/kilo/log/*"),
    launch=_launch,
    acp=_acp,
    options=ALL,
)
