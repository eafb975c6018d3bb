"""The report of a run: a pure function from the run directory to bytes.

It reads manifest, contract, trace, patch, changes and results, and nothing else: no clock, no machine, no network.
Scoring the same directory again gives the same bytes. Numbers with a fraction are decimal strings.

With the same rules digest, the same evidence gives the same report, byte for byte. Raise :data:`REVISION` with every
change to the code after which the same evidence gives another report, briefing, finding, alert or cost. The runs under
``tests/corpus`` show when this is necessary.

A run that cannot be replayed says why. What no run fixes (the machine's clock, the scheduling of processes) is stated
as assumed. It is a reason only if it had an effect: a check with different outcomes on the same tree.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from functools import cache
from typing import Any

from proctor.base.canonical import canonical, digest, sha256
from proctor.base.clock import seconds_text
from proctor.base.json_records import to_json
from proctor.contract.model import Check
from proctor.execute.monitor.tool_calls_from_processes import count_calls
from proctor.execute.workspace.patch import known_stat
from proctor.judge.broken_mcp_servers import broken_servers
from proctor.judge.checks.sentinels import forgeable
from proctor.judge.conversation_summary import conversation, other_models, unaffordable
from proctor.judge.failure_attribution import interpretation
from proctor.judge.failure_tags import tags
from proctor.judge.risk_indicators import RULES as RISKS
from proctor.judge.risk_indicators import indicators
from proctor.judge.run_evidence import Evidence, pointer, read_evidence
from proctor.judge.run_verdict import NEVER_CALLED, SUCCESS, gates, status
from proctor.judge.scores import distance_of, score, scores
from proctor.judge.scoring_rubric import RUBRIC
from proctor.judge.taxonomy import PATH as TAXONOMY
from proctor.judge.taxonomy import taxonomy_digest
from proctor.record.report_model import (
    AgentName,
    CheckAttempt,
    CheckResult,
    Comparability,
    ContractName,
    Cost,
    Deviation,
    Durations,
    Endpoint,
    EventCounts,
    Intervention,
    InvertedTests,
    PatchSize,
    PhaseCost,
    Replayability,
    ReplayReason,
    Report,
    RestoredFile,
    Termination,
    Usage,
)
from proctor.record.run_directory import RunDirectory
from proctor.record.schema_versions import REPORT
from proctor.record.secrets import RULES as SECRETS
from proctor.record.trace.event import Event

REVISION = 2
FILES = {"risks": RISKS, "rubric": RUBRIC, "secrets": SECRETS, "taxonomy": TAXONOMY}


@cache
def rules_digest() -> str:
    """The digest of the current rules."""
    return digest({"revision": REVISION, **{name: sha256(path.read_bytes()) for name, path in FILES.items()}})


ASSUMED = ("the machine's clock does not decide", "the order in which processes run does not decide")


def replayable(evidence: Evidence) -> Replayability:
    """The statement as a report holds it: yes or no, every reason for a no with its evidence, and what is assumed."""
    found = tuple(ReplayReason(why=why, evidence=where) for why, where in _reasons(evidence))
    return Replayability(replayable=not found, reasons=found, assumed=ASSUMED)


def _reasons(evidence: Evidence) -> Iterator[tuple[str, str]]:
    extracted = evidence.last("patch.extracted")
    if extracted is None:
        yield "no patch was taken from the workspace", "manifest.json"
    for event in evidence.of("network.closed"):
        for why in event.payload["why"]:
            yield f"network: {why}", pointer(event)
        if event.payload["mode"] == "record" and not event.payload.get("blob"):
            yield "network: the cassette was not kept", pointer(event)
    for event in evidence.of("model.closed"):
        whys = event.payload["why"] or (() if event.payload["replayable"] else ("its answers cannot be given again",))
        for why in (*whys, *event.payload["diverged"]):
            yield f"model: {why}", pointer(event)
    closed = evidence.last("network.closed")
    if evidence.contract.policy.network.mode != "none" and closed is None and evidence.last("guard.exec"):
        yield "network: how it came out was not recorded", "events.jsonl"
    for event in evidence.of("guard.lost"):
        yield f"{event.payload['count']} records of the guard were lost", pointer(event)
    for check in evidence.contract.checks:
        outcomes: dict[str, set[str]] = {}
        for event in evidence.attempts(check):
            outcomes.setdefault(event.payload["tree"], set()).add(event.payload["outcome"])
            if len(outcomes[event.payload["tree"]]) > 1:
                yield f"{check.id} came out differently on the same tree", pointer(event)
                break


SCHEMA = REPORT.schema
"""Schema 2 added counts of the agent's calls and test cycles; schema 3 added the rules and inverted tests. New fields
belong to the newest schema. A report of an earlier schema is computed again in its own form, see
:mod:`proctor.judge.evidence_consistency.sealed_report`."""
PLANNED_SEED = 20260307
REDUCED = {"rlimit": "limited by rlimits only", "copy": "a plain copy instead of an overlay", "none": "absent"}

MOST_TESTS = 20
OWN_TO_A_RUN = ("task_spent_usd", "batch_spent_usd", "baseline")
"""What the breakers' settings say about earlier runs."""


