"""What could change the answer of a pilot, and how its runs were counted."""

from __future__ import annotations

from collections.abc import Mapping

from proctor.present.sentences.phrases import Said, Sentences, amount, items, names, number_of, p_value, percent
from proctor.present.sentences.pilot_criteria import exit_codes, look, power

CHARGES: Mapping[str, tuple[str, str]] = {
    "patch": ("patch by a person", "patches by people"),
    "review": ("review", "reviews"),
    "screen": ("screen of checks", "screens of checks"),
}
"""The names of one charge of a kind and of several."""


def _unproven(said: Said, did: str, may: str) -> str:
    of = f"all of its {said['runs']} runs" if said["runs"] > 1 else "its only run"
    printed = f"proctor show {said['last_run']} --output shows what it printed"
    return f"{said['method']} {did} in {of} ({exit_codes(said['exit_codes'])}). {may}; {printed}."


def _not_accepted(said: Said) -> str:
    parts = []
    for one in said["methods"]:
        counts = {verdict: one[verdict] for verdict in ("rejected", "disputed", "unsure") if one[verdict]}
        many = sum(counts.values())
        of = f"{many} of {one['successes']}" if one["successes"] > 1 else "the only one"
        parts.append(f"{of} of {one['method']} ({', '.join(f'{n} {verdict}' for verdict, n in counts.items())})")
    return f"The rates count successes that reviewers did not accept: {names(parts)}."


def _not_reviewed(said: Said) -> str:
    parts = []
    for one in said["methods"]:
        kinds = names([f"{kind} in {many}" for kind, many in one["kinds"].items()])
        of = f"{one['runs']} of {one['successes']} successes" if one["successes"] > 1 else "the only success"
        parts.append(f"{of} of {one['method']} ({kinds})")
    return f"The risk indicators of these successes have not been reviewed: {names(parts)}. proctor review lists them."


def _forgeable(said: Said) -> str:
    tasks, of = said["tasks"], number_of(said["of"], "task")
    partly = " wholly or in part" if said["partly"] else ""
    decided = f"{len(tasks)} of {of} {'is' if len(tasks) == 1 else 'are'} decided{partly}"
    return (
        f"{decided} by checks whose result the code under test could forge ({names(tasks)}): it is not shown that "
        "successes there are genuine."
    )


def _look_taken(said: Said) -> str:
    removed = said["removed_later"]
    gone = f"; it included {', '.join(removed)}, removed later" if removed else ""
    return f"A look for efficacy was taken {look(said)}{gone}."


def _paid(said: Said) -> str:
    parts = [
        f"{number_of(one['count'], *CHARGES[one['kind']])} ({one['seconds']:.0f} s, {amount(one['usd'], said['unit'])})"
        for one in said["charges"]
    ]
    return f"Besides its runs the pilot paid for {', '.join(parts)}."


def _removed_tasks(said: Said) -> str:
    more = f"{said['more']} more were planned for {names(said['tasks'])}, removed since"
    return f"{said['counted']} of {said['planned']} planned runs count; {more}."


SENTENCES: Sentences = {
    "amendment-changed-runs": lambda said: (
        f"Amendment {said['number']} changed the number of runs of a task after runs: no claim is possible."
    ),
    "amendments-count-as-looks": lambda said: (
        f"Amendments that were made after runs count as looks: the answer uses a level of {said['level']:.3g} of "
        f"{said['alpha']:g}."
    ),
    "budgets-cut-tasks": lambda said: (
        f"Tasks have unequal numbers of runs: their budgets cut {len(said['tasks'])} of {said['of']} tasks "
        f"({names(said['tasks'])})."
    ),
    "conditions-changed-in-blocks": lambda said: (
        f"In {said['blocks']} of {said['of']} blocks the conditions changed between the runs of the methods: a "
        "difference there may come from the conditions."
    ),
    "difference-under-one-condition": lambda said: (
        f"With only one condition for each task, the one with most of its runs ({said['runs']} of {said['of']} runs), "
        f"the difference would be {100 * said['difference']:+.1f} points ({p_value(said['p'])})."
    ),
    "difference-with-removed-tasks": lambda said: (
        "With the runs of removed tasks counted, the difference would be "
        f"{100 * said['difference']:+.1f} points ({p_value(said['p'])})."
    ),
    "ended-early": lambda said: (
        f"The pilot ended with {percent(said['share'])}% of its plan. Its answer uses the level that alpha spending "
        f"leaves at this point, {said['level']:.2g} of {said['alpha']:g}, because a larger budget could continue it."
    ),
    "ended-early-for-efficacy": lambda said: (
        "The comparison crossed its limit at a look, which ended the pilot early. Such a difference tends to be larger "
        "than the true one."
    ),
    "forgeable-checks": _forgeable,
    "look-taken": _look_taken,
    "method-always-failed": lambda said: _unproven(said, "ended with an error", "It may be broken"),
    "method-changed-nothing": lambda said: _unproven(said, "changed nothing", "It may never have worked"),
    "paid-besides-runs": _paid,
    "planned-runs-missing": lambda said: f"{said['missing']} of {said['planned']} planned runs are not among these.",
    "planned-runs-removed": _removed_tasks,
    "power-not-reached": lambda said: (
        f"The plan did not reach its target power: {power(said['power'])}. A difference that such a plan shows tends "
        "to be larger than the true one."
    ),
    "repeats-varied": lambda said: (
        "Repeats differ as declared, in the same way for every method: "
        + ", ".join(
            f"{one['name']} (repeats {items([str(repeat) for repeat in one['repeats']], 100)})"
            for one in said["variations"]
        )
        + "."
    ),
    "risks-not-reviewed": _not_reviewed,
    "runs-made-again": lambda said: (
        "Runs that were cut off, stopped or spoilt were repeated: "
        + ", ".join(f"{many or 'none'} of {name}" for name, many in said["runs"].items())
        + "."
    ),
    "successes-not-accepted": _not_accepted,
}


def charges(total: Said) -> str:
    """The charges of a kind: ``2 reviews, 570 s in all``."""
    return f"{number_of(int(total['count']), *CHARGES[total['kind']])}, {float(total['seconds']):.0f} s in all"
