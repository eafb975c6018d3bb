"""Compare the records of an intact run where one can be computed from another.

Each comparison is a small pure function with a name. :data:`ALWAYS` applies to runs of every version, :data:`BY_RULES`
only to runs that were scored by the current rules.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from proctor.base.json_records import OTHER_FORM
from proctor.judge.evidence_consistency import changed_files_and_blobs, check_results, recomputed_values
from proctor.judge.evidence_consistency.compared_run import Comparison, Subject
from proctor.record.run_directory import Problem

ALWAYS: Mapping[str, Comparison] = {
    "attempts": check_results.attempts,
    "declared-checks": check_results.declared,
    "decisions": check_results.decisions,
    "listed-decisions": check_results.listed_decisions,
    "inverted": check_results.inverted,
    "failing": check_results.failing,
    "tests": check_results.tests,
    "patch-applied": check_results.applied,
    "change-kinds": changed_files_and_blobs.kinds,
    "change-sides": changed_files_and_blobs.sides,
    "change-lines": changed_files_and_blobs.lines,
    "logs": changed_files_and_blobs.logs,
    "short-outputs": changed_files_and_blobs.short_outputs,
    "texts": changed_files_and_blobs.texts,
    "blobs": changed_files_and_blobs.blobs,
}
BY_RULES: Mapping[str, Comparison] = {
    "settings": recomputed_values.settings,
    "environment": recomputed_values.environment,
    "actors": recomputed_values.actors,
    "stages": recomputed_values.stages,
    "policy": recomputed_values.policy,
    "breakers": recomputed_values.breakers,
    "cost": recomputed_values.cost,
}


def disagreements(subject: Subject, *, by_rules: bool) -> Iterator[Problem]:
    """Every problem that a comparison finds, with its name; ``by_rules`` says whether the rules are the current ones.

    If a comparison cannot read a record, this is a problem of that comparison.
    """
    for name, compare in {**ALWAYS, **(BY_RULES if by_rules else {})}.items():
        try:
            for problem in compare(subject):
                yield Problem(problem.where, problem.message, name)
        except OTHER_FORM as error:
            yield Problem(".", f"the records cannot be compared: {type(error).__name__}: {error}", name)
