"""The briefing: the text for the agent, with the task and, separately, the obligations that its work must satisfy.

It is made from the contract alone, names no hidden file, no test id and no solution, and is recorded unchanged. If a
study varies its repeats, a declared text is put before the task.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from proctor.base.canonical import canonical, parse
from proctor.base.dataclass_fields import EMPTY
from proctor.contract.model import Check, Contract, Dependencies, Network, Stages


@dataclass(frozen=True)
class Briefing:
    """The two parts of a briefing, and the variables that an agent has by a declared variation."""

    task: str
    obligations: str
    variables: Mapping[str, str] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """The whole, as the agent reads it."""
        return f"{self.task}\n{self.obligations}"


def brief(contract: Contract, variation: Mapping[str, Any] = EMPTY) -> Briefing:
    """The briefing of ``contract``, under a ``variation`` where there is one."""
    preface = str(variation.get("preface") or "").strip()
    task = f"{preface}\n\n{_task(contract)}" if preface else _task(contract)
    return Briefing(task=task, obligations=_obligations(contract), variables=variables_of(variation))


def _task(contract: Contract) -> str:
    task = contract.task
    issue = task.issue_text.strip()
    lines = [] if issue.startswith("# ") else [f"# {contract.title}", ""]  # one heading on top, the issue's own first
    lines += [issue, ""]
    if task.hints:
        lines += ["## Hints", "", *(f"- {hint}" for hint in task.hints), ""]
    targets = task.targets
    if targets.modules or targets.entry_points or targets.behaviour:
        lines += ["## Where to look", ""]
        lines += [f"- module `{module}`" for module in targets.modules]
        lines += [f"- entry point `{point}`" for point in targets.entry_points]
        lines += [f"- expected behaviour: {targets.behaviour}"] if targets.behaviour else []
        lines += [""]
    return "\n".join(lines)


def _obligations(contract: Contract) -> str:
    policy, budget = contract.policy, contract.budget
    lines = ["## What your work is held to", ""]
    lines += ["The repository is at /workspace. Only the changes that you leave there are judged, in a fresh copy:"]
    lines += [f"- {_check_words(check)}" for check in contract.checks]
    lines += ["", "Rules:"]
    lines += [f"- {_network_words(policy.network)}"]
    lines += [f"- {words}" for words in _stage_words(policy.stages)]
    if policy.writable != ("**",):
        lines += [f"- Change only files that match: {_listed(policy.writable)}."]
    if policy.protected:
        lines += [f"- Changes to these files are undone before judging: {_listed(policy.protected)}."]
    if policy.forbidden:
        lines += [f"- Changing these files is a violation: {_listed(policy.forbidden)}."]
    lines += [f"- {words}" for words in _dependency_words(policy.dependencies)]
    if policy.max_changed_files is not None:
        lines += [f"- Change at most {policy.max_changed_files} files."]
    if policy.max_changed_lines is not None:
        lines += [f"- Change at most {policy.max_changed_lines} lines."]
    lines += [f"- You have {budget.wall_seconds} seconds in all.", ""]
    return "\n".join(lines)


def _check_words(check: Check) -> str:
    kind = (
        f"{check.layer} tests"
        if check.layer
        else {"build": "the build", "static": "static checks"}.get(check.gate, "acceptance tests")
    )
    must = "must pass" if check.mandatory else "are run for information"
    return f"`{check.id}`: {kind}, {must}"


def _network_words(network: Network) -> str:
    if network.mode == "none":
        return "There is no network."
    if network.mode == "replay":
        return "There is no network but recorded answers to known requests, through the proxy that the variables name."
    return f"The network leads to {_listed(network.allow)} only, through the proxy that the variables name."


def _dependency_words(dependencies: Dependencies) -> Iterator[str]:
    if dependencies.new == "forbid":
        yield "Bring in no new dependencies."
    elif dependencies.new == "declare":
        yield "A new dependency that you install must be declared in the project's own files."
    if dependencies.registries:
        yield f"Dependencies may come from {_listed(dependencies.registries)} only."


def _stage_words(stages: Stages) -> tuple[str, ...]:
    """How an agent requests the next stage; automatic stages need no text."""
    if stages.ladder != "requested":
        return ()
    rules = {
        "inspect": "The tree is read-only at first. Run `/proctor/stage write` before your first change.",
        "write": "You may change the tree from the start.",
    }
    last = "Run `/proctor/stage test` before you run tests. `/proctor/stage` alone says which stage you are in."
    return (rules[stages.start], last) if stages.start in rules else ()


def _listed(globs: tuple[str, ...]) -> str:
    return ", ".join(f"`{glob}`" for glob in globs)


SETTING = "variations"
"""What the variations are called among the settings of a batch."""
MOST_SEED = 2**32 - 1


def setting_of(variations: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """The setting that holds ``variations``, each with ``name``, ``seed`` and ``preface``; nothing for none."""
    return {SETTING: canonical([dict(one) for one in variations]).decode()} if variations else {}


def variation_of(settings: Mapping[str, str], repeat: int) -> dict[str, Any] | None:
    """What a repeat of a batch with these settings varies; nothing where nothing is declared."""
    if not settings.get(SETTING):
        return None
    known = parse(settings[SETTING].encode())
    return dict(known[(repeat - 1) % len(known)])


def variables_of(variation: Mapping[str, Any]) -> dict[str, str]:
    """The variables that an agent gets by a variation."""
    seed = variation.get("seed")
    return {} if seed is None else {"PROCTOR_SEED": str(seed), "PYTHONHASHSEED": str(seed)}