def build_report(run: RunDirectory, schema: int = SCHEMA) -> bytes:
    """The canonical bytes of the report on ``run``, in the form of ``schema``."""
    return canonical(to_json(report(read_evidence(run), schema), schema))


def conclusion(run: RunDirectory, finish: Callable[[str], Event]) -> Report:
    """The report of ``run``, after ``finish`` has written the event with the status.

    The last event has the status of the report, and the report counts that event as well.
    """
    evidence = read_evidence(run)
    status_of_run = status(evidence, gates(evidence))
    last = finish(status_of_run.status)
    return report(replace(evidence, events=(*evidence.events, last)))


def report(evidence: Evidence, schema: int = SCHEMA) -> Report:
    """The report; ``schema`` is the number that it names."""
    verdicts = gates(evidence)
    status_of_run = status(evidence, verdicts)
    distance = distance_of(evidence)
    manifest = evidence.manifest
    configuration = manifest.get("configuration", {})
    again = all(name in configuration for name in ("retry_of", "attempt"))
    return Report(
        schema=schema,
        kind=REPORT.kind,
        run=manifest.get("run", ""),
        contract=ContractName(**{key: manifest.get("contract", {}).get(key, "") for key in ("id", "name", "version")}),
        agent=AgentName(**{key: manifest.get("agent", {}).get(key, "") for key in ("name", "kind", "digest")}),
        model=str(configuration.get("model", "")),
        replay_of=str(configuration["replay_of"]) if configuration.get("replay_of") else None,
        retry_of=configuration["retry_of"] if again else None,
        attempt=configuration["attempt"] if again else None,
        status=status_of_run.status,
        attribution=status_of_run.attribution,
        problems=status_of_run.problems,
        termination=_termination(evidence),
        interventions=tuple(
            Intervention(
                action=event.payload["action"],
                alert=f"events.jsonl#{event.payload['alert']}",
                evidence=pointer(event),
            )
            for event in evidence.of("intervention")
        ),
        alerts=dict(sorted(Counter(str(event.payload["code"]) for event in evidence.of("monitor.alert")).items())),
        endpoint=Endpoint(success=status_of_run.status == SUCCESS, scorable=not status_of_run.problems),
        gates=verdicts,
        score=score(evidence, verdicts, distance) if status_of_run.status == SUCCESS else None,
        scores=scores(evidence, verdicts, status_of_run),
        checks=tuple(_check(evidence, check) for check in evidence.contract.checks),
        patch=_patch(evidence, distance),
        restored=tuple(RestoredFile(**one) for one in (evidence.results or {}).get("restored", ())),
        tags=tuple(tag.record() for tag in tags(evidence, status_of_run)),
        taxonomy=taxonomy_digest(),
        rules=rules_digest(),
        indicators=indicators(evidence),
        interpretation=interpretation(evidence),
        deviations=tuple(deviations(evidence)),
        replayable=replayable(evidence),
        comparability=comparability(manifest),
        events=_events(evidence),
        durations=_durations(evidence),
        usage=_usage(evidence),
        conversation=conversation(evidence),
        evidence=(
            "manifest.json",
            "contract.json",
            "events.jsonl",
            "workspace/final.patch",
            "acceptance/results.json",
        ),
    )


def _termination(evidence: Evidence) -> Termination:
    """How the agent came to its end: of its own accord, or ended by a rule that is named."""
    finished, ended = evidence.last("agent.finished"), evidence.last("run.terminated")
    refused = unaffordable(evidence)
    code = rationale = where = None
    if ended is not None:
        code, rationale, where = ended.payload["code"], ended.payload["rationale"], (pointer(ended),)
    elif refused is not None:
        why = refused.payload.get("detail", "the budget left no room for the whole answer of the model")
        code, rationale, where = "model-budget", why, (pointer(refused),)
    return Termination(
        reason=str(finished.payload["reason"]) if finished else "",
        exit_code=finished.payload["exit_code"] if finished else None,
        code=code,
        rationale=rationale,
        evidence=where,
    )


