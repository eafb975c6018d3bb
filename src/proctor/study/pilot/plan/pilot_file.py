"""From a pilot file to a :class:`Pilot`, or to every mistake in it at once, each with its line and column.

``pilot_fields`` checks each field by itself; this module checks fields against each other, and whether named files
exist. The contracts themselves are read when the pilot is planned.
"""

from __future__ import annotations

import os
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType
from typing import Any

from proctor.base.dataclass_fields import EMPTY
from proctor.base.errors import ContractError, InfrastructureFault, Mistake
from proctor.base.files import read_bounded
from proctor.contract.composite_types import Part
from proctor.contract.load import CONTRACT_NAME
from proctor.contract.scalar_types import did_you_mean, quoted
from proctor.contract.strict_yaml import Report, TooManyMistakes, parse_yaml
from proctor.execute.agents.agent_file import is_agent_file, load_agent_file
from proctor.study.pilot.plan import pilot_model
from proctor.study.pilot.plan.pilot_fields import PILOT
from proctor.study.pilot.plan.pilot_model import Pilot

PILOT_BYTES = 1 << 20
_NEED_A_MODEL = (
    *("endpoint", "key_env", "key_file", "dialect", "script"),
    *("provider_tools", "unknown_fields", "output_tokens"),
)
_OF_THE_MODEL = ("model", "endpoint", "key_env", "key_file", "dialect")
"""The fields of an agent file about its model."""


def load_pilot(path: Path) -> Pilot:
    """The pilot in the file ``path``; :class:`ContractError` with all mistakes otherwise."""
    data = _read(path)
    report = Report(str(path))
    pilot = None
    try:
        node = parse_yaml(data, report) if data.strip() else None
        if node is not None:
            pilot = _build(PILOT.read(node, report), path, report)
        elif not data.strip():
            report.add((1, 1), "the file is empty", "docs/pilots.md has a pilot to start from")
    except TooManyMistakes:
        pass
    report.raise_any()
    assert pilot is not None
    return pilot


def _read(path: Path) -> bytes:
    try:
        return read_bounded(Path(os.path.realpath(path)), PILOT_BYTES)
    except FileNotFoundError:
        words, hint = "does not exist", "name the YAML file of a pilot"
    except InfrastructureFault as fault:
        words, hint = f"is {fault.message}, so it is not a pilot file", "name the YAML file of a pilot"
    except OSError as error:
        words, hint = f"cannot be read: {error.strerror}", ""
    raise ContractError([Mistake(str(path), 0, 0, words, hint)])


def _build(part: Part, path: Path, report: Report) -> Pilot:
    reader = _Reader(path.parent, report)
    methods = tuple(reader.method(inner) for inner in part["methods"])
    reader.names(part, methods)
    baselines = pilot_model.Baselines(**part["baselines"])
    asked = [name for name in pilot_model.BASELINES if getattr(baselines, name)]
    tasks = tuple(reader.task(inner, baselines.human) for inner in part["tasks"])
    reader.tasks(part, tasks)
    budgets = reader.budgets(part["budgets"])
    reader.effect(part)
    if part["prices"]:
        reader.there(part, "prices", part["prices"])
    head, assumed = part["pilot"], part["assumed"]
    return Pilot(
        file=path,
        name=head["name"],
        title=head["title"],
        question=head["question"],
        methods=methods,
        comparison=reader.comparison(part, [*(method.name for method in methods), *asked]),
        baselines=baselines,
        tasks=tasks,
        strata=part["strata"],
        runs_per_task=part["runs_per_task"],
        seed=part["seed"],
        budgets=budgets,
        prices=part["prices"],
        endpoints=pilot_model.Endpoints(**part["endpoints"]),
        minimum_effect=part["minimum_effect"],
        alpha=part["alpha"],
        power=part["power"],
        assumed=pilot_model.Assumed(
            **{**assumed, "usage": None if assumed["usage"] is None else pilot_model.Usage(**assumed["usage"])}
        ),
        flakes=pilot_model.Flakes(**part["flakes"]),
        adjudication=pilot_model.Adjudication(**part["adjudication"]),
        stages=reader.stages(part),
        stopping=reader.stopping(part["stopping"]),
        retries=part["retries"],
        variations=reader.variations(part),
    )


