"""A short account of how a failure came about, from the recorded events by fixed rules. Pure, bounded, and no verdict.

It says which tests did not pass, where the first of them is first named, which run of tests ended well last, what
changed after it, and which programs ran around the last change. Every sentence points at the events that it rests on;
one without cannot be made. It is an interpretation and is called so wherever it is shown: programs are known by their
names, and what came before need not be the cause.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from proctor.contract.model import Check
from proctor.execute.monitor.payload_values import inner, integer, text, text_list
from proctor.execute.monitor.program_kinds import TEST
from proctor.execute.monitor.tool_calls_from_processes import PASSED, Calls, Work
from proctor.judge.checks.check_decision import FAIL, FORGED_RESULTS, PASS
from proctor.judge.run_evidence import Evidence, pointer
from proctor.record.report_model import Interpretation, Sentence
from proctor.record.trace.event import Event

LABEL = "interpretation, derived from the recorded events by fixed rules; the events are the record"
MOST_SENTENCES = 10
MOST_POINTERS = 10
MOST_NAMED = 3
CHARACTERS = 300
LINE_CHARACTERS = 80
SHORTEST_NAME = 4
"""A shorter name of a test occurs in too many texts to be evidence."""


def interpretation(evidence: Evidence) -> Interpretation | None:
    """The account as a report holds it; nothing where no check failed and the patch applied."""
    sentences = tuple(_account(evidence))[:MOST_SENTENCES]
    return Interpretation(label=LABEL, sentences=sentences) if sentences else None


def _account(evidence: Evidence) -> Iterator[Sentence]:
    applied = evidence.last("patch.applied")
    if applied is not None and applied.payload["outcome"] != PASS:
        yield _say(f"The patch could not be applied: {applied.payload['problem']}", applied)
    failed = [
        (check, decided)
        for check in evidence.contract.checks
        if (decided := evidence.decision(check)) is not None and decided.payload.get("outcome") == FAIL
    ]
    for check, decided in failed[:MOST_NAMED]:
        yield from _of_check(evidence, check, decided)
    if failed:
        yield from _before(evidence)
    ended = evidence.last("run.terminated")
    if ended is not None and (failed or applied is None):
        yield _say(f"The agent did not end by itself: {ended.payload['code']}, {ended.payload['rationale']}", ended)


def _of_check(evidence: Evidence, check: Check, decided: Event) -> Iterator[Sentence]:
    attempts = [one for one in evidence.attempts(check) if one.payload["tree"] == "patched"]
    failing = [str(test) for test in attempts[-1].payload["failing"]] if attempts else []
    if decided.payload.get("reason") == FORGED_RESULTS:
        rounds = evidence.suspicious_rounds(check)
        yield _say(f"{check.id}: results are forged: {decided.payload.get('detail', '')}", decided, *rounds)
        return
    if not failing:
        yield _say(f"{check.id} failed without naming a test: {decided.payload.get('reason', '')}", decided, *attempts)
        return
    count = integer(attempts[-1].payload, "failing_count") or len(failing)
    yield _say(f"{check.id}: {count} tests did not pass, {_list(failing, count)}", *attempts, decided)
    kept = [test for test in failing if test in set(check.keep_passing)]
    if kept:
        yield _say(f"The contract lists as passing before the patch: {_list(kept, len(kept))}", *attempts)
    named, seen = _first_named(evidence, failing)
    if seen is not None:
        yield _say(f"{named} is first named in what was printed at event {seen.seq}, while the agent acted", seen)
    else:
        yield _say("None of them is named in what is recorded before the judge's own attempt", attempts[0])


def _first_named(evidence: Evidence, failing: Sequence[str]) -> tuple[str, Event | None]:
    """The first event of the agent's time whose output names one of the tests, and which."""
    names = {test: _short(test) for test in failing[:50]}
    for event in _acting(evidence.events):
        printed = _printed(event)
        for test, name in names.items() if printed else ():
            if len(name) >= SHORTEST_NAME and name in printed:
                return test, event
    return "", None


