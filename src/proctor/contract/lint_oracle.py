"""What the linter says about checks that decide little, without running them. Pure.

Whether tests pass on the unchanged tree, whether they are flaky and which faults they notice is shown by attempts:
``proctor validate`` and ``proctor strength``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from proctor.contract.kinds import quoted
from proctor.contract.lint_terms import Found
from proctor.contract.model import Check, Contract

FEW_TESTS = 2

_LOADS = re.compile(r"\b(?:require|import|include|from|use|load|source|using)\b")
_LOADS_LOCAL = re.compile(
    r"\b(?:require|import|from|load|source)\b[^\n]{0,80}[\"' ]\.{1,2}[/\"']|\brequire_relative\b"
    r"|^[ \t]*\.[ \t]+[\"']?\.{1,2}/"
    r"|^[ \t]*#[ \t]*include[ \t]*\"(?![^\"\n]*(?:unity|cmocka|criterion|gtest|catch|doctest|greatest|munit|minunit))",
    re.IGNORECASE | re.MULTILINE,
)
"""A line of a test file that loads something, and one that loads a file by a relative path."""


def remarks_on_oracle(contract: Contract) -> Iterator[Found]:
    """Every remark on the strength of the checks."""
    deciding = [check for check in contract.checks if check.gate == "acceptance" and check.mandatory]
    if deciding and all(check.results == "exit-code" for check in deciding):
        words = "every acceptance check is an exit code: which tests failed before and pass now is not known"
        yield "advice", ("checks",), words
    if deciding and not any(check.hidden for check in deciding):
        words = "no acceptance check has hidden files: what the agent can read, it can solve for alone"
        yield "advice", ("checks",), words
    for index, check in enumerate(contract.checks):
        if check.sentinel is not None and not _loads_project(check.sentinel.template, contract):
            words = "its sentinel loads nothing of the project, so it cannot detect what the project does on loading"
            yield "advice", ("checks", index, "sentinel"), f"check {check.id!r}: {words}"
        for path, message in _check(check):
            yield "advice", ("checks", index, path), f"check {check.id!r}: {message}"


def _loads_project(template: str, contract: Contract) -> bool:
    """Whether the text of a sentinel loads a file by a relative path, or names a module that the task is about."""
    if _LOADS_LOCAL.search(template):
        return True
    modules = [*contract.task.targets.modules, contract.strata.get("project", "")]
    stems = {re.split(r"[/.]", module.rstrip("/"))[-1] for module in modules}
    stems |= {module.rstrip("/").rpartition("/")[2].partition(".")[0] for module in modules}
    lines = [line for line in template.splitlines() if _LOADS.search(line)]
    return any(re.search(rf"\b{re.escape(stem)}\b", line) for stem in stems if len(stem) > 1 for line in lines)


def _check(check: Check) -> Iterator[tuple[str, str]]:
    if check.gate == "acceptance" and check.mandatory and check.results != "exit-code":
        if 0 < len(check.must_pass) < FEW_TESTS:
            yield "must_pass", "one test alone shows that the task is solved: is every part of the issue tried?"
        shown = _not_hidden(check)
        if shown:
            yield "must_pass", f"{quoted(shown)} is in no hidden file: the agent may see or change it"
    if check.flake_tolerance != "0":
        yield "flake_tolerance", f"may come out wrong in {check.flake_tolerance} of its attempts"


def _not_hidden(check: Check) -> str:
    """A listed test whose id names a file that is not among the hidden ones, where those are known by name."""
    if not check.hidden or any(hidden.input for hidden in check.hidden):
        return ""
    names = {file.path.rpartition("/")[2] for hidden in check.hidden for file in hidden.files}
    for test in check.must_pass:
        file, separator, _ = test.partition("::")
        if separator and file.endswith(".py") and file.rpartition("/")[2] not in names:
            return file
    return ""
