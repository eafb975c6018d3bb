"""``proctor pilot report``: what a pilot says, as a page, tables and data."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from proctor.base.canonical import parse
from proctor.base.errors import UsageFault
from proctor.base.files import read_bounded
from proctor.cli.analyse import oracle_option
from proctor.cli.options import Renamed, pilot_argument, section_option
from proctor.cli.output import ANSWER_SCHEMA, as_json, one_line
from proctor.cli.wiring import home
from proctor.present.markdown_syntax import percents, points
from proctor.present.package_sections import require_sections
from proctor.present.report_files import FINDINGS, RUNS, check_folder, findings_json, write_report
from proctor.present.sentences import joined, sentence, sentences
from proctor.present.sentences.comparability import earlier
from proctor.present.sentences.estimates import undefined
from proctor.present.sentences.pilot_plan import INCOMPLETE, incomplete, minimum_effect_sentence
from proctor.study.analysis.question import measured_from
from proctor.study.index.parquet_file import read_table
from proctor.study.pilot.plan.frozen_plan import PROTOCOL
from proctor.study.pilot.plan.pilot_draft import changed_since, plan_alone
from proctor.study.pilot.report.pilot_findings import report_of
from proctor.study.pilot.running.pilot_state import read_pilot_state
from proctor.study.run_table import Table
from proctor.study.study_comparison import compare_studies


@click.command("report", epilog="Example: proctor pilot report pilot.yaml")
@pilot_argument
@click.option(
    "--plan",
    "plan_",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="The folder of the plan.  [default: PILOT with the suffix .plan]",
)
@click.option(
    "--out",
    cls=Renamed,
    former=["--into"],
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="The folder of the report.  [default: PILOT with the suffix .report]",
)
@click.option("--against", type=click.Path(path_type=Path), metavar="FOLDER", help="An earlier report to compare with.")
@oracle_option
@section_option
@as_json
def report(
    pilot: Path,
    plan_: Path | None,
    out: Path | None,
    against: Path | None,
    oracle: str | None,
    sections: tuple[str, ...],
    json_: bool,
) -> int:
    """Write the report of a pilot: decision, certainty, cost.

    The same plan and runs give the same bytes. The pilot file, its contracts and agents are not needed; changes to them
    are only mentioned. The report of an incomplete pilot says so. The exit code is 0 whatever the decision is. With
    --against the agents are compared with an earlier report, on the tasks whose contracts are the same in both.
    """
    require_sections(sections)
    measured = None if oracle is None else measured_from(oracle)
    before = None if against is None else _earlier(against)
    _refuse_plan(out)
    place, plan = home(), plan_alone(pilot, plan_)
    folder = out or pilot.with_suffix(".report")
    if against is not None and against.resolve() == folder.resolve():
        hint = "--out FOLDER is the folder of the new report"
        raise UsageFault("the report to compare with would be overwritten", where=str(folder), hint=hint)
    check_folder(folder)
    for line in changed_since(place, pilot, plan):
        click.echo(one_line(f"changed since it was frozen, and not in this report: {line}"), err=True)
    found, table = report_of(read_pilot_state(plan, place), _tell, measured)
    if before is not None:
        found["versus"] = before.beside(table, found)
    _tell(f"writing {folder}")
    written = write_report(found, table, folder, sections)
    if json_:
        sys.stdout.buffer.write(findings_json({"kind": "findings", "schema": ANSWER_SCHEMA, **found}))
        sys.stdout.buffer.flush()
    else:
        _show(found, folder, written)
    return 0


def _refuse_plan(out: Path | None) -> None:
    """Refuse the folder of a plan as the folder of the report: earlier versions took it by this option."""
    if out is not None and (out / PROTOCOL).exists():
        hint = "--out is the folder of the report; name the folder of the plan with --plan"
        raise UsageFault("this is the folder of a plan", where=str(out), hint=hint)


@dataclass(frozen=True)
class Earlier:
    """An earlier report: its runs, its name, the seeds of its order, and the digests of its agents' configurations."""

    table: Table
    name: str
    seeds: tuple[object, ...]
    digests: Mapping[str, str]

    def beside(self, table: Table, found: Mapping[str, Any]) -> dict[str, Any]:
        """How the findings on ``table`` differ from it."""
        seeds, own = tuple(found["appendix"]["seeds"]["observed"]), str(found["source"]["name"])
        level, digests = 1 - float(found["question"]["alpha"]), (self.digests, _digests(found))
        return compare_studies(self.table, table, self.name, (self.seeds, seeds), level, own, digests)


def _digests(found: Mapping[str, Any]) -> dict[str, str]:
    """The digests of the configurations of agents that findings have, by their names."""
    return {str(one["name"]): str(one["digest"]) for one in found["appendix"]["agents"] if one.get("digest")}


def _earlier(folder: Path) -> Earlier:
    """The report in ``folder``."""
    hint = "give the folder that a report was written to"
    if not (folder / FINDINGS).is_file() or not (folder / RUNS).is_file():
        raise UsageFault("there is no report", where=str(folder), hint=hint)
    try:
        found = parse(read_bounded(folder / FINDINGS, 1 << 30))
        name, seeds = str(found["source"]["name"]), tuple(found["appendix"]["seeds"]["observed"])
        digests = _digests(found)
    except (ValueError, TypeError, LookupError, AttributeError):
        raise UsageFault("holds no findings of a report", where=str(folder / FINDINGS), hint=hint) from None
    return Earlier(read_table(folder / RUNS), name, seeds, digests)


def _show(found: Mapping[str, Any], folder: Path, written: list[str]) -> None:
    head = found["headline"]
    if missing := incomplete(found):
        click.echo(one_line(f"{INCOMPLETE}: {missing}"))
    if asked := found["question"]["text"]:
        click.echo(one_line(asked))
    click.echo(one_line(f"{head['verdict']}: {sentence(head['reason'])}"))
    if effect := minimum_effect_sentence(found):
        click.echo(one_line(effect))
    if head["counting"]:
        click.echo(one_line(sentence(head["counting"])))
    click.echo(one_line(joined(head["cost"])))
    for text in sentences([*found["source"]["notes"], *head["caveats"], *found["deviations"]]):
        click.echo(one_line(f"  {text}"))
    for text in sentences(found["cannot"]):
        click.echo(one_line(f"  not supported by the data: {text}"))
    if other := found.get("versus"):
        _show_versus(other)
    click.echo(f"written to {folder}: {', '.join(written)}")


def _show_versus(other: Mapping[str, Any]) -> None:
    """What changed since the earlier report, a line for each agent."""
    click.echo(one_line(f"against {earlier(other)}:"))
    for row in other["rows"]:
        change = points(row["difference"])
        why = row["difference"]["undefined"]
        text = f"difference undefined, because {undefined(why)}" if why else f"{change} points"
        rates = f"{percents(row['before'])} before, {percents(row['after'])} after"
        name = f"{row['agent']} (another agent than before)" if row["another"] else row["agent"]
        click.echo(one_line(f"  {name}: {rates}, {text}"))
    for text in sentences(other["notes"]):
        click.echo(one_line(f"  {text}"))


def _tell(text: str) -> None:
    click.echo(one_line(f"{text} ..."), err=True)
