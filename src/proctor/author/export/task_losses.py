"""What an exported task is weaker in than its contract, as codes with values: shared by the formats of tasks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields

from proctor.author.export.interface import Loss
from proctor.author.export.swebench_ids import judged_checks
from proctor.author.export.task_material import TaskMaterial
from proctor.contract.model import Budget, Contract, GitRepository
from proctor.contract.policy import Policy

ALWAYS_CARRIED = ("protected", "free_steering", "network")
"""Parts of a policy that exported tasks have."""


def task_losses(task: TaskMaterial, image: str, carried_limits: tuple[str, ...]) -> tuple[Loss, ...]:
    """The losses of every format of tasks; ``carried_limits`` are the limits that the format has a place for."""
    return tuple(_losses(task, image, carried_limits))


def _losses(task: TaskMaterial, image: str, carried_limits: tuple[str, ...]) -> Iterator[Loss]:
    contract = task.contract
    checks = judged_checks(contract)
    yield Loss("unwatched", {})
    yield Loss("run-as-root", {})
    yield Loss("root", {"image": image, "layers": list(contract.environment.image), "identity": task.root_digest})
    forgeable = [check.id for check in checks if check.results != "exit-code"]
    if forgeable:
        yield Loss("no-sentinels", {"checks": forgeable})
    inverted = [check.id for check in checks if check.inverted.draws and check.gate == "acceptance"]
    if inverted:
        yield Loss("no-inverted-tests", {"checks": inverted})
    reruns = [check.id for check in checks if check.rerun.times > 1]
    if reruns:
        yield Loss("one-attempt", {"checks": reruns})
    if len(checks) > 1:
        yield Loss("one-tree", {"checks": [check.id for check in checks]})
    optional = [check.id for check in contract.checks if not check.mandatory]
    if optional:
        yield Loss("optional-checks", {"checks": optional})
    yield Loss("steering", {"restored": len(task.guarded)})
    if task.products:
        yield Loss("products", {"files": len(task.products)})
    policy = [*_policy(contract.policy)]
    if policy:
        yield Loss("policy", {"fields": policy})
    if contract.policy.network.mode != "none":
        yield Loss("network", {"mode": contract.policy.network.mode})
    limits = [field.name for field in fields(Budget) if field.name not in carried_limits]
    yield Loss("limits", {"fields": limits})
    yield from _texts(contract)


def _policy(policy: Policy) -> Iterator[str]:
    """The parts of the policy that differ from their defaults and that no exported task has."""
    default = Policy()
    for field in fields(Policy):
        if field.name not in ALWAYS_CARRIED and getattr(policy, field.name) != getattr(default, field.name):
            yield field.name


def _texts(contract: Contract) -> Iterator[Loss]:
    if contract.reference is not None and contract.reference.alternatives:
        yield Loss("alternatives", {"alternatives": len(contract.reference.alternatives)})
    notes = [name for name in ("strata", "assumptions") if getattr(contract, name)]
    notes += ["ambiguities"] if contract.task.ambiguities else []
    if notes:
        yield Loss("notes", {"fields": notes})
    if contract.inputs:
        yield Loss("inputs", {"inputs": sum(len(one.source.files) for one in contract.inputs)})
    if not isinstance(contract.repository, GitRepository):
        yield Loss("no-commit", {"kind": contract.repository.source.kind})


def repository_identity(contract: Contract) -> tuple[str, str]:
    """What the base is made of, and its commit or the digest of its archive."""
    repository = contract.repository
    if isinstance(repository, GitRepository):
        return repository.git, repository.commit
    files = repository.source.files
    return f"{repository.source.kind}:{repository.source.spec}", files[0].sha256 if files else ""
