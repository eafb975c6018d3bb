"""Compare the records of an intact run where one can be computed from another.

Each comparison is a small pure function with a name. :data:`ALWAYS` applies to runs of every version, :data:`BY_RULES`
only to runs that were scored by the current rules.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from proctor.judge.consistency import acceptance, decided, streams, workspace
from proctor.judge.consistency.subject import Comparison, Subject
from proctor.record.problems import Problem

ALWAYS: Mapping[str, Comparison] = {
    "attempts": acceptance.attempts,
    "declared-checks": acceptance.declared,
    "decisions": acceptance.decisions,
    "listed-decisions": acceptance.listed_decisions,
    "inverted": acceptance.inverted,
    "failing": acceptance.failing,
    "tests": acceptance.tests,
    "patch-applied": acceptance.applied,
    "change-kinds": workspace.kinds,
    "change-sides": workspace.sides,
    "change-lines": workspace.lines,
    "logs": streams.logs,
    "short-outputs": streams.short_outputs,
    "texts": streams.texts,
    "blobs": streams.blobs,
}
BY_RULES: Mapping[str, Comparison] = {
    "settings": decided.settings,
    "environment": decided.environment,
    "actors": decided.actors,
    "stages": decided.stages,
    "policy": decided.policy,
    "breakers": decided.breakers,
    "cost": decided.cost,
}


def disagreements(subject: Subject, *, by_rules: bool) -> Iterator[Problem]:
    """Every problem that a comparison finds, with its name; ``by_rules`` says whether the rules are the current ones.

    If a comparison cannot read a record, this is a problem of that comparison.
    """
    for name, compare in {**ALWAYS, **(BY_RULES if by_rules else {})}.items():
        try:
            for problem in compare(subject):
                yield Problem(problem.where, problem.message, name)
        except (KeyError, TypeError, ValueError, AttributeError, IndexError, ArithmeticError) as error:
            yield Problem(".", f"the records cannot be compared: {type(error).__name__}: {error}", name)
