"""The statements of a study besides its numbers: stable codes with values, which reports put into English.

``CATALOGUE`` lists every code with its values and their kinds. A statement that does not fit it cannot be made. No
statement contains English: ``present.sentences`` has one sentence for each code, and ``proctor schema findings`` is
made from the catalogue. Text that a user wrote has the kind ``TEXT``; names of agents, tasks, runs, columns and fields
come from the input and have the kind ``NAME``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

NUMBER, COUNT, FLAG = "number", "count", "flag"
CODE, NAME, NAMES, TEXT = "code", "name", "names", "text"
ESTIMATE, STATEMENT, STATEMENTS = "estimate", "statement", "statements"
AMOUNT, ANY = "amount", "any"
"""A decimal number as text, and any value of a frozen protocol."""
COUNTS, PAIRS, GROUPS, NUMBERS = "counts", "pairs", "groups", "numbers"
"""A number for each name, a name for each name, lists of names, and a list of numbers."""
MAYBE = "?"
"""Ends the kind of a value that can be null."""

Values = Mapping[str, Any]
"""The kind of each value. A mapping in the place of a kind is a list of records with these values."""
NONE: Values = {}

UNDEFINED: Mapping[str, Values] = {
    "all-runs-alike": {"runs": COUNT, "rate": NUMBER},
    "all-tasks-cost-alike": {"tasks": COUNT},
    "all-tasks-differ-alike": {"tasks": COUNT, "difference": NUMBER},
    "checks-too-unreliable": NONE,
    "empty-strata": {"empty": COUNT, "strata": COUNT},
    "fewer-than-two-tasks": NONE,
    "fewer-than-two-units": NONE,
    "no-cost-known": NONE,
    "no-mode-seen-once": NONE,
    "no-outcome": NONE,
    "no-run": NONE,
    "no-shared-task": NONE,
    "no-stratum-counts": NONE,
    "no-success": NONE,
    "no-task-with-runs": {"runs": COUNT},
    "no-weighted-task": NONE,
    "not-a-number": NONE,
    "not-observed-so-long": {"horizon": NUMBER, "longest": NUMBER},
    "nothing-rated-twice": NONE,
    "one-category": NONE,
    "one-category-without-a-unit": NONE,
    "one-shared-task": NONE,
    "one-task": {"rate": NUMBER + MAYBE, "runs": COUNT},
    "one-task-with-runs": {"runs": COUNT},
    "one-weighted-task": NONE,
    "undefined-in-draws": {"missing": COUNT, "draws": COUNT},
}
"""Why an estimate is undefined."""

_COMPARED: Values = {"candidate": NAME, "against": NAME}

HEADLINES: Mapping[str, Values] = {
    "adopt": {**_COMPARED, "difference": ESTIMATE},
    "keep": {**_COMPARED, "difference": ESTIMATE, "minimum_effect": NUMBER},
    "one-agent-ranked": {"agent": NAME, "endpoint": CODE, "rate": ESTIMATE},
    "ranked": {
        "agent": NAME,
        "endpoint": CODE,
        "rate": ESTIMATE,
        "first": NAMES,
        "better": NAMES,
        "not_separable": NAMES,
        "not_comparable": NAMES,
        "others": NAMES,
        "separable_pairs": COUNT,
        "pairs": COUNT,
    },
    "rate-undefined": {"agent": NAME, "why": STATEMENT},
    "ranking-not-yet": {"why": STATEMENT},
    "undecided-alternative-count": {
        **_COMPARED,
        "difference": ESTIMATE,
        "counted": STATEMENTS,
        "then": ESTIMATE,
        "minimum_effect": NUMBER,
    },
    "undecided-chance": {**_COMPARED, "difference": ESTIMATE, "p": NUMBER + MAYBE},
    "undecided-few-tasks": {**_COMPARED, "difference": ESTIMATE, "p": NUMBER},
    "undecided-not-yet": {**_COMPARED, "why": STATEMENT},
    "undecided-open": {**_COMPARED, "difference": ESTIMATE, "minimum_effect": NUMBER},
    "undecided-undefined": {**_COMPARED, "why": STATEMENT},
}
"""The answer."""

COUNTING: Mapping[str, Values] = {
    "against-the-candidate": {"repeated": FLAG, "against": NAME},
    "as-no-success": {"repeated": FLAG},
    "equal-repeats": {"repeats": NUMBERS},
    "removed-tasks-counted": NONE,
}
"""Other ways to count the runs."""

COSTS: Mapping[str, Values] = {
    "agent-cost": {"agent": NAME, "per_run_usd": NUMBER, "per_success_usd": NUMBER + MAYBE, "unit": CODE},
    "agent-cost-unknown": {"agent": NAME},
    "cheaper-and-not-separable": {"agent": NAME, "usd": NUMBER, "than": NAME, "than_usd": NUMBER, "unit": CODE},
    "costs-in-two-units": NONE,
}

CAVEATS: Mapping[str, Values] = {
    "advantage-may-be-smaller": {"minimum_effect": NUMBER, "low": NUMBER},
    "agents-without-rate": {"agents": NAMES},
    "alpha-above-usual": {"alpha": NUMBER, "usual": NUMBER},
    "candidate-chosen-by-result": {**_COMPARED, "candidates": COUNT},
    "cost-partly-unknown": {"unknown": COUNTS, "runs": COUNTS},
    "cost-unknown": {"agents": NAMES},
    "costs-by-several-price-tables": {"tables": COUNT},
    "costs-in-units": {"per_usd": COUNT},
    "costs-not-added": {"dollars": COUNT, "units": COUNT},
    "difference-if-counted": {"counted": STATEMENTS, "difference": ESTIMATE, "verdict": CODE},
    "different-tasks": NONE,
    "first-if-no-success": {"first": NAMES, "unchanged": FLAG},
    "first-if-success": {"agents": NAMES, "first": NAME},
    "few-tasks": {"tasks": COUNT},
    "mixed-conditions": {"tasks": NAMES},
    "names-alike": {"groups": GROUPS},
    "not-comparable": {"agents": NAMES, "against": NAME},
    "one-comparison": {"planned": FLAG},
    "one-outcome-per-task": NONE,
    "one-trial-per-task": NONE,
    "rates-and-difference-count-differently": {"without": COUNT, "tasks": COUNT, "of_neither": FLAG, "endpoint": CODE},
    "ranked-by": {"endpoint": CODE},
    "runs-cut-short": {"runs": COUNT, "attempted": COUNT},
    "runs-invalid": {"runs": COUNT, "attempted": COUNT},
    "runs-repeated": {"runs": COUNT},
    "runs-unknown": {"runs": COUNT, "attempted": COUNT},
    "signs-do-not-confirm": {"p": NUMBER},
    "tasks-differ-alike": {"tasks": COUNT, "p": NUMBER},
    "unequal-runs": NONE,
    "unknown-is-no-success-in-k": NONE,
}
"""What could change the answer."""

LIMITATIONS: Mapping[str, Values] = {
    "cannot-add-costs": NONE,
    "costs-cut-at-different-values": NONE,
    "no-conditions": NONE,
    "no-costs": NONE,
    "no-strata": NONE,
    "no-times": NONE,
    "one-agent": NONE,
    "one-task-only": NONE,
    "only-few-tasks": {"tasks": COUNT},
    "pairs-without-runs": {"pairs": COUNT, "of": COUNT},
    "task-in-several-strata": {"tasks": COUNT},
    "times-cut-at-different-values": NONE,
    "variation-unknown": {"trials": FLAG},
}
"""What the table does not support."""

SCOPE: Mapping[str, Values] = {
    "these-agents": NONE,
    "these-tasks": {"tasks": COUNT},
    "other-agents": NONE,
    "other-limits": NONE,
    "other-tasks": NONE,
}
"""The limits of the findings."""

READING: Mapping[str, Values] = {
    "attempts-not-recorded": {"missing": COUNT},
    "columns-read": {"columns": PAIRS, "shape": TEXT},
    "columns-unused": {"columns": NAMES},
    "meter-never-moved": {"column": NAME, "agents": COUNT},
    "no-column-of-agents": {"column": NAME},
    "no-column-of-costs": {"option": FLAG},
    "no-column-of-strata": {"option": FLAG},
    "no-column-of-times": {"option": FLAG},
    "no-evidence-of-validity": NONE,
    "no-failure-modes": NONE,
    "no-time-outs": NONE,
    "no-traces": NONE,
    "option-cap-seconds": {"seconds": NUMBER},
    "option-success": {"values": NAMES, "threshold": NUMBER + MAYBE},
    "option-timeout": {"values": NAMES},
    "option-unknown": {"values": NAMES},
    "outcomes-not-recorded": {"rows": COUNT},
    "results-read": {"format": NAME, "files": COUNT, "rows": COUNT},
    "strata-from-task-names": NONE,
    "trials-by-label": NONE,
    "trials-by-order": NONE,
    "unusual-success": {"value": NAME, "usual": CODE},
    "unusual-unknown": {"value": NAME, "usual": CODE},
}
"""How a table of results was read."""

DIFFERENCES: Mapping[str, Values] = {
    "conditions-differ": NONE,
    "field-differs": {"field": NAME, "before": TEXT, "after": TEXT},
    "task": {"task": NAME},
}
"""What makes classes of conditions differ."""

VERSUS: Mapping[str, Values] = {
    "agents-changed": {"agents": NAMES, "compared": COUNT, "alpha": NUMBER},
    "agents-in-one-only": {"agents": NAMES},
    "agents-reconfigured": {"agents": NAMES},
    "different-seeds": NONE,
    "interval-level": {"level": NUMBER},
    "same-runs": {"runs": COUNT},
    "shared-runs": {"runs": COUNT, "of": COUNT},
    "shared-tasks": {"tasks": COUNT},
    "tasks-changed": {"tasks": NAMES},
    "tasks-in-one-only": {"tasks": NAMES},
}
"""Statements about the comparison of two studies."""

_RUN: Values = {"run": NAME, "task": NAME, "method": NAME, "status": CODE}
_CHANGE: Values = {"field": NAME, "before": ANY, "after": ANY}

DEVIATIONS: Mapping[str, Values] = {
    "agent-without-digest": {"method": NAME},
    "amended": {"number": COUNT, "at": NAME, "after_runs": COUNT, "changed": _CHANGE, "why": TEXT},
    "block-not-run": {"task": NAME, "repeat": COUNT},
    "conditions-mixed": {"tasks": NAMES, "fields": NAMES, "first": COUNTS, "later": COUNTS},
    "incomplete-blocks": {"runs": NAMES},
    "machine-changed": {"after_runs": COUNT, "changed": _CHANGE, "by": TEXT, "why": TEXT},
    "no-baseline-with-solution": NONE,
    "no-stage-three": {"power": STATEMENT},
    "pilot-stopped": {"stage": CODE, "stop": STATEMENT},
    "preface-changed": {"variation": NAME, "runs": NAMES},
    "runs-by-another-agent": {"method": NAME, "task": NAME, "digest": NAME, "runs": NAMES},
    "runs-by-several-agents": {"method": NAME, "task": NAME, "digests": NAMES},
    "runs-cut-off": {"runs": _RUN},
    "runs-stopped-by-operator": {"runs": _RUN},
    "runs-without-place": {"runs": NAMES},
    "run-spoilt": {"run": NAME, "task": NAME, "method": NAME, "problem": TEXT},
    "seed-not-planned": {"seed": COUNT, "planned": COUNT},
    "stage-without-tasks": {"stage": CODE},
    "surplus-runs": {
        "check": FLAG,
        "method": NAME,
        "task": NAME,
        "repeat": COUNT,
        "retries": COUNT,
        "runs": NAMES,
    },
    "task-removed": {"task": NAME, "reason": CODE, "found": STATEMENT, "why": TEXT, "after_runs": COUNT},
}
"""How a pilot departs from its plan."""

REMOVALS: Mapping[str, Values] = {
    "as-recorded": {"text": TEXT},
    "attempts-differ": {"check": NAME, "run": NAME, "outcomes": NAMES},
    "contract-in-error": {"run": NAME},
    "nothing-could-be-judged": {"run": NAME, "checks": COUNT, "problem": TEXT},
    "no-op-succeeded": {"run": NAME},
    "same-patch-judged-differently": {
        "check": NAME,
        "outcome": CODE,
        "run": NAME,
        "other_outcome": CODE,
        "other_run": NAME,
    },
    "screen-deviates": {"check": NAME, "deviating": COUNT, "of": COUNT, "pointer": NAME},
    "solution-not-accepted": {"run": NAME, "status": CODE},
}
"""What the evidence for the removal of a task shows. ``as-recorded`` is the sentence of an older journal."""

_POWER: Values = {"removed": FLAG, "tasks": COUNT, "effect": NUMBER, "target": NUMBER}
_POWER_SEEN: Values = {
    **_POWER,
    "formula": {"power": NUMBER, "icc": NUMBER, "correlation": NUMBER},
    "simulated": {"power": NUMBER, "icc": NUMBER, "correlation": NUMBER},
}
POWER: Mapping[str, Values] = {
    "power-missed": {**_POWER_SEEN, "tasks_needed": COUNT + MAYBE},
    "power-reached": _POWER_SEEN,
    "power-with-too-few-tasks": {
        **_POWER,
        "level": NUMBER,
        "least_p": NUMBER,
        "least_tasks": COUNT,
        "tasks_needed": COUNT + MAYBE,
    },
    "power-without-tasks": {**_POWER, "least_tasks": COUNT},
}
"""Whether a plan has the power to detect its effect: the least power, by formula, and by simulation if it differs."""

_LOOK: Values = {
    "share": NUMBER,
    "level": NUMBER,
    "pairs": {"a": NAME, "b": NAME, "difference": NUMBER + MAYBE, "p": NUMBER + MAYBE},
}
STOPS: Mapping[str, Values] = {
    "budget-used": {"budget_usd": AMOUNT, "left_usd": AMOUNT, "needed_usd": AMOUNT},
    "look-crossed": _LOOK,
    "method-violates": {"method": NAME, "runs": COUNT},
    "violation-repeats": {"kind": NAME, "runs": COUNT},
}
"""Why a rule ended a pilot."""

RULES: Mapping[str, Values] = {
    "rule-budget": {"left_usd": NUMBER, "needed_usd": NUMBER, "unit": CODE},
    "rule-efficacy": {"taken": COUNT, "blocks": COUNT, "next": COUNT + MAYBE},
    "rule-run-caps": {"runs": COUNT},
    "rule-safety": {"most": NAME, "runs": COUNT, "allowed": COUNT},
}
"""How far each rule is from ending the pilot."""

_GOOD: Values = {"good": COUNT, "of": COUNT}
_TRIED: Values = {**_GOOD, "wrong": {"task": NAME, "run": NAME, "status": CODE}}
_CAP: Values = {"cap_usd": AMOUNT, "block_usd": AMOUNT, "task": NAME, "runs": COUNT}
CRITERIA: Mapping[str, Values] = {
    "baselines": {"wrong": _RUN, "of": COUNT, "allowed": COUNT},
    "boundary": {"wrong": _RUN},
    "budget": {"left_usd": AMOUNT, "needed_usd": AMOUNT, "runs": COUNT},
    "caps-pilot": _CAP,
    "caps-run": {"agent_usd": AMOUNT, "cap_usd": AMOUNT, "start_usd": AMOUNT, "task": NAME},
    "caps-task": _CAP,
    "costs": _GOOD,
    "end": {**_GOOD, "stop": STATEMENT + MAYBE},
    "endings": _GOOD,
    "endpoints": {**_GOOD, "lacking": {"task": NAME, "method": NAME}},
    "equal-counts": {"counts": COUNTS},
    "flakes": {
        **_GOOD,
        "wrong": {"task": NAME, "check": NAME, "deviating": COUNT, "of": COUNT},
        "tolerance": AMOUNT,
        "runs": COUNT,
    },
    "noop-fails": _TRIED,
    "places": _GOOD,
    "power": {"power": STATEMENT, "target": NUMBER},
    "solution-passes": _TRIED,
    "spend": {"spent_usd": AMOUNT, "cap_usd": AMOUNT},
    "stage-one": {"unmet": STATEMENTS},
    "stage-two": {"unmet": STATEMENTS},
    "subscores": _GOOD,
    "working": {**_GOOD, "wrong": {"method": NAME, "runs": COUNT, "exit_codes": COUNTS, "last_run": NAME}},
}
"""What must hold before or after a stage of a pilot, with what was found and what is required."""

PROGRESS: Mapping[str, Values] = {
    "every-repeat-cut": NONE,
    "pilot-incomplete": {"counted": COUNT, "planned": COUNT},
    "runs-per-task-changed": NONE,
    "stage-cut": {"stage": CODE, "blocks": COUNT},
    "stage-not-over": {"stage": CODE},
    "stage-refused": {"stage": CODE, "unmet": STATEMENTS},
    "stage-stopped": {"stage": CODE, "stop": STATEMENT},
    "stage-unmet": {"stage": CODE, "verdict": CODE, "unmet": STATEMENTS},
}
"""What stops a pilot."""

_UNPROVEN: Values = {"method": NAME, "runs": COUNT, "exit_codes": COUNTS, "last_run": NAME}
PILOT_CAVEATS: Mapping[str, Values] = {
    "amendment-changed-runs": {"number": COUNT},
    "amendments-count-as-looks": {"level": NUMBER, "alpha": NUMBER},
    "budgets-cut-tasks": {"tasks": NAMES, "of": COUNT},
    "conditions-changed-in-blocks": {"blocks": COUNT, "of": COUNT},
    "difference-under-one-condition": {"runs": COUNT, "of": COUNT, "difference": NUMBER, "p": NUMBER},
    "difference-with-removed-tasks": {"difference": NUMBER, "p": NUMBER},
    "ended-early": {"share": NUMBER, "level": NUMBER, "alpha": NUMBER},
    "ended-early-for-efficacy": NONE,
    "method-always-failed": _UNPROVEN,
    "method-changed-nothing": _UNPROVEN,
    "power-not-reached": {"power": STATEMENT},
    "risks-not-reviewed": {
        "methods": {"method": NAME, "runs": COUNT, "successes": COUNT, "kinds": COUNTS},
    },
    "runs-made-again": {"runs": COUNTS},
    "successes-not-accepted": {
        "methods": {"method": NAME, "successes": COUNT, "rejected": COUNT, "disputed": COUNT, "unsure": COUNT},
    },
}
"""What could change the answer of a pilot."""

PILOT_NOTES: Mapping[str, Values] = {
    "forgeable-checks": {"tasks": NAMES, "of": COUNT, "partly": FLAG},
    "look-taken": {**_LOOK, "removed_later": NAMES},
    "paid-besides-runs": {"charges": {"kind": CODE, "count": COUNT, "seconds": NUMBER, "usd": NUMBER}, "unit": CODE},
    "planned-runs-missing": {"missing": COUNT, "planned": COUNT},
    "planned-runs-removed": {"counted": COUNT, "planned": COUNT, "more": COUNT, "tasks": NAMES},
    "repeats-varied": {"variations": {"name": NAME, "repeats": NUMBERS}},
}

CONCERNS: Mapping[str, Values] = {
    "block-caps-above-rest": {"block_usd": AMOUNT, "budget_usd": AMOUNT},
    "expected-cost-above-budget": NONE,
    "high-cost-above-budget": NONE,
    "stage-one-will-be-refused": {"criterion": STATEMENT},
    "tasks-above-budget": {"tasks": NAMES},
}
"""What would end a pilot early, or prevent its start."""

CATALOGUE: Mapping[str, Values] = {
    code: values
    for part in (
        *(UNDEFINED, HEADLINES, COUNTING, COSTS, CAVEATS, LIMITATIONS, SCOPE, READING, DIFFERENCES, VERSUS),
        *(DEVIATIONS, REMOVALS, POWER, STOPS, RULES, CRITERIA, PROGRESS, PILOT_CAVEATS, PILOT_NOTES, CONCERNS),
    )
    for code, values in part.items()
}
"""Every code with its values."""


@dataclass(frozen=True)
class Statement:
    """One thing that a study says: a code of the catalogue and its values."""

    code: str
    values: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.code not in CATALOGUE or self.values.keys() != CATALOGUE[self.code].keys():
            raise ValueError(f"the catalogue has no statement {self.code} with {', '.join(self.values) or 'no values'}")

    def record(self) -> dict[str, Any]:
        """The statement as data."""
        return {"code": self.code, **self.values}


def statement(code: str, **values: Any) -> Statement:
    """The statement with this code."""
    return Statement(code, values)
