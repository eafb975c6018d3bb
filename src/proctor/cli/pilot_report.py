"""``proctor pilot report``: what a pilot says, as a page, tables and data."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from proctor.base.errors import UsageFault
from proctor.base.frozen import frozen
from proctor.cli.oracle import oracle_option
from proctor.cli.output import as_json, one_line
from proctor.cli.pilot_options import out_option, pilot_argument

if TYPE_CHECKING:
    from proctor.study.table import Table


@click.command("report", epilog="Example: proctor pilot report pilot.yaml")
@pilot_argument
@out_option
@click.option(
    "--into", type=click.Path(path_type=Path), metavar="FOLDER", help="The report's folder; else PILOT's, in .report."
)
@click.option("--against", type=click.Path(path_type=Path), metavar="FOLDER", help="An earlier report to compare with.")
@oracle_option
@as_json
def report(
    pilot: Path, out: Path | None, into: Path | None, against: Path | None, oracle: str | None, json_: bool
) -> int:
    """Write what the runs of PILOT say: the decision, how sure it is, what it cost, and everything behind it.

    The same plan and runs give the same bytes: neither the pilot file nor its contracts and agents are needed, and what
    has changed in them since is only told. A pilot that is not complete gives a report that says so. Whatever the
    decision is, the exit code is 0. With --against the agents are held against an earlier report, on the tasks whose
    contracts are the same in both.
    """
    from proctor.cli.planned import changed_since, plan_alone
    from proctor.cli.wiring import home
    from proctor.present.data import findings_json
    from proctor.present.folder import check_folder, write_report
    from proctor.study.analysis.question import measured_from
    from proctor.study.pilot.records import standing
    from proctor.study.pilot.report import report_of

    measured = None if oracle is None else measured_from(oracle)
    earlier = None if against is None else _earlier(against)
    _check_plan(pilot, out)
    place, plan = home(), plan_alone(pilot, out)
    folder = into or pilot.with_suffix(".report")
    if against is not None and against.resolve() == folder.resolve():
        hint = "--into FOLDER is where the new one goes"
        raise UsageFault("the report to compare with would be written over", where=str(folder), hint=hint)
    check_folder(folder)
    for line in changed_since(place, pilot, plan):
        click.echo(one_line(f"changed since it was frozen, and not in this report: {line}"), err=True)
    found, table = report_of(standing(plan, place), _tell, measured)
    if earlier is not None:
        found["versus"] = earlier.beside(table, found)
    _tell(f"writing {folder}")
    written = write_report(found, table, folder)
    if json_:
        sys.stdout.buffer.write(findings_json(found))
        sys.stdout.buffer.flush()
    else:
        _show(found, folder, written)
    return 0


def _check_plan(pilot: Path, out: Path | None) -> None:
    """Tell who gives the folder of the report as that of the plan which is which."""
    from proctor.study.pilot.plan import PROTOCOL

    usual = pilot.with_suffix(".plan")
    if out is not None and not (out / PROTOCOL).exists() and (usual / PROTOCOL).exists():
        hint = f"--out is the plan's folder, which seems to be {usual}; --into FOLDER is where the report goes"
        raise UsageFault("there is no plan", where=str(out), hint=hint)


@frozen
class Earlier:
    """An earlier report: its runs, its name, the seeds of its order, and the digests of its agents' configurations."""

    table: Table
    name: str
    seeds: tuple[object, ...]
    digests: Mapping[str, str]

    def beside(self, table: Table, found: Mapping[str, Any]) -> dict[str, Any]:
        """How the findings on ``table`` differ from it."""
        from proctor.study.versus import versus

        seeds, own = tuple(found["appendix"]["seeds"]["observed"]), str(found["source"]["name"])
        level, digests = 1 - float(found["question"]["alpha"]), (self.digests, _digests(found))
        return versus(self.table, table, self.name, (self.seeds, seeds), level, own, digests)


def _digests(found: Mapping[str, Any]) -> dict[str, str]:
    """The digests of the configurations of agents that findings have, by their names."""
    return {str(one["name"]): str(one["digest"]) for one in found["appendix"]["agents"] if one.get("digest")}


def _earlier(folder: Path) -> Earlier:
    """The report in ``folder``."""
    from proctor.base.canonical import parse
    from proctor.base.files import read_bounded
    from proctor.present.folder import FINDINGS, RUNS
    from proctor.study.index.store import read_table

    hint = "give the folder that a report was written to"
    if not (folder / FINDINGS).is_file() or not (folder / RUNS).is_file():
        raise UsageFault("there is no report", where=str(folder), hint=hint)
    try:
        told = parse(read_bounded(folder / FINDINGS, 1 << 30))
        name, seeds = str(told["source"]["name"]), tuple(told["appendix"]["seeds"]["observed"])
        digests = _digests(told)
    except (ValueError, TypeError, LookupError, AttributeError):
        raise UsageFault("holds no findings of a report", where=str(folder / FINDINGS), hint=hint) from None
    return Earlier(read_table(folder / RUNS), name, seeds, digests)


def _show(found: Mapping[str, Any], folder: Path, written: list[str]) -> None:
    from proctor.present.departures import INCOMPLETE, incomplete, worth

    head = found["headline"]
    if told := incomplete(found):
        click.echo(one_line(f"{INCOMPLETE}: {told}"))
    if asked := found["question"]["text"]:
        click.echo(one_line(asked))
    click.echo(one_line(f"{head['verdict']}: {head['sentence']}"))
    if told := worth(found):
        click.echo(one_line(told))
    if head["counting"]:
        click.echo(one_line(head["counting"]))
    click.echo(one_line(head["cost"]))
    for text in [*found["source"]["notes"], *head["caveats"], *found["deviations"]]:
        click.echo(one_line(f"  {text}"))
    for text in found["cannot"]:
        click.echo(one_line(f"  cannot be said: {text}"))
    if other := found.get("versus"):
        _show_versus(other)
    click.echo(f"written to {folder}: {', '.join(written)}")


def _show_versus(other: Mapping[str, Any]) -> None:
    """What changed since the earlier report, a line for each agent."""
    from proctor.present.markdown_parts import percents, points

    click.echo(one_line(f"against {other['name']}:"))
    for row in other["rows"]:
        change = points(row["difference"])
        told = f"{change} points" if change != "-" else f"no difference, {row['difference']['undefined']}"
        rates = f"{percents(row['before'])} before, {percents(row['after'])} after"
        name = f"{row['agent']} (another agent than before)" if row["another"] else row["agent"]
        click.echo(one_line(f"  {name}: {rates}, {told}"))
    for text in other["notes"]:
        click.echo(one_line(f"  {text}"))


def _tell(text: str) -> None:
    click.echo(one_line(f"{text} ..."), err=True)
