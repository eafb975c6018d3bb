"""How a table of results was read, what it does not contain, and what the options changed about its meaning."""

from __future__ import annotations

from collections.abc import Sequence

from proctor.present.sentences.phrases import Said, Sentences, number_of

CALLED = {
    "acceptance-error": "an acceptance error",
    "failure": "a failure",
    "invalid": "an invalid run",
    "success": "a success",
    "unknown": "an unknown outcome",
}
LISTED = 8
"""How many unused columns are listed."""
ZERO = "zero-is-failure"


def _columns(said: Said) -> str:
    listed = ", ".join(f"{role} = {column}" for role, column in said["columns"].items())
    of = f" of a table of {said['shape']}" if said["shape"] else ""
    return f"Columns{of}: {listed}."


def _unused(said: Said) -> str:
    listed, more = said["columns"][:LISTED], len(said["columns"]) - LISTED
    return f"Columns not used: {', '.join(listed)}{f' and {more} more' if more > 0 else ''}."


def _no_column(what: str, option: str) -> str:
    return f"No {what}: no column is used for them. If an unused column has them, name it with --{option} COLUMN."


def _values(values: Sequence[str]) -> str:
    return " or ".join(map(repr, values))


def _success(said: Said) -> str:
    parts = [*([_values(said["values"])] if said["values"] else [])]
    if said["threshold"] is not None:
        parts.append(f"an outcome of at least {said['threshold']:g}")
    return f"By --success, {' or '.join(parts)} is a success, and no other outcome is."


def _unusual_success(said: Said) -> str:
    if said["usual"] == ZERO:
        return f"Warning: 0 counts as a success by --success {said['value']!r}; usually it means a failure."
    usual = CALLED.get(said["usual"], said["usual"])
    return f"Warning: {said['value']!r} counts as a success by --success; usually it means {usual}."


def _unusual_unknown(said: Said) -> str:
    usual = CALLED.get(said["usual"], said["usual"])
    return f"Warning: {said['value']!r} counts as unknown by --unknown; usually it means {usual}."


SENTENCES: Sentences = {
    "attempts-not-recorded": lambda said: (
        f"Not in the table, because they left no result: {number_of(said['missing'], 'planned attempt')}."
    ),
    "columns-read": _columns,
    "columns-unused": _unused,
    "meter-never-moved": lambda said: (
        f"{said['column']} is 0 in every row of {number_of(said['agents'], 'agent')}, and counts as not measured."
    ),
    "no-column-of-agents": lambda said: f"No column names an agent: {said['column']!r} is compared.",
    "no-column-of-costs": lambda said: (
        _no_column("costs", "cost") if said["option"] else "No costs: the file does not contain them."
    ),
    "no-column-of-strata": lambda said: (
        _no_column("strata", "stratum") if said["option"] else "No strata: the file does not contain them."
    ),
    "no-column-of-times": lambda said: (
        _no_column("times", "seconds") if said["option"] else "No times: the file does not contain them."
    ),
    "no-evidence-of-validity": lambda said: (
        "No evidence of validity: the file does not show whether tasks, tests and environments were sound."
    ),
    "no-failure-modes": lambda said: "No failure modes: no column shows how an attempt ended.",
    "no-time-outs": lambda said: "No time-outs are marked: times count as complete (see --timeout and --cap-seconds).",
    "no-traces": lambda said: "No traces: the outcomes are those of the file and cannot be checked.",
    "option-cap-seconds": lambda said: (
        f"By --cap-seconds, attempts of {said['seconds']:g} seconds or more count as cut short."
    ),
    "option-success": _success,
    "option-timeout": lambda said: (
        f"By --timeout, the status {_values(said['values'])} means that a cap cut the attempt short."
    ),
    "option-unknown": lambda said: (
        f"By --unknown, {_values(said['values'])} is an unknown outcome: such rows are left out of the success rate."
    ),
    "outcomes-not-recorded": lambda said: (
        f"{number_of(said['rows'], 'trajectory', 'trajectories')} without an outcome: also give the reports of the "
        "evaluation."
    ),
    "results-read": lambda said: (
        f"Results of {said['format']}: {number_of(said['rows'], 'attempt')} in {number_of(said['files'], 'file')}."
    ),
    "strata-from-task-names": lambda said: "Strata: the repository in the task's name.",
    "trials-by-label": lambda said: "Trials are numbered in the order of their labels.",
    "trials-by-order": lambda said: "Trials are numbered in the order of the file.",
    "unusual-success": _unusual_success,
    "unusual-unknown": _unusual_unknown,
}
