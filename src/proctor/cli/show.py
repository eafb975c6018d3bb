"""``proctor show``: show a contract or a run."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from proctor.author.task_complexity import complexity
from proctor.base.errors import BrokenSeal, NewerSchema, ProctorError, UsageFault
from proctor.base.json_records import to_json
from proctor.base.reversible_escapes import name_bytes
from proctor.cli.exit_codes import UNDECIDED, require_evidence
from proctor.cli.options import complete_runs
from proctor.cli.output import as_json, counted, examples, print_json, print_table, printable
from proctor.cli.terminal import echo, painted
from proctor.cli.wiring import home, run_store
from proctor.contract.digest import content_id, resolved
from proctor.contract.load import load_contract
from proctor.contract.model import Check
from proctor.execute.agents.options import shown_options
from proctor.execute.inputs.input_cache import InputCache
from proctor.execute.workspace.layer_store import LayerStore
from proctor.judge.checks.sentinels import NONE
from proctor.judge.run_verdict import gate_verdict
from proctor.present.protected_file_changes import why_restored
from proctor.record.manifest_model import read_manifest
from proctor.record.report_model import CheckResult, Conversation, Report, Termination, read_report
from proctor.record.retain import require_payloads
from proctor.record.run_directory import JSON_BYTES, RunDirectory, is_held
from proctor.record.run_store import copy_of, state
from proctor.record.trace.reader import read_finished_events
from proctor.record.verify import verify

STATES = {
    "running": "is still running",
    "waiting": "is still running and waits for an operator (proctor decide)",
    "paused": "is paused by an operator (proctor decide RUN resume)",
    "cut": "was cut off",
    "finished": "is sealed",
    "broken": "was changed after it was sealed",
    "copy": "contains a run with another name",
    "newer": "was written by a newer Proctor",
}
"""The text for a run without a report, by its state."""

ENDINGS = {
    "not-started": "could not be started",
    "timed-out": "ran out of time",
    "killed": "was killed from outside",
}
"""The text for the end of an agent, if its reason cannot be part of a sentence."""

LEFT_OUT = {
    "too-large": "too large for a patch, so the judge did not see the change",
    "special": "neither a file nor a link, so a patch cannot contain it",
    "limit": "more changes than a patch may have",
    "setup-product": "made by setup, which the judge makes again",
    "generated": "generated, by the contract's policy",
}
"""Why a change is not part of the judged patch, by the code that the run recorded."""

EVERY = "*"
"""Recorded as the path when there are more changes than are listed."""

PATCH_BYTES = 1 << 30
MOST_LEFT_OUT = 5
MOST_TESTS = 10
MOST_PROGRAMS = 10


@click.command(epilog=examples("show examples/parse-time-zone", "show last"))
@click.argument("what", shell_complete=complete_runs)
@click.option("--output", is_flag=True, help="For a run: print the output of the agent.")
@click.option("--why", is_flag=True, help="For a run: print how a failure came about, as far as the events show it.")
@click.option("--patch", is_flag=True, help="For a run: print the patch of the agent.")
@click.option("--log", metavar="CHECK", default=None, help="For a run: print the output of this check.")
@as_json
def command(what: str, output: bool, why: bool, patch: bool, log: str | None, json_: bool) -> int:
    """Show a contract or a run.

    WHAT is the directory of a contract, its contract.yaml, or a run. Every command takes a run as its id, the beginning
    of its id, its path, or `last` for the newest.
    """
    asked = [
        name for name, given in (("--output", output), ("--why", why), ("--patch", patch), ("--log", log)) if given
    ]
    if len(asked) > 1:
        raise UsageFault(f"{' and '.join(asked)} exclude each other", hint="give one of them")
    if json_ and asked and asked != ["--why"]:
        raise UsageFault(f"{asked[0]} prints text, which has no JSON form", hint="leave out --json")
    path = Path(what)
    if path.name == "contract.yaml" or os.path.isfile(path / "contract.yaml"):
        if asked:
            raise UsageFault(f"this is a contract, and {asked[0]} is about a run", where=what)
        _contract(path, json_)
        return 0
    try:
        run = run_store().find(what)
    except UsageFault:
        if os.path.isdir(path):
            load_contract(path)  # which says what is missing there
        raise
    if output or patch or log is not None:
        try:
            return _print_recorded(run, output, patch, log)
        except (KeyError, TypeError, ValueError, AttributeError):
            require_evidence(run, live=True)
            raise BrokenSeal(
                "an event does not have the form that Proctor writes", where=f"{run.path.name}/events.jsonl"
            ) from None
    return _run(run, json_, why)


def _contract(path: Path, json_: bool) -> None:
    contract = load_contract(path)
    size = complexity(contract, LayerStore(home().layers), InputCache(home().inputs))
    if json_:
        print_json({"id": content_id(contract), "contract": resolved(contract), "complexity": size.record()})
        return
    click.echo(printable(f"{contract.name}: {contract.title}"))
    click.echo(f"id       {content_id(contract)}")
    click.echo(f"kind     {contract.kind}")
    for key, value in contract.strata.items():
        click.echo(printable(f"stratum  {key} = {value}"))
    click.echo(f"setup    {counted(len(contract.setup), 'step')}, {counted(len(contract.inputs), 'input')}")
    known = ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in size.measures.items())
    click.echo(f"size     {size.tier} (the thresholds are assumptions): {known}")
    for name, reason in size.unknown.items():
        click.echo(f"size     {name.replace('_', ' ')} unknown: {reason}")
    rows = [[check.id, check.gate, check.layer or "-", *_results(check)] for check in contract.checks]
    print_table(["CHECK", "GATE", "LAYER", "RESULTS", "MUST PASS", "KEEP PASSING"], rows)


def _results(check: Check) -> tuple[str, str, str]:
    """What a check is judged by; nothing for one that only says that its gate is empty on purpose."""
    if check.no_op:
        return "runs nothing", "-", "-"
    return check.results, str(len(check.must_pass)), str(len(check.keep_passing))


def _run(run: RunDirectory, json_: bool, why: bool) -> int:
    found = verify(run)
    if is_held(run) and not os.path.lexists(run.report):
        click.echo(f"{run.path.name} {STATES[state(run)]}: it has no report yet", err=True)
        return 3
    if not os.path.lexists(run.report) or copy_of(run):
        require_evidence(run, found)
    try:
        _print_report(run, json_, why)
    except NewerSchema:
        require_evidence(run, found)  # the number may have been changed after the run was sealed
        raise
    if found.retained and not json_:
        files, events = len(found.retained.files), found.retained.events
        lost = f"{counted(files, 'file')} and the payloads of {counted(events, 'event')} are gone"
        click.echo(printable(f"retention    {found.retained}; {lost}"))
    require_evidence(run, found, live=True)
    if not json_ and not why:
        _attempts(run)
        _place(run)
    return 0


def _print_report(run: RunDirectory, json_: bool, why: bool) -> None:
    report = read_report(run)
    if json_ and why:
        print_json(to_json(report.interpretation) if report.interpretation else {})
    elif json_:
        print_json({**run.read_json(run.report), "left_out": _left_out(run)})
    elif why:
        _why(report)
    else:
        _report(report, run)


def _print_recorded(run: RunDirectory, output: bool, patch: bool, log: str | None) -> int:
    """Print what was recorded of the agent or of a check, then whether the evidence is intact."""
    if output:
        return _show_output(run)
    if patch:
        _patch(run)
    elif log is not None:
        _log(run, log)
    require_evidence(run, live=True)
    return 0


def _show_output(run: RunDirectory) -> int:
    """Print the agent's output; a run in progress without any has no answer yet, and its exit code is 3."""
    has_begun = os.path.lexists(run.events) or not is_held(run)
    printed = _output(run) if has_begun else 0
    if not printed and is_held(run):
        ahead = "the output of a program is recorded when the program ends"
        click.echo(f"{run.path.name} {STATES[state(run)]}: {ahead}", err=True)
        return UNDECIDED
    require_evidence(run, live=True)
    if not printed:
        click.echo(f"{run.path.name} started no program for its agent, so there is no output", err=True)
    return 0


