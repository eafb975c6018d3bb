"""aider: edits by blocks of text instead of tools, and without git. It exits with 0 whatever happened."""

from __future__ import annotations

from proctor.execute.agents.adapters.interface import Adapter, Launch, Order, Recipe, python_program

NOTES = ".aider"
PRICES = f"{NOTES}/caches/model_prices_and_context_window.json"
"""A list of prices that is fresh and says nothing, or else aider asks the network for one."""


def _launch(order: Order) -> Launch:
    notes = f"{order.home}/{NOTES}"
    arguments = (
        *("--model", f"openai/{order.model.name}", "--openai-api-base", f"{order.model.address}/v1"),
        *("--openai-api-key", order.model.key, "--edit-format", "diff"),
        *("--yes-always", "--no-auto-commits", "--no-git"),
        *("--no-check-update", "--no-show-release-notes", "--no-show-model-warnings", "--analytics-disable"),
        *("--no-gitignore", "--no-pretty", "--no-suggest-shell-commands", "--disable-playwright"),
        *("--llm-history-file", f"{notes}/model.txt", "--chat-history-file", f"{notes}/chat.md"),
        *("--input-history-file", f"{notes}/input.txt", "--message", order.task),
    )
    return Launch(
        python_program("aider", *arguments),
        {"LITELLM_LOCAL_MODEL_COST_MAP": "True"},
        {f"{NOTES}/input.txt": "", PRICES: '{"none": {}}'},
    )


ADAPTER = Adapter(
    name="aider",
    words="pair programming by blocks of text",
    recipe=Recipe("pypi", ("aider-chat==0.86.2",)),
    dialects=("chat",),
    trajectory=(f"{NOTES}/*.*",),
    launch=_launch,
)
