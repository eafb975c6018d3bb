"""``proctor analyse``: statistics and a report from anyone's table of results."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click

from proctor.base.errors import UsageFault
from proctor.cli.options import section_option
from proctor.cli.output import ANSWER_SCHEMA, as_json, one_line, print_table, shortened
from proctor.present.markdown_syntax import percents, points, rank, unit_of
from proctor.present.package_sections import require_sections
from proctor.present.readable_numbers import currency
from proctor.present.report_files import check_folder, findings_json, write_report
from proctor.present.sentences import joined, sentence, sentences
from proctor.present.sentences.estimates import undefined
from proctor.present.sentences.pilot_plan import minimum_effect_sentence
from proctor.present.sentences.tables import other_cap
from proctor.study.analysis.findings import findings
from proctor.study.analysis.question import Extras, Question, measured_from
from proctor.study.table_import.csv_reader import Reading, Results, choices, read_results

oracle_option = click.option(
    "--oracle",
    metavar="A/N,R/M",
    help="Measured errors of the checks: A of N correct patches accepted, R of M faulty ones rejected. Adds corrected "
    "rates.",
)


COLUMNS = ("agent", "model", "task", "trial", "outcome", "status", "cost", "seconds", "stratum")
OPEN_PAIRS = 10
"""How many of the pairs that are not separable are printed; the files have all of them."""
NEEDS = {"cap_seconds": "seconds", "what_if_seconds": "seconds", "what_if_usd": "cost", "timeout": "status"}
"""Options that say nothing about a table without that column."""
WIDE = 60
STANDARD_INPUT = Path("/dev/stdin")


def _once(name: str, metavar: str, text: str) -> Callable[[Any], Any]:
    """An option that may be given once: none that is given is passed over."""

    def only(context: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> str | None:
        if len(values) > 1:
            raise click.BadParameter(f"given {len(values)} times, and one {metavar.lower()} is taken")
        return values[0] if values else None

    return click.option(name, metavar=metavar, multiple=True, callback=only, help=text)


def _columns(command: Any) -> Any:
    """The options that name columns."""
    what = {
        "agent": "Column of the agent, or of another thing that is compared.",
        "model": "Column of the model; an agent with several models counts as several.",
        "task": "Column of the task.",
        "trial": "Column that numbers repeated attempts at a task.",
        "outcome": "Column of the outcome.",
        "status": "Column that says how an attempt ended, such as agent_timeout.",
        "cost": "Column of the cost in USD.",
        "seconds": "Column of the agent's seconds.",
        "stratum": "Column of the kind of task.",
    }
    for name in reversed(COLUMNS):
        command = _once(f"--{name}", "COLUMN", what[name])(command)
    return command


@click.command(epilog="Example: proctor analyse results.csv --against my-agent --out report")
@click.argument("results", nargs=-1, required=True, type=click.Path(path_type=Path))
@_columns
@click.option("--tokens", metavar="COLUMN[,COLUMN]", help="Columns of input and output tokens, or of all tokens.")
@click.option(
    "--success", multiple=True, metavar="VALUE", help="An outcome that counts as a success; '>=0.9' is a threshold."
)
@click.option("--unknown", multiple=True, metavar="VALUE", help="An outcome that counts as unknown.")
@click.option("--timeout", multiple=True, metavar="VALUE", help="A status that means that the attempt ran out of time.")
@click.option("--cap-seconds", type=float, metavar="X", help="Attempts of at least this duration ran out of time.")
@click.option(
    "--number-trials", is_flag=True, help="Number rows of the same agent and task as trials, in the order of the file."
)
@click.option(
    "--endpoint",
    type=click.Choice(["success", "intention-to-treat"]),
    default="success",
    show_default=True,
    help="Success among attempts with a verdict, or among all attempts.",
)
@_once("--against", "AGENT", "The agent in use, with which the candidate is compared.")
@_once("--candidate", "AGENT", "The agent that would replace it.  [default: the best of the others]")
@click.option("--minimum-effect", type=float, metavar="X", help="The smallest difference worth a change, such as 0.05.")
@click.option("--alpha", type=float, default=0.05, show_default=True, help="The accepted probability of a false claim.")
@click.option("--weight", multiple=True, metavar="STRATUM=X", help="The weight of a stratum in weighted rates.")
@click.option("--what-if-seconds", multiple=True, type=float, metavar="X", help="Also score under this time limit.")
@click.option("--what-if-usd", multiple=True, type=float, metavar="X", help="Also score under this cost limit.")
@oracle_option
@click.option("--out", type=click.Path(path_type=Path), metavar="FOLDER", help="Write report and tables into FOLDER.")
@section_option
@as_json
def command(results: tuple[Path, ...], out: Path | None, sections: tuple[str, ...], json_: bool, **options: Any) -> int:
    """Rank the agents in a table of results.

    RESULTS is a CSV file with one row for each attempt (- is standard input), or files that another tool wrote: reports
    of SWE-bench, trials and job folders of Harbor, logs of Inspect, trajectories of mini-swe-agent with their report.
    The answer has intervals, all comparisons, costs, and a list of questions that the data cannot answer. Columns with
    usual names are recognised; options name the others. With --against the answer is adopt, keep or undecided, and the
    exit code is 1 unless it is adopt.
    """
    require_sections(sections)
    question = _question(options)
    files = tuple(STANDARD_INPUT if path == Path("-") else path for path in results)
    if out is not None:
        check_folder(out)
    _tell(f"reading {files[0].name}" if len(files) == 1 else f"reading {len(files)} files")
    reading = _reading(options)
    read = read_results(files, reading, lambda rows: _tell(f"{rows:,} rows read"))
    _check_needs(options, read)
    extras = Extras(
        kind="results",
        name=read.name,
        digest=read.digest,
        caveats=tuple(choices(reading)),
        notes=read.notes,
        cannot=read.cannot,
    )
    found = findings(read.table, question, extras, _tell)
    written: list[str] = []
    if out is not None:
        _tell(f"writing {out}")
        written = write_report(found, read.table, out, sections)
    if json_:
        sys.stdout.buffer.write(findings_json({"kind": "findings", "schema": ANSWER_SCHEMA, **found}))
        sys.stdout.buffer.flush()
    else:
        _show(found, bool(question.caps), written, out)
    return 1 if question.against is not None and found["headline"]["verdict"] != "adopt" else 0


def _reading(options: Mapping[str, Any]) -> Reading:
    columns = {role: str(options[role]) for role in COLUMNS if options[role]}
    tokens = [name for name in str(options["tokens"] or "").split(",") if name]
    if len(tokens) > 2:
        raise UsageFault(
            f"--tokens names {len(tokens)} columns", hint="name one column of all tokens, or two: input and output"
        )
    columns |= dict(zip(("tokens_in", "tokens_out"), tokens, strict=False))
    cap = options["cap_seconds"]
    if cap is not None and not cap > 0:
        raise UsageFault(f"--cap-seconds is {cap}", hint="a number of seconds above 0")
    return Reading(
        columns,
        tuple(options["success"]),
        tuple(options["unknown"]),
        tuple(options["timeout"]),
        cap,
        bool(options["number_trials"]),
    )


def _check_needs(options: Mapping[str, Any], read: Results) -> None:
    """Refuse what would be passed over, since the table has no column for it."""
    for option, role in NEEDS.items():
        if options[option] not in (None, ()) and role not in read.taken:
            message = f"--{option.replace('_', '-')} needs a column of the {role}, and none was found"
            raise UsageFault(message, where=read.name, hint=f"name it with --{role} COLUMN")


def _question(options: Mapping[str, Any]) -> Question:
    if options["against"] is None and (options["minimum_effect"] is not None or options["candidate"] is not None):
        raise UsageFault("--minimum-effect and --candidate need an agent to compare with", hint="add --against AGENT")
    weights = {}
    for text in options["weight"]:
        stratum, _, number = text.rpartition("=")
        try:
            weights[stratum] = float(number)
        except ValueError:
            raise UsageFault(f"--weight {text!r} has no number", hint="write --weight STRATUM=2") from None
    caps = {"seconds": tuple(options["what_if_seconds"]), "cost_usd": tuple(options["what_if_usd"])}
    for name, option in (("seconds", "--what-if-seconds"), ("cost_usd", "--what-if-usd")):
        for cap in caps[name]:
            if not 0 < cap < math.inf:
                raise UsageFault(f"{option} is {cap}", hint="a cap is a number above 0")
    return Question(
        endpoint=options["endpoint"],
        alpha=options["alpha"],
        minimum_effect=options["minimum_effect"],
        against=options["against"],
        candidate=options["candidate"],
        weights=weights,
        caps={name: values for name, values in caps.items() if values},
        measured=None if options["oracle"] is None else measured_from(options["oracle"]),
    )


def _show(found: Mapping[str, Any], what_if: bool, written: list[str], out: Path | None) -> None:
    """The short version for a terminal."""
    head, agents, paid = found["headline"], found["agents"], currency(found)
    most = max(one["k"] for agent in agents for one in agent["pass_at"])
    names = ["RANK", "AGENT", "RUNS", "SUCCESS", "ALL ATTEMPTED", "UNKNOWN", f"{unit_of(paid).upper()} PER RUN"]
    rows = []
    for agent in agents:
        cost = agent["cost"]["per_run_usd"]
        row = [
            rank(agent["rank"]),
            shortened(one_line(agent["agent"]), WIDE),
            str(agent["attempted"]),
            percents(agent["success"]),
            percents(agent["intention_to_treat"]),
            str(agent["bounds"]["unknown"]),
            "-" if cost is None else f"{cost * paid.per_usd:.3g}",
        ]
        if most > 1:
            last = agent["pass_at"][-1]
            value = last["estimate"]["value"]
            row.append("-" if value is None else f"{100 * value:.1f}% (k = {last['k']})")
        rows.append(row)
    for text in sentences(found["source"]["notes"]):
        click.echo(one_line(text))
    print_table([*names, "PASS@K"] if most > 1 else names, rows)
    click.echo()
    click.echo(one_line(f"{head['verdict']}: {sentence(head['reason'])}"))
    if effect := minimum_effect_sentence(found):
        click.echo(one_line(effect))
    if head["counting"]:
        click.echo(one_line(sentence(head["counting"])))
    click.echo(one_line(f"cost: {joined(head['cost'])}"))
    open_ = [pair for pair in found["pairs"] if not pair["separable"]]
    if open_:
        click.echo(f"\nnot separable ({len(open_)} of {len(found['pairs'])} pairs, adjusted for all comparisons):")
        for pair in open_[:OPEN_PAIRS]:
            why = pair["difference"]["undefined"]
            text = f"undefined, because {undefined(why)}" if why else f"{points(pair['difference'])} points"
            click.echo(one_line(f"  {pair['a']} - {pair['b']}: {text}"))
        if len(open_) > OPEN_PAIRS:
            click.echo(f"  ... and {len(open_) - OPEN_PAIRS} more")
        click.echo("  (each interval is for one pair: an interval that excludes 0 is not enough)")
    if what_if:
        _show_what_if(found)
    click.echo("\ncaveats:")
    for text in sentences(head["caveats"]):
        click.echo(one_line(f"  {text}"))
    click.echo("\nwhat the data do not support:")
    for text in sentences(found["cannot"]):
        click.echo(one_line(f"  {text}"))
    if out is not None:
        click.echo(f"\nwritten to {out}: {', '.join(written)}")


def _show_what_if(found: Mapping[str, Any]) -> None:
    """Success under other caps, computed from the recorded runs."""
    click.echo("\nother caps, not part of the results:")
    for row in found["counterfactual"]:
        click.echo(one_line(f"  {other_cap(row, found)}: {row['agent']} {percents(row['success'])}"))
    if not found["counterfactual"]:
        click.echo("  nothing: no agent has a cost or a time for every run with an outcome")


def _tell(text: str) -> None:
    """Progress goes to standard error."""
    click.echo(one_line(f"{text} ..."), err=True)
