"""``proctor run``: let an agent attempt contracts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from proctor.base.errors import UsageFault
from proctor.cli.exit_codes import AGENT, UNDECIDED, USAGE, cause_of, print_undecided
from proctor.cli.options import judge_slots_option
from proctor.cli.output import as_json, print_json, print_table, printable, shortened
from proctor.cli.progress import fill_with_progress
from proctor.cli.wiring import machine, run_store
from proctor.conduct.batch.batch_record import RETRIES
from proctor.conduct.session.agent_selection import kept_agent_options
from proctor.conduct.session.batch_plan import begin_batch, matrix_of, reopen_batch, resume_command
from proctor.conduct.session.model_options import ALL_DIALECTS, REDACTIONS, kept_options
from proctor.contract.scalar_types import DECIMAL_TEXT
from proctor.execute.agents.options import EFFORTS
from proctor.judge.run_verdict import NEVER_CALLED, is_machine_fault
from proctor.record.report_model import Report, Termination
from proctor.record.vault import Vault

_AGENT_OPTIONS = (
    click.option("--name", "agent_name", default=None, help="The agent's name in tables and reports."),
    click.option("--effort", type=click.Choice(EFFORTS), default=None, help="The reasoning effort of the model."),
    click.option("--temperature", default="", help="The temperature of the model's answers."),
    click.option(
        "--small-model", default="", help="A second model of the same provider, for small tasks of the agent."
    ),
    click.option("--rules", multiple=True, help="A file of instructions for the agent, such as an AGENTS.md."),
    click.option("--skills", default="", help="A directory of skills, each a directory with a SKILL.md."),
    click.option("--agent-arg", multiple=True, help="An argument for the agent's program; can be given several times."),
    click.option(
        "--agent-env", multiple=True, help="NAME=VALUE, a variable for the agent's program; can be given several times."
    ),
)


def agent_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options above to a command."""
    for option in reversed(_AGENT_OPTIONS):
        command = option(command)
    return command


_MODEL_OPTIONS = (
    click.option(
        "--model",
        "models",
        multiple=True,
        help="PROVIDER/NAME, such as openai/NAME; with several, each agent runs with each.",
    ),
    click.option(
        "--endpoint",
        multiple=True,
        help="The base URL of the model's provider, with any path and query; MODEL=URL for one model of several. "
        "--key-env, --key-file and --dialect can be given for one model in the same way.",
    ),
    click.option("--key-env", multiple=True, help="The environment variable with the key, which the agent never sees."),
    click.option("--key-file", multiple=True, help="A file with the key, which the agent never sees."),
    click.option("--dialect", multiple=True, help=f"The API of the model: {', '.join(ALL_DIALECTS)}."),
    click.option("--script", default="", help="With --model scripted/NAME: the YAML file of its answers."),
    click.option("--cassette", default="", help="Answer from the recorded calls of this run, without a provider."),
    click.option(
        "--provider-tools",
        type=click.Choice(["strip", "refuse", "allow"]),
        default="strip",
        show_default=True,
        help="What to do with tools that the provider itself would run, such as web search.",
    ),
    click.option(
        "--unknown-fields",
        type=click.Choice(["strip", "refuse", "pass"]),
        default="strip",
        show_default=True,
        help="What to do with unknown fields of a model request.",
    ),
    click.option(
        "--output-tokens",
        type=click.IntRange(1, 1_000_000),
        default=None,
        help="Maximum tokens of an answer, for requests that name none.  [default: none, unless the budget needs one]",
    ),
    click.option(
        "--provider-wait",
        type=click.IntRange(1, 86_400),
        default=None,
        help="Maximum seconds that a run waits for a silent provider; they do not count as time of the agent.  "
        "[default: wall_seconds of the contract, at most 1800]",
    ),
    click.option(
        "--redact",
        type=click.Choice(REDACTIONS),
        default=None,
        help="Record the conversation without secrets (spans) or without any text (all), and no cassette; digests and "
        "lengths stay.",
    ),
    click.option("--secrets", default="", help="With --redact spans: a file of regular expressions, one per line."),
)


