"""Which agents may have been meant by a name that nobody knows."""

from __future__ import annotations

import pytest

from proctor.base.errors import UsageFault
from proctor.conduct.session.agent_selection import near, require_agent, require_installable
from proctor.execute.agents.adapters.adapter_registry import NAMES
from proctor.execute.agents.registry import BUILT_IN


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("claude", ["claude-code"]),
        ("Codex", ["codex"]),
        ("mini", ["mini-swe-agent"]),
        ("open", ["opencode", "openhands"]),
        ("no-op", ["noop"]),
        ("referense", ["reference"]),
        ("x" * 1_000_000, []),
        ("", []),
        ("unheard-of", []),
    ],
)
def test_the_nearest_names_are_suggested(word: str, meant: list[str]) -> None:
    assert near(word, (*BUILT_IN, *NAMES)) == meant


def test_known_names_pass() -> None:
    for name in (*BUILT_IN, *NAMES):
        require_agent(name)
    for name in NAMES:
        require_installable(name)


def test_what_is_built_in_cannot_be_installed() -> None:
    with pytest.raises(UsageFault, match="there is no agent 'noop' that can be installed"):
        require_installable("noop")
    with pytest.raises(UsageFault, match="did you mean claude-code"):
        require_installable("claud")