def _output(run: RunDirectory) -> int:
    """Print the kept output of the programs that the harness started for the agent; returns how many those were."""
    require_payloads(run, "there is no output left")
    invocations = [event for event in read_finished_events(run.events)[0] if event.type == "tool.invocation"]
    for event in invocations:
        for name in ("stdout", "stderr"):
            stream = event.payload[name]
            text = name_bytes(stream["prefix"]).decode("utf-8", "replace")
            click.echo(printable(f"--- {name} of event {event.seq}, {stream['bytes']} bytes in all"))
            click.echo(printable(text.rstrip("\n")))
    return len(invocations)


def _patch(run: RunDirectory) -> None:
    """The patch: its exact bytes in a pipe or a file, without control characters on a terminal."""
    require_payloads(run, "the patch was removed")
    if not os.path.lexists(run.patch):
        raise UsageFault("the run has no patch", where=run.path.name, hint="the agent has not finished, or never began")
    data = run.read(run.patch, PATCH_BYTES)
    if not data:
        click.echo(f"{run.path.name}: the patch is empty: the agent changed no file that counts", err=True)
    if sys.stdout.isatty():
        for line in data.decode("utf-8", "replace").splitlines():
            click.echo(printable(line.expandtabs()))
    else:
        sys.stdout.buffer.write(data)
        sys.stdout.flush()