def model_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options above to a command."""
    for option in reversed(_MODEL_OPTIONS):
        command = option(command)
    return command


WIDEST = 120
"""Characters of a cell in the table of results; JSON has all of it."""

WITH_RESUME = frozenset(("contracts", "agents", "jobs", "judge_slots", "retry_invalid", "resume", "batch", "json_"))
"""What can be given when a batch is finished; ``contracts`` get a message of their own."""


@click.command(epilog="Example: proctor run examples/parse-time-zone --agent reference -n 3 --jobs 2")
@click.argument("contracts", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "--agent",
    "agents",
    multiple=True,
    help="The agent: noop, reference, patch:FILE, 'command:PROGRAM ARGUMENTS', NAME or NAME@VERSION of `proctor "
    "agents`, or an agent file (FILE.yaml); can be given several times. With --resume, give it again only if it "
    "contained a secret: a batch with --redact-secrets does not store such a value.",
)
@click.option("--agent-files", default="", help="A directory that the agent sees at /agent, read-only.")
@click.option("-n", "--repeats", type=click.IntRange(1, 10_000), default=1, help="Runs of each contract.")
@click.option(
    "--jobs", type=click.IntRange(1, 64), default=None, help="Parallel runs.  [default: 1, or as before with --resume]"
)
@judge_slots_option
@click.option("--prices", default="", help="A price table (CSV) in dollars. Without it costs are in abstract units.")
@click.option("--task-usd", default="", help="Spending limit for all runs of one contract, in dollars.")
@click.option("--batch-usd", default="", help="Spending limit for the whole batch, in dollars.")
@click.option(
    "--redact-secrets",
    is_flag=True,
    help="Record placeholders for secrets and no cassette. The originals go to the vault (see proctor vault init).",
)
@click.option(
    "--retry-invalid",
    type=click.IntRange(0, 100),
    default=None,
    help="Repeat a run up to N times if it is invalid for a reason other than the agent, such as an outage. The last "
    "run counts; the others stay as evidence.",
)
@click.option(
    "--resume", "resume", is_flag=True, help="Finish the newest unfinished batch, or the one that --batch names."
)
@click.option("--batch", default="", help="With --resume: the id of the batch, or the beginning of it.")
@agent_options
@model_options
@as_json
def command(
    contracts: tuple[Path, ...],
    agents: tuple[str, ...],
    agent_files: str,
    repeats: int,
    jobs: int | None,
    judge_slots: int | None,
    prices: str,
    task_usd: str,
    batch_usd: str,
    redact_secrets: bool,
    retry_invalid: int | None,
    resume: bool,
    batch: str,
    json_: bool,
    models: tuple[str, ...],
    **options: Any,
) -> int:
    """Run agents on contracts.

    Every agent attempts each of CONTRACTS with every model. The changes are judged on a pristine copy of the
    repository. The evidence of each run is stored in a sealed directory.

    Exits with 0 when every run is a success, 1 when some are not, 2 when the agent could not be started, and 3 when
    some runs got no verdict, whatever the result of the others. With --resume the earlier runs of the batch count too.

    When a spending limit is reached, the remaining runs are skipped. Skipped runs do not count as failures. Without a
    price table the limits are compared with the units of the fallback schedule.
    """
    if (resume and contracts) or not (resume or contracts or agents) or (batch and not resume):
        raise UsageFault(
            "give contracts and --agent, or --resume alone",
            hint="proctor run CONTRACT... --agent AGENT, or proctor run --resume",
        )
    if not resume and not agents:
        raise UsageFault("no agent was given", hint="use --agent noop, reference, patch:FILE or 'command:...'")
    if not resume and not contracts:
        raise UsageFault("no contract was given", hint="proctor run CONTRACT... --agent AGENT")
    if resume:
        _refuse_new_options()
    own = kept_agent_options(options, agents)
    amounts = {"task_usd": _dollars("--task-usd", task_usd), "batch_usd": _dollars("--batch-usd", batch_usd)}
    envelopes = {name: usd for name, usd in amounts.items() if usd}
    here = machine(judge_slots)
    if resume:
        plan = reopen_batch(here, batch, agents, retry_invalid)
    else:
        matrix = matrix_of(agents, models, lambda message: click.echo(f"proctor: {message}", err=True))
        of_models = kept_options(options, matrix, lambda name: run_store().find(name))
        kept = {"prices": prices, **envelopes, **own, **of_models}
        if retry_invalid:
            kept[RETRIES] = str(retry_invalid)
        if redact_secrets:
            Vault(here.home.vault).history()
            kept["redact_secrets"] = "yes"
        plan = begin_batch(here, contracts, agents, agent_files, repeats, jobs or 1, models, kept)
    result = fill_with_progress(here, plan, jobs or plan.jobs, quiet=json_)
    made = [_row(outcome.report, str(outcome.directory)) for _, outcome in result.outcomes]
    again = {row["retry_of"] for row in made}
    rows, repeated = [row for row in made if row["run"] not in again], [row for row in made if row["run"] in again]
    if json_:
        errors = [{"contract": place.contract, "error": str(error)} for place, error in result.errors]
        refused = [
            {"contract": place.contract, "repeat": place.repeat, "why": error.message}
            for place, error in result.refused
        ]
        print_json(
            {
                "batch": plan.batch.id,
                "runs": rows,
                "repeated": repeated,
                "earlier": list(plan.earlier),
                "errors": errors,
                "refused": refused,
                "stopped": result.stopped,
            }
        )
    else:
        if not plan.places:
            click.echo(f"nothing is left to do in batch {plan.batch.id}")
        if plan.earlier:
            click.echo(f"run before: {', '.join(_counts(row['status'] for row in plan.earlier))}")
        _print(rows)
        if again - {""}:
            retried = ", ".join(row["retry_of"] for row in made if row["retry_of"])
            click.echo(f"repeated, because they are invalid and the agent is not the cause: {retried}")
        for place, error in (*result.errors, *result.refused):
            click.echo(printable(f"proctor: {place.contract}: {error}"), err=True)
        for message, row in {
            row["why"]: row for row in rows if is_machine_fault(row["status"], row["attribution"])
        }.items():
            print_undecided(row["run"], row["contract"], message, row["cause"])
        if result.stopped:
            click.echo(f"stopped; to run the rest: {resume_command(plan.batch)}", err=True)
    return _code([*plan.earlier, *rows], result.errors, result.stopped or bool(result.refused))


def _refuse_new_options() -> None:
    context = click.get_current_context()
    for option in context.command.params:
        name = option.name or ""
        if name not in WITH_RESUME and context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            hint = "a batch keeps the options that it was started with: proctor run --resume"
            raise UsageFault(f"{option.opts[-1]} cannot be combined with --resume", hint=hint)


def _dollars(option: str, text: str) -> str:
    """An amount on the command line as records keep it; empty stays empty."""
    if text and not re.fullmatch(DECIMAL_TEXT, text):
        raise UsageFault(f"not an amount in dollars: {text[:40]!r}", where=option, hint="such as 5.00")
    whole, _, rest = text.partition(".")
    return f"{whole}.{rest.rstrip('0').ljust(2, '0')}" if text else ""


def _row(report: Report, directory: str) -> dict[str, Any]:
    return {
        "run": report.run,
        "contract": report.contract.name,
        "agent": report.agent.name,
        "model": report.model,
        "retry_of": report.retry_of or "",
        "attempt": report.attempt or 1,
        "status": report.status,
        "attribution": report.attribution,
        "cause": cause_of(report) if is_machine_fault(report.status, report.attribution) else "",
        "ended": report.termination.code,
        "failed": _failed(report.termination),
        "why": why(report),
        "evidence": directory,
    }


def why(report: Report) -> str:
    """How the agent ended unless it simply finished, then the problem, the check with an error, or the gate."""
    termination = report.termination
    ending = f"ended: {termination.code}; " if termination.code else ""
    if _failed(termination):
        ending = f"the agent exited with {termination.exit_code}; "
    if any(one.message == NEVER_CALLED for one in report.deviations):
        ending += f"{NEVER_CALLED}; "
    if report.status == "invalid" and termination.code:
        return f"{ending}{termination.rationale}"
    if report.problems:
        return ending + "; ".join(line.strip() for line in report.problems[0].splitlines() if line.strip())
    broken = [check for check in report.checks if check.outcome == "error" and check.mandatory]
    if broken:
        return f"{ending}check {broken[0].id}: {broken[0].reason}: {broken[0].detail}"
    missed = [f"{gate.id}: {gate.why}" for gate in report.gates if not gate.passed]
    return ending + (missed[0] if missed else "every gate passed")


def _failed(termination: Termination) -> bool:
    """Whether the agent ended by itself, and not well."""
    return bool(not termination.code and termination.reason == "failed" and termination.exit_code)


def _print(rows: list[dict[str, Any]]) -> None:
    if not rows:
        return
    titles = ["run", "contract", "agent", *(["model"] if any(row["model"] for row in rows) else []), "status", "why"]
    cells = [[shortened(printable(row[title]), WIDEST) for title in titles] for row in rows]
    print_table([title.upper() for title in titles], cells)
    click.echo(f"evidence: {Path(rows[-1]['evidence']).parent}")
    failed = [row["run"] for row in rows if row["failed"]]
    if failed:
        click.echo(f"what the agent printed: proctor show {failed[0]} --output")


def _counts(statuses: Iterable[str]) -> list[str]:
    seen = sorted(statuses)
    return [f"{seen.count(status)} {status}" for status in dict.fromkeys(seen)]


def _code(rows: Sequence[Mapping[str, Any]], errors: Any, unfinished: bool) -> int:
    """The largest exit code of the parts of the batch."""
    codes = [int(error.exit_code) for _, error in errors]
    undecided = [row for row in rows if row["status"] == "invalid" or _not_the_agents(row)]
    if unfinished or any(row.get("cause") != AGENT for row in undecided):
        codes.append(UNDECIDED)
    elif undecided:
        codes.append(USAGE)
    if any(row["status"] != "success" for row in rows):
        codes.append(1)
    return max(codes, default=0)


def _not_the_agents(row: Mapping[str, Any]) -> bool:
    return bool(row["status"] == "acceptance-error" and row["attribution"] != "agent")
