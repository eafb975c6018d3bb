"""At which level a pilot that is over is decided.

Whoever is not content with an answer can raise a budget and ask again. With all of alpha at each end five ends of one
pilot claimed a difference that is not there in 13% of simulated studies. So a pilot that ends before its plan is
complete is held against what alpha spending leaves for the share that was run, and the rest is there if it goes on;
each amendment on the way counts as a look. Who ends a pilot may have watched it and waited for the moment: an early end
is held against limits for somebody who looked all the time. A plan that was complete has spent everything: nothing can
be added to it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

from proctor.study.analysis.number_format import percent
from proctor.study.pilot.ledger.pilot_runs import Ledger, run_that_fills
from proctor.study.pilot.plan.randomisation import Slot
from proctor.study.pilot.running.pilot_state import PilotState, stages_of
from proctor.study.pilot.running.stopping_rules import EFFICACY, rules_so_far
from proctor.study.stats.alpha_spending import boundaries

SECOND = 10**9
SMALL = 1e-4
"""A difference of levels that nobody needs to know of."""
WATCHED = tuple(step / 50 for step in range(1, 50))
"""At these shares of a plan somebody may have looked who then ended it."""
NEAR = 1e-3
"""Looks whose shares of a plan differ by less show the same runs, and are one."""
EARLY = (
    "The comparison crossed its limit at a look, which ended the pilot early: a difference that does so tends to be "
    "larger than the true one."
)


def share_of(ledger: Ledger, until: float = math.inf) -> float:
    """The share of the plan's blocks that are complete, by runs that were begun until then."""
    blocks = list(ledger.blocks())
    return sum(_full(ledger, block, until) for block in blocks) / len(blocks) if blocks else 0.0


def level_of(here: PilotState) -> float:
    """What is left of alpha for the answer of a pilot that is over.

    Each amendment that was made after runs counts as a look: whoever made it could know what they showed. So does every
    moment before an end that a rule brought about, since a budget can be used up when somebody likes. Where an
    amendment changed the number of runs, which none may any more, nothing is left.
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


def cautions(here: PilotState) -> Iterator[str]:
    """What to know of an answer because of where the pilot ended, and of what was amended on the way."""
    stop, looks = rules_so_far(here.ledger, here.plan.protocol)
    alpha, share, level = here.plan.protocol["alpha"], share_of(here.ledger), level_of(here)
    for one in filter(of_another_length, here.plan.amendments):
        yield f"Amendment {one['number']} changed the number of runs of a task after runs: nothing can be claimed."
    if stop is not None and stop.rule == EFFICACY:
        yield EARLY
    elif share < 1 and not (looks and share <= float(looks[-1].share)):
        yield (
            f"The pilot ended with {percent(share)}% of its plan. Its answer is held against what alpha spending "
            f"leaves by then, {level:.2g} of {alpha}, since a larger budget could let it go on."
        )
        return
    if 0 < level < float(looks[-1].nominal if looks else alpha) - SMALL:
        told = "Amendments that were made after runs count as looks at them"
        yield f"{told}: the answer is held against {level:.3g} of {alpha}."


def of_another_length(amendment: Mapping[str, Any]) -> bool:
    """Whether an amendment changed how many runs a task has when some had been made."""
    return bool(amendment["after_runs"]) and any(one["field"] == "runs_per_task" for one in amendment["changed"])


def _apart(shares: Iterable[float]) -> list[float]:
    """Rising shares above 0; of those that are near each other the last."""
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
