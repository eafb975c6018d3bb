"""What a contract leaves out or leaves open, said before anyone runs it.

A contract that loads can still be a weak one: ambiguous, forgeable or without a known solution. ``warning`` marks what
weakens the verdict, ``advice`` what would make the contract clearer. Nothing here is a mistake, and nothing here runs
the contract: that the no-op fails and the reference passes is for validation to show.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal

from proctor.base.errors import InfrastructureFault
from proctor.base.files import read_bounded
from proctor.contract.kinds import quoted
from proctor.contract.lint_oracle import remarks_on_oracle
from proctor.contract.lint_terms import Found, Step, remarks_on_terms
from proctor.contract.lint_words import remarks_on_words
from proctor.contract.load import CONTRACT_BYTES, CONTRACT_NAME
from proctor.contract.model import Check, Contract, Environment
from proctor.contract.strict_yaml import Node, Report, TooManyMistakes, parse_yaml

PLANNED_SEED = Environment.seed
SHORT_ISSUE_CHARACTERS = 80
START_USD, AGENTS_SHARE = Decimal("0.001"), Decimal("0.9")
"""What the fallback schedule takes for the start of a run, and how much of a budget an agent may spend."""


@dataclass(frozen=True)
class Remark:
    """One remark: ``severity`` is warning or advice, ``where`` a place in the file or the name of a field."""

    severity: str
    where: str
    message: str


def lint(contract: Contract) -> tuple[Remark, ...]:
    """Every remark on ``contract``, with places in its file where that can still be read."""
    found = [
        *(*_task(contract), *_oracle(contract), *remarks_on_oracle(contract)),
        *(*_inputs(contract), *_run(contract), *remarks_on_terms(contract)),
    ]
    words = (
        Remark("advice", f"{file}:{line}:{column}", text) for file, line, column, text in remarks_on_words(contract)
    )
    return (*remarks(contract, found), *words)


def remarks(contract: Contract, found: Iterable[Found]) -> tuple[Remark, ...]:
    """What was ``found``, with places in the contract's file."""
    root = _positions(contract)
    return tuple(Remark(severity, _where(root, path), message) for severity, path, message in found)


def place_of(contract: Contract, path: tuple[Step, ...]) -> tuple[int, int]:
    """Line and column of the innermost part of ``path`` that was written down; zeros where the file is gone."""
    root = _positions(contract)
    return (0, 0) if root is None else _place(root, path)


def _task(contract: Contract) -> Iterator[Found]:
    """Whether the task is told so that two readers would understand the same."""
    task, targets = contract.task, contract.task.targets
    if not targets.modules:
        yield "warning", ("task", "targets", "modules"), "no target modules: say which modules the task is about"
    if not targets.entry_points:
        yield "advice", ("task", "targets", "entry_points"), "no entry points: say where the change can be seen"
    if not targets.behaviour:
        yield "warning", ("task", "targets", "behaviour"), "the expected change of behaviour is not described"
    if not task.ambiguities:
        yield "advice", ("task", "ambiguities"), "no known ambiguities: list what the issue leaves open, if anything"
    if not contract.assumptions:
        yield (
            "advice",
            ("contract", "assumptions"),
            "no assumptions: list what the author took for granted, if anything",
        )
    if "language" not in contract.strata:
        yield "advice", ("contract", "strata"), "no stratum 'language': results cannot be grouped by it"
    if len(task.issue_text.strip()) < SHORT_ISSUE_CHARACTERS:
        yield "warning", ("task", "issue"), "the issue is very short: can someone solve it who knows nothing else?"
    for leak in _leaks(contract):
        yield "warning", ("task", "issue"), f"the issue names {quoted(leak)}, which only the judge should know"


def _leaks(contract: Contract) -> list[str]:
    """Hidden file names and ids of tests that the agent's text gives away."""
    text = contract.task.issue_text
    names = {file.path for check in contract.checks for hidden in check.hidden for file in hidden.files}
    names |= {name for check in contract.checks if check.hidden for name in check.must_pass}
    names |= {name.rpartition("::")[2] for name in names if "::" in name}
    return sorted(name for name in names if len(name) >= 6 and name in text)[:5]


