"""The question about a table, and what is known in addition to it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from proctor.base.errors import UsageFault
from proctor.study.statements import Statement, statement
from proctor.study.stats.estimate import Estimate

SUCCESS = "success"
INTENTION_TO_TREAT = "intention-to-treat"
ENDPOINTS = (SUCCESS, INTENTION_TO_TREAT)
"""The endpoints by which agents can be ranked.

``success`` is over scorable runs, without those whose outcome is unknown; ``intention-to-treat`` is over all attempted
runs.
"""
MEASURED = re.compile(r"(\d{1,9})/(\d{1,9}),\s*(\d{1,9})/(\d{1,9})", re.ASCII)
SEED = 20260307
MOST_ALPHA = 0.5
MOST_LEVEL = 1 - 1e-12
"""An early look may leave so little of alpha that its complement is 1, and no interval has that level."""


def level_of(alpha: float) -> float:
    """The level of the intervals that go with alpha."""
    return min(round(1 - alpha, 12), MOST_LEVEL)


@dataclass(frozen=True)
class Measured:
    """How acceptance judged patches that were known to be right or wrong."""

    accepted: int
    right: int
    refused: int
    faulty: int


def measured_from(text: str) -> Measured:
    """From a text such as ``8/8,126/130``: right patches that were accepted, faulty ones that were refused."""
    match = MEASURED.fullmatch(text.strip())
    counts = [int(part) for part in match.groups()] if match else [1, 0, 1, 0]
    if any(some > all_ or not all_ for some, all_ in (counts[:2], counts[2:])):
        raise UsageFault(
            f"{text!r} does not say how often checks were right",
            hint="correct patches accepted and faulty ones refused, each with its total, such as 8/8,126/130",
        )
    return Measured(*counts)


@dataclass(frozen=True)
class AlternativeCount:
    """The verdict and the difference when runs are counted in another way, or in several other ways together."""

    how: tuple[Statement, ...]
    verdict: str
    difference: Estimate

    @property
    def caveat(self) -> Statement:
        """What a reader has to know of it."""
        found = {"difference": self.difference, "verdict": self.verdict}
        return statement("difference-if-counted", counted=self.how, **found)


@dataclass(frozen=True)
class Question:
    """What is asked: the endpoint, the level, and the agent with which a candidate is compared."""

    endpoint: str = SUCCESS
    alpha: float = 0.05
    minimum_effect: float | None = None
    against: str | None = None
    """The agent in use, which a candidate would replace; without it agents are ranked."""
    candidate: str | None = None
    """The agent that would replace it; without it the best of the others."""
    pilot: str | None = None
    text: str = ""
    """The question as a user wrote it beforehand."""
    unfinished: Statement | None = None
    """Why nothing can be decided yet: in a pilot that is not over, what its plan still requires."""
    mixed: tuple[str, ...] = ()
    """Tasks whose runs may be counted together although they were made under different conditions; ``all`` for any."""
    repeated: tuple[tuple[str, str, int], ...] = ()
    """Agent, task, and how many runs were repeated: they are not rows of the table, but could change the answer."""
    counted: tuple[AlternativeCount, ...] = ()
    """Other ways to count the runs, each of which has to result in adopt as well."""
    caps: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    """Caps for counterfactual re-scoring, by column (seconds, cost_usd); without them two are taken from the data."""
    weights: Mapping[str, float] = field(default_factory=dict)
    """How much each stratum counts in the weighted estimate; without them all count the same."""
    oracle: tuple[tuple[float, float], ...] = ((0.95, 0.99), (0.99, 0.95))
    """Sensitivities and specificities of acceptance under which rates are corrected, as a sensitivity analysis."""
    measured: Measured | None = None
    """How often acceptance was seen to err, where that was measured; rates are corrected by it as well."""

    def __post_init__(self) -> None:
        if self.endpoint not in ENDPOINTS:
            raise UsageFault(f"there is no endpoint {self.endpoint!r}", hint="success or intention-to-treat")
        if not 0 < self.alpha < MOST_ALPHA:
            raise UsageFault(f"alpha is {self.alpha}", hint="a small share such as 0.05")
        if self.minimum_effect is not None and not 0 <= self.minimum_effect < 1:
            raise UsageFault(
                f"the minimum effect is {self.minimum_effect}", hint="a difference of rates from 0 to 1, such as 0.05"
            )

    @property
    def planned(self) -> frozenset[str]:
        """The two that the question is about, where it names both: one comparison, which has all of alpha."""
        named = (self.candidate, self.against)
        return frozenset(name for name in named if name is not None) if None not in named else frozenset()

    @property
    def level(self) -> float:
        """The level of the intervals."""
        return level_of(self.alpha)


@dataclass(frozen=True)
class Extras:
    """What is known in addition to the table: where it comes from, and what a reader has to know about it."""

    kind: str = "runs"
    name: str = ""
    digest: str = ""
    deviations: tuple[Statement, ...] = ()
    caveats: tuple[Statement, ...] = ()
    """What could change the answer and is not in the table; listed before other caveats, but after mixed runs."""
    cannot: tuple[Statement, ...] = ()
    notes: tuple[Statement, ...] = ()
    languages: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    not_to_generalise: tuple[Statement, ...] = ()
    agreement: Mapping[str, Any] | None = None
    appendix: Mapping[str, Any] = field(default_factory=dict)
    differs: Mapping[str, tuple[Statement, ...]] = field(default_factory=dict)
    """What makes each comparability class differ, by its digest; if it is given, the deviations have it too."""
