"""``proctor show``: show a contract or a run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from proctor.cli.output import as_json, print_json, print_table, printable


@click.command(epilog="Example: proctor show examples/parse-time-zone; proctor show 20260307T120000")
@click.argument("what")
@as_json
def command(what: str, json_: bool) -> int:
    """Show WHAT: a contract (a directory or its contract.yaml) or a run (its id, the beginning of it, or its path)."""
    path = Path(what)
    if path.name == "contract.yaml" or (path / "contract.yaml").is_file():
        _contract(path, json_)
        return 0
    return _run(what, json_)


def _contract(path: Path, json_: bool) -> None:
    from proctor.contract.digest import content_id, resolved
    from proctor.contract.load import load_contract

    contract = load_contract(path)
    if json_:
        print_json({"id": content_id(contract), "contract": resolved(contract)})
        return
    click.echo(printable(f"{contract.name}: {contract.title}"))
    click.echo(f"id       {content_id(contract)}")
    click.echo(f"kind     {contract.kind}")
    for key, value in contract.strata.items():
        click.echo(printable(f"stratum  {key} = {value}"))
    click.echo(f"setup    {len(contract.setup)} steps, {len(contract.inputs)} inputs")
    rows = [
        [
            check.id,
            check.gate,
            check.layer or "-",
            check.results,
            str(len(check.must_pass)),
            str(len(check.keep_passing)),
        ]
        for check in contract.checks
    ]
    print_table(["CHECK", "GATE", "LAYER", "RESULTS", "MUST PASS", "KEEP PASSING"], rows)


def _run(what: str, json_: bool) -> int:
    from proctor.base.canonical import parse
    from proctor.cli.wiring import shelf

    run = shelf().find(what)
    if not run.report.is_file():
        click.echo(f"{run.path.name} was cut off or is still running: it has no report", err=True)
        return 3
    report = parse(run.report.read_bytes())
    if json_:
        print_json(report)
    else:
        _report(report, run.path)
    return 0


def _report(report: Mapping[str, Any], path: Path) -> None:
    click.echo(printable(f"{report['run']}: {report['contract']['name']} by {report['agent']['name']}"))
    click.echo(f"status       {report['status']} (attributed to {report['attribution']})")
    rows = [[gate["id"], "pass" if gate["passed"] else "FAIL", printable(gate["why"])] for gate in report["gates"]]
    print_table(["GATE", "RESULT", "WHY"], rows)
    for problem in report["problems"]:
        click.echo(printable(f"problem      {problem}"))
    checks = [[check["id"], check["outcome"], printable(check["reason"])] for check in report["checks"]]
    if checks:
        print_table(["CHECK", "OUTCOME", "REASON"], checks)
    for tag in report["tags"]:
        click.echo(printable(f"tag          {tag['id'] if isinstance(tag, dict) else tag}"))
    for deviation in report["deviations"]:
        click.echo(printable(f"deviation    {deviation['message'] if isinstance(deviation, dict) else deviation}"))
    click.echo(f"evidence     {path}")