def _oracle(contract: Contract) -> Iterator[Found]:
    """Whether the verdict can be trusted."""
    acceptance = [check for check in contract.checks if check.gate == "acceptance"]
    if not any(check.mandatory for check in acceptance):
        yield (
            "warning",
            ("checks",),
            "no mandatory check in the acceptance gate: nothing shows that the task was solved",
        )
    for gate in ("build", "static"):
        if not any(check.gate == gate for check in contract.checks):
            yield "advice", ("checks",), f"no check in the {gate} gate: add one, or an empty one with no_op: true"
    if any(check.results != "exit-code" for check in acceptance) and not any(check.must_pass for check in acceptance):
        yield "warning", ("checks",), "no check has must_pass: the unchanged tree may be accepted"
    for index, check in enumerate(contract.checks):
        for severity, path, message in _check(check, contract):
            yield severity, ("checks", index, *path), f"check {check.id!r}: {message}"
    if contract.reference is None:
        yield "warning", ("reference",), "no reference: nobody can show that the task can be solved"
    if contract.score.maintainability_checks and contract.score.maintainability_weight == "0":
        yield "advice", ("score", "maintainability"), "maintainability checks are named but weigh nothing"


def _check(check: Check, contract: Contract) -> Iterator[Found]:
    if check.no_op:
        return
    if check.gate == "acceptance":
        if check.results == "exit-code":
            yield "warning", ("results",), "decided by an exit code alone, which the code under test can forge"
        elif check.results in ("junit", "tap") and check.sentinel is None:
            yield "warning", ("results",), "no sentinel: the code under test can forge its results"
        if not check.inverted.draws:
            yield "warning", ("inverted", "draws"), "no inverted tests: a forged result counts as a success"
        if check.must_pass and not check.keep_passing:
            yield "advice", ("keep_passing",), "no keep_passing: a patch that breaks other tests is not noticed"
        if check.must_pass and not check.hidden and not contract.policy.protected:
            yield "warning", ("must_pass",), "its tests are neither hidden nor protected: the patch may change them"
    if check.rerun.decide != "all":
        yield "warning", ("rerun", "decide"), f"decided by {check.rerun.decide!r}, which every report will flag"


def _inputs(contract: Contract) -> Iterator[Found]:
    """Whether the inputs serve a purpose."""
    used = {hidden.input for check in contract.checks for hidden in check.hidden}
    if contract.reference is not None:
        used.add(contract.reference.input)
    for index, one in enumerate(contract.inputs):
        if one.audience == "judge" and one.name not in used:
            yield "warning", ("inputs", index), f"the judge input {one.name!r} is used by nothing"
        if one.audience == "setup" and not contract.setup:
            yield "warning", ("inputs", index), f"the input {one.name!r} is for setup, and there is no setup"


def _run(contract: Contract) -> Iterator[Found]:
    """Whether runs are bounded and repeatable."""
    environment, budget, policy = contract.environment, contract.budget, contract.policy
    if not environment.root and not environment.image:
        yield "advice", ("environment", "root"), "the sandbox's root is not pinned: results may differ between machines"
    if environment.seed != PLANNED_SEED:
        yield (
            "warning",
            ("environment", "seed"),
            f"a seed other than {PLANNED_SEED} is reported as a protocol deviation",
        )
    if Decimal(budget.usd) * AGENTS_SHARE <= START_USD:
        yield "warning", ("budget", "usd"), f"no run can start: that alone costs {START_USD} USD without a price table"
    if budget.command_seconds > budget.wall_seconds:
        yield "advice", ("budget", "command_seconds"), "one command may take longer than the whole run"
    if policy.free_steering:
        yield "warning", ("policy", "free_steering"), "the patch may change files that steer the test runner"
    if policy.max_changed_files is None and policy.max_changed_lines is None and "**" in policy.writable:
        yield "advice", ("policy",), "the patch may change any file, and any number of them"


def _positions(contract: Contract) -> Node | None:
    """The contract's file as nodes, if it is still there."""
    try:
        data = read_bounded(contract.directory / CONTRACT_NAME, CONTRACT_BYTES)
        return parse_yaml(data, Report(CONTRACT_NAME))
    except (OSError, InfrastructureFault, TooManyMistakes):
        return None


def _where(root: Node | None, path: tuple[Step, ...]) -> str:
    """``contract.yaml:12:5`` for the innermost part of ``path`` that was written down, else the path itself."""
    if root is None:
        return ".".join(map(str, path))
    line, column = _place(root, path)
    return f"{CONTRACT_NAME}:{line}:{column}"


def _place(root: Node, path: tuple[Step, ...]) -> tuple[int, int]:
    place = (root.line, root.column)
    node = root
    for step in path:
        if node.kind == "map" and step in node.value:
            place = (node.keys or {})[str(step)]
            node = node.value[step]
        elif node.kind == "list" and isinstance(step, int) and step < len(node.value):
            node = node.value[step]
            place = (node.line, node.column)
        else:
            break
    return place
