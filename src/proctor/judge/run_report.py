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
from proctor.contract.model import Check
from proctor.execute.monitor.tool_call_detection import count_calls
from proctor.execute.workspace.patch import known_stat
from proctor.judge.checks.sentinels import forgeable
from proctor.judge.conversation_summary import conversation, other_models, unaffordable
from proctor.judge.failure_attribution import interpretation
from proctor.judge.failure_tags import tags
from proctor.judge.mcp_servers import broken_servers
from proctor.judge.risk_indicators import RULES as RISKS
from proctor.judge.risk_indicators import indicators
from proctor.judge.rubric import RUBRIC
from proctor.judge.run_evidence import Evidence, pointer, read_evidence
from proctor.judge.run_verdict import GATE_NAMES, NEVER_CALLED, SUCCESS, gates, status
from proctor.judge.scores import distance_of, score, scores
from proctor.judge.taxonomy import PATH as TAXONOMY
from proctor.judge.taxonomy import taxonomy_digest
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


def replayable(evidence: Evidence) -> dict[str, Any]:
    """The statement as a report holds it: yes or no, every reason for a no with its evidence, and what is assumed."""
    found = tuple(_reasons(evidence))
    return {
        "replayable": not found,
        "reasons": [{"why": why, "evidence": where} for why, where in found],
        "assumed": list(ASSUMED),
    }


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
    return canonical(report(read_evidence(run), schema))


def conclusion(run: RunDirectory, finish: Callable[[str], Event]) -> tuple[str, bytes]:
    """The status of ``run`` and the bytes of its report, after ``finish`` has written the event with the status.

    The last event has the status of the report, and the report counts that event as well.
    """
    evidence = read_evidence(run)
    status_of_run = status(evidence, gates(evidence))
    last = finish(status_of_run.status)
    return status_of_run.status, canonical(report(replace(evidence, events=(*evidence.events, last))))


def _replay(manifest: Mapping[str, Any]) -> dict[str, str]:
    """Which run this one repeats on recorded answers; nothing for a run of its own."""
    replayed = manifest.get("configuration", {}).get("replay_of")
    return {"replay_of": str(replayed)} if replayed else {}