def _printed(event: Event) -> str:
    if event.type == "tool.result":
        return str(event.payload["content"])
    if event.type == "tool.invocation":
        return "\n".join(text(inner(event.payload, name), "prefix") for name in ("stdout", "stderr"))
    return ""


def _before(evidence: Evidence) -> Iterator[Sentence]:
    """The last run of tests that ended well, the one after it that did not, what changed since, what ran around it."""
    acting = list(_acting(evidence.events))
    by_seq = {event.seq: event for event in acting}
    runs = _test_runs(acting)
    well = next((run for run in reversed(runs) if run.outcome == PASSED), None)
    since = well.ended or well.started if well is not None else -1
    if well is not None:
        yield _say(f"The last run of tests that ended well was {_line(well.argv)}", *_events_of(well, by_seq))
    elif runs:
        tried = f"{len(runs)} runs of tests were seen while the agent acted, and none ended well"
        yield _say(tried, *(by_seq[run.started] for run in runs))
    later = next((run for run in runs if run.started > since and run.outcome != PASSED), None)
    if well is not None and later is not None:
        yield _say(f"The next that did not end well was {_line(later.argv)}", *_events_of(later, by_seq))
    changes = [event for event in acting if event.type == "workspace.mutation" and event.seq > since]
    if changes:
        paths = dict.fromkeys(text(event.payload, "path") for event in changes)
        when = "After it" if well is not None else "While the agent acted"
        listed = ", ".join(_change(changes, path) for path in list(paths)[:MOST_NAMED])
        more = f" and {len(paths) - MOST_NAMED} more" if len(paths) > MOST_NAMED else ""
        yield _say(f"{when} these files changed: {listed}{more}", *changes)
        around = [event for event in acting if event.type == "guard.exec" and event.seq < changes[-1].seq]
        if around:
            lines = ", ".join(_line(text_list(event.payload, "argv")) for event in around[-MOST_NAMED:])
            yield _say(f"Before the last of these changes was seen, these programs started: {lines}", *around[-3:])
    elif well is not None:
        yield _say("No change of a file was seen after it", *_events_of(well, by_seq))


def _test_runs(acting: Sequence[Event]) -> list[Work]:
    """The runs of tests that were seen, each as it ended or, where no end was seen, as it began."""
    calls = Calls(call_depth=0)
    found: dict[int, Work] = {}
    for event in acting:
        calls.see(event, 0)
        found |= {work.started: work for work in (*calls.began, *calls.finished) if TEST in work.kinds}
    return [found[seq] for seq in sorted(found)]


def _events_of(run: Work, by_seq: dict[int, Event]) -> tuple[Event, ...]:
    return tuple(by_seq[seq] for seq in (run.started, run.ended) if seq in by_seq)


def _acting(events: Sequence[Event]) -> Iterator[Event]:
    """The events between the agent's beginning and its end."""
    acting = False
    for event in events:
        if event.type == "agent.finished":
            return
        if acting:
            yield event
        acting = acting or event.type == "agent.started"


def _change(changes: Sequence[Event], path: str) -> str:
    diffs = [inner(event.payload, "diff") for event in changes if text(event.payload, "path") == path]
    added, removed = (sum(integer(diff, name) or 0 for diff in diffs) for name in ("added", "removed"))
    return f"{path} (+{added} -{removed})"


def _short(test: str) -> str:
    """The last part of a test's id, by which programs print it."""
    return test.rpartition("::")[2].partition("[")[0].rpartition(".")[2].rpartition(" ")[2]


def _list(tests: Sequence[str], count: int) -> str:
    shown = ", ".join(tests[:MOST_NAMED])
    return shown if count <= MOST_NAMED else f"among them {shown}"


def _line(argv: Sequence[str]) -> str:
    return f"`{' '.join(argv)[:LINE_CHARACTERS]}`"


def _say(text: str, first: Event, *more: Event) -> Sentence:
    cut = text if len(text) <= CHARACTERS else text[: CHARACTERS - 3] + "..."
    return Sentence(text=cut, evidence=tuple(dict.fromkeys(map(pointer, (first, *more))))[:MOST_POINTERS])
