"""The protocol of a pilot: everything that is fixed before the first run, as data with one canonical form.

Paths are left out: contracts, patches, scripts and price tables are in it by digest, so that a pilot that is
moved stays the same pilot. The source of a key is left out too. The digest of the protocol's bytes is the pilot's
digest, which every run carries. ``artefacts`` are the digests of what was made from the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from proctor.base.canonical import sha256
from proctor.base.dataclass_fields import EMPTY, field_items
from proctor.contract.model import Contract
from proctor.execute.monitor.price_table import FALLBACK, PriceTable, schedule_digest
from proctor.study.pilot.plan.pilot_model import PLANNED_SEED, PREFACE_BYTES, Method, Pilot, Usage, Variation
from proctor.study.pilot.plan.randomisation import FRAMEWORK, Design
from proctor.study.pilot.plan.task_suite import SuiteTask, file_digest
from proctor.study.statements import Statement, statement

SCHEMA = 1
KIND = "proctor.pilot"
SCRIPT_BYTES = 4 << 20
ARTEFACTS, DEVIATIONS = "artefacts", "deviations"
"""Fields that follow from the rest. Only protocols of earlier versions contain deviations, as sentences."""
_LEFT_OUT = ("agent", "key_env", "key_file", "files", "script", "configuration", "line", "column", "agent_file")
_CAPS = ("usd", "wall_seconds", "command_seconds", "tokens", "tool_calls", "failed_cycles", "cpu_seconds")

_ABSENT = object()

Identify = Callable[[Method], str]
"""The digest of a method's agent, or nothing where it cannot be known before it is run."""

Options = Callable[[Method], Mapping[str, str]]
"""The options of a method's agent, as its description has them."""


def protocol_of(
    pilot: Pilot,
    suite: Sequence[SuiteTask],
    identify: Identify,
    prices: PriceTable | None,
    options: Options = lambda method: EMPTY,
) -> dict[str, Any]:
    """The protocol, without its artefacts."""
    wanted, assumed = pilot.stages, pilot.assumed
    methods = [_method(pilot, method, identify(method), options(method)) for method in pilot.arms]
    return {
        "schema": SCHEMA,
        "kind": KIND,
        "pilot": {"name": pilot.name, "title": pilot.title, "question": pilot.question},
        "methods": methods,
        "comparison": None if pilot.comparison is None else dict(field_items(pilot.comparison)),
        "baselines": dict(field_items(pilot.baselines)),
        "tasks": [_task(task) for task in suite],
        "strata": list(pilot.strata),
        "runs_per_task": pilot.runs_per_task,
        "seeds": {"planned": PLANNED_SEED, "observed": pilot.seed, "framework": FRAMEWORK},
        "budgets": dict(field_items(pilot.budgets)),
        "prices": _prices(prices),
        "endpoints": {"primary": pilot.endpoints.primary, "secondary": list(pilot.endpoints.secondary)},
        "minimum_effect": pilot.minimum_effect,
        "alpha": pilot.alpha,
        "power": pilot.power,
        "assumed": {
            **dict(field_items(assumed)),
            "icc": list(assumed.icc),
            "correlation": list(assumed.correlation),
            "usage": None if assumed.usage is None else _usage(assumed.usage),
        },
        "flakes": dict(field_items(pilot.flakes)),
        "adjudication": dict(field_items(pilot.adjudication)),
        "stages": {
            "one": {"tasks": wanted.one_tasks, "runs": wanted.one_runs},
            "two": {"tasks": len(suite), "runs": wanted.two_runs},
            "three": {"tasks": len(suite), "runs": pilot.runs_per_task},
        },
        "stopping": {"violations": pilot.stopping.violations, "looks": list(pilot.stopping.looks)},
        "retries": pilot.retries,
        **({"variations": [_variation(pilot, one) for one in pilot.variations]} if pilot.variations else {}),
    }