def _log(run: RunDirectory, check: str) -> None:
    """What each attempt at a check printed, as far as it was recorded."""
    require_payloads(run, "the logs were removed")
    attempts = [event.payload for event in read_finished_events(run.events)[0] if event.type == "check.finished"]
    found = [one for one in attempts if one["check"] == check]
    if not found:
        names = ", ".join(dict.fromkeys(str(one["check"]) for one in attempts))
        hint = f"checks of this run: {names}" if names else "no check of this run was started"
        raise UsageFault(f"the run has no log of a check {check[:100]!r}", where=run.path.name, hint=hint)
    for one in found:
        result = f"{one['outcome']} ({one['reason']})" if one["reason"] else one["outcome"]
        click.echo(printable(f"=== {check}, {one['tree']}, attempt {one['attempt']}: {result}"))
        if one.get("sentinels", NONE) != NONE:
            click.echo("the output includes sentinels: tests that the judge adds, some of which must fail")
            for name in one.get("failing", ()):
                click.echo(printable(f"not passed   {name}"))
        if not one["stdout"]["bytes"] + one["stderr"]["bytes"]:
            click.echo("nothing was printed")
        for name in ("stdout", "stderr"):
            kept = one["log"].get(name)
            data = run.read(run.logs / Path(kept).name, JSON_BYTES) if kept else name_bytes(one[name]["prefix"])
            if data:
                more = "" if len(data) >= one[name]["bytes"] else f", the first {len(data)} are recorded"
                click.echo(printable(f"--- {name}, {one[name]['bytes']} bytes{more}"))
                for line in data.decode("utf-8", "replace").splitlines():
                    click.echo(printable(line.expandtabs()))


def _options(run: RunDirectory) -> list[str]:
    """The options of the run's agent; none if the manifest does not say."""
    try:
        return shown_options(read_manifest(run).agent.settings)
    except (ProctorError, OSError, KeyError, TypeError, AttributeError):
        return []


