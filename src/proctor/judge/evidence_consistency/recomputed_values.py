"""Compare what follows from the current rules: settings, environment, findings, decisions of breakers, cost.

These comparisons apply only to runs that were scored by the current rules. Other versions may have other rules.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from proctor.execute.monitor.breakers.breaker_panel import BreakerPanel, decisions_of, replay
from proctor.execute.monitor.breakers.breaker_registry import PLUG_INS
from proctor.execute.monitor.breakers.breaker_settings import record_of_settings, settings_from, settings_of
from proctor.execute.monitor.budget import projection
from proctor.execute.prepare import base_environment
from proctor.execute.workspace.patch import known_stat
from proctor.judge.evidence_consistency.compared_run import Subject, differs, place
from proctor.judge.patch_policy.patch_findings import VIOLATION, findings
from proctor.judge.risk_indicators import DEPENDENCY_CODES
from proctor.judge.run_report import PLANNED_SEED
from proctor.record.run_directory import Problem
from proctor.record.trace.event_types import EVENT_TYPES

OF_THE_RUN = (
    *("prices", "baseline", "call_depth", "sees_tree", "task_usd", "task_spent_usd", "batch_usd", "batch_spent_usd"),
)
"""Settings that are not in the contract."""


OF_THE_BASE = ("steering-file",)
"""Findings that also depend on the pristine tree: a module in that tree is the project's own."""


def settings(subject: Subject) -> Iterator[Problem]:
    """The settings of the breakers are those of the contract."""
    recorded = _watch(subject)
    if recorded is None or subject.redacted:
        return
    found = settings_from(recorded)
    others = {name: getattr(found, name) for name in OF_THE_RUN}
    expected = settings_of(subject.evidence.contract, run_usd=found.caps.usd, **others)
    yield from differs("manifest.json", "configuration.watch", recorded, record_of_settings(expected), "contract.json")


def environment(subject: Subject) -> Iterator[Problem]:
    """The variables are those of the contract."""
    if not subject.redacted:
        found = subject.evidence.manifest["environment"]["variables"]
        expected = base_environment(subject.evidence.contract)
        yield from differs("manifest.json", "environment.variables", found, expected, "contract.json")
        planned = subject.evidence.manifest["seeds"].get("planned")
        yield from differs("manifest.json", "seeds.planned", planned, PLANNED_SEED, "the protocol")


def actors(subject: Subject) -> Iterator[Problem]:
    """Every event has the actor of its type; the agent changes files, or the harness when it restores them."""
    for event in subject.evidence.events:
        known = EVENT_TYPES.get(event.type)
        allowed = (known.actor, "harness") if event.type == "workspace.mutation" and known else (known and known.actor,)
        if known is not None and event.actor not in allowed:
            yield Problem(place(event), f"actor is {event.actor!r}, and events of this type have {known.actor!r}")


def stages(subject: Subject) -> Iterator[Problem]:
    """Every change of stage begins at the stage where the previous one ended."""
    stage = ""
    for event in subject.evidence.of("stage.changed"):
        yield from differs(place(event), "from", event.payload["from"], stage, "the trace")
        stage = str(event.payload["to"])


def policy(subject: Subject) -> Iterator[Problem]:
    """Every finding follows from the contract and the changes, from an alert, or is about a dependency."""
    evidence = subject.evidence
    checked = evidence.last("safety.checked")
    if checked is None or evidence.changes is None:
        return
    found = [event for event in evidence.of("safety.finding") if event.seq < checked.seq]
    count = sum(event.payload["grade"] == VIOLATION for event in found)
    yield from differs(place(checked), "violations", checked.payload["violations"], count, "the trace")
    if subject.redacted:
        return
    expected = [
        {"code": one.code, "grade": one.grade, "message": one.message, "evidence": one.evidence}
        for one in findings(evidence.contract, evidence.changes, known_stat(evidence.patch or b""))
    ]
    alerts = {
        f"events.jsonl#{event.seq}": {"code": event.payload["code"], "message": event.payload["message"]}
        for event in evidence.of("monitor.alert")
    }
    for event in found:
        finding: dict[str, Any] = {name: event.payload[name] for name in ("code", "grade", "message", "evidence")}
        alert = alerts.get(str(finding["evidence"]))
        if alert is not None:
            recorded = {"code": finding["code"], "message": finding["message"]}
            yield from differs(place(event), "finding", recorded, alert, str(finding["evidence"]))
        elif finding in expected:
            expected.remove(finding)
        elif finding["code"] not in DEPENDENCY_CODES:
            yield Problem(place(event), f"contract and changes give no such finding: {finding['code']}")
    for one in expected:
        if one["code"] in OF_THE_BASE:
            continue
        yield Problem(place(checked), f"contract and changes give a finding that has no event: {one['message'][:200]}")


def breakers(subject: Subject) -> Iterator[Problem]:
    """The recorded alerts are those that the breakers give for the recorded events."""
    recorded = _watch(subject)
    if recorded is not None:
        found = replay(subject.evidence.events, _panel(subject, recorded))
        for text in found.differences[:10]:
            yield Problem("events.jsonl", f"the breakers decide differently: {text}")


def cost(subject: Subject) -> Iterator[Problem]:
    """The projected cost follows from the events before it, by the recorded prices."""
    recorded = _watch(subject)
    if recorded is None:
        return
    panel = _panel(subject, recorded)
    for event in subject.evidence.events:
        if event.type == "cost.projected":
            yield from differs(place(event), "cost", dict(event.payload), projection(panel.facts.ledger), "the trace")
        panel.see(event)


def _panel(subject: Subject, recorded: Any) -> BreakerPanel:
    """The breakers of the run. Those of packages that are not installed in their recorded version are not asked."""
    origins = (subject.evidence.manifest.get("plugins") or {}).get("breakers") or {}
    settings = settings_from(recorded)
    absent = [name for name in settings.breakers if not _is_here(name, origins.get(name))]
    return BreakerPanel(settings, {name: decisions_of(subject.evidence.events, name) for name in absent})


def _is_here(breaker: str, origin: Any) -> bool:
    """Whether the package that provided ``breaker`` is installed in the same version."""
    here = [{"package": package.name, "version": package.version} for package in PLUG_INS.packages(breaker)]
    return here == [origin]


def _watch(subject: Subject) -> Any:
    return subject.evidence.manifest.get("configuration", {}).get("watch")
