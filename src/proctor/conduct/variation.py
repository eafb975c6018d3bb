"""Repeats that differ as a study declared: another seed for the agent, another text before its task.

A batch keeps its variations among its settings; repeat n has the n-th of them, and after the last the first again, for
every agent alike. Only the agent notices: setup and checks keep the seeds of the contract. Each run says in its
manifest which variation it had, word for word, and its briefing is logged as it was read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from proctor.base.canonical import canonical, parse

SETTING = "variations"
"""What the variations are called among the settings of a batch."""
MOST_SEED = 2**32 - 1


def setting_of(variations: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """The setting that holds ``variations``, each with ``name``, ``seed`` and ``preface``; nothing for none."""
    return {SETTING: canonical([dict(one) for one in variations]).decode()} if variations else {}


def variation_of(settings: Mapping[str, str], repeat: int) -> dict[str, Any] | None:
    """What a repeat of a batch with these settings varies; nothing where nothing is declared."""
    if not settings.get(SETTING):
        return None
    known = parse(settings[SETTING].encode())
    return dict(known[(repeat - 1) % len(known)])


def variables_of(variation: Mapping[str, Any]) -> dict[str, str]:
    """The variables that an agent gets by a variation."""
    seed = variation.get("seed")
    return {} if seed is None else {"PROCTOR_SEED": str(seed), "PYTHONHASHSEED": str(seed)}