def _report(report: Report, run: RunDirectory) -> None:
    who = report.agent.name + (f" with {report.model}" if report.model else "")
    click.echo(printable(f"{report.run}: {report.contract.name} by {who}"))
    for line in _options(run):
        click.echo(printable(f"option       {line}"))
    if report.retry_of:
        click.echo(printable(f"attempt      {report.attempt}, which replaces the invalid run {report.retry_of}"))
    if report.replay_of:
        click.echo(printable(f"replay of    {report.replay_of}, on its recorded answers"))
    whose = "" if report.status == "success" else f" (attributed to {report.attribution})"
    echo(f"status       {painted(printable(report.status))}{printable(whose)}")
    _ending(report.termination)
    for problem in report.problems:
        click.echo(printable(f"problem      {problem}"))
    rows = [[gate.id, gate_verdict(gate).replace("fail", "FAIL"), printable(gate.why)] for gate in report.gates]
    print_table(["GATE", "RESULT", "WHY"], rows)
    if report.checks:
        print_table(["CHECK", "OUTCOME", "REASON"], [_check(check) for check in report.checks])
    for check in report.checks:
        _inverted(check)
    for check in report.checks:
        for test in check.failing[:MOST_TESTS]:
            click.echo(printable(f"not passed   {check.id}: {test}"))
    for entry in report.restored:
        click.echo(printable(f"restored     {entry.path}: {why_restored(entry.why)}"))
    for code, count in report.alerts.items():
        click.echo(printable(f"alert        {code} ({count})"))
    for intervention in report.interventions:
        click.echo(printable(f"intervention {intervention.action}, for {intervention.alert}"))
    for tag in report.tags:
        click.echo(printable(f"tag          {tag.id}"))
    for indicator in report.indicators:
        places = f"{indicator.evidence[0]}{' and more' if indicator.count > 1 else ''}"
        click.echo(printable(f"look at      {indicator.about} ({indicator.count}): {places}"))
    for deviation in report.deviations:
        click.echo(printable(f"deviation    {deviation.message}"))
    for reason in report.replayable.reasons if report.replayable else ():
        click.echo(printable(f"no replay    {reason.why}"))
    if report.conversation:
        _conversation(report.conversation)
    if waited := report.durations.waited_for_provider_seconds:
        acted = report.durations.agent_seconds
        click.echo(printable(f"provider     silent for {waited} s, not included in the agent's {acted} s"))
    if report.score:
        click.echo(printable(f"score        {report.score.value}"))
    if report.scores:
        pilot = report.scores.pilot.value or "undefined, since no resource was measured"
        contract = report.scores.contract.value
        line = f"scores       contract {contract}, pilot {pilot}; proctor rubric explains them"
        click.echo(printable(line))
    _print_left_out(_left_out(run))
    click.echo(f"evidence     {run.path}")


def _left_out(run: RunDirectory) -> list[dict[str, str]]:
    """Every change that is not part of the judged patch: its path and the reason, as the run recorded them."""
    if not os.path.lexists(run.changes):
        return []
    try:
        return [
            {"path": str(one["path"]), "why": str(one["why"]), "reason": LEFT_OUT.get(str(one["why"]), str(one["why"]))}
            for one in run.read_json(run.changes).get("dropped", ())
        ]
    except (KeyError, TypeError, AttributeError):
        where = f"{run.path.name}/workspace/changes.json"
        raise BrokenSeal("is not a list of changes in the form that Proctor writes", where=where) from None


def _print_left_out(found: list[dict[str, str]]) -> None:
    """Print what is not part of the patch, with the reasons that are most likely to surprise first."""
    for code in dict.fromkeys((*LEFT_OUT, *(one["why"] for one in found))):
        same = [one for one in found if one["why"] == code]
        for one in same[:MOST_LEFT_OUT]:
            path = "further files" if one["path"] == EVERY else one["path"]
            click.echo(printable(f"left out     {path}: {one['reason']}"))
        if len(same) > MOST_LEFT_OUT:
            click.echo(printable(f"left out     {len(same) - MOST_LEFT_OUT} more: {same[0]['reason']}"))


def _attempts(run: RunDirectory) -> None:
    """Print how long each attempt at a check took, including those that were set aside and repeated."""
    checks = run.read_json(run.results)["checks"] if run.results.is_file() else ()
    for check in checks:
        for one in check["attempts"]:
            outcome = one["outcome"] + (f" ({one['reason']})" if one["outcome"] == "error" else "")
            times = f"{one['observed_seconds']} s, {one['cpu_seconds']} s of CPU"
            click.echo(printable(f"attempt      {check['id']}, {one['tree']} {one['attempt']}: {outcome}, {times}"))


