"""gptme: a shell, Python and files for any model. Speaks Chat Completions and Anthropic Messages."""

from __future__ import annotations

from proctor.execute.agents.adapters.interface import Adapter, Launch, Order, Recipe, python_program

PROVIDERS = {"chat": "local", "anthropic": "anthropic"}


def _started(order: Order, arguments: tuple[str, ...], extra: int = 0) -> Launch:
    return Launch(
        arguments,
        {
            "MODEL": f"{PROVIDERS[order.dialect]}/{order.model.name}",
            "OPENAI_BASE_URL": f"{order.model.address}/v1",
            "OPENAI_API_KEY": order.model.key,
            "ANTHROPIC_BASE_URL": order.model.address,
            "ANTHROPIC_API_KEY": order.model.key,
            "TOOL_FORMAT": "tool",
        },
        extra=extra,
    )


def _launch(order: Order) -> Launch:
    model = ("-m", f"{PROVIDERS[order.dialect]}/{order.model.name}", "--tool-format", "tool")
    return _started(
        order, python_program("gptme", "--non-interactive", "--output-format", "json", *model, order.task), extra=1
    )


def _acp(order: Order) -> Launch:
    return _started(order, python_program("gptme.acp"))


ADAPTER = Adapter(
    name="gptme",
    description="a shell, Python and files in the terminal",
    recipe=Recipe("pypi", ("gptme==0.35.1", "agent-client-protocol==0.12.1")),
    dialects=("chat", "anthropic"),
    trajectory=(".local/share/gptme/logs/*/*",),
    launch=_launch,
    acp=_acp,
)
