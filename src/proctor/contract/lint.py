"""What a contract leaves out or leaves open, reported before it is run.

A contract that loads can still be a weak one: ambiguous, forgeable or without a known solution. ``warning`` marks what
weakens the verdict, ``advice`` what would make the contract clearer. The rules are on the policy and the budget, on
checks that decide little, and on vague wording of the task. Nothing here is a mistake, and nothing here runs the
contract: that the no-op fails, that the reference passes and which faults the checks notice is shown by ``proctor
validate`` and ``proctor strength``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from ipaddress import AddressValueError, IPv4Address

from proctor.base.errors import InfrastructureFault
from proctor.base.files import read_bounded
from proctor.contract.checks_section import SHELL
from proctor.contract.load import CONTRACT_BYTES, CONTRACT_NAME
from proctor.contract.model import Check, Contract, Environment
from proctor.contract.policy import Network, Policy, matches_command
from proctor.contract.scalar_types import quoted
from proctor.contract.strict_yaml import Node, Report, TooManyMistakes, parse_yaml

Step = str | int
FieldRemark = tuple[str, tuple[Step, ...], str]
"""The severity, the place in the contract and the message of a remark."""


def remarks_on_terms(contract: Contract) -> Iterator[FieldRemark]:
    """Every remark on the terms of a run."""
    policy = contract.policy
    yield from _network(policy.network)
    yield from _dependencies(policy)
    yield from _watch(policy)
    yield from _commands(contract)
    yield from _budget(contract)


def _network(network: Network) -> Iterator[FieldRemark]:
    place = ("policy", "network")
    if network.mode == "allow":
        yield "warning", place, "the network is open and not recorded: no run can be replayed"
    if network.mode == "record":
        yield "advice", place, "the network is recorded: replay the cassette once there is one"
    for index, address in enumerate(network.allow):
        host = address.rpartition(":")[0]
        if host.startswith("*.") and "." not in host[2:]:
            yield "warning", (*place, "allow", index), f"{quoted(address)} opens a whole top-level domain"
        elif _is_near(host.removeprefix("*.")):
            yield "warning", (*place, "allow", index), f"{quoted(address)} is this machine or its own network"


def _is_near(host: str) -> bool:
    """Whether a host is the machine itself or on a private network."""
    if host == "localhost" or host.endswith((".localhost", ".local", ".internal")):
        return True
    if not host.replace(".", "").isdigit():
        return False
    try:
        return not IPv4Address(host).is_global
    except AddressValueError:
        return False


def _dependencies(policy: Policy) -> Iterator[FieldRemark]:
    network, place = policy.network, ("policy", "dependencies", "registries")
    if policy.dependencies.registries and network.mode == "none":
        yield "advice", place, "registries are named, and the network is closed: none can be reached"
    if not network.allow:
        return
    for index, registry in enumerate(policy.dependencies.registries):
        if not any(_reaches(address, registry) for address in network.allow):
            yield "warning", (*place, index), f"the registry {quoted(registry)} is not among the allowed addresses"


def _reaches(address: str, registry: str) -> bool:
    """Whether an address of the allow list covers a registry, with or without its port."""
    host, _, port = address.rpartition(":")
    name, _, at = registry.partition(":")
    return (not at or at == port) and (name == host or (host.startswith("*.") and name.endswith(host[1:])))


def _watch(policy: Policy) -> Iterator[FieldRemark]:
    if not policy.canaries:
        yield "warning", ("policy", "canaries"), "no canaries: a search for secrets is not noticed"
    if policy.words.off:
        names = ", ".join(map(quoted, policy.words.off))
        yield "warning", ("policy", "words", "off"), f"text rules are switched off: {names}"
    for index, ask in enumerate(policy.ask):
        if ask.otherwise == "approve":
            yield (
                "warning",
                ("policy", "ask", index, "otherwise"),
                "if no operator answers, the run continues as if approved",
            )
    asked = {code for ask in policy.ask for code in ask.on}
    for index, rollback in enumerate(policy.rollback):
        for code in sorted(asked.intersection(rollback.on)):
            message = f"{quoted(code)} is also under ask, which comes first: there is no automatic rollback"
            yield "advice", ("policy", "rollback", index, "on"), message
    for code, grade in policy.rules.items():
        if grade == "notice":
            yield "warning", ("policy", "rules", code), f"{quoted(code)} is only a notice: it never fails a run"


def _commands(contract: Contract) -> Iterator[FieldRemark]:
    """Whether a check runs a forbidden command, so that an agent that tries the check would violate the policy."""
    for index, pattern in enumerate(contract.policy.forbid_commands):
        for check in contract.checks:
            if check.no_op:
                continue
            text = check.run[len(SHELL) :] if check.run[: len(SHELL)] == SHELL else ()
            if matches_command(pattern, check.run) or any(matches_command(pattern, one.split()) for one in text):
                message = f"{quoted(pattern)} forbids the command of check {check.id!r}: an agent cannot run this check"
                yield "advice", ("policy", "forbid_commands", index), message


def _budget(contract: Contract) -> Iterator[FieldRemark]:
    budget = contract.budget
    for name, what in (("disk_bytes", "bytes"), ("inodes", "files")):
        if getattr(budget, name) is None:
            yield "warning", ("budget", name), f"the {what} that a run writes have no limit: it may fill the disk"
    if budget.disk_bytes is not None and budget.file_bytes > budget.disk_bytes:
        yield "advice", ("budget", "file_bytes"), "one file may be larger than all that the run may write"


FEW_TESTS = 2

_LOADS = re.compile(r"\b(?:require|import|include|from|use|load|source|using)\b")
_LOADS_LOCAL = re.compile(
    r"\b(?:require|import|from|load|source)\b[^\n]{0,80}[\"' ]\.{1,2}[/\"']|\brequire_relative\b"
    r"|^[ \t]*\.[ \t]+[\"']?\.{1,2}/"
    r"|^[ \t]*#[ \t]*include[ \t]*\"(?![^\"\n]*(?:unity|cmocka|criterion|gtest|catch|doctest|greatest|munit|minunit))",
    re.IGNORECASE | re.MULTILINE,
)
"""A line of a test file that loads something, and one that loads a file by a relative path."""


def remarks_on_oracle(contract: Contract) -> Iterator[FieldRemark]:
    """Every remark on the strength of the checks."""
    deciding = [check for check in contract.checks if check.gate == "acceptance" and check.mandatory]
    if deciding and all(check.results == "exit-code" for check in deciding):
        message = (
            "every acceptance check is only an exit code: the report cannot say which tests failed before and pass now"
        )
        yield "advice", ("checks",), message
    if deciding and not any(check.hidden for check in deciding):
        message = (
            "no acceptance check has hidden files: an agent can write a patch that fits only the tests that it can read"
        )
        yield "advice", ("checks",), message
    for index, check in enumerate(contract.checks):
        if check.sentinel is not None and not _loads_project(check.sentinel.template, contract):
            message = "its sentinel loads nothing of the project, so it cannot detect what the project does on loading"
            yield "advice", ("checks", index, "sentinel"), f"check {check.id!r}: {message}"
        for path, message in _check_strength(check):
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


def _check_strength(check: Check) -> Iterator[tuple[str, str]]:
    if check.gate == "acceptance" and check.mandatory and check.results != "exit-code":
        if 0 < len(check.must_pass) < FEW_TESTS:
            yield "must_pass", "one test alone shows that the task is solved: is every part of the issue tried?"
        shown = _not_hidden(check)
        if shown:
            yield "must_pass", f"{quoted(shown)} is not in a hidden file: the agent may see or change it"
    if check.flake_tolerance != "0":
        yield "flake_tolerance", f"may differ in {check.flake_tolerance} of its attempts"


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


_VAGUE = (
    *("somehow", r"etc\.?", "and so on", "as appropriate", "if necessary", "if needed", "if possible", "as needed"),
    *("reasonabl[ey]", "sensibl[ey]", "properly", "correctly", "nicely", "better", "some kind of", "or similar"),
    *("or something", "maybe", "perhaps", "probably", "ideally", "TODO", "TBD", "FIXME"),
)
VAGUE = re.compile(rf"\b(?:{'|'.join(_VAGUE)})(?!\w)", re.IGNORECASE)
CHOICE = re.compile(r"\b(?:either|and/or)\b", re.IGNORECASE)
MOST = 5

Found = tuple[str, int, int, str]
"""The file, the line and the column of a remark, and its message."""


def vague_wording(contract: Contract) -> Iterator[Found]:
    """Ambiguous passages of the issue, and targets that the issue does not mention."""
    text, file = contract.task.issue_text, contract.task.issue.path
    found = [
        *(
            (one, f"{quoted(one[0])} is vague: say what must hold, or list it under ambiguities")
            for one in _in(VAGUE, text)
        ),
        *((one, f"{quoted(one[0])} leaves a choice: say which, or that both are right") for one in _in(CHOICE, text)),
    ]
    for one, message in sorted(found, key=lambda pair: pair[0].start())[:MOST]:
        start = text.rfind("\n", 0, one.start()) + 1
        yield file, text.count("\n", 0, one.start()) + 1, one.start() - start + 1, message
    if not re.search(r"[`'\"]|^\s{4}\S", text, re.MULTILINE):
        yield file, 1, 1, "no example: show an input and the expected result"


def _in(pattern: re.Pattern[str], text: str) -> list[re.Match[str]]:
    """Where ``pattern`` matches outside of code."""
    code = [found.span() for found in re.finditer(r"```.*?```|`[^`\n]*`|^ {4}.*$", text, re.DOTALL | re.MULTILINE)]
    return [one for one in pattern.finditer(text) if not any(start <= one.start() < end for start, end in code)]


PLANNED_SEED = Environment.seed
SHORT_ISSUE_CHARACTERS = 80
START_USD, AGENTS_SHARE = Decimal("0.001"), Decimal("0.9")
"""The cost of starting a run by the fallback price schedule, and the share of a budget that an agent may spend."""


@dataclass(frozen=True)
class Remark:
    """One remark: ``severity`` is warning or advice, ``where`` a place in the file or the name of a field."""

    severity: str
    where: str
    message: str


def lint(contract: Contract) -> tuple[Remark, ...]:
    """Every remark on ``contract``, with places in its file if that can still be read."""
    found = [
        *(*_task(contract), *_oracle(contract), *remarks_on_oracle(contract)),
        *(*_inputs(contract), *_run(contract), *remarks_on_terms(contract)),
    ]
    vague = (Remark("advice", f"{file}:{line}:{column}", text) for file, line, column, text in vague_wording(contract))
    return (*remarks(contract, found), *vague)


def remarks(contract: Contract, found: Iterable[FieldRemark]) -> tuple[Remark, ...]:
    """What was ``found``, with places in the contract's file."""
    root = _positions(contract)
    return tuple(Remark(severity, _where(root, path), message) for severity, path, message in found)


