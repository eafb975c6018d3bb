"""``proctor doctor``: the parts that work on this machine, and how to get the missing ones."""

from __future__ import annotations

import click

from proctor.cli.output import as_json, print_json, print_table, printable
from proctor.cli.wiring import home
from proctor.execute.requirements import probe, works


@click.command(epilog="Example: proctor doctor")
@as_json
def command(json_: bool) -> int:
    """Test what this machine can isolate, and list what is missing.

    Exits with 3 when a part is missing that every run needs; commands that need it then stop with the same message. A
    part is "reduced" if only some contracts need it, or if a weaker replacement is used.
    """
    findings = probe(home())
    if json_:
        parts = [{"name": f.name, "state": f.state, "detail": f.detail, "advice": f.advice} for f in findings]
        print_json({"parts": parts})
    else:
        print_table(["PART", "STATE", "DETAIL"], [[f.name, f.state, f.detail] for f in findings])
        for finding in findings:
            if finding.advice and finding.state != "ok":
                click.echo(printable(f"{finding.name}: {finding.advice}"))
    return 0 if works(findings) else 3
