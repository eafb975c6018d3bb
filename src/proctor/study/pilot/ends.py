"""At which level a pilot that is over is decided, and whether it was over once before.

Whoever is not content with an answer can raise a budget or add runs, and ask again. With all of alpha at each end five
ends of one pilot claimed a difference that is not there in 13% of simulated studies. So a pilot that ends before its
plan is complete is held against what alpha spending leaves for the share that was run, and the rest is there if it goes
on; each amendment on the way counts as a look. A plan that was complete has spent everything: its answer stands, and
runs that are added then do not count.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

from proctor.base.frozen import replace
from proctor.study.analysis.words import percent
from proctor.study.pilot.ledger import Ledger, holder
from proctor.study.pilot.randomise import Slot
from proctor.study.pilot.records import Standing
from proctor.study.pilot.stopping import EFFICACY, rules_so_far

SECOND = 10**9
SMALL = 1e-4
"""A difference of levels that nobody needs to know of."""
DIGITS = 9
"""Shares of a plan that are alike so far are one."""
EARLY = (
    "The comparison crossed its limit at a look, which ended the pilot early: a difference that does so tends to be "
    "larger than the true one."
)


def share_of(ledger: Ledger, until: float = math.inf) -> float:
    """The share of the plan's blocks that are complete, by runs that were begun until then."""
    blocks = list(ledger.blocks())
    return sum(_full(ledger, block, until) for block in blocks) / len(blocks) if blocks else 0.0


def level_of(here: Standing) -> float:
    """What is left of alpha for the answer of a pilot that is over.

    Each amendment that was made after runs counts as a look: whoever made it could know what they showed. One that
    added runs leaves only what was not spent by the share of the plan as it was then: near its end, hardly anything.
    """
    from proctor.study.stats.sequential import boundaries, spending

    stop, looks = rules_so_far(here.ledger, here.plan.protocol)
    alpha, share = float(here.plan.protocol["alpha"]), share_of(here.ledger)
    late = {share_of(here.ledger, _ends(one)) for one in here.plan.amendments if one["after_runs"]}
    shares = [float(look.share) for look in looks]
    ended = stop is not None and stop.rule == EFFICACY
    if ended or (looks and not late and share <= shares[-1]):
        return float(looks[-1].nominal)
    earlier = sorted({round(one, DIGITS) for one in (*shares, *late)} - {0.0})
    before = [one for one in earlier if one < round(share, DIGITS)]
    level = boundaries([*before, share], alpha).nominal[-1] if before or 0 < share < 1 else alpha
    spent = max((spending(_done(here, *one), alpha) for _, *one in _longer(here)), default=0.0)
    return max(0.0, min(level, alpha - spent))


def cautions(here: Standing) -> Iterator[str]:
    """What to know of an answer because of where the pilot ended, and of what was amended on the way."""
    stop, looks = rules_so_far(here.ledger, here.plan.protocol)
    alpha, share, level = here.plan.protocol["alpha"], share_of(here.ledger), level_of(here)
    if (extended := _extension(here)) is not None:
        told = f"Amendment {extended[0]} added runs to a plan that was complete"
        yield f"{told}: they do not count, and the answer is that of the {extended[1]} runs of each task before."
    if stop is not None and stop.rule == EFFICACY:
        yield EARLY
    elif share < 1 and not (looks and share <= float(looks[-1].share)):
        yield (
            f"The pilot ended with {percent(share)}% of its plan. Its answer is held against what alpha spending "
            f"leaves by then, {level:.2g} of {alpha}, since a larger budget could let it go on."
        )
    elif level < float(looks[-1].nominal if looks else alpha) - SMALL:
        told = "Amendments that were made after runs count as looks at them"
        yield f"{told}: the answer is held against {level:.3g} of {alpha}."


def as_answered(here: Standing) -> Standing:
    """The same without runs that an amendment added to a plan that was complete: the answer that it had stands."""
    found = _extension(here)
    if found is None:
        return here
    repeats = found[1]
    kept = tuple(slot for slot in here.plan.slots if slot.repeat <= repeats)
    runs = {run.run for run in here.runs if run.repeat <= repeats}
    looks = tuple(look for look in here.journal.looks if runs.issuperset(look.runs))
    return replace(here, plan=replace(here.plan, slots=kept), journal=replace(here.journal, looks=looks))


def _extension(here: Standing) -> tuple[int, int] | None:
    """The first amendment that added runs to a complete plan, and how many runs of a task that had."""
    return next(((number, runs) for number, runs, until in _longer(here) if _done(here, runs, until) == 1), None)


def _longer(here: Standing) -> Iterator[tuple[int, int, int]]:
    """The amendments that added runs after others were made: its number, the runs of a task before, and when it was."""
    for one in here.plan.amendments:
        before = next((change["before"] for change in one["changed"] if change["field"] == "runs_per_task"), None)
        if before is not None and one["after_runs"]:
            yield int(one["number"]), int(before), _ends(one)


def _done(here: Standing, repeats: int, until: int) -> float:
    """The share of a plan of so many repeats that was complete by runs that were begun until then."""
    slots = tuple(slot for slot in here.plan.slots if slot.repeat <= repeats)
    return share_of(replace(here.ledger, slots=slots), until)


def _full(ledger: Ledger, slots: Iterable[Slot], until: float) -> bool:
    early = ([run for run in ledger.attempts(slot) if run.begun < until] for slot in slots)
    return all(holder(runs, ledger.retries) is not None for runs in early)


def _ends(amendment: Mapping[str, Any]) -> int:
    """The end of the second in which an amendment was made; runs that it added fill other places."""
    return (int(datetime.fromisoformat(str(amendment["at"])).timestamp()) + 1) * SECOND
