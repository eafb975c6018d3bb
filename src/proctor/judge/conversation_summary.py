"""The summary in a report of the conversation with a model, and of the programs that it caused. Pure.

Counts are of events; ``None`` is a run without a model. Long lists show their beginning and how many there are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from proctor.execute.monitor.price_table import is_same_model
from proctor.judge.programs_by_tool_call import DESCENT, ORDER, WORDS, Program, programs_of
from proctor.judge.run_evidence import Evidence, pointer
from proctor.record.report_model import (
    Conversation,
    ProgramMatch,
    Programs,
    Refusal,
    RefusalText,
    Tokens,
    UnmatchedProgram,
)
from proctor.record.trace.event import Event

MOST_SHOWN = 100
MOST_WORDS = 20
WORD_CHARACTERS = 200


def conversation(evidence: Evidence) -> Conversation | None:
    """The part of the report; nothing where no model was there."""
    closed = evidence.last("model.closed")
    if closed is None and evidence.last("model.request") is None:
        return None
    requests = list(evidence.of("model.request"))
    used = [event.payload for event in evidence.of("model.usage")]
    ended = closed.payload if closed is not None else {}
    return Conversation(
        calls=len(requests),
        retries=sum(1 for event in requests if event.payload["retry_of"] is not None),
        messages=_counted(evidence.of("model.message"), "role"),
        models=_counted(requests, "model"),
        dialects=_counted(requests, "dialect"),
        tokens=Tokens(
            input=sum(int(item["input_tokens"]) for item in used),
            output=sum(int(item["output_tokens"]) for item in used),
            estimated_calls=sum(1 for item in used if item.get("estimated")),
        ),
        tools=_counted(evidence.of("tool.call"), "name"),
        tool_calls=sum(1 for _ in evidence.of("tool.call")),
        refusals=tuple(
            Refusal(why=RefusalText(**event.payload["refusal"]), evidence=pointer(event))
            for event in evidence.of("model.response")
            if event.payload["refusal"]
        )[:MOST_SHOWN],
        refused=_counted(evidence.of("model.refused"), "code"),
        errors=_counted(evidence.of("model.error"), "class"),
        words=_counted((one for one in evidence.of("words.hit") if "call" in one.payload), "format"),
        outage=ended.get("outage"),
        outage_class=ended.get("outage_class"),
        programs=_programs(evidence),
        evidence=(pointer(closed),) if closed is not None else (),
    )


def _counted(events: Iterable[Event], field: str) -> dict[str, int]:
    """How many of ``events`` have each value of a field."""
    return dict(sorted(Counter(str(event.payload[field]) for event in events).items()))


def unaffordable(evidence: Evidence) -> Event | None:
    """The last call that the budget refused or cut short, unless a whole answer came after it."""
    found = None
    for event in evidence.of("model.refused", "model.response"):
        if event.type == "model.response":
            found = event if event.payload.get("cut_by_budget") else None
        elif event.payload["code"] == "budget":
            found = event
    return found


def other_models(evidence: Evidence) -> dict[tuple[str, str], list[Event]]:
    """The answers of a model other than the one that was asked for, by both names."""
    asked = {event.payload["call"]: str(event.payload["model"]) for event in evidence.of("model.request")}
    found: dict[tuple[str, str], list[Event]] = {}
    for event in evidence.of("model.response"):
        names = asked.get(event.payload["call"], ""), str(event.payload.get("model", ""))
        if all(names) and not is_same_model(*names):
            found.setdefault(names, []).append(event)
    return found


def _programs(evidence: Evidence) -> Programs:
    """The programs that started while there was a conversation, by what their cause rests on."""
    found = programs_of(evidence.events)
    causes = [program.cause for program in found if program.cause is not None]
    counts = Counter(cause.how for cause in causes)
    unmatched = [program for program in found if program.cause is None]
    calls = {cause.event.seq for cause in causes}
    return Programs(
        words=counts[WORDS],
        descent=counts[DESCENT],
        order=counts[ORDER],
        unmatched=len(unmatched),
        tool_calls_without=sum(1 for event in evidence.of("tool.call") if event.seq not in calls),
        matches=tuple(
            ProgramMatch(tool_call=pointer(one.cause.event), program=pointer(one.event), how=one.cause.how)
            for one in found
            if one.cause is not None and one.cause.how != DESCENT
        )[:MOST_SHOWN],
        without_cause=tuple(_shown(program) for program in unmatched[:MOST_SHOWN]),
    )


def _shown(program: Program) -> UnmatchedProgram:
    argv = tuple(str(word)[:WORD_CHARACTERS] for word in program.event.payload["argv"][:MOST_WORDS])
    return UnmatchedProgram(argv=argv, evidence=pointer(program.event))