def _retry(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Which invalid run this one was made in the place of, and which attempt it is; nothing for a first one."""
    configuration = manifest.get("configuration", {})
    names = ("retry_of", "attempt")
    return {name: configuration[name] for name in names} if all(name in configuration for name in names) else {}


def report(evidence: Evidence, schema: int = SCHEMA) -> dict[str, Any]:
    """The report as data."""
    verdicts = gates(evidence)
    status_of_run = status(evidence, verdicts)
    distance = distance_of(evidence)
    manifest = evidence.manifest
    return {
        "schema": schema,
        "kind": REPORT.kind,
        "run": manifest.get("run", ""),
        "contract": manifest.get("contract", {}),
        "agent": {key: manifest.get("agent", {}).get(key, "") for key in ("name", "kind", "digest")},
        "model": str(manifest.get("configuration", {}).get("model", "")),
        **_replay(manifest),
        **_retry(manifest),
        "status": status_of_run.status,
        "attribution": status_of_run.attribution,
        "problems": list(status_of_run.problems),
        "termination": _termination(evidence),
        "interventions": [
            {
                "action": event.payload["action"],
                "alert": f"events.jsonl#{event.payload['alert']}",
                "evidence": pointer(event),
            }
            for event in evidence.of("intervention")
        ],
        "alerts": dict(sorted(Counter(str(event.payload["code"]) for event in evidence.of("monitor.alert")).items())),
        "endpoint": {"success": status_of_run.status == SUCCESS, "scorable": not status_of_run.problems},
        "gates": [
            {
                "id": gate.id,
                "name": GATE_NAMES[gate.id],
                "passed": gate.passed,
                "why": gate.why,
                "evidence": list(gate.evidence),
            }
            for gate in verdicts
        ],
        "score": score(evidence, verdicts, distance) if status_of_run.status == SUCCESS else None,
        "scores": scores(evidence, verdicts, status_of_run),
        "checks": [_check(evidence, check, schema) for check in evidence.contract.checks],
        "patch": _patch(evidence, distance),
        "restored": list((evidence.results or {}).get("restored", ())),
        "tags": [tag.record() for tag in tags(evidence, status_of_run)],
        "taxonomy": taxonomy_digest(),
        **({"rules": rules_digest()} if schema >= 3 else {}),
        "indicators": indicators(evidence),
        "interpretation": interpretation(evidence),
        "deviations": deviations(evidence),
        "replayable": replayable(evidence),
        "comparability": comparability(manifest),
        "events": _events(evidence),
        "durations": _durations(evidence, schema),
        "usage": _usage(evidence),
        "conversation": conversation(evidence),
        "evidence": [
            "manifest.json",
            "contract.json",
            "events.jsonl",
            "workspace/final.patch",
            "acceptance/results.json",
        ],
    }


def _termination(evidence: Evidence) -> dict[str, Any]:
    """How the agent came to its end: of its own accord, or ended by a rule that is named."""
    finished, ended = evidence.last("agent.finished"), evidence.last("run.terminated")
    found: dict[str, Any] = {
        "reason": str(finished.payload["reason"]) if finished else "",
        "exit_code": finished.payload["exit_code"] if finished else None,
        "code": None,
    }
    refused = unaffordable(evidence)
    if ended is not None:
        found |= {
            "code": ended.payload["code"],
            "rationale": ended.payload["rationale"],
            "evidence": [pointer(ended)],
        }
    elif refused is not None:
        why = refused.payload.get("detail", "the budget left no room for the whole answer of the model")
        found |= {"code": "model-budget", "rationale": why, "evidence": [pointer(refused)]}
    return found


def _check(evidence: Evidence, check: Check, schema: int) -> dict[str, Any]:
    decided = evidence.decision(check)
    blocked = decided is not None and decided.type == "check.blocked"
    payload: Mapping[str, Any] = decided.payload if decided else {}
    attempts = evidence.attempts(check)
    return {
        "id": check.id,
        "gate": check.gate,
        "layer": check.layer,
        "mandatory": check.mandatory,
        "outcome": "blocked" if blocked else payload.get("outcome", "undecided"),
        "reason": str(payload.get("reason", "")),
        "detail": str(payload.get("detail", "")),
        "attribution": str(payload.get("attribution", "")),
        "rule": check.rerun.decide,
        "flagged": check.rerun.decide != "all",
        "forgeable": forgeable(check),
        "attempts": [
            {
                "tree": event.payload["tree"],
                "attempt": event.payload["attempt"],
                "outcome": event.payload["outcome"],
                "reason": event.payload["reason"],
                "sentinels": event.payload.get("sentinels", "none"),
                "tests": event.payload.get("tests", {}),
                "failing": event.payload["failing"][:20],
                "observed_seconds": event.payload["observed_seconds"],
                "evidence": pointer(event),
            }
            for event in attempts
        ],
        "evidence": [pointer(decided)] if decided else [],
        **({"inverted": _inverted(evidence, check)} if schema > 2 else {}),
    }


def _inverted(evidence: Evidence, check: Check) -> dict[str, Any] | None:
    """What inverted tests showed about a check; ``None`` if none ran."""
    entries = (evidence.results or {}).get("checks", ())
    entry = next((one["inverted"] for one in entries if one["id"] == check.id and "inverted" in one), None)
    if entry is None:
        return None
    rounds = [event for event in evidence.of("check.inverted") if event.payload["check"] == check.id]
    return {
        "rounds": len(rounds),
        "variants": entry["variants"],
        "controls": entry["controls"],
        "tests": entry["tests"],
        "without": list(entry["without"][:MOST_TESTS]),
        "without_count": len(entry["without"]),
        "problem": entry["problem"],
        "evidence": [pointer(event) for event in rounds],
    }


def _patch(evidence: Evidence, distance: int) -> dict[str, Any]:
    changes = (evidence.changes or {}).get("changes", ())
    added, deleted = _lines(changes, evidence.patch or b"")
    tree = evidence.manifest.get("repository", {}).get("tree_digest", "")
    return {
        "sha256": sha256(evidence.patch or b""),
        "bytes": len(evidence.patch or b""),
        "files": len(changes),
        "added_lines": added,
        "deleted_lines": deleted,
        "counted_lines": distance,
        "dropped": len((evidence.changes or {}).get("dropped", ())),
        "final_tree": digest({"base": tree, "changes": [[item["path"], item["after"]] for item in changes]}),
    }


def _lines(changes: Sequence[Mapping[str, Any]], patch: bytes) -> tuple[int, int]:
    """The lines that were added and deleted: as measured, else (the patch did not apply) as the patch says."""
    if changes and all("lines" in item for item in changes):
        return sum(item["lines"]["added"] for item in changes), sum(item["lines"]["deleted"] for item in changes)
    stats = known_stat(patch)
    return sum(stat.added_lines for stat in stats), sum(stat.deleted_lines for stat in stats)


def deviations(evidence: Evidence) -> list[dict[str, Any]]:
    """Where the run departs from the planned protocol."""
    found = []
    seed = evidence.contract.environment.seed
    if seed != PLANNED_SEED:
        found.append({"id": "seed", "message": f"seed {seed} instead of the planned {PLANNED_SEED}"})
    for check in evidence.contract.checks:
        if check.rerun.decide != "all":
            message = f"{check.id} is decided by {check.rerun.decide!r} of its attempts instead of all"
            found.append({"id": "tie-break", "message": message})
    gateway = evidence.manifest.get("configuration", {}).get("gateway") or {}
    if gateway.get("cassette") == "replay":
        found.append({"id": "cassette", "message": "the model's answers are recorded ones: no evidence of its own"})
    for (asked, answered), events in other_models(evidence).items():
        message = f"{answered} gave {len(events)} of the answers that {asked} was asked for"
        found.append({"id": "model", "message": message, "evidence": pointer(events[0])})
    closed = evidence.last("model.closed")
    if closed is not None and closed.payload.get("never_called"):
        found.append({"id": "model", "message": NEVER_CALLED, "evidence": pointer(closed)})
    for message, event in broken_servers(evidence):
        found.append({"id": "mcp", "message": message} | ({"evidence": pointer(event)} if event else {}))
    isolation = evidence.manifest.get("sandbox", {}).get("isolation", {})
    for name, means in sorted(isolation.items()):
        if means in REDUCED:
            found.append({"id": "isolation", "message": f"{name}: {REDUCED[means]}"})
    if any(event.payload["from"] == "" and event.payload["to"] == "test" for event in evidence.of("stage.changed")):
        found.append({"id": "stages", "message": "the run skips the ladder: every stage is open from the start"})
    for event in evidence.of("stage.changed"):
        for stage in event.payload.get("skipped", ()):
            message = f"the agent went from {event.payload['from']} to {event.payload['to']} and left out {stage}"
            found.append({"id": "stages", "message": message, "evidence": pointer(event)})
    return found


def comparability(manifest: Mapping[str, Any]) -> dict[str, str]:
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
            }
        ),
    }
    return {**parts, "class": digest(parts)}


def _class_of(configuration: Mapping[str, Any]) -> dict[str, Any]:
    """The part of a configuration that two comparable runs share.

    Which batch and place a run has is its own, and so is what others had spent and been seen to do before it.
    """
    watch = configuration.get("watch", {})
    return {name: value for name, value in watch.items() if name not in OWN_TO_A_RUN}


def _events(evidence: Evidence) -> dict[str, Any]:
    counts = Counter(event.type for event in evidence.events)
    head = evidence.events[-1].hash if evidence.events else ""
    return {"count": len(evidence.events), "head": head, "by_type": dict(sorted(counts.items()))}


def _durations(evidence: Evidence, schema: int) -> dict[str, str]:
    """Wall-clock time and, apart from it, the time in which tools and checks were at work."""
    times = [int(event.t) for event in evidence.events]
    finished = evidence.last("agent.finished")
    return {
        "wall_seconds": seconds_text(times[-1] - times[0]) if times else "0.000",
        "agent_seconds": str(finished.payload["wall_seconds"]) if finished else "0.000",
        "tool_seconds": _sum(event.payload["wall_seconds"] for event in evidence.of("tool.invocation")),
        "tool_cpu_seconds": _sum(event.payload["cpu_seconds"] for event in evidence.of("tool.invocation")),
        "check_seconds": _sum(_observed(evidence, "check.finished")),
        **_waited(evidence),
        **({"inverted_seconds": _sum(_observed(evidence, "check.inverted"))} if schema > 2 else {}),
    }


def _waited(evidence: Evidence) -> dict[str, str]:
    """How long the agent's time was stopped because its provider was silent; nothing if it never was."""
    silences = any(True for _ in evidence.of("model.silent"))
    heard = (event.payload["seconds"] for event in evidence.of("model.heard"))
    return {"waited_for_provider_seconds": _sum(heard)} if silences else {}


def _observed(evidence: Evidence, name: str) -> Iterable[Any]:
    return (event.payload["observed_seconds"] for event in evidence.of(name))


def _usage(evidence: Evidence) -> dict[str, Any]:
    projected = evidence.last("cost.projected")
    cost = None
    if projected is not None:
        names = ("method", "usd", "units", "observed_usd", "phases")
        cost = {name: projected.payload[name] for name in names} | {"evidence": pointer(projected)}
    used = [event.payload for event in evidence.of("model.usage")]
    calls, cycles = count_calls(evidence.events, evidence.manifest.get("configuration", {}).get("watch") or {})
    return {
        "tool_calls": sum(1 for _ in evidence.of("tool.invocation")),
        "agent_calls": calls,
        "test_cycles": cycles,
        "programs": sum(1 for _ in evidence.of("guard.exec")),
        "check_attempts": sum(1 for _ in evidence.of("check.finished")),
        "tokens": sum(int(item["input_tokens"]) + int(item["output_tokens"]) for item in used) if used else None,
        "cost": cost,
    }


def _sum(texts: Iterable[Any]) -> str:
    """The sum of decimal strings of seconds, without a float."""
    return f"{sum((Decimal(str(text)) for text in texts), Decimal(0)):.3f}"
