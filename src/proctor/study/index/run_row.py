"""One row of the table from one run directory.

Only a sealed run whose manifest, contract and report are those of its seal gives a row; values that a
retention act removed are missing in the row, and no others. A run that is still going on, was cut off, was changed or
repeats another gives no row but a reason. Texts and numbers come from those files and the trace alone, so that the same
directory always gives the same row.

Cost comes from the last projection. Without a price table that is in abstract units, which count as the envelopes count
them, so many to a dollar; ``cost_method`` then names the schedule. The minutes of later reviews are priced where the
run's own price table prices them.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from hashlib import sha256
from pathlib import Path
from typing import Any

from proctor.base.canonical import parse_canonical
from proctor.base.errors import BrokenSeal, UsageFault
from proctor.contract.policy import INDICATOR_CODES
from proctor.execute.gateway.provider_outages import PROVIDER_SILENCE
from proctor.execute.monitor.price_table import FALLBACK
from proctor.execute.monitor.tool_calls_from_processes import count_calls
from proctor.judge.run_verdict import SAFETY_CODES
from proctor.record import reviews
from proctor.record.report_model import Report, report_from
from proctor.record.retain import NAME as RETENTION
from proctor.record.run_directory import RunDirectory
from proctor.record.run_store import copy_of, state
from proctor.record.seal import Seal, load_seal
from proctor.record.trace.chain import Chain
from proctor.record.trace.reader import follow_chain
from proctor.study.run_table import NAMES

STRATA = ("language", "complexity")
"""The strata of a contract that make its label, unless the caller names others."""

GATES = ("G1", "G2", "G3", "G4")
PARTS = ("model", "execution", "human", "overhead")
PHASES = ("setup", "agent", "acceptance")
PHASED = ("execution", "overhead")
"""The parts of the cost that every phase has."""

FINISHED, RESOURCE, SAFETY, OPERATOR, INFRASTRUCTURE = "finished", "resource", "safety", "operator", "infrastructure"
OWN_ENDS = ("finished", "failed")
"""How an agent can end by itself."""

_UNDONE = "ended-by-rollback"
_REASONS = {
    "running": "is still running",
    "waiting": "waits for a human: proctor decide",
    "paused": "is paused by an operator: proctor decide",
    "cut": "was cut off before it was sealed",
}
_MINUTES = {"second": Decimal(60), "minute": Decimal(1), "hour": 1 / Decimal(60)}


def row_of(run: RunDirectory, strata: tuple[str, ...] = STRATA, heads: reviews.Heads | None = None) -> dict[str, Any]:
    """The row of ``run``, with every column; ``heads`` is the home's record of reviews, if it was read already.

    :class:`UsageFault` when the run has no row to give, :class:`BrokenSeal` when it is not what was sealed.
    """
    name = run.path.name
    standing = state(run)
    if standing in _REASONS:
        raise UsageFault(_REASONS[standing], where=name)
    if standing == "copy":
        raise BrokenSeal(f"contains the run {copy_of(run)} under another id and does not count", where=name)
    if standing != "finished":
        raise BrokenSeal("is not what was sealed", where=name, hint=f"proctor verify {name} says where")
    seal = load_seal(run)
    manifest, contract = (_sealed(run, seal, path) for path in (run.manifest, run.contract))
    report = report_from(_sealed(run, seal, run.report), f"{name}/report.json")
    configuration = _map(manifest, "configuration")
    if configuration.get("replay_of"):
        raise UsageFault(f"repeats {configuration['replay_of']} on recorded answers", where=name)
    if _map(configuration, "gateway").get("cassette") == "replay":
        raise UsageFault("had its answers from the cassette of another run", where=name)
    try:
        return {
            **dict.fromkeys(NAMES),
            "source": os.fsencode(run.path).decode("utf-8", "replace"),
            **_identity(manifest, _map(contract, "strata"), strata),
            **_verdict(report),
            **_reviewed(log := _reviews(run, seal, heads)),
            **_cost(report, configuration, reviews.minutes_of(log) if log else None),
            **_work(run, seal, report, configuration),
        }
    except (TypeError, ValueError, IndexError):
        raise BrokenSeal("its manifest or its report does not have the form that Proctor writes", where=name) from None


def _identity(manifest: Mapping[str, Any], declared: Mapping[str, Any], strata: tuple[str, ...]) -> dict[str, Any]:
    """Agent, task, and the study to which the run belongs."""
    configuration = _map(manifest, "configuration")
    agent, model = _text(manifest, "agent", "name"), _text(configuration, "model")
    labels = [str(declared[name]) for name in strata if declared.get(name)]
    return {
        "run": _text(manifest, "run"),
        "agent": agent,
        "model": model,
        "method": _text(configuration, "method") or (f"{agent} · {model}" if model else agent),
        "task": _text(manifest, "contract", "name"),
        "contract": _text(manifest, "contract", "id"),
        "stratum": _text(configuration, "stratum") or " / ".join(labels) or None,
        "trial": _count(configuration.get("repeat")),
        "pilot": _text(configuration, "pilot"),
        "stage": _text(configuration, "stage"),
        "begun": _text(manifest, "started", "text"),
        "batch": _text(configuration, "batch"),
        "retry_of": _text(configuration, "retry_of"),
    }


def _verdict(report: Report) -> dict[str, Any]:
    """The verdict of the judge, and how the agent ended."""
    scorable = report.endpoint.scorable
    passed = {gate.id: gate.passed for gate in report.gates}
    ended = ending(report)
    return {
        "status": report.status or None,
        "success": int(report.endpoint.success) if scorable else None,
        "scorable": int(scorable),
        "ended": ended,
        "censored": int(ended == RESOURCE),
        "exit_code": report.termination.exit_code,
        "changed_files": report.patch.files,
        **{f"gate{gate[1]}": int(passed[gate]) if scorable and gate in passed else None for gate in GATES},
        "score": _number(report.score.value) if report.score else None,
        "contract_score": _number(report.scores.contract.value) if report.scores else None,
        "tags": ";".join(sorted({tag.id for tag in report.tags})),
        "comparability": report.comparability.group or None,
    }


def ending(report: Report) -> str:
    """What ended the agent: itself, a limit, a violation, a human, or a fault that it did not cause."""
    code, reason = report.termination.code, report.termination.reason
    if code:
        if code.startswith(SAFETY_CODES) or code in INDICATOR_CODES or code == _UNDONE:
            return SAFETY
        if code == PROVIDER_SILENCE:
            return INFRASTRUCTURE
        return OPERATOR if code.startswith("operator") else RESOURCE
    faults = any(problem.startswith("fault while agent") for problem in report.problems)
    return FINISHED if reason in OWN_ENDS and not faults else INFRASTRUCTURE


def _cost(report: Report, configuration: Mapping[str, Any], minutes: Decimal | None) -> dict[str, Any]:
    """The projected cost by part and phase, and the cost of reviews in addition; nothing without a projection."""
    cost = report.usage.cost
    if cost is None:
        return {}
    rate = Decimal(1) if cost.usd is not None else FALLBACK.units_per_usd
    spent = {
        (phase, part): (_decimal(getattr(cost.phases.get(phase), part, None)) or Decimal(0)) / rate
        for phase in PHASES
        for part in PARTS
    }
    sums = {part: sum((spent[phase, part] for phase in PHASES), Decimal(0)) for part in PARTS}
    price = _minute_price(configuration)
    return {
        "review_usd": None if minutes is None or price is None else float(minutes * price),
        "cost_usd": float(sum(sums.values(), Decimal(0))),
        **{f"{part}_usd": float(amount) for part, amount in sums.items()},
        **{f"{phase}_{part}_usd": float(spent[phase, part]) for phase in PHASES for part in PHASED},
        "billed_usd": _number(cost.observed_usd),
        "cost_method": cost.method,
    }


def _minute_price(configuration: Mapping[str, Any]) -> Decimal | None:
    """What a minute of a reviewer costs by the price table of the run; nothing if it has no such price."""
    rows = _map(_map(configuration, "watch"), "prices").get("rows", ())
    prices = [(row[1], _decimal(row[2])) for row in rows if row[0] == "human_review" and row[1] in _MINUTES]
    known = [price * _MINUTES[unit] for unit, price in prices if price is not None]
    return sum(known, Decimal(0)) if known else None


def _reviewed(log: tuple[reviews.Review, ...]) -> dict[str, Any]:
    """What reviewers think of a run together, and how long they took."""
    if not log:
        return {"review": None, "human_minutes": None}
    return {"review": reviews.opinion(log), "human_minutes": float(reviews.minutes_of(log))}


def _reviews(run: RunDirectory, seal: Seal, heads: reviews.Heads | None) -> tuple[reviews.Review, ...]:
    """The reviews of a run; a log whose end is missing does not count as a shorter one."""
    noted = reviews.noted_heads(run) if heads is None else heads
    if seal.digest not in noted and not os.path.lexists(run.path / reviews.NAME):
        return ()
    return reviews.read_reviews(run, seal.digest, noted)


def _work(run: RunDirectory, seal: Seal, report: Report, configuration: Mapping[str, Any]) -> dict[str, Any]:
    """Time, tokens and calls. Calls are counted from the trace; where its payloads are gone, the report counts them."""
    tokens, usage = report.conversation.tokens if report.conversation else None, report.usage
    kept = not os.path.lexists(run.path / RETENTION)
    counts = usage.agent_calls, usage.test_cycles
    calls, cycles = _calls(run, seal, _map(configuration, "watch")) if kept else counts
    return {
        "tokens_in": tokens.input if tokens else None,
        "tokens_out": tokens.output if tokens else None,
        "seconds": _number(report.durations.agent_seconds),
        "judge_seconds": _number(report.durations.check_seconds),
        "tool_calls": calls,
        "test_cycles": cycles,
    }


def _calls(run: RunDirectory, seal: Seal, watch: Mapping[str, Any]) -> tuple[int, int]:
    """How many tool calls the agent began, and how many of its programs were runs of tests."""
    chain = Chain()
    counts = count_calls(follow_chain(run.events, chain), watch)
    if (chain.count, chain.head) != (seal.count, seal.head):
        raise BrokenSeal("the trace is not the one that was sealed", where=run.path.name)
    return counts


def _sealed(run: RunDirectory, seal: Seal, path: Path) -> Mapping[str, Any]:
    """A file of the run as data; :class:`BrokenSeal` when it is not the one that was sealed."""
    name = run.name(path)
    if name not in seal.files:
        raise BrokenSeal(f"{name} was never sealed", where=run.path.name)
    data = run.read(path, seal.files[name].bytes)
    if sha256(data).hexdigest() != seal.files[name].sha256:
        raise BrokenSeal(f"{name} is not what was sealed", where=run.path.name)
    try:
        value = parse_canonical(data)
    except ValueError:
        value = None
    if not isinstance(value, Mapping):
        raise BrokenSeal(f"{name} is not a record", where=run.path.name)
    return value


def _map(value: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = value.get(name)
    return found if isinstance(found, Mapping) else {}


def _text(value: Mapping[str, Any], *names: str) -> str | None:
    """The text below ``names``; nothing when there is none or it is empty."""
    for name in names[:-1]:
        value = _map(value, name)
    found = value.get(names[-1])
    return found if isinstance(found, str) and found else None


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _decimal(text: Any) -> Decimal | None:
    try:
        found = Decimal(text) if isinstance(text, str) else None
    except InvalidOperation:
        return None
    return found if found is not None and found.is_finite() else None


def _number(text: Any) -> float | None:
    found = _decimal(text)
    return None if found is None else float(found)