def _check(evidence: Evidence, check: Check) -> CheckResult:
    decided = evidence.decision(check)
    blocked = decided is not None and decided.type == "check.blocked"
    payload: Mapping[str, Any] = decided.payload if decided else {}
    return CheckResult(
        id=check.id,
        gate=check.gate,
        layer=check.layer,
        mandatory=check.mandatory,
        outcome="blocked" if blocked else payload.get("outcome", "undecided"),
        reason=str(payload.get("reason", "")),
        detail=str(payload.get("detail", "")),
        attribution=str(payload.get("attribution", "")),
        rule=check.rerun.decide,
        flagged=check.rerun.decide != "all",
        forgeable=forgeable(check),
        attempts=tuple(map(_attempt, evidence.attempts(check))),
        evidence=(pointer(decided),) if decided else (),
        inverted=_inverted(evidence, check),
    )


def _attempt(event: Event) -> CheckAttempt:
    return CheckAttempt(
        tree=event.payload["tree"],
        attempt=event.payload["attempt"],
        outcome=event.payload["outcome"],
        reason=event.payload["reason"],
        sentinels=event.payload.get("sentinels", "none"),
        tests=event.payload.get("tests", {}),
        failing=tuple(event.payload["failing"][:20]),
        observed_seconds=event.payload["observed_seconds"],
        evidence=pointer(event),
    )


def _inverted(evidence: Evidence, check: Check) -> InvertedTests | None:
    """What inverted tests showed about a check; ``None`` if none ran."""
    entries = (evidence.results or {}).get("checks", ())
    entry = next((one["inverted"] for one in entries if one["id"] == check.id and "inverted" in one), None)
    if entry is None:
        return None
    rounds = [event for event in evidence.of("check.inverted") if event.payload["check"] == check.id]
    return InvertedTests(
        rounds=len(rounds),
        variants=entry["variants"],
        controls=entry["controls"],
        tests=entry["tests"],
        without=tuple(entry["without"][:MOST_TESTS]),
        without_count=len(entry["without"]),
        problem=entry["problem"],
        evidence=tuple(pointer(event) for event in rounds),
    )


def _patch(evidence: Evidence, distance: int) -> PatchSize:
    changes = (evidence.changes or {}).get("changes", ())
    added, deleted = _lines(changes, evidence.patch or b"")
    tree = evidence.manifest.get("repository", {}).get("tree_digest", "")
    return PatchSize(
        sha256=sha256(evidence.patch or b""),
        bytes=len(evidence.patch or b""),
        files=len(changes),
        added_lines=added,
        deleted_lines=deleted,
        counted_lines=distance,
        dropped=len((evidence.changes or {}).get("dropped", ())),
        final_tree=digest({"base": tree, "changes": [[item["path"], item["after"]] for item in changes]}),
    )


def _lines(changes: Sequence[Mapping[str, Any]], patch: bytes) -> tuple[int, int]:
    """The lines that were added and deleted: as measured, else (the patch did not apply) as the patch says."""
    if changes and all("lines" in item for item in changes):
        return sum(item["lines"]["added"] for item in changes), sum(item["lines"]["deleted"] for item in changes)
    stats = known_stat(patch)
    return sum(stat.added_lines for stat in stats), sum(stat.deleted_lines for stat in stats)


def deviations(evidence: Evidence) -> Iterator[Deviation]:
    """Where the run departs from the planned protocol."""
    seed = evidence.contract.environment.seed
    if seed != PLANNED_SEED:
        yield Deviation(id="seed", message=f"seed {seed} instead of the planned {PLANNED_SEED}")
    for check in evidence.contract.checks:
        if check.rerun.decide != "all":
            message = f"{check.id} is decided by {check.rerun.decide!r} of its attempts instead of all"
            yield Deviation(id="tie-break", message=message)
    gateway = evidence.manifest.get("configuration", {}).get("gateway") or {}
    if gateway.get("cassette") == "replay":
        yield Deviation(id="cassette", message="the model's answers are recorded ones: no evidence of its own")
    for (asked, answered), events in other_models(evidence).items():
        message = f"{answered} gave {len(events)} of the answers that {asked} was asked for"
        yield Deviation(id="model", message=message, evidence=pointer(events[0]))
    closed = evidence.last("model.closed")
    if closed is not None and closed.payload.get("never_called"):
        yield Deviation(id="model", message=NEVER_CALLED, evidence=pointer(closed))
    for message, event in broken_servers(evidence):
        yield Deviation(id="mcp", message=message, evidence=pointer(event) if event else None)
    isolation = evidence.manifest.get("sandbox", {}).get("isolation", {})
    for name, means in sorted(isolation.items()):
        if means in REDUCED:
            yield Deviation(id="isolation", message=f"{name}: {REDUCED[means]}")
    if any(event.payload["from"] == "" and event.payload["to"] == "test" for event in evidence.of("stage.changed")):
        yield Deviation(id="stages", message="the run skips the ladder: every stage is open from the start")
    for event in evidence.of("stage.changed"):
        for stage in event.payload.get("skipped", ()):
            message = f"the agent went from {event.payload['from']} to {event.payload['to']} and left out {stage}"
            yield Deviation(id="stages", message=message, evidence=pointer(event))


