"""What must hold in a pilot, its power, the rules that end it, and the distance to each rule.

Each criterion has four parts: what must hold, what was found, what is required, and what a user can do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from proctor.present.sentences.phrases import (
    NAMED_RUNS,
    Said,
    Sentences,
    bill_amount,
    items,
    number_of,
)

AMEND = "proctor pilot amend PILOT --why WHY"
REMOVE = "proctor pilot remove PILOT TASK"


def _case(one: Said) -> str:
    return f"{one['power']:.2f} (icc {one['icc']:g}, correlation {one['correlation']:g})"


def _detected(said: Said) -> str:
    """The power in the least favourable case, by formula and, if it differs, by simulation."""
    cases = [f"formula {_case(one)}" for one in said["formula"]]
    cases += [f"simulation {_case(one)}" for one in said["simulated"]]
    without = "without the removed tasks, " if said["removed"] else ""
    worst = "the worst case" if len(cases) == 1 else "the worst cases"
    text = f"{without}power to detect a difference of {said['effect']:g} in {worst}: {', '.join(cases)}"
    return f"{text}; target {said['target']:g}"


def _needed(said: Said) -> str:
    if said["tasks_needed"] is None:
        return "no number of tasks would reach it"
    return f"{number_of(said['tasks_needed'], 'task')} would reach it in every case"


def _few(said: Said) -> str:
    without = "without the removed tasks, " if said["removed"] else ""
    least = f"with {number_of(said['tasks'], 'task')} the smallest possible p value is {said['least_p']:.3g}"
    level = f"the level is {said['level']:.3g}"
    return f"{without}{least}, and {level}: at least {said['least_tasks']} tasks are necessary; {_needed(said)}"


def _without(said: Said) -> str:
    return f"a comparison needs at least {said['least_tasks']} tasks that count, and there are {said['tasks']}"


POWER: Sentences = {
    "power-missed": lambda said: f"{_detected(said)}; {_needed(said)}",
    "power-reached": _detected,
    "power-with-too-few-tasks": _few,
    "power-without-tasks": _without,
}


def power(said: Said) -> str:
    """Whether a plan has the power to detect its effect."""
    code = str(said.get("code"))
    return POWER[code](said) if code in POWER else code


def _number(value: float | None) -> str:
    return "undefined" if value is None else f"{value:.4g}"


def look(said: Said) -> str:
    """What a look at the comparison showed."""
    pairs = "; ".join(
        f"{one['a']} - {one['b']} = {_number(one['difference'])}, p = {_number(one['p'])}" for one in said["pairs"]
    )
    return f"at {_number(said['share'])} of the plan: {pairs}, compared with a level of {_number(said['level'])}"


STOPS: Sentences = {
    "budget-used": lambda said: (
        f"{float(said['left_usd']):.4g} of {said['budget_usd']} USD are left, and the next block may cost "
        f"{said['needed_usd']} USD by the caps of its runs"
    ),
    "look-crossed": lambda said: f"the comparison crossed its limit {look(said)}",
    "method-violates": lambda said: f"{number_of(said['runs'], 'run')} of {said['method']} have violations",
    "violation-repeats": lambda said: f"{number_of(said['runs'], 'run')} have violations of the kind {said['kind']}",
}
RULE_OF_STOP = {
    "budget-used": "budget",
    "look-crossed": "efficacy",
    "method-violates": "safety",
    "violation-repeats": "safety",
}


def stop(said: Said) -> str:
    """The rule that ended a pilot, and why: ``budget: 0.3 of 5 USD are left ...``."""
    return f"{RULE_OF_STOP[said['code']]}: {STOPS[said['code']](said)}"


def _next_look(said: Said) -> str:
    ahead = "no more looks" if said["next"] is None else f"the next after {said['next']}"
    return f"efficacy: {number_of(said['taken'], 'look')} taken; {number_of(said['blocks'], 'block')} done, {ahead}"


def _violations(said: Said) -> str:
    most = f", most by {said['most']}" if said["most"] else ""
    return f"safety: {number_of(said['runs'], 'run')} with violations{most}; the pilot ends at {said['allowed']}"


RULES: Sentences = {
    "rule-budget": lambda said: (
        f"budget: {bill_amount(said['left_usd'], said['unit'])} left; "
        f"the next block may cost {bill_amount(said['needed_usd'], said['unit'])}"
    ),
    "rule-efficacy": _next_look,
    "rule-run-caps": lambda said: f"run caps: {number_of(said['runs'], 'run')} ended by a cap",
    "rule-safety": _violations,
}


@dataclass(frozen=True)
class CriterionText:
    """What must hold, what was found, what is required, and what to do."""

    must: str
    found: Callable[[Said], str]
    required: Callable[[Said], str]
    todo: Callable[[Said], str]


def _but(wrong: Sequence[str]) -> str:
    return f"; not {items(wrong, NAMED_RUNS)}" if wrong else ""


def _good(noun: str) -> Callable[[Said], str]:
    return lambda said: f"{said['good']} of {number_of(said['of'], noun)}"


def _all(said: Said) -> str:
    return f"{said['of']} of {said['of']}"


def _text(text: str) -> Callable[[Said], str]:
    return lambda said: text


def _run(one: Said) -> str:
    return f"{one['run']} ({one['task']}, {one['method']}: {one['status']})"


def _place(one: Said) -> str:
    return f"{one['task']}, {one['method']}"


def _tried(said: Said) -> str:
    wrong = []
    for one in said["wrong"]:
        status = f"{one['run']}: {one['status']}" if one["run"] else "not tried"
        wrong.append(f"{one['task']} ({status})")
    return f"{_good('task')(said)}{_but(wrong)}"


def _steady(said: Said) -> str:
    wrong = []
    for one in said["wrong"]:
        deviate = f"{one['deviating']} of {one['of']} attempts at {one['check']} deviate"
        wrong.append(f"{one['task']} ({deviate if one['check'] else 'not screened'})")
    return f"{_good('task')(said)}{_but(wrong)}"


def exit_codes(counts: Mapping[str, int]) -> str:
    """``exit code 2 in 23, 0 in 1``."""
    return f"exit code {', '.join(f'{code} in {count}' for code, count in counts.items())}"


def _working(said: Said) -> str:
    wrong = [
        f"{one['method']} (no change in {one['runs']} of {number_of(one['runs'], 'run')}: "
        f"{exit_codes(one['exit_codes'])})"
        for one in said["wrong"]
    ]
    return f"{_good('method')(said)}{_but(wrong)}"


def _working_todo(said: Said) -> str:
    run = next((one["last_run"] for one in said["wrong"]), "RUN")
    return (
        f"proctor show {run} --output shows what its agent printed; if it cannot work, correct it in another pilot, "
        "because methods cannot change once there are runs"
    )


def _over(said: Said) -> str:
    return f"not over: {', '.join(one['code'] for one in said['unmet'])}" if said["unmet"] else "over"


def _over_todo(said: Said) -> str:
    return todo(said["unmet"][0]) if said["unmet"] else ""


def _caps(envelope: str, field: str) -> CriterionText:
    return CriterionText(
        f"{envelope} holds a whole block at the caps of its runs",
        lambda said: f"{said['cap_usd']} USD",
        lambda said: f"{said['block_usd']} USD ({said['task']}, {said['runs']} runs)" if said["task"] else "a task",
        _text(f"{AMEND}, with a smaller budgets.run_usd or a larger budgets.{field}"),
    )


def _ended(said: Said) -> str:
    if said["stop"] is not None:
        return f"stopped by the rule for {stop(said['stop'])}"
    return f"{said['good']} of {number_of(said['of'], 'place')}"


CRITERIA: Mapping[str, CriterionText] = {
    "baselines": CriterionText(
        "baselines have the status that they must have",
        lambda said: (
            f"{len(said['wrong'])} of {number_of(said['of'], 'run')} do not{_but([_run(one) for one in said['wrong']])}"
        ),
        lambda said: f"at most {said['allowed']}",
        _text(f"{REMOVE} --reason flaky --evidence RUN --why WHY, with the runs that differ"),
    ),
    "boundary": CriterionText(
        "no run escaped from its sandbox or was ended for safety",
        lambda said: f"{number_of(len(said['wrong']), 'run')}{_but([_run(one) for one in said['wrong']])}",
        _text("0 runs"),
        _text("proctor show RUN shows what happened; a method that does this cannot enter a larger stage"),
    ),
    "budget": CriterionText(
        "the remaining budget pays for the remaining runs, at the cost so far",
        lambda said: f"{said['left_usd']} USD left",
        lambda said: f"{said['needed_usd']} USD for {number_of(said['runs'], 'run')}",
        _text(f"{AMEND}, with a larger budget"),
    ),
    "caps-pilot": _caps("the pilot's envelope", "pilot_usd"),
    "caps-run": CriterionText(
        "the cap of a run is larger than the cost of its start",
        lambda said: f"{said['agent_usd']} USD for the agent, of {said['cap_usd']} ({said['task']})",
        lambda said: f"more than {said['start_usd']} USD, which the start of a run costs",
        _text(f"{AMEND}, with a larger budgets.run_usd, or a larger budget.usd of the contract"),
    ),
    "caps-task": _caps("a task's envelope", "task_usd"),
    "costs": CriterionText(
        "every run has a recorded cost", _good("run"), _all, _text("proctor show RUN shows what is missing")
    ),
    "end": CriterionText(
        "the plan is complete, or a rule ended it",
        _ended,
        lambda said: f"{said['of']} places, or a rule",
        _text("proctor pilot run PILOT continues"),
    ),
    "endings": CriterionText(
        "every run has a recorded end", _good("run"), _all, _text("proctor show RUN shows what is missing")
    ),
    "endpoints": CriterionText(
        "every task has a run with a verdict for every method",
        lambda said: f"{said['good']} of {said['of']}{_but([_place(one) for one in said['lacking']])}",
        _all,
        _text("proctor pilot status PILOT shows the runs; a task without verdicts can be removed as broken"),
    ),
    "equal-counts": CriterionText(
        "every method has the same number of runs",
        lambda said: ", ".join(f"{name} {count}" for name, count in said["counts"].items()),
        _text("the same for all"),
        _text("proctor pilot run PILOT completes the block; if it cannot, its runs are left out of the comparison"),
    ),
    "flakes": CriterionText(
        "checks are stable on the base and on the known solution, or adjudicated by the rule of the protocol",
        _steady,
        lambda said: f"at most {said['tolerance']} of {said['runs']} attempts on each tree deviate",
        _text(f"{REMOVE} --reason flaky --why WHY, or correct the checks and plan again"),
    ),
    "noop-fails": CriterionText(
        "a no-op fails on every task",
        _tried,
        _all,
        _text(f"correct the contract before the pilot is planned, or {REMOVE} --reason broken-oracle"),
    ),
    "places": CriterionText(
        "every place of the stage has a sealed run",
        lambda said: str(said["good"]),
        lambda said: str(said["of"]),
        _text("proctor pilot run PILOT continues; runs that an envelope cut off need an amendment of the budget"),
    ),
    "power": CriterionText(
        "the plan has the power to detect the smallest difference that matters",
        lambda said: power(said["power"]),
        lambda said: f"{said['target']:g}",
        _text(
            f"a larger minimum effect: try it with proctor pilot power PILOT, then {AMEND}; once there are runs, more "
            "runs or tasks need another pilot"
        ),
    ),
    "solution-passes": CriterionText(
        "a known solution passes on every task",
        _tried,
        _all,
        _text(f"correct the contract before the pilot is planned, or {REMOVE} --reason broken-oracle"),
    ),
    "spend": CriterionText(
        "spending is within the pilot's envelope",
        lambda said: f"{said['spent_usd']} USD",
        lambda said: f"at most {said['cap_usd']} USD",
        _text(f"{AMEND}, with a larger budget"),
    ),
    "stage-one": CriterionText("stage one is over", _over, _text("over"), _over_todo),
    "stage-two": CriterionText("stage two is over", _over, _text("over"), _over_todo),
    "subscores": CriterionText(
        "every verdict has subscores", _good("run"), _all, _text("proctor show RUN shows what is missing")
    ),
    "working": CriterionText(
        "every method changed something or ended without an error in some run", _working, _all, _working_todo
    ),
}


def must(said: Said) -> str:
    """What must hold."""
    return CRITERIA[said["code"]].must


def found(said: Said) -> str:
    """What was found."""
    return CRITERIA[said["code"]].found(said)


def required(said: Said) -> str:
    """What is required."""
    return CRITERIA[said["code"]].required(said)


def todo(said: Said) -> str:
    """What a user can do."""
    return CRITERIA[said["code"]].todo(said)


def criterion(said: Said) -> str:
    """The whole criterion without advice."""
    return f"{must(said)}: found {found(said)}, required {required(said)}"


SENTENCES: Sentences = {
    **POWER,
    **STOPS,
    **RULES,
    **dict.fromkeys(CRITERIA, criterion),
}