def deviations(protocol: Mapping[str, Any]) -> list[Statement]:
    """How a protocol departs from the usual design of a pilot."""
    found, seeds, baselines = [], protocol["seeds"], protocol["baselines"]
    if seeds["observed"] != seeds["planned"]:
        found.append(statement("seed-not-planned", seed=seeds["observed"], planned=seeds["planned"]))
    if not (baselines["reference"] or baselines["human"]):
        found.append(statement("no-baseline-with-solution"))
    for method in protocol["methods"]:
        if not method["digest"] and not method["baseline"]:
            found.append(statement("agent-without-digest", method=method["name"]))
    return found


def design_of(protocol: Mapping[str, Any]) -> Design:
    """What the randomised order is made from."""
    stages = protocol["stages"]
    return Design(
        tasks=tuple((task["name"], task["contract"], task["stratum"]) for task in protocol["tasks"]),
        methods=tuple(method["name"] for method in protocol["methods"]),
        seed=protocol["seeds"]["observed"],
        one_tasks=stages["one"]["tasks"],
        runs=(stages["one"]["runs"], stages["two"]["runs"], stages["three"]["runs"]),
    )


def changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Each field in which two protocols differ, with both values; what was made from the rest is not a field."""
    old, new = (dict(_fields("", {k: v for k, v in one.items() if k != ARTEFACTS})) for one in (before, after))
    return [
        {"field": name, "before": old.get(name), "after": new.get(name)}
        for name in sorted(old.keys() | new.keys())
        if old.get(name, _ABSENT) != new.get(name, _ABSENT)
    ]


def _fields(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """The leaves of a protocol; items of a list are named, so that an added one does not rename others."""
    if isinstance(value, Mapping) and value:
        for key, inner in value.items():
            yield from _fields(f"{name}.{key}" if name else key, inner)
    elif isinstance(value, list) and value and all(isinstance(item, Mapping) and "name" in item for item in value):
        for item in value:
            yield from _fields(f"{name}[{item['name']}]", item)
        yield f"{name} (order)", [item["name"] for item in value]
    else:
        yield name, value


def _method(pilot: Pilot, method: Method, known: str, options: Mapping[str, str]) -> dict[str, Any]:
    """A method by what it is; a patch and a script by what is in them."""
    kind, _, argument = method.agent.partition(":")
    spelled = "patch" if kind == "patch" and argument else method.agent
    script = file_digest(pilot, method.script, SCRIPT_BYTES) if method.script else ""
    kept = {name: value for name, value in field_items(method) if name not in _LEFT_OUT}
    shown = {"options": dict(options)} if options else {}
    declared = dict(method.configuration)
    return {**kept, "agent": spelled, "script": script, "configuration": declared, "digest": known, **shown}


def _variation(pilot: Pilot, one: Variation) -> dict[str, Any]:
    """A variation by what it is; a preface by what is in it."""
    preface = file_digest(pilot, one.preface, PREFACE_BYTES) if one.preface else ""
    return {"name": one.name, "seed": one.seed, "preface": preface}


def _task(task: SuiteTask) -> dict[str, Any]:
    contract: Contract = task.loaded
    caps = {name: getattr(contract.budget, name) for name in _CAPS}
    checks = [check for check in contract.checks if not check.no_op]
    judge = sum(check.timeout_seconds * check.rerun.times for check in checks)
    return {
        "name": task.name,
        "contract": task.contract,
        "kind": contract.kind,
        "strata": dict(task.strata),
        "labels": {**contract.strata, **task.task.strata},
        "stratum": task.stratum,
        "human_patch": task.human_patch,
        "caps": {**caps, "judge_seconds": judge},
    }


def _usage(usage: Usage) -> dict[str, Any]:
    """The assumed usage; fields that plans of earlier versions did not have are left out if they are empty."""
    return {name: value for name, value in field_items(usage) if value or name != "tokens_cached"}


def _prices(prices: PriceTable | None) -> dict[str, str]:
    if prices is None:
        return {"id": FALLBACK.version, "currency": FALLBACK.table.currency, "digest": schedule_digest(FALLBACK)}
    return {"id": prices.id, "currency": prices.currency, "digest": prices.id}


def with_artefacts(protocol: Mapping[str, Any], artefacts: Mapping[str, bytes] = EMPTY) -> dict[str, Any]:
    """The protocol with the digests of what was made from it."""
    return {**protocol, ARTEFACTS: {name: sha256(data) for name, data in sorted(artefacts.items())}}
