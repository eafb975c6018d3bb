"""aider: edits by blocks of text instead of tools, and sees a repository by git. It exits with 0 whatever happened.

Its map of the repository needs git. A workspace without a repository gets one whose directory is in the home, with an
index and no commits; patches leave out ``.git``. A workspace with a repository keeps it as it is: nothing is committed,
and the name and address in the home keep aider from writing any into the repository's settings.
"""

from __future__ import annotations

from proctor.execute.agents.adapters.interface import PYTHON, Adapter, Launch, Order, Recipe, rules_file

NOTES = ".aider"
RULES = f"{NOTES}/rules.md"
PRICES = f"{NOTES}/caches/model_prices_and_context_window.json"
"""An empty price list with a recent date, because aider would otherwise fetch one from the network."""

MAP_TOKENS = 4096
"""The size of its map for every model with 32k tokens or more; aider draws none for models that it does not know."""

USER = "[user]\n\tname = agent\n\temail = agent@localhost\n[safe]\n\tdirectory = *\n"

REPOSITORY = """\
command -v git >/dev/null || { echo 'aider needs git, and there is none in this sandbox' >&2; exit 1; }
[ -e .git ] || { git init -q --separate-git-dir="$1" . && git add -A; }
"""


def _program(order: Order) -> str:
    """Starts aider with the cache of its map in the home; aider's own place for it is in the workspace."""
    return (
        "from aider.repomap import RepoMap; from aider.main import main; "
        f"RepoMap.TAGS_CACHE_DIR = {order.home + '/.aider/tags'!r}; main()"
    )


def _chosen(order: Order) -> tuple[str, ...]:
    """The options; aider leaves out an effort for models that it does not know, unless it is kept from checking."""
    options = order.options
    return (
        *(("--reasoning-effort", options.effort, "--no-check-model-accepts-settings") if options.effort else ()),
        *(("--weak-model", f"openai/{options.small_model}") if options.small_model else ()),
        *(("--read", f"{order.home}/{RULES}") if options.rules else ()),
    )


def _launch(order: Order) -> Launch:
    notes = f"{order.home}/{NOTES}"
    arguments = (
        *("--model", f"openai/{order.model.name}", "--openai-api-base", f"{order.model.address}/v1"),
        *("--openai-api-key", order.model.key, "--map-tokens", str(MAP_TOKENS)),
        *("--yes-always", "--no-auto-commits", "--no-dirty-commits"),
        *("--no-check-update", "--no-show-release-notes", "--no-show-model-warnings", "--analytics-disable"),
        *("--no-gitignore", "--no-pretty", "--no-suggest-shell-commands", "--disable-playwright"),
        *("--llm-history-file", f"{notes}/model.txt", "--chat-history-file", f"{notes}/chat.md"),
        *("--input-history-file", f"{notes}/input.txt", *_chosen(order), "--message", order.task),
    )
    return Launch(
        (PYTHON, "-I", "-c", _program(order), *arguments),
        {"LITELLM_LOCAL_MODEL_COST_MAP": "True"},
        {f"{NOTES}/input.txt": "", PRICES: '{"none": {}}', ".gitconfig": USER, **rules_file(order.options, RULES)},
        first=(("/bin/sh", "-ec", REPOSITORY, "sh", f"{notes}/git"),),
        extra=2,
    )


ADAPTER = Adapter(
    name="aider",
    description="pair programming by blocks of text",
    recipe=Recipe("pypi", ("aider-chat==0.86.2",)),
    dialects=("chat",),
    trajectory=(f"{NOTES}/*.*",),
    launch=_launch,
    options=frozenset({"effort", "small_model", "rules"}),
)
