"""cline: has to be introduced to its model before it is started. Speaks Chat Completions."""

from __future__ import annotations

from proctor.execute.agents.adapters.interface import Adapter, Launch, Order, Recipe, node_program

PROGRAM = "cline/bin/cline"
PROVIDER = "openai-compatible"


def _launch(order: Order) -> Launch:
    model = ("-m", order.model.name, "-k", order.model.key)
    login = ("-p", PROVIDER, *model, "-b", f"{order.model.address}/v1")
    return Launch(
        node_program(PROGRAM, "--json", "-P", PROVIDER, *model, order.task),
        {"DISABLE_TELEMETRY": "1", "DO_NOT_TRACK": "1", "CLINE_NO_AUTO_UPDATE": "1"},
        first=(node_program(PROGRAM, "auth", *login),),
    )


ADAPTER = Adapter(
    name="cline",
    words="the command line of the editor's agent",
    recipe=Recipe("npm", ("cline@3.0.65",)),
    dialects=("chat",),
    trajectory=(".cline/data/sessions/*/*.messages.json",),
    launch=_launch,
)