class _Reader:
    """Builds the parts of one pilot."""

    def __init__(self, directory: Path, report: Report) -> None:
        self.directory = directory
        self.report = report

    def there(self, part: Part, field: str, path: str, *, directory: bool = False) -> bool:
        """Whether a file or directory that a field names is there; it is reported where it is not."""
        found = Path(self.directory, path)
        if found.is_dir() if directory else found.is_file():
            return True
        words = "directory" if directory else "file"
        self.report.add(part.place(field), f"there is no {words} {quoted(path)}", "paths begin at the pilot file")
        return False

    def method(self, part: Part) -> pilot_model.Method:
        if part["name"] in pilot_model.BASELINES:
            words = f"{quoted(part['name'])} is the name of a baseline"
            self.report.add(part.place("name"), words, "give the method another name, or ask for it under baselines")
        for name in _NEED_A_MODEL if not is_agent_file(part["agent"]) else ():
            if part.given(name) and not part["model"] and part.place("model").kind != "bad":
                self.report.add(part.place(name), f"{name!r} makes no sense without a model")
        for name in ("key_file", "script"):
            if part[name]:
                self.there(part, name, part[name])
        if part["files"]:
            self.there(part, "files", part["files"], directory=True)
        known = {**part, "configuration": _mapping(part["configuration"])}
        kind, _, argument = part["agent"].partition(":")
        if is_agent_file(part["agent"]):
            known |= self.agent_file(part)
        elif kind == "patch" and argument:
            self.there(part, "agent", argument)
        place = part.place("agent")
        return pilot_model.Method(**known, line=place.line, column=place.column)

    def agent_file(self, part: Part) -> dict[str, str]:
        """The fields of a method that come from the agent file that it names."""
        path = part["agent"]
        if not self.there(part, "agent", path):
            return {}
        try:
            asked = load_agent_file(Path(self.directory, path))
        except ContractError as error:
            self.report.mistakes.extend(error.mistakes)
            return {}
        own = {"agent": asked.agent, "agent_file": path}
        if not asked.model:
            return own
        for name in _OF_THE_MODEL:
            if part.given(name) and part[name]:
                self.report.add(
                    part.place(name), f"the agent file has a model, so it has {name!r}", "leave it out here"
                )
        return own | {name: getattr(asked, name) for name in _OF_THE_MODEL}

    def names(self, part: Part, methods: tuple[pilot_model.Method, ...]) -> None:
        """Methods have names of their own, and no two differ only in their names."""
        seen: dict[str, int] = {}
        acts: dict[tuple[Any, ...], str] = {}
        for inner, method in zip(part["methods"], methods, strict=True):
            line = inner.node.line
            if method.name and method.name in seen:
                words = f"a second method called {quoted(method.name)}"
                self.report.add(inner.place("name"), words, f"the first is in line {seen[method.name]}")
            seen.setdefault(method.name, line)
            fields = {name: inner[name] for name in ("agent", "model", "files", "script", "endpoint", "dialect")}
            key = (*fields.values(), tuple(sorted(method.configuration.items())), method.output_tokens)
            other = acts.setdefault(key, method.name)
            if method.agent and other != method.name:
                words = f"{quoted(method.name)} is the same as {quoted(other)}"
                self.report.add(inner.node, words, "a method is compared with another one, not with itself")

    def comparison(self, part: Part, names: list[str]) -> pilot_model.Comparison | None:
        inner = part["comparison"]
        if inner is None:
            return None
        for field in ("candidate", "against"):
            if inner[field] and inner[field] not in names:
                words = f"no method is called {quoted(inner[field])}"
                self.report.add(inner.place(field), words, did_you_mean(inner[field], names))
        if inner["candidate"] and inner["candidate"] == inner["against"]:
            self.report.add(inner.node, "a method is compared with another one, not with itself")
        return pilot_model.Comparison(inner["candidate"], inner["against"])

    def task(self, part: Part, human: bool) -> pilot_model.Task:
        path = self.contract_directory(part["contract"])
        if path and self.there(part, "contract", path, directory=True):
            inside = Path(path, CONTRACT_NAME)
            if not Path(self.directory, inside).is_file():
                words = f"there is no {CONTRACT_NAME} in {quoted(path)}"
                self.report.add(part.place("contract"), words, "proctor init writes one to start from")
        if part["human_patch"]:
            self.there(part, "human_patch", part["human_patch"])
        elif human:
            self.report.add(part.node, "task: the key 'human_patch' is missing", "needed with baselines.human: true")
        place = part.place("contract")
        return pilot_model.Task(path, _mapping(part["strata"]), part["human_patch"], place.line, place.column)

    def contract_directory(self, path: str) -> str:
        """The directory of a contract, which may be named by the file in it."""
        named = Path(path)
        return str(named.parent) if named.name == CONTRACT_NAME and not Path(self.directory, path).is_dir() else path

    def tasks(self, part: Part, tasks: tuple[pilot_model.Task, ...]) -> None:
        seen: dict[str, int] = {}
        for inner, task in zip(part["tasks"], tasks, strict=True):
            place = os.path.realpath(Path(self.directory, task.contract))
            if task.contract and place in seen:
                words = f"{quoted(task.contract)} is a task already"
                self.report.add(inner.place("contract"), words, f"first given in line {seen[place]}")
            seen.setdefault(place, inner.node.line)

    def budgets(self, part: Part) -> pilot_model.Budgets:
        order = [(name, part[name]) for name in ("run_usd", "task_usd", "pilot_usd") if part[name]]
        for (small, less), (large, more) in pairwise(order):
            if Decimal(less) > Decimal(more):
                self.report.add(part.place(small), f"{small} is more than {large}", f"{less} against {more}")
        return pilot_model.Budgets(**part)

    def effect(self, part: Part) -> None:
        """A rate that is raised by the effect must still be a rate; low must not be above high."""
        assumed = part["assumed"]
        if part["minimum_effect"] and assumed["rate"]:
            raised = Decimal(part["minimum_effect"]) + Decimal(assumed["rate"])
            if raised > 1:
                words = f"the assumed rate and the minimum effect make {raised}, and a rate ends at 1"
                self.report.add(part.place("minimum_effect"), words, "assume a lower rate")
        if assumed["low"] and assumed["high"] and Decimal(assumed["low"]) > 1:
            self.report.add(assumed.place("low"), "low is above the expected usage", "at most 1")
        if assumed["low"] and assumed["high"] and Decimal(assumed["high"]) < 1:
            self.report.add(assumed.place("high"), "high is below the expected usage", "at least 1")

    def stages(self, part: Part) -> pilot_model.Stages:
        stages, runs = part["stages"], part["runs_per_task"]
        one, two, three = (stages[name] for name in pilot_model.STAGES)
        if one["tasks"] > len(part["tasks"]):
            words = f"stage one has {one['tasks']} tasks and the pilot {len(part['tasks'])}"
            self.report.add(one.place("tasks"), words)
        if one["runs"] > two["runs"]:
            words = f"stage one ends with {one['runs']} runs of a task and stage two with {two['runs']}"
            self.report.add(one.place("runs"), words, "runs are counted from the beginning")
        if runs and two["runs"] > runs:
            words = f"stage two ends with {two['runs']} runs of a task and the pilot with {runs}"
            self.report.add(two.place("runs"), words, "runs are counted from the beginning")
        if three["runs"] and runs and three["runs"] != runs:
            words = f"stage three ends with {three['runs']} runs of a task and the pilot with {runs}"
            self.report.add(three.place("runs"), words, "leave it out")
        return pilot_model.Stages(one["tasks"], one["runs"], two["runs"])

    def variations(self, part: Part) -> tuple[pilot_model.Variation, ...]:
        """Variations have names of their own, differ, and each has a repeat."""
        found = tuple(pilot_model.Variation(**inner) for inner in part["variations"])
        acts: dict[tuple[int | None, str], str] = {}
        names: set[str] = set()
        for inner, one in zip(part["variations"], found, strict=True):
            if one.preface and self.there(inner, "preface", one.preface):
                self.preface(inner, one.preface)
            if one.name in names:
                self.report.add(inner.place("name"), f"a second variation called {quoted(one.name)}")
            other = acts.setdefault((one.seed, one.preface), one.name)
            if other != one.name:
                self.report.add(inner.node, f"{quoted(one.name)} is the same as {quoted(other)}")
            names.add(one.name)
        if len(found) > part["runs_per_task"]:
            words = f"{len(found)} variations, and {part['runs_per_task']} runs of each task"
            self.report.add(part.place("variations"), words, "each needs a repeat: raise runs_per_task")
        return found

    def preface(self, part: Part, path: str) -> None:
        """A preface is a text that fits into a briefing."""
        try:
            read_bounded(Path(os.path.realpath(Path(self.directory, path))), pilot_model.PREFACE_BYTES).decode()
        except (UnicodeDecodeError, InfrastructureFault):
            words = f"{quoted(path)} is not a text of at most {pilot_model.PREFACE_BYTES} bytes in UTF-8"
            self.report.add(part.place("preface"), words)

    def stopping(self, part: Part) -> pilot_model.Stopping:
        efficacy = part["efficacy"]
        looks = efficacy["looks"] if isinstance(efficacy, Part) else ()
        exact = [Decimal(look) for look in looks if look]
        if looks and len(exact) == len(looks):
            place = efficacy.place("looks")
            if exact != sorted(set(exact)) or exact[0] == 0:
                self.report.add(place, "looks must rise, from above 0")
            if exact[-1] != 1:
                self.report.add(place, f"the last look is at {looks[-1]}", "it has to be at 1, the whole plan")
        return pilot_model.Stopping(part["safety"]["violations"], looks)


def _mapping(values: dict[str, Any]) -> MappingProxyType[str, Any]:
    return MappingProxyType(dict(values)) if values else EMPTY