def place_of(contract: Contract, path: tuple[Step, ...]) -> tuple[int, int]:
    """Line and column of the innermost part of ``path`` that was written down; zeros if the file no longer exists."""
    root = _positions(contract)
    return (0, 0) if root is None else _place(root, path)


def _task(contract: Contract) -> Iterator[FieldRemark]:
    """Whether the task is clear enough that two readers understand the same."""
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
        yield "warning", ("task", "issue"), "the issue is very short: is it enough to solve the task?"
    for leak in _leaks(contract):
        yield "warning", ("task", "issue"), f"the issue names {quoted(leak)}, which only the judge should know"


def _leaks(contract: Contract) -> list[str]:
    """Hidden file names and ids of tests that the agent's text gives away."""
    text = contract.task.issue_text
    names = {file.path for check in contract.checks for hidden in check.hidden for file in hidden.files}
    names |= {name for check in contract.checks if check.hidden for name in check.must_pass}
    names |= {name.rpartition("::")[2] for name in names if "::" in name}
    return sorted(name for name in names if len(name) >= 6 and name in text)[:5]


def _oracle(contract: Contract) -> Iterator[FieldRemark]:
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
        yield "warning", ("reference",), "no reference: nothing shows that the task can be solved"
    if contract.score.maintainability_checks and contract.score.maintainability_weight == "0":
        yield "advice", ("score", "maintainability"), "maintainability checks are listed but have no weight"


