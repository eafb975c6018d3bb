"""Names of agents that nobody knows, and the known ones that may have been meant."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from proctor.base.errors import UsageFault
from proctor.execute.agents.adapters.table import adapter_names, is_adapted
from proctor.execute.agents.registry import BUILT_IN, plug_ins

MOST_NEAR = 3
LONGEST = 60
LEAST_PART = 3
"""How long a word is at least that counts as a part of a name."""


def require_agent(name: str) -> None:
    """Refuse the name of an agent that is neither built in, nor in a registry, nor a plug-in's."""
    if name not in BUILT_IN and not is_adapted(name):
        _require(name, (*BUILT_IN, *adapter_names(), *plug_ins()), f"there is no agent {name!r}", "known agents: ")


def require_installable(name: str) -> None:
    """Refuse the name of an agent that no registry has."""
    _require(name, adapter_names(), f"there is no agent {name!r} that can be installed", "there are ")


def near(word: str, known: Iterable[str]) -> list[str]:
    """The names of which ``word`` begins a part; if there are none, those that are written much like it."""
    if len(word) > LONGEST:
        return []
    names, word = list(known), word.lower()
    begun = [name for name in names if len(word) >= LEAST_PART and f"-{word}" in f"-{name}"]
    return begun[:MOST_NEAR] or get_close_matches(word, names, MOST_NEAR)


def _require(name: str, known: tuple[str, ...], problem: str, listing: str) -> None:
    if name in known:
        return
    meant = near(name, known) or near(name.partition(" ")[0], known)
    question = f"; did you mean {' or '.join(meant)}?" if meant else ""
    raise UsageFault(f"{problem}{question}", hint=f"{listing}{', '.join(known)}")
