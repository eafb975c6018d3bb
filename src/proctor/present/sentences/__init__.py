"""The one place where findings become English: a sentence for every code of ``proctor.study.statements``.

Each module has the sentences of one subject as pure functions from a statement, as findings contain it, to text. HTML,
Markdown and the terminal use the same sentences.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from proctor.present.sentences import (
    caveats,
    comparability,
    costs,
    decision,
    estimates,
    limitations,
    pilot_caveats,
    pilot_criteria,
    pilot_deviations,
    pilot_plan,
    pilot_progress,
    reading,
)
from proctor.present.sentences.phrases import Said, Sentences

MODULES = (
    *(caveats, comparability, costs, decision, estimates, limitations),
    *(pilot_caveats, pilot_criteria, pilot_deviations, pilot_plan),
    *(pilot_progress, reading),
)
SENTENCES: Sentences = {code: write for module in MODULES for code, write in module.SENTENCES.items()}


def sentence(said: Said | str) -> str:
    """A statement in English; its code if this version does not know it or values are missing, and a text unchanged."""
    if isinstance(said, str):
        return said
    code = str(said.get("code"))
    try:
        return SENTENCES[code](said)
    except (LookupError, TypeError, ValueError):
        return code


def joined(statements: Iterable[Any] | None) -> str:
    """Several statements as one text, such as the costs of the agents in question."""
    return " ".join(sentences(statements))


def sentences(statements: Iterable[Any] | None) -> list[str]:
    """Several statements in English."""
    return [sentence(one) for one in statements or () if one]