def _check(check: Check, contract: Contract) -> Iterator[FieldRemark]:
    if check.no_op:
        return
    if check.gate == "acceptance":
        if check.results == "exit-code":
            yield "warning", ("results",), "decided by an exit code alone, which the code under test can forge"
        elif check.results != "pytest" and check.sentinel is None:
            yield "warning", ("results",), "no sentinel: the code under test can forge its results"
        if not check.inverted.draws:
            yield "warning", ("inverted", "draws"), "no inverted tests: a forged result counts as a success"
        if check.must_pass and not check.keep_passing:
            yield "advice", ("keep_passing",), "no keep_passing: a patch that breaks other tests is not noticed"
        if check.must_pass and not check.hidden and not contract.policy.protected:
            yield "warning", ("must_pass",), "its tests are neither hidden nor protected: the patch may change them"
    if check.rerun.decide != "all":
        yield "warning", ("rerun", "decide"), f"decided by {check.rerun.decide!r}, which every report will flag"


def _inputs(contract: Contract) -> Iterator[FieldRemark]:
    """Whether the inputs serve a purpose."""
    used = {hidden.input for check in contract.checks for hidden in check.hidden}
    if contract.reference is not None:
        used.add(contract.reference.input)
    for index, one in enumerate(contract.inputs):
        if one.audience == "judge" and one.name not in used:
            yield "warning", ("inputs", index), f"the judge input {one.name!r} is used by nothing"
        if one.audience == "setup" and not contract.setup:
            yield "warning", ("inputs", index), f"the input {one.name!r} is for setup, and there is no setup"


def _run(contract: Contract) -> Iterator[FieldRemark]:
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