def _place(run: RunDirectory) -> None:
    """The place of a run in its pilot, whose methods may be one agent with other files."""
    asked = read_manifest(run).configuration
    if asked.pilot:
        place = f"{asked.method or ''}, stage {asked.stage or ''}, repeat {asked.repeat} of {asked.pilot}"
        click.echo(printable(f"pilot        {place}"))


def _why(report: Report) -> None:
    """How a failure came about; an interpretation, and called so."""
    account = report.interpretation
    if not account:
        click.echo("there is nothing to explain: the patch applied and no check failed")
        return
    click.echo(printable(account.label))
    for sentence in account.sentences:
        click.echo(printable(f"- {sentence.text} [{', '.join(sentence.evidence)}]"))


def _conversation(conversation: Conversation) -> None:
    """The conversation with the model, and the programs that it caused."""
    models = ", ".join(f"{name} ({count})" for name, count in conversation.models.items()) or "no model"
    tokens_used = conversation.tokens
    calls = f"calls of {models}; {sum(conversation.messages.values())} messages, {conversation.tool_calls} tool calls"
    tokens = f"{tokens_used.input} tokens in, {tokens_used.output} out"
    if tokens_used.estimated_calls:
        tokens += f", estimated for {tokens_used.estimated_calls} calls"
    click.echo(printable(f"model        {conversation.calls} {calls}; {tokens}"))
    for kind, counts in (("refused", conversation.refused), ("errors", conversation.errors)):
        for code, count in counts.items():
            click.echo(printable(f"model        {kind}: {code} ({count})"))
    for refusal in conversation.refusals:
        click.echo(printable(f"declined     {refusal.why.words}, {refusal.evidence}"))
    ran = conversation.programs
    by_words = f"{ran.words} matched by the text of a tool call, {ran.descent} started by matched programs"
    matched = f"{ran.order} matched only by order, {ran.unmatched} not matched"
    click.echo(printable(f"programs     {by_words}; {matched}"))
    for program in ran.without_cause[:MOST_PROGRAMS]:
        click.echo(printable(f"no cause     {' '.join(program.argv)[:100]}, {program.evidence}"))


def _check(check: CheckResult) -> list[str]:
    reason = ": ".join(filter(None, (check.reason, check.detail)))
    forgeable = "forgeable" if check.forgeable else ""
    return [check.id, check.outcome, printable(", ".join(filter(None, (reason, forgeable))))]


def _inverted(check: CheckResult) -> None:
    """Print what altered tests showed about a check, and which tests have no variant."""
    seen = check.inverted
    if not seen:
        return
    if not seen.variants:
        click.echo(printable(f"inverted     {check.id}: not confirmed by inverted tests: {seen.problem}"))
        return
    runs = counted(seen.rounds, "more run")
    altered = f"{counted(seen.variants, 'altered test')}, {counted(seen.controls, 'control')}"
    click.echo(printable(f"inverted     {check.id}: {runs}: {altered}; {', '.join(seen.evidence)}"))
    if seen.problem:
        click.echo(printable(f"inverted     {check.id}: some variants were not used: {seen.problem}"))
    if seen.without_count:
        names = ", ".join(seen.without[:MOST_TESTS])
        click.echo(printable(f"inverted     {check.id}: {seen.without_count} without a variant: {names}"))


def _ending(termination: Termination) -> None:
    """How the agent ended, unless it simply finished."""
    if termination.code:
        click.echo(printable(f"ended        {termination.code}: {termination.rationale}"))
    elif termination.reason not in ("", "finished"):
        code = f" with exit code {termination.exit_code}" if termination.exit_code else ""
        click.echo(printable(f"ended        the agent {ENDINGS.get(termination.reason, termination.reason)}{code}"))
