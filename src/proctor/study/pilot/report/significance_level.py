"""The level at which a pilot that is over is decided.

A user who does not like an answer can raise a budget and ask again. With all of alpha at each end, five ends of one
pilot claimed a difference that does not exist in 13% of simulated studies. So a pilot that ends before its plan is
complete is decided at the level that alpha spending leaves for the share that was run, and the rest remains if it
continues; each amendment counts as a look. A user who ends a pilot may have watched it and waited for the moment: an
early end uses limits for a user who looked all the time. A complete plan has spent everything: nothing can be added.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

from proctor.study.pilot.ledger.pilot_runs import Ledger, run_that_fills
from proctor.study.pilot.plan.randomisation import Slot
from proctor.study.pilot.running.pilot_state import PilotState, stages_of
from proctor.study.pilot.running.stopping_rules import EFFICACY, rules_so_far
from proctor.study.statements import Statement, statement
from proctor.study.stats.alpha_spending import boundaries

SECOND = 10**9
SMALL = 1e-4
"""A difference of levels that does not matter."""
WATCHED = tuple(step / 50 for step in range(1, 50))
"""At these shares of a plan a user who then ended it may have looked."""
NEAR = 1e-3
"""Looks whose shares of a plan differ by less show the same runs, and count as one."""


def share_of(ledger: Ledger, until: float = math.inf) -> float:
    """The share of the plan's blocks that are complete, by runs that were begun until then."""
    blocks = list(ledger.blocks())
    return sum(_full(ledger, block, until) for block in blocks) / len(blocks) if blocks else 0.0


def level_of(here: PilotState) -> float:
    """What is left of alpha for the answer of a pilot that is over.

    Each amendment that was made after runs counts as a look: its author could know what they showed. So does every
    moment before an end by a rule, because a user can choose when a budget is used up. If an amendment changed the
    number of runs, which is no longer allowed, nothing is left.
    """
    if any(of_another_length(one) for one in here.plan.amendments):
        return 0.0
    stop, looks = rules_so_far(here.ledger, here.plan.protocol)
    alpha, share = float(here.plan.protocol["alpha"]), share_of(here.ledger)
    late = {share_of(here.ledger, _ends(one)) for one in here.plan.amendments if one["after_runs"]}
    shares = [float(look.share) for look in looks]
    if looks and ((stop is not None and stop.rule == EFFICACY) or share <= shares[-1]):
        share = shares[-1]
        if not late:
            return float(looks[-1].nominal)
    elif share < 1 and list(stages_of(here))[-1].stop is not None:
        late.update(WATCHED)
    taken = _apart([*(one for one in (*shares, *late) if one < share), share])
    return alpha if taken == [1.0] else float(boundaries(taken, alpha).nominal[-1]) if taken else 0.0


def cautions(here: PilotState) -> Iterator[Statement]:
    """What to know about an answer because of where the pilot ended, and because of amendments."""
    stop, looks = rules_so_far(here.ledger, here.plan.protocol)
    alpha, share, level = here.plan.protocol["alpha"], share_of(here.ledger), level_of(here)
    for one in filter(of_another_length, here.plan.amendments):
        yield statement("amendment-changed-runs", number=one["number"])
    if stop is not None and stop.rule == EFFICACY:
        yield statement("ended-early-for-efficacy")
    elif share < 1 and not (looks and share <= float(looks[-1].share)):
        yield statement("ended-early", share=share, level=level, alpha=float(alpha))
        return
    if 0 < level < float(looks[-1].nominal if looks else alpha) - SMALL:
        yield statement("amendments-count-as-looks", level=level, alpha=float(alpha))


def of_another_length(amendment: Mapping[str, Any]) -> bool:
    """Whether an amendment changed how many runs a task has when some had been made."""
    return bool(amendment["after_runs"]) and any(one["field"] == "runs_per_task" for one in amendment["changed"])


def _apart(shares: Iterable[float]) -> list[float]:
    """Rising shares above 0; of several close shares only the last."""
    found: list[float] = []
    for share in sorted(shares):
        if found and share - found[-1] < NEAR:
            found.pop()
        if share > 0:
            found.append(share)
    return found


def _full(ledger: Ledger, slots: Iterable[Slot], until: float) -> bool:
    early = ([run for run in ledger.attempts(slot) if run.begun < until] for slot in slots)
    return all(run_that_fills(runs, ledger.retries) is not None for runs in early)


def _ends(amendment: Mapping[str, Any]) -> int:
    """The end of the second in which an amendment was made."""
    return (int(datetime.fromisoformat(str(amendment["at"])).timestamp()) + 1) * SECOND