def comparability(manifest: Mapping[str, Any]) -> Comparability:
    """What must agree before two runs are compared: repository, contract and configuration, and all of it as one."""
    sandbox = manifest.get("sandbox", {})
    parts = {
        "repository": digest(manifest.get("repository", {})),
        "contract": str(manifest.get("contract", {}).get("id", "")),
        "configuration": digest(
            {
                "sandbox": sandbox,
                "environment": manifest.get("environment", {}),
                "limits": manifest.get("limits", {}),
                "seeds": manifest.get("seeds", {}),
                "locale": manifest.get("locale", ""),
                "harness": manifest.get("harness", {}).get("version", ""),
                "configuration": _class_of(manifest.get("configuration", {})),
                **({"plugins": manifest["plugins"]} if manifest.get("plugins") else {}),
            }
        ),
    }
    return Comparability(**parts, group=digest(parts))


def _class_of(configuration: Mapping[str, Any]) -> dict[str, Any]:
    """The part of a configuration that two comparable runs share.

    Which batch and place a run has is its own, and so is what others had spent and been seen to do before it.
    """
    watch = configuration.get("watch", {})
    return {name: value for name, value in watch.items() if name not in OWN_TO_A_RUN}


def _events(evidence: Evidence) -> EventCounts:
    counts = Counter(event.type for event in evidence.events)
    head = evidence.events[-1].hash if evidence.events else ""
    return EventCounts(count=len(evidence.events), head=head, by_type=dict(sorted(counts.items())))


def _durations(evidence: Evidence) -> Durations:
    """Wall-clock time and, apart from it, the time in which tools and checks were at work."""
    times = [int(event.t) for event in evidence.events]
    finished = evidence.last("agent.finished")
    return Durations(
        wall_seconds=seconds_text(times[-1] - times[0]) if times else "0.000",
        agent_seconds=str(finished.payload["wall_seconds"]) if finished else "0.000",
        tool_seconds=_sum(event.payload["wall_seconds"] for event in evidence.of("tool.invocation")),
        tool_cpu_seconds=_sum(event.payload["cpu_seconds"] for event in evidence.of("tool.invocation")),
        check_seconds=_sum(_observed(evidence, "check.finished")),
        waited_for_provider_seconds=_waited(evidence),
        inverted_seconds=_sum(_observed(evidence, "check.inverted")),
    )


def _waited(evidence: Evidence) -> str | None:
    """How long the agent's time was stopped because its provider was silent; nothing if it never was."""
    silences = any(True for _ in evidence.of("model.silent"))
    return _sum(event.payload["seconds"] for event in evidence.of("model.heard")) if silences else None


def _observed(evidence: Evidence, name: str) -> Iterable[Any]:
    return (event.payload["observed_seconds"] for event in evidence.of(name))


def _usage(evidence: Evidence) -> Usage:
    used = [event.payload for event in evidence.of("model.usage")]
    calls, cycles = count_calls(evidence.events, evidence.manifest.get("configuration", {}).get("watch") or {})
    return Usage(
        tool_calls=sum(1 for _ in evidence.of("tool.invocation")),
        agent_calls=calls,
        test_cycles=cycles,
        programs=sum(1 for _ in evidence.of("guard.exec")),
        check_attempts=sum(1 for _ in evidence.of("check.finished")),
        tokens=sum(int(item["input_tokens"]) + int(item["output_tokens"]) for item in used) if used else None,
        cost=_cost(evidence),
    )


def _cost(evidence: Evidence) -> Cost | None:
    projected = evidence.last("cost.projected")
    if projected is None:
        return None
    return Cost(
        method=projected.payload["method"],
        usd=projected.payload["usd"],
        units=projected.payload["units"],
        observed_usd=projected.payload["observed_usd"],
        phases={name: PhaseCost(**parts) for name, parts in projected.payload["phases"].items()},
        evidence=pointer(projected),
    )


def _sum(texts: Iterable[Any]) -> str:
    """The sum of decimal strings of seconds, without a float."""
    return f"{sum((Decimal(str(text)) for text in texts), Decimal(0)):.3f}"
