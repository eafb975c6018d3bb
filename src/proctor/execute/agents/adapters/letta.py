"""letta: an agent with a memory, in its local mode: it needs no server and no account, and each run is a new agent.

A server of the llama.cpp project is the one provider that it lets a variable point elsewhere and that takes any model.
"""

from __future__ import annotations

from proctor.execute.agents.adapters.interface import Adapter, Launch, Order, Recipe, node_program


def _launch(order: Order) -> Launch:
    flags = ("--backend", "local", "--new-agent", "--yolo", "--output-format", "stream-json")
    return Launch(
        node_program(
            "@letta-ai/letta-code/letta.js", *flags, "--model", f"llama.cpp/{order.model.name}", "-p", order.task
        ),
        {
            "LLAMA_CPP_BASE_URL": f"{order.model.address}/v1",
            "LLAMA_CPP_API_KEY": order.model.key,
            "DISABLE_AUTOUPDATER": "1",
            "DO_NOT_TRACK": "1",
            "LETTA_CODE_TELEM": "0",
        },
        extra=2,
    )


ADAPTER = Adapter(
    name="letta",
    description="an agent with a memory, in its local mode",
    recipe=Recipe("npm", ("@letta-ai/letta-code@0.25.9",)),
    dialects=("chat",),
    trajectory=(".letta/lc-local-backend/conversations/*/messages.jsonl",),
    launch=_launch,
)
